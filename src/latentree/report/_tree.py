"""Any tree model as one plain dict, which text, figures, the HTML report and the explorer page are made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import encoded
from .._information import Curve, InformationCurves, edge_information, entropy_of, weighted_entropy
from .._model import Model
from .._table import Table, as_table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import DataError, LatentreeError
from ..estimation import Estimate, Fit
from ..naming import latent_title, node_labels
from ..score import aic, bic
from ._contents import (
    EstimateContents,
    FitCourse,
    Judgement,
    LatentContents,
    LatentInData,
    MaximumContents,
    NodeContents,
    StepContents,
    StepNumbers,
    TreeContents,
)
from ._independence import independence_in_words, parts_of

__all__ = [
    "at_maximum",
    "checked_trace",
    "estimate_contents",
    "finite",
    "share_missing",
    "tree_contents",
    "weighted_rows",
]

MOST_LEAVES = 12
"""How many manifest variables are listed for each latent one, unless another number is asked for."""

FEW_LEAVES = 4
"""How many are, once there is no time left."""

Hurried = Callable[[], bool]
"""Tells whether there is no time left to describe everything in full."""


def tree_contents(
    model: Model,
    judged: Fit | None,
    *,
    own: bool = False,
    trace: Iterable[Any] | None = None,
    most_leaves: int = MOST_LEAVES,
    hurried: Hurried | None = None,
) -> TreeContents:
    """Describe a tree model as plain values; :func:`latentree.report.describe_tree` lists them.

    With data it is ``judged`` on them, and how the fit went is described too if the model is its ``own``. Once it is
    ``hurried``, fewer manifest variables are listed for each latent one.
    """
    tree = model.tree
    information = edge_information(model)
    marginals = model.marginals()
    impossible = _impossible(judged)
    posteriors = _latent_posteriors(judged, impossible) if judged is not None else {}
    late = hurried or (lambda: False)
    curves = InformationCurves(model, most_leaves, draw=not late())
    latents, n_short = [], 0
    for z in map(int, tree.latent_variables):
        most = min(FEW_LEAVES, most_leaves) if late() else most_leaves
        latents.append(_latent(model, z, marginals[z], curves.of(z, most), posteriors.get(z), judged))
        n_short += most < most_leaves or (not curves.exact and curves.n_rows == 0)
    return {
        "kind": "latent tree",
        "n_variables": tree.n_variables,
        "n_latents": len(tree.latent_variables),
        "n_nodes": tree.n_nodes,
        "n_parameters": tree.n_parameters,
        "star": tree.is_star,
        **_judgement(judged, impossible),
        "nodes": [_node(model, v, marginals[v]) for v in range(tree.n_nodes)],
        "edges": [
            {"parent": int(tree.parent[v]), "child": v, "information": float(information[v])}
            for v in range(1, tree.n_nodes)
        ],
        "latents": latents,
        "cuts": tree.cuts.tolist(),
        "parts": parts_of(tree),
        "independence": independence_in_words(tree),
        "curves": {"exact": curves.exact, "rows": curves.n_rows, "short": n_short},
        "fit": _course(judged) if own and judged is not None else None,
        "trace": checked_trace(trace if trace is not None else model.provenance.get("trace", ())),
        "provenance": encoded({name: value for name, value in model.provenance.items() if name != "trace"}),
    }


def checked_trace(steps: Iterable[Any]) -> list[StepContents]:
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


def _step(i: int, step: Mapping[str, Any]) -> StepContents:
    try:
        edges = [[str(a), str(b)] for a, b in step["edges"]]
        states = {str(name): int(k) for name, k in step["states"].items()}
        numbers = StepNumbers(
            score=finite(step.get("score")),
            log_likelihood=finite(step.get("log_likelihood")),
            dimension=finite(step.get("dimension")),
            candidates=finite(step.get("candidates")),
            seconds=finite(step.get("seconds")),
        )
        operation = str(step["operation"])
        said = {key: str(step[key]) for key in ("phase", "kind") if step.get(key) is not None}
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise DataError(
            "Step {i} of the trace cannot be read ({kind}: {error}). It needs an 'operation', the 'edges' of the tree "
            "and the 'states' of its nodes.",
            i=i,
            kind=type(error).__name__,
            error=error,
        ) from None
    loose = {name for edge in edges for name in edge} - set(states)
    if loose:
        raise DataError(
            "Step {i} of the trace: node '{node}' stands in an edge but has no number of states.", i=i, node=min(loose)
        )
    if len(edges) != len(states) - 1:
        raise DataError(f"Step {i} of the trace is not a tree: it has {len(states)} nodes but {len(edges)} edges.")
    found: StepContents = {
        "operation": operation,
        "edges": edges,
        "states": states,
        "score": numbers["score"],
        "log_likelihood": numbers["log_likelihood"],
        "dimension": numbers["dimension"],
        "candidates": numbers["candidates"],
        "seconds": numbers["seconds"],
    }
    if "phase" in said:
        found["phase"] = said["phase"]
    if "kind" in said:
        found["kind"] = said["kind"]
    return found


def _impossible(fit: Fit | None) -> NDArray[np.bool_]:
    """Which patterns the model cannot produce."""
    if fit is None:
        return np.zeros(0, dtype=bool)
    if np.isfinite(fit.log_likelihood):
        return np.zeros(as_table(fit.table).n_patterns, dtype=bool)
    return np.isneginf(Plan.of(fit.model, as_table(fit.table)).row_log_likelihood(fit.model.parameters))


def _judgement(fit: Fit | None, impossible: NDArray[np.bool_]) -> Judgement:
    if fit is None:
        return {
            "n": None,
            "n_weighted": None,
            "n_patterns": None,
            "missing": None,
            "log_likelihood": None,
            "aic": None,
            "bic": None,
            "impossible": None,
            "higher_is_better": True,
        }
    table = as_table(fit.table)
    return {
        "n": float(table.n),
        "n_weighted": weighted_rows(table),
        "n_patterns": table.n_patterns,
        "missing": share_missing(table),
        "log_likelihood": finite(fit.log_likelihood),
        "aic": _score(aic, fit),
        "bic": _score(bic, fit),
        "impossible": int(impossible.sum()),
        "higher_is_better": True,
    }


def at_maximum(fit: Fit) -> MaximumContents:
    """The scores of a model at its maximum of the likelihood."""
    return {"log_likelihood": finite(fit.log_likelihood), "aic": _score(aic, fit), "bic": _score(bic, fit)}


SAME = 0.01
"""Difference of log-likelihoods that rounding and a last step of EM explain."""


def remembered_maximum(provenance: Mapping[str, Any], log_likelihood: float | None = None) -> MaximumContents | None:
    """Scores at the maximum of the likelihood that a model from a file remembers, if its probabilities are others.

    With the ``log_likelihood`` of data, only if these are the data that the model was made from.

    Examples
    --------
    >>> known = {"log_likelihood": -5.0, "aic": -7.0, "bic": -8.0, "estimate": {"kind": "map", "log_likelihood": -5.5}}
    >>> remembered_maximum(known, -5.5), remembered_maximum(known, -6.0)
    ({'log_likelihood': -5.0, 'aic': -7.0, 'bic': -8.0}, None)
    """
    estimate = provenance.get("estimate")
    if not isinstance(estimate, Mapping) or estimate.get("kind") != "map":
        return None
    own: Any = estimate.get("log_likelihood")
    found: Any = {name: provenance.get(name) for name in ("log_likelihood", "aic", "bic")}
    if not all(isinstance(value, int | float) for value in (own, *found.values())):
        return None
    other_data = log_likelihood is not None and abs(own - log_likelihood) > SAME + 1e-6 * abs(own)
    if other_data or abs(own - found["log_likelihood"]) < 1e-9:
        return None
    maximum: MaximumContents = found
    return maximum


def estimate_contents(estimate: Estimate) -> EstimateContents:
    """What the probabilities of a model are."""
    found: Any = {**estimate.to_plain(), "log_likelihood": finite(estimate.log_likelihood)}
    contents: EstimateContents = found
    return contents


def share_missing(table: Table) -> float:
    """Share of the cells that are missing."""
    return float(table.weights @ (table.codes < 0).mean(axis=1) / table.weights.sum())


def weighted_rows(table: Table) -> int | None:
    """Rows whose weights are no counts. A count means repeating the row, and needs no word."""
    counts = np.array_equal(table.weights, np.round(table.weights))
    own_size = table.n != table.weights.sum()  # a sample size that was given is not a sum of weights
    return None if counts or own_size else int((table.inverse >= 0).sum())


def _score(criterion: Callable[[Fit], float], fit: Fit) -> float | None:
    """A score, None where it is not defined."""
    try:
        return finite(criterion(fit))
    except LatentreeError:
        return None


def _node(model: Model, v: int, marginal: FloatArray) -> NodeContents:
    tree = model.tree
    return {
        "name": latent_title(model, v),
        "parent": int(tree.parent[v]) if v else None,
        "latent": bool(tree.variable[v] < 0),
        "cardinality": int(tree.cardinality[v]),
        "labels": list(node_labels(model, v)),
        "question": "" if tree.variable[v] < 0 else model.variables[int(tree.variable[v])].label,
        "marginal": marginal.tolist(),
        "table": model.table(v).tolist(),
    }


def _latent(
    model: Model, z: int, sizes: FloatArray, curve: Curve, posterior: FloatArray | None, fit: Fit | None
) -> LatentContents:
    return {
        "node": z,
        "name": latent_title(model, z),
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


def _latent_posteriors(fit: Fit, impossible: NDArray[np.bool_]) -> dict[int, FloatArray]:
    """P(state | pattern) of every latent node; nan where the pattern is impossible."""
    tree, table = fit.model.tree, as_table(fit.table)
    unsure = [int(z) for z in tree.latent if tree.cardinality[z] > 1]
    found = Plan.of(fit.model, table).posteriors(fit.model.parameters, unsure) if unsure else []
    one = np.where(impossible, np.nan, 1.0)[:, None]
    sure = {int(z): one for z in tree.latent if tree.cardinality[z] == 1}
    return {**sure, **dict(zip(unsure, found, strict=True))}


def _in_data(posterior: FloatArray | None, fit: Fit | None) -> LatentInData:
    if posterior is None or fit is None:
        return {"counts": None, "relative_entropy": None}
    weights, p = as_table(fit.table).weights, posterior
    if np.isnan(p[:, 0]).any():
        possible = ~np.isnan(p[:, 0])
        weights, p = weights[possible], p[possible]
    most = float(weights.sum()) * math.log(max(p.shape[1], 1))
    relative = 1 - weighted_entropy(weights, p) / most if most > 0 else 1.0
    return {"counts": (weights @ p).tolist(), "relative_entropy": relative}


def _course(fit: Fit) -> FitCourse:
    return {
        "seconds": fit.seconds,
        "seed": fit.seed,
        "converged": fit.converged,
        "reason": fit.reason.value,
        "message": fit.reason.message,
        "n_iter": len(fit.trace),
    }


def finite(value: Any) -> float | None:
    """Turn numbers that JSON does not have into null."""
    return float(value) if value is not None and math.isfinite(value) else None
