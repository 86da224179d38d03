"""The one primitive: (model, table) -> log-likelihood and expected counts.

The kernels are compiled for several instruction sets. The best that the machine can run is used, unless the environment
variable ``LATENTREE_ISA`` names another.
"""

import os

from .._registry import suggestion
from ..errors import ParameterError
from . import _core

__all__: list[str] = []  # plans and evidence are names of latentree itself


def _choose_kernels(name: str) -> None:
    """Use the kernels that are asked for; none are if the name is empty."""
    known = _core.available_kernels()
    if name and name not in known:
        raise ParameterError(
            "The environment variable LATENTREE_ISA must be one of {known} here. Got {name!r} instead.{meant}",
            known=", ".join(map(repr, known)),
            name=name,
            meant=suggestion(name, known),
        )
    if name:
        _core.use_kernels(name)


_choose_kernels(os.environ.get("LATENTREE_ISA", ""))
