"""How many rows a latent class analysis needs: what is found in data that are simulated."""

from __future__ import annotations

from ._population import Population, stated_profiles
from ._power import PowerStudy, power

__all__ = ["Population", "PowerStudy", "power", "stated_profiles"]
