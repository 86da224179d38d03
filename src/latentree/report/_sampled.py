"""Draws from the posterior of a latent class model as one plain dict, which text, figures and files are made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bayes import ClassSummary, Draws, effective_samples, r_hat, relabel, standard_error, summarise
from ..dimension import standard_dimension
from ..naming import class_label, state_labels
from ..runner import StopReason
from ._contents import ClassContents, PosteriorOfNumber, PosteriorReport
from ._latent_class import variable_contents
from ._tree import finite, share_missing

__all__ = ["describe_draws"]

HIGH_R_HAT, FEW = 1.05, 100.0
"""Where chains are called in disagreement, and effective draws few."""


def describe_draws(
    draws: Draws, *, k: int | None = None, level: float = 0.95, method: str = "stephens", seed: int | None = None
) -> PosteriorReport:
    """Everything to know about draws from the posterior, as plain values that JSON can hold.

    Parameters
    ----------
    draws : Draws
        From :func:`latentree.bayes.sample`.
    k : int, optional
        Number of classes to show. Default: the most probable.
    level : float, default 0.95
        What the intervals hold.
    method : str
        How classes are relabelled; see :func:`latentree.bayes.relabel`.
    seed : int, optional
        What the draws came from, if it was a plain number.

    Returns
    -------
    dict
        ``kind``
            ``"posterior"``.
        ``n``, ``n_patterns``, ``n_variables``, ``missing``
            The data.
        ``posterior``
            For each number of classes: ``n_classes``, ``probability``, ``standard_error`` and ``prior``.
        ``n_classes``, ``n_used``, ``level``, ``relabelled``
            The number of classes shown, the draws that have it, the level of the intervals, the method.
        ``classes``
            For each, largest first: ``label``, ``size`` (posterior mean), ``interval``, ``count`` (cases), ``profile``
            and ``intervals`` (P(state | class) by variable and state).
        ``variables``
            As in :func:`latentree.report.describe`.
        ``log_likelihood``, ``n_parameters``
            Mean log-likelihood of the draws shown; parameters of a model with so many classes.
        ``method``, ``n_chains``, ``n_draws``, ``n_burn``, ``thin``, ``seed``, ``seconds``, ``reason``, ``message``
            How they were drawn.
        ``r_hat``, ``effective_draws``, ``acceptance``
            Of the number of classes, or, where that is fixed, of the log-likelihood; jumps accepted.
        ``warnings``, ``notes``
            In words.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.bayes import ClassPrior, prior_on_classes, sample
    >>> prior = ClassPrior(prior_on_classes(4))
    >>> drawn = sample(datasets.load("carcinoma"), prior, rng=np.random.default_rng(0), n_draws=200)
    >>> report = describe_draws(drawn)
    >>> report["n_classes"], len(report["classes"]), report["posterior"][0]["probability"]
    (3, 3, 0.0)
    """
    shown = relabel(draws.given(k), method)
    summary = summarise(shown, level=level)
    table, model = draws.table, summary.model()
    fixed = draws.method == "gibbs" or draws.prior.max_classes == 1
    followed: Any = draws.log_likelihood if fixed else draws.k
    spread, effective = finite(r_hat(followed)), finite(effective_samples(followed))
    return {
        "kind": "posterior",
        "n": float(table.n),
        "n_patterns": table.n_patterns,
        "n_variables": table.n_variables,
        "missing": share_missing(table),
        "posterior": _posterior_of_k(draws, fixed),
        "n_classes": summary.k,
        "n_used": summary.n_draws,
        "level": level,
        "relabelled": method,
        "classes": _classes(summary),
        "variables": [variable_contents(v, model.table(v.name), summary.weights) for v in table.variables],
        "log_likelihood": float(shown.log_likelihood.mean()),
        "n_parameters": int(standard_dimension(model.tree)),
        "method": draws.method,
        "n_chains": draws.n_chains,
        "n_draws": draws.n_draws,
        "n_burn": draws.n_burn,
        "thin": draws.thin,
        "seed": seed,
        "seconds": draws.seconds,
        "reason": draws.reason.value,
        "message": draws.reason.message,
        "r_hat": spread,
        "effective_draws": effective,
        "acceptance": {name: finite(rate) for name, rate in draws.acceptance.items()},
        "warnings": _warnings(draws, fixed, spread, effective, summary),
        "notes": _notes(draws, fixed),
    }


def _posterior_of_k(draws: Draws, fixed: bool) -> list[PosteriorOfNumber]:
    prior = np.exp(draws.prior.log_k)
    ks = [draws.prior.max_classes] if fixed else range(1, draws.prior.max_classes + 1)
    return [
        {
            "n_classes": k,
            "probability": float(draws.k_posterior[k - 1]),
            "standard_error": finite(standard_error(draws.k == k)) if 0 < draws.k_posterior[k - 1] < 1 else None,
            "prior": 1.0 if fixed else float(prior[k - 1]),
        }
        for k in ks
    ]


def _classes(summary: ClassSummary) -> list[ClassContents]:
    names, offsets = summary.table.names, np.concatenate([[0], np.cumsum(summary.table.cardinalities)])
    labels = [state_labels(v) for v in summary.table.variables]
    cells = [dict(zip(own, range(offsets[i], offsets[i + 1]), strict=True)) for i, own in enumerate(labels)]
    return [
        {
            "label": class_label(j),
            "size": float(summary.weights[j]),
            "interval": summary.weights_interval[:, j].tolist(),
            "count": float(summary.weights[j] * summary.table.n),
            "profile": {
                n: {s: float(summary.theta[j, c]) for s, c in own.items()} for n, own in zip(names, cells, strict=True)
            },
            "intervals": {
                n: {s: summary.theta_interval[:, j, c].tolist() for s, c in own.items()}
                for n, own in zip(names, cells, strict=True)
            },
        }
        for j in range(summary.k)
    ]


def _warnings(
    draws: Draws, fixed: bool, spread: float | None, effective: float | None, summary: ClassSummary
) -> list[str]:
    out = []
    what = "log-likelihood" if fixed else "number of classes"
    if spread is not None and spread > HIGH_R_HAT:
        out.append(
            f"The chains do not agree on the {what} (R-hat {spread:.2f}, above {HIGH_R_HAT}): the probabilities are "
            "not to be trusted yet. Draw more, or burn in longer."
        )
    if effective is not None and effective < FEW:
        out.append(f"The draws are worth only {effective:.0f} independent ones. Draw more, or thin more.")
    if not fixed and draws.k_mode == draws.prior.max_classes > 1:
        out.append(f"The largest number of classes allowed, {draws.k_mode}, is the most probable. Allow more.")
    if draws.reason is not StopReason.FINISHED:
        out.append(draws.reason.message)
    if summary.n_draws < FEW:
        out.append(f"Only {summary.n_draws} draws have {summary.k} classes: their intervals are rough.")
    return out


def _notes(draws: Draws, fixed: bool) -> list[str]:
    if fixed or np.ptp(draws.k):
        return []
    return [f"Every draw has {draws.k_mode} classes: other numbers are improbable, or the chains have not moved."]
