"""What a page says of a model in a few words, whatever the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._scale import score_label, shown_score
from ..errors import amount
from ._contents import EstimateContents, TreeReport
from ._printable import printable
from ._tree import remembered_maximum

__all__ = ["MAXIMUM", "SAVED", "criterion_of", "facts", "origin_in_words", "title_of"]

MAXIMUM, SAVED = "maximum likelihood", "saved estimate"
"""Whose scores they are, where a model file knows those at the maximum of the likelihood and holds other numbers."""


def title_of(report: TreeReport) -> str:
    """What to call a model that has no name."""
    if report["star"]:
        k = report["nodes"][0]["cardinality"]
        return f"Latent class model, {k} class{'es' if k > 1 else ''}"
    return "Latent tree model"


def facts(report: TreeReport) -> list[tuple[str, str]]:
    """Size and scores, as pairs of words and values."""
    found = [
        ("Variables", f"{report['n_variables']:,}"),
        ("Classes", f"{report['nodes'][0]['cardinality']:,}")
        if report["star"]
        else ("Latent variables", f"{report['n_latents']:,}"),
        ("Parameters", f"{report['n_parameters']:,}"),
    ]
    if report["cuts"]:
        found.insert(2, ("Independent parts", f"{len(report['parts']):,}"))
    if report["n"] is not None:
        found.append(("Rows", f"{_rows(report)} ({report['n_patterns']:,} distinct)"))
        if report["missing"]:
            found.append(("Missing cells", f"{100 * report['missing']:.2g} %"))
        if "maximum" in report:
            at = report["maximum"]
            found += _scores((at["log_likelihood"], at["aic"], at["bic"]), at=MAXIMUM)
        own = SAVED if "maximum" in report else ""
        found += _scores((report["log_likelihood"], report["aic"], report["bic"]), "not defined", own)
        if report["impossible"]:
            found.append(("Impossible rows", f"{report['impossible']:,} distinct"))
    else:
        known = report["provenance"]
        if isinstance(known.get("n"), int | float):
            found.append(("Sample size", amount(known["n"])))
        at_maximum = "" if remembered_maximum(known) is None else MAXIMUM
        found += _scores((known.get(name) for name in ("log_likelihood", "aic", "bic")), at=at_maximum)
    if "estimate" in report:
        found.append(("Probabilities", _estimate(report["estimate"])))
    if "search" in report:
        search = report["search"]
        ended = "finished" if search["complete"] else f"unfinished ({search['reason']})"
        found.append(("Search", printable(f"{search['method']}, {ended}, {search['seconds']:.2f} s")))
    elif report["fit"] is not None:
        found.append(("Fit", f"{report['fit']['reason']}, {report['fit']['seconds']:.2f} s"))
    return found


def _rows(report: TreeReport) -> str:
    n, weighted = report["n"] or 0.0, report["n_weighted"]
    size = amount(n)
    return size if weighted is None else f"{weighted:,}, weights adding up to {size}"


def _estimate(estimate: EstimateContents) -> str:
    """What the probabilities are, in a few words."""
    if estimate["kind"] == "ml":
        return "maximum likelihood"
    prior = "a Dirichlet prior" if estimate["prior"] is None else f"Dirichlet prior {estimate['prior']:g}"
    if estimate["strength"] is not None:
        prior = f"{estimate['strength']:.3g} cases towards the {estimate['towards']} distribution"
    if (strengths := estimate.get("strengths")) is not None:
        by_table = f"{strengths[0]:,g} to {strengths[1]:,g} cases, table by table"
        prior = by_table if estimate["strength"] is None else f"mean of {prior} and {by_table}"
    return f"{prior}, log-likelihood {estimate['log_likelihood'] or 0:,.2f}"


def _scores(known: Iterable[object], undefined: str = "", at: str = "") -> list[tuple[str, str]]:
    """The log-likelihood, AIC and BIC as people see them, and which probabilities they are of."""
    found = []
    for score, value in zip((None, "aic", "bic"), known, strict=True):
        name = score_label(score, at) if score is not None else f"Log-likelihood ({at})" if at else "Log-likelihood"
        if isinstance(value, int | float):
            found.append((name, f"{shown_score(value, score):,.2f}"))
        elif undefined:
            found.append((name, undefined))
    return found


def origin_in_words(report: TreeReport) -> list[str]:
    """Where a model comes from, in sentences: what made it, of which data, how, and how to cite it."""
    known = report["provenance"]
    told: list[str] = []
    made = known.get("command")
    version = f", version {known['latentree']}" if isinstance(known.get("latentree"), str) else ""
    data = f" from the data '{known['data']}'" if isinstance(known.get("data"), str) else ""
    size = f" (sample size {amount(known['n'])})" if isinstance(known.get("n"), int | float) else ""
    if made or data:
        told.append(f"Made by {made or 'latentree'}{version}{data}{size}.")
    method, criterion = known.get("method"), criterion_of(report)
    if isinstance(method, str):
        value = known.get("value")
        best = "" if not isinstance(value, int | float) else f", which is {shown_score(float(value), criterion):,.2f}"
        score = f" with the best {score_label(criterion)}{best}" if criterion else ""
        told.append(f"The search method '{method}' found this tree{score}.")
    starts = known.get("starts")
    if isinstance(starts, dict) and "made" in starts and "found" in starts:
        told.append(f"{starts['found']} of {starts['made']} starts found it.")
    scores = [text for name, text in _named_scores(known)]
    if scores:
        told.append(f"On these data: {'; '.join(scores)}.")
    if isinstance(known.get("estimate"), dict) and "text" in known["estimate"]:
        told.append(str(known["estimate"]["text"]))
    options = known.get("options")
    if isinstance(options, dict) and options:
        listed = ", ".join(f"{name.replace('_', ' ')} {_value(own)}" for name, own in options.items())
        told.append(f"Options: {listed}.")
    if isinstance(known.get("seed"), int):
        told.append(f"The seed was {known['seed']}; with the same data and options it gives the same model.")
    return [printable(text) for text in told]


def _named_scores(known: Any) -> Iterable[tuple[str, str]]:
    """Log-likelihood, AIC and BIC that a file remembers, in words."""
    values = [known.get(name) for name in ("log_likelihood", "aic", "bic")]
    at = "" if remembered_maximum(known) is None else MAXIMUM
    for name, text in _scores(values, at=at):
        yield name, f"{name[:1].lower() + name[1:] if name[1:2].islower() else name} {text}"


def _value(value: Any) -> str:
    """A value of an option as a person would write it."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(own)}" for name, own in value.items())
    return ", ".join(map(_value, value)) if isinstance(value, list | tuple) else str(value)


def criterion_of(report: TreeReport) -> str | None:
    """The name of the score that a search maximised, if that is known."""
    name = report["search"]["score"] if "search" in report else report["provenance"].get("score")
    return name if isinstance(name, str) else None
