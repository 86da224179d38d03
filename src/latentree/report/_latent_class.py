"""A fitted latent class model as one plain dict, which text, figures and files are made from."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._types import FloatArray
from .._variables import Variable
from ..errors import ModelError
from ..estimation._fit import Fit
from ..score import aic, bic, entropy, relative_entropy
from ._diagnostics import SAME_OPTIMUM, degrees_of_freedom, findings, starts_at_best
from ._statistics import statistics as statistics_of

__all__ = ["class_label", "describe_classes", "profiles", "state_labels"]


def describe_classes(fit: Fit, *, statistics: bool = False) -> dict[str, Any]:
    """Everything worth telling about a fitted latent class model, as plain values that JSON can hold.

    Parameters
    ----------
    fit : Fit
        A fit of a star-shaped tree with a latent root.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects, under ``statistics``.

    Returns
    -------
    dict
        ``kind``
            ``"latent class"``.
        ``n``, ``n_weighted``, ``n_patterns``, ``n_variables``, ``n_classes``, ``missing``
            Sample size (sum of the weights), rows that have a weight other than a count, or None, distinct rows,
            variables, classes, and the share of missing cells.
        ``log_likelihood``, ``n_parameters``, ``degrees_of_freedom``
            The latter is None where the full table has too many cells to count.
        ``aic``, ``bic``, ``higher_is_better``
            On the scale of the log-likelihood: higher is better.
        ``entropy``, ``relative_entropy``
            How unsure the classes of the rows are: 0 and 1 when all are certain.
        ``seconds``, ``seed``, ``n_iter``, ``converged``, ``reason``, ``message``
            How the fit went.
        ``starts``
            ``objectives`` of the starts run to the end, best first, and how many are ``at_best``, ``within`` so much.
        ``classes``
            For each, largest first: ``label``, ``size`` (probability), ``count`` (expected cases) and ``profile``,
            P(state | class) by variable and state.
        ``variables``
            For each: ``name``, ``states`` (as they are), ``labels`` (the keys of the profiles), ``marginal`` (the
            model's probability of each state) and ``information`` (what it tells about the class, in nats).
        ``warnings``, ``notes``
            In words; notes are common and mostly harmless.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> report = describe_classes(fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0)))
    >>> round(report["log_likelihood"], 4), report["n_parameters"], report["degrees_of_freedom"]
    (-317.2568, 15, 112)
    >>> [round(c["size"], 3) for c in report["classes"]]
    [0.501, 0.499]
    """
    model, table = fit.model, fit.table
    _check_star(model)
    sizes = model.table(0)[0]
    found = findings(fit)
    return {
        "kind": "latent class",
        "n": float(table.n),
        "n_weighted": _weighted(table),
        "n_patterns": table.n_patterns,
        "n_variables": table.n_variables,
        "n_classes": len(sizes),
        "missing": float(table.weights @ (table.codes < 0).mean(axis=1) / table.weights.sum()),
        "log_likelihood": _finite(fit.log_likelihood),
        "n_parameters": fit.n_parameters,
        "degrees_of_freedom": degrees_of_freedom(model),
        "aic": _finite(aic(fit)),
        "bic": _finite(bic(fit)),
        "higher_is_better": True,
        "entropy": _finite(entropy(fit)),
        "relative_entropy": _finite(relative_entropy(fit)),
        "seconds": fit.seconds,
        "seed": fit.seed,
        "n_iter": len(fit.trace),
        "converged": fit.converged,
        "reason": fit.reason.value,
        "message": fit.reason.message,
        "starts": {
            "objectives": [_finite(x) for x in fit.starts],
            "at_best": starts_at_best(fit),
            "within": SAME_OPTIMUM,
        },
        "classes": _classes(model, fit.counts.vector[: len(sizes)]),
        "variables": [_variable(v, model.table(v.name), sizes) for v in model.variables],
        "warnings": [f.text for f in found if f.loud],
        "notes": [f.text for f in found if not f.loud],
        **({"statistics": statistics_of(fit)} if statistics else {}),
    }


def profiles(model: Model) -> dict[str, FloatArray]:
    """P(state | class) of each variable: a row for each class, a column for each state."""
    _check_star(model)
    return {v.name: model.table(v.name) for v in model.variables}


def class_label(i: int) -> str:
    """Name a class."""
    return f"class{i}"


def state_labels(variable: Variable) -> tuple[str, ...]:
    """Text for each state, all different.

    Examples
    --------
    >>> state_labels(Variable("x", ("no", "yes")))
    ('no', 'yes')
    >>> state_labels(Variable("x", (1, "1", True)))
    ('1', "'1'", 'True')
    """
    texts = [str(s) for s in variable.states]
    for finer in (repr, lambda s: f"{s!r} ({type(s).__name__})"):
        often = Counter(texts)
        texts = [t if often[t] == 1 else finer(s) for t, s in zip(texts, variable.states, strict=True)]
    return tuple(texts)


def _weighted(table: Table) -> int | None:
    """Rows whose weights are no counts. A count means repeating the row, and needs no word."""
    counts = np.array_equal(table.weights, np.round(table.weights))
    own_size = table.n != table.weights.sum()  # a sample size that was given is no sum of weights
    return None if counts or own_size else int((table.inverse >= 0).sum())


def _check_star(model: Model) -> None:
    if list(model.tree.latent) != [0] or (model.tree.parent[1:] != 0).any():
        raise ModelError(f"This is no latent class model, which has one latent node above all variables: {model!r}.")


def _classes(model: Model, counts: FloatArray) -> list[dict[str, Any]]:
    labels = {v.name: state_labels(v) for v in model.variables}
    tables = profiles(model)
    return [
        {
            "label": class_label(i),
            "size": float(size),
            "count": float(count),
            "profile": {
                name: dict(zip(labels[name], table[i].tolist(), strict=True)) for name, table in tables.items()
            },
        }
        for i, (size, count) in enumerate(zip(model.table(0)[0], counts, strict=True))
    ]


def _variable(variable: Variable, table: FloatArray, sizes: FloatArray) -> dict[str, Any]:
    marginal = sizes @ table
    return {
        "name": variable.name,
        "states": list(variable.states),
        "labels": list(state_labels(variable)),
        "marginal": marginal.tolist(),
        "information": _information(table, sizes, marginal),
    }


def _information(table: FloatArray, sizes: FloatArray, marginal: FloatArray) -> float:
    """Mutual information of a variable and the class."""
    ratio = np.divide(table, marginal, out=np.ones_like(table), where=(table > 0) & (marginal > 0))
    return max(float(sizes @ (table * np.log(ratio)).sum(axis=1)), 0.0)


def _finite(value: float) -> float | None:
    """Turn numbers that JSON does not have into null."""
    return float(value) if math.isfinite(value) else None
