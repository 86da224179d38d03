"""Libraries whose import depends on the state of the machine, imported so that it does not."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any
from unittest import mock


def arviz() -> Any:
    """ArviZ. Before 1.0 it warns on the first import of a day, and notes the day in the user's cache."""
    with (
        tempfile.TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing", FutureWarning)
        import arviz
    return arviz
