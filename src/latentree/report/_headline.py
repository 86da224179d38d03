"""What a page says of a model in a few words, whatever the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._model import Model
from .._table import Table
from ..estimation import Fit
from ._diagnostics import findings
from ._svg import visible
from ._tree import is_star

__all__ = ["facts", "remarks", "title_of"]


def title_of(report: Mapping[str, Any]) -> str:
    """What to call a model that has no name."""
    if report["star"]:
        return f"Latent class model, {report['nodes'][0]['cardinality']} classes"
    return "Latent tree model"


def facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Size and scores, as pairs of words and values."""
    found = [
        ("Variables", f"{report['n_variables']:,}"),
        ("Latent variables", f"{report['n_latents']:,}"),
        ("Parameters", f"{report['n_parameters']:,}"),
    ]
    if report["n"] is not None:
        found.append(("Rows", f"{report['n']:,.6g} ({report['n_patterns']:,} distinct)"))
        if report["missing"]:
            found.append(("Missing cells", f"{100 * report['missing']:.2g} %"))
        for name, key in (("Log-likelihood", "log_likelihood"), ("AIC", "aic"), ("BIC", "bic")):
            value = report[key]
            found.append((name, "not defined" if value is None else f"{value:,.2f}"))
        if report["impossible"]:
            found.append(("Impossible rows", f"{report['impossible']:,} distinct"))
    else:
        known = report["provenance"]
        for name, key in (("Rows it was fitted to", "n"), ("Log-likelihood", "log_likelihood"), ("BIC", "bic")):
            if isinstance(known.get(key), int | float):
                found.append((name, f"{known[key]:,.10g}"))
    if report["fit"] is not None:
        found.append(("Fit", visible(f"{report['fit']['reason']}, {report['fit']['seconds']:.2f} s")))
    return found


def remarks(thing: Model | Fit, table: Table | None, *, loud: bool) -> list[str]:
    """Warnings (loud) or notes on a fit of a latent class model; none on other things."""
    if not isinstance(thing, Fit) or table is not None or not is_star(thing.model):
        return []
    return [visible(f.text) for f in findings(thing) if f.loud is loud]
