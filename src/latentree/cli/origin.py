"""Where a model comes from, as its file tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._model import Model
    from .data import Source

__all__ = ["with_origin"]

TOLD = ("kind", "n", "log_likelihood", "n_parameters", "aic", "bic", "seed", "reason")
UNTOLD = ("seed", "n_jobs", "resume", "start", "force", "recipe")
"""Options that are told already, have no effect on the result, or are paths."""


def with_origin(
    model: Model,
    command: str,
    source: Source,
    options: Mapping[str, Any],
    report: Mapping[str, Any],
    more: Sequence[str],
) -> Model:
    """Say in the model where it comes from: enough to make it again, the same for the same call, and no paths."""
    from .. import __version__

    told = {"command": f"latentree {command}", "latentree": __version__, "data": source.name}
    told |= {name: report[name] for name in (*TOLD, *more)}
    used = {name: value for name, value in options.items() if value not in (None, (), False) and name not in UNTOLD}
    return source.recipe.kept_in(replace(model, provenance={**told, **model.provenance, "options": used}))
