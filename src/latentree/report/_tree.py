"""Any tree model as one plain dict, which text, figures, the HTML report and the explorer page are made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._files import encoded
from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import DataError, LatentreeError, bad_parameter
from ..estimation import Fit
from ..runner import StopReason
from ..score import aic, bic
from ._information import InformationCurves, edge_information, entropy_of
from ._latent_class import class_label, describe_classes, state_labels
from ._statistics import statistics as statistics_of

__all__ = ["checked_trace", "describe", "describe_tree", "is_star", "node_labels", "standing"]

STEP_NUMBERS = ("score", "log_likelihood", "dimension", "candidates", "seconds")
"""What a step of a search may tell in numbers."""


def describe(thing: Model | Fit, table: Table | None = None, **options: Any) -> dict[str, Any]:
    """Everything worth telling about a fitted thing, as plain values that JSON can hold.

    Parameters
    ----------
    thing : Fit or Model
        What to describe. A fit of a latent class model is described class by class, everything else as a tree.
    table : Table, optional
        Data to judge a model by.
    **options
        ``statistics=True`` adds what :func:`latentree.report.statistics` collects; for trees, see
        :func:`describe_tree`.

    Returns
    -------
    dict
        What :func:`describe_classes` or :func:`describe_tree` returns; ``kind`` says which.

    Examples
    --------
    >>> from latentree import datasets, fit_classes
    >>> table = datasets.load("carcinoma")
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> describe(fit)["kind"], describe(fit.model, table)["kind"]
    ('latent class', 'latent tree')
    """
    if isinstance(thing, Fit) and table is None and is_star(thing.model) and set(options) <= {"statistics"}:
        return describe_classes(thing, **options)
    return describe_tree(thing, table, **options)


def describe_tree(
    thing: Model | Fit,
    table: Table | None = None,
    *,
    trace: Iterable[Any] | None = None,
    statistics: bool = False,
    most_leaves: int = 12,
) -> dict[str, Any]:
    """Everything worth telling about a tree model, as plain values that JSON can hold.

    Parameters
    ----------
    thing : Model or Fit
        Any tree model; a latent class model is a star.
    table : Table, optional
        Data to judge it by. Default: those of the fit, if it is one.
    trace : iterable, optional
        How a search grew the tree, step by step; see :func:`checked_trace`.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects, if there are data.
    most_leaves : int, default 12
        How many manifest variables to list for each latent one.

    Returns
    -------
    dict
        ``kind``
            ``"latent tree"``.
        ``n_variables``, ``n_latents``, ``n_nodes``, ``n_parameters``, ``star``
            Size of the model, and whether it is a latent class model.
        ``n``, ``n_patterns``, ``missing``, ``log_likelihood``, ``aic``, ``bic``, ``higher_is_better``, ``impossible``
            With data, otherwise None: sample size, distinct rows, share of missing cells, scores on the scale of the
            log-likelihood, and how many distinct rows the model cannot produce.
        ``nodes``
            In the order of the tree, parents first: ``name``, ``parent`` (position, or None), ``latent``,
            ``cardinality``, ``labels`` of its states, ``marginal`` and ``table``, P(state | state of the parent).
        ``edges``
            ``parent``, ``child`` (positions) and ``information``, their mutual information in nats.
        ``latents``
            For each: ``node`` (position), ``name``, ``sizes`` of its states, ``counts`` (expected cases, with data),
            ``relative_entropy`` (with data; 1 when all rows are certain), ``entropy``, ``neighbours``, ``information``
            (what all manifest variables tell together), and ``leaves``: the manifest variables that tell most, each
            with ``node``, ``information`` alone, ``cumulative``, together with those before it, and ``profile``,
            P(its states | state of the latent).
        ``curves``
            Whether cumulative information is ``exact``, and how many ``rows`` it was found from.
        ``fit``
            How the fit went, if it is one: ``seconds``, ``seed``, ``converged``, ``reason``, ``message``, ``n_iter``.
        ``trace``
            The steps of the search; empty if there are none.
        ``provenance``
            Where the model comes from.

    Examples
    --------
    >>> from latentree import datasets
    >>> report = describe_tree(datasets.generator("d7"))
    >>> report["n_variables"], report["n_latents"], [z["name"] for z in report["latents"]]
    (7, 3, ['Z1', 'Z2', 'Z3'])
    """
    fit = thing if isinstance(thing, Fit) else None
    model = fit.model if fit is not None else thing
    if not isinstance(model, Model):
        raise bad_parameter("thing", "describe_tree", "a Model or a Fit", thing)
    if fit is not None and table is not None and table is not fit.table:
        fit = None
    judged = fit if fit is not None else (standing(model, table) if table is not None else None)
    tree = model.tree
    told = edge_information(model)
    curves = InformationCurves(model, most_leaves)
    marginals = model.marginals()
    posteriors = _latent_posteriors(judged) if judged is not None else {}
    return {
        "kind": "latent tree",
        "n_variables": tree.n_variables,
        "n_latents": len(tree.latent),
        "n_nodes": tree.n_nodes,
        "n_parameters": tree.n_parameters,
        "star": is_star(model),
        **_judgement(judged),
        "nodes": [_node(model, v, marginals[v]) for v in range(tree.n_nodes)],
        "edges": [
            {"parent": int(tree.parent[v]), "child": v, "information": float(told[v])} for v in range(1, tree.n_nodes)
        ],
        "latents": [_latent(model, z, marginals[z], curves, posteriors.get(z), judged) for z in map(int, tree.latent)],
        "curves": {"exact": curves.exact, "rows": curves.n_rows},
        "fit": _course(fit) if fit is not None else None,
        "trace": checked_trace(trace if trace is not None else model.provenance.get("trace", ())),
        "provenance": {name: value for name, value in encoded(dict(model.provenance)).items() if name != "trace"},
        **({"statistics": statistics_of(judged)} if statistics and judged is not None else {}),
    }


def checked_trace(steps: Iterable[Any]) -> list[dict[str, Any]]:
    """Steps of a search as plain values.

    Parameters
    ----------
    steps : iterable
        Each a dict, or something whose ``to_plain()`` gives one, with ``operation`` (text); ``score``,
        ``log_likelihood``, ``dimension``, ``candidates``, ``seconds`` (numbers or None); and the tree after the step as
        ``edges``, pairs of names, and ``states``, how many each node has, by name.

    Examples
    --------
    >>> step = {"operation": "start", "score": -10, "edges": [["z", "a"]], "states": {"z": 2, "a": 3}}
    >>> checked_trace([step])[0]["score"]
    -10.0
    """
    return [_step(i, step.to_plain() if hasattr(step, "to_plain") else step) for i, step in enumerate(steps)]


def _step(i: int, step: Mapping[str, Any]) -> dict[str, Any]:
    try:
        edges = [[str(a), str(b)] for a, b in step["edges"]]
        states = {str(name): int(k) for name, k in step["states"].items()}
        numbers = {name: _finite(step.get(name)) for name in STEP_NUMBERS}
        operation = str(step["operation"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise DataError(
            f"Step {i} of the trace cannot be read ({type(error).__name__}: {error}). It needs an 'operation', the "
            "'edges' of the tree and the 'states' of its nodes."
        ) from None
    loose = {name for edge in edges for name in edge} - set(states)
    if loose:
        raise DataError(f"Step {i} of the trace: node '{min(loose)}' stands in an edge but has no number of states.")
    if len(edges) != len(states) - 1:
        raise DataError(f"Step {i} of the trace is no tree: it has {len(states)} nodes but {len(edges)} edges.")
    return {"operation": operation, **numbers, "edges": edges, "states": states}


def standing(model: Model, table: Table) -> Fit:
    """Judge a model as it stands: the fit of nothing."""
    counts = Plan.of(model, table).evaluate(model.parameters)
    trace = np.array([counts.log_likelihood])
    return Fit(model, table, counts, trace, StopReason.FINISHED, None, 0.0, 1, trace)


def is_star(model: Model) -> bool:
    """Whether it is a latent class model: one latent node above all others."""
    return list(model.tree.latent) == [0] and not model.tree.parent[1:].any()


def node_labels(model: Model, node: int) -> tuple[str, ...]:
    """Text for each state of a node: a variable's own, ``class0``, ... of a latent class model, otherwise 0, 1, ..."""
    i = int(model.tree.variable[node])
    if i >= 0:
        return state_labels(model.variables[i])
    states = range(int(model.tree.cardinality[node]))
    return tuple(class_label(s) if is_star(model) else str(s) for s in states)


def _judgement(fit: Fit | None) -> dict[str, Any]:
    names = ("n", "n_patterns", "missing", "log_likelihood", "aic", "bic", "impossible")
    if fit is None:
        return {**dict.fromkeys(names), "higher_is_better": True}
    table = fit.table
    rows = Plan.of(fit.model, table).row_log_likelihood(fit.model.parameters)
    return {
        "n": float(table.n),
        "n_patterns": table.n_patterns,
        "missing": float(table.weights @ (table.codes < 0).mean(axis=1) / table.weights.sum()),
        "log_likelihood": _finite(fit.log_likelihood),
        "aic": _score(aic, fit),
        "bic": _score(bic, fit),
        "impossible": int(np.isneginf(rows).sum()),
        "higher_is_better": True,
    }


def _score(criterion: Callable[[Fit], float], fit: Fit) -> float | None:
    """A score, None where it is not defined."""
    try:
        return _finite(criterion(fit))
    except LatentreeError:
        return None


def _node(model: Model, v: int, marginal: FloatArray) -> dict[str, Any]:
    tree = model.tree
    return {
        "name": tree.names[v],
        "parent": int(tree.parent[v]) if v else None,
        "latent": bool(tree.variable[v] < 0),
        "cardinality": int(tree.cardinality[v]),
        "labels": list(node_labels(model, v)),
        "marginal": marginal.tolist(),
        "table": model.table(v).tolist(),
    }


def _latent(
    model: Model, z: int, sizes: FloatArray, curves: InformationCurves, posterior: FloatArray | None, fit: Fit | None
) -> dict[str, Any]:
    curve = curves.of(z)
    return {
        "node": z,
        "name": model.tree.names[z],
        "sizes": sizes.tolist(),
        **_in_data(posterior, fit),
        "entropy": float(entropy_of(sizes)),
        "neighbours": [int(u) for u in model.tree.neighbours(z)],
        "information": curve.total,
        "leaves": [
            {"node": v, "information": alone, "cumulative": together, "profile": profile.tolist()}
            for v, alone, together, profile in zip(
                curve.leaves, curve.alone, curve.together, curve.profiles, strict=True
            )
        ],
    }


def _latent_posteriors(fit: Fit) -> dict[int, FloatArray]:
    """P(state | pattern) of every latent node."""
    latents = [int(z) for z in fit.model.tree.latent]
    if not latents:
        return {}
    found = Plan.of(fit.model, fit.table).posteriors(fit.model.parameters, latents)
    return dict(zip(latents, found, strict=True))


def _in_data(posterior: FloatArray | None, fit: Fit | None) -> dict[str, Any]:
    if posterior is None or fit is None:
        return {"counts": None, "relative_entropy": None}
    possible = ~np.isnan(posterior).any(axis=1)
    weights, p = fit.table.weights[possible], posterior[possible]
    most = weights.sum() * math.log(max(p.shape[1], 1))
    sure = 1 - float(weights @ entropy_of(p)) / most if most > 0 else 1.0
    return {"counts": (weights @ p).tolist(), "relative_entropy": sure}


def _course(fit: Fit) -> dict[str, Any]:
    return {
        "seconds": fit.seconds,
        "seed": fit.seed,
        "converged": fit.converged,
        "reason": fit.reason.value,
        "message": fit.reason.message,
        "n_iter": len(fit.trace),
    }


def _finite(value: Any) -> float | None:
    """Turn numbers that JSON does not have into null."""
    return float(value) if value is not None and math.isfinite(value) else None
