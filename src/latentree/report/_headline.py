"""What a page says of a model in a few words, whatever the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._scale import score_label, shown_score
from ._contents import EstimateContents, TreeReport
from ._printable import printable

__all__ = ["criterion_of", "facts", "origin", "title_of"]


def title_of(report: TreeReport) -> str:
    """What to call a model that has no name."""
    if report["star"]:
        return f"Latent class model, {report['nodes'][0]['cardinality']} classes"
    return "Latent tree model"


def facts(report: TreeReport) -> list[tuple[str, str]]:
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
        found += _scores((report["log_likelihood"], report["aic"], report["bic"]), "not defined")
        if report["impossible"]:
            found.append(("Impossible rows", f"{report['impossible']:,} distinct"))
    else:
        known = report["provenance"]
        if isinstance(known.get("n"), int | float):
            found.append(("Rows it was fitted to", f"{known['n']:,.10g}"))
        found += _scores(known.get(name) for name in ("log_likelihood", "aic", "bic"))
    if "estimate" in report:
        found.append(("Probabilities", _estimate(report["estimate"])))
    if "search" in report:
        search = report["search"]
        ended = "came to its end" if search["complete"] else f"unfinished ({search['reason']})"
        found.append(("Search", printable(f"{search['method']}, {ended}, {search['seconds']:.2f} s")))
    elif report["fit"] is not None:
        found.append(("Fit", f"{report['fit']['reason']}, {report['fit']['seconds']:.2f} s"))
    return found


def _estimate(estimate: EstimateContents) -> str:
    """What the probabilities are, in a few words."""
    if estimate["kind"] == "ml":
        return "maximum likelihood"
    prior = "a Dirichlet prior" if estimate["prior"] is None else f"Dirichlet prior {estimate['prior']:g}"
    if estimate["strength"] is not None:
        prior = f"{estimate['strength']:.3g} cases towards the {estimate['towards']} distribution"
    return f"{prior}, log-likelihood {estimate['log_likelihood'] or 0:,.2f}"


def _scores(known: Iterable[object], undefined: str = "") -> list[tuple[str, str]]:
    """The log-likelihood, AIC and BIC as people see them."""
    found = []
    for score, value in zip((None, "aic", "bic"), known, strict=True):
        name = "Log-likelihood" if score is None else score_label(score)
        if isinstance(value, int | float):
            found.append((name, f"{shown_score(value, score):,.2f}"))
        elif undefined:
            found.append((name, undefined))
    return found


def origin(report: TreeReport) -> list[tuple[str, Any]]:
    """Where a model comes from, its scores as people see them."""
    known = report["provenance"]
    names = {"aic": "aic", "bic": "bic", "value": criterion_of(report)}
    found = []
    for key, value in known.items():
        score = names.get(key)
        if score is not None and isinstance(value, int | float):
            found.append((score_label(score), f"{shown_score(float(value), score):,.10g}"))
        elif key == "row_quantiles":  # numbers for programs
            continue
        elif isinstance(value, dict) and "text" in value:
            found.append((key, value["text"]))
        else:
            found.append((key, value))
    return found


def criterion_of(report: TreeReport) -> str | None:
    """The name of the score that a search maximised, if that is known."""
    name = report["search"]["score"] if "search" in report else report["provenance"].get("score")
    return name if isinstance(name, str) else None
