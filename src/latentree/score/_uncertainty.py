"""Standard errors and intervals of the probabilities of a fitted model.

The information is exact. P(row) is linear in each table, so that, with a and b entries of the flat vector and E(a | x)
the posterior probability that row x uses entry a,

    d log P(x) / da       = E(a | x) / a
    d2 log P(x) / da db   = [E(a, b | x) - E(a | x) E(b | x)] / (a b),    E(a, b | x) = 0 within one table

(Louis, J. R. Statist. Soc. B 44 (1982) 226-233, for a tree). Directions within the simplex are scaled so that complete
data would give the identity: the eigenvalues are then the shares of the information that the rows hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logit, logsumexp, ndtri

from .._model import Model, reordered, row_sums, spread
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..errors import DataError, ModelError, bad_parameter
from ..estimation import Fit, restart_em
from ..estimation._fit import Basis, Held, Prior, held_mask, pseudo_counts
from ..runner import Budget, Clock, OnProgress, StopReason
from ._absolute import matched
from ._bootstrap import Resampler, replicate, whole_counts
from ._residuals import profiles_below

__all__ = ["StandardErrors", "information_sums", "matched_labels", "standard_errors"]

Method = Literal["information", "scores", "robust", "bootstrap"]
Mask = NDArray[np.bool_]

BOUNDARY = 1e-6
"""Probabilities this close to 0 or 1 are at the boundary."""

NO_INFORMATION = 1e-6
"""A direction of which the rows hold a smaller share of what complete data would is not identified."""

OFF_MAXIMUM = 0.01
"""A Newton step that would gain more log-likelihood than this shows that the fit is not at its maximum."""

NEGLIGIBLE = 1e-100
"""Smaller posteriors are zero: products of them would be denormal numbers, which are slow."""

BLOCK_CELLS = 2**22
"""Patterns times parameters at a time."""


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors of every probability; see :func:`standard_errors`.

    Attributes
    ----------
    model : Model
        The fitted model.
    method : str
        How they were found.
    level : float
        Coverage of the intervals.
    errors, lower, upper : float array
        Laid out like the model's parameters: standard errors and ends of the intervals; ``nan`` where there are none.
    covariance : float array [parameters, parameters]
        Covariances; rows of a table of probabilities sum to zero, since they must stay distributions.
    boundary : bool array
        Probabilities at 0 or 1, which have no standard error from the information.
    unidentified : bool array
        Probabilities that the data do not determine.
    warnings : tuple of str
        What to know before using them.
    n_replicates : int or None
        Bootstrap samples done.
    reason : StopReason
        Why it ended.
    """

    model: Model
    method: str
    level: float
    errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    covariance: FloatArray
    boundary: Mask
    unidentified: Mask
    warnings: tuple[str, ...] = ()
    n_replicates: int | None = None
    reason: StopReason = StopReason.FINISHED

    def table(self, node: str | int, what: Literal["errors", "lower", "upper"] = "errors") -> FloatArray:
        """Return the part of one node in the shape of its table: a row for each state of the parent."""
        tree = self.model.tree
        v = tree.node(node)
        values: FloatArray = getattr(self, what)
        return values[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], tree.cardinality[v])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, node by node; None where there is no number."""

        def plain(node: int, what: Literal["errors", "lower", "upper"]) -> list[list[float | None]]:
            return [[float(x) if np.isfinite(x) else None for x in row] for row in self.table(node, what)]

        return {
            "method": self.method,
            "level": self.level,
            "n_replicates": self.n_replicates,
            "warnings": list(self.warnings),
            "nodes": {
                name: {
                    "probabilities": self.model.table(v).tolist(),
                    "standard_errors": plain(v, "errors"),
                    "lower": plain(v, "lower"),
                    "upper": plain(v, "upper"),
                }
                for v, name in enumerate(self.model.tree.names)
            },
        }

    def __repr__(self) -> str:
        known = int(np.isfinite(self.errors).sum())
        return f"<StandardErrors: {self.method}, {known} of {len(self.errors)} probabilities>"


def standard_errors(
    fit: Fit,
    *,
    method: Method = "information",
    level: float = 0.95,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    rng: np.random.Generator | None = None,
    n_replicates: int = 200,
    parametric: bool = False,
    n_init: int = 1,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    budget: Budget | Clock | None = None,
) -> StandardErrors:
    """Standard errors and intervals of every probability of a fitted model.

    Parameters
    ----------
    fit : Fit
        A fitted model, any tree.
    method : {"information", "scores", "robust", "bootstrap"}
        ``information``: inverse of the observed information, computed exactly. ``scores``: inverse of the summed
        products of the rows' scores, as poLCA does. ``robust``: the sandwich of the two, which holds when the model is
        wrong. ``bootstrap``: spread over samples drawn again.
    level : float, default 0.95
        Coverage of the intervals: normal on the logit scale, so that they stay within 0 and 1; quantiles for the
        bootstrap.
    prior, basis, held
        What the fit was made with. A prior adds to the information; what was held has no error.
    rng : numpy.random.Generator
        Source of the bootstrap samples; needed for them only.
    n_replicates : int, default 200
        Bootstrap samples.
    parametric : bool, default False
        Draw bootstrap samples from the model instead of from the rows.
    n_init : int, default 1
        Starts of each bootstrap fit; the first is the fitted model. States are matched to those of the fit.
    n_jobs, on_progress, budget
        As in :func:`~latentree.score.bootstrap_fit`.

    Returns
    -------
    StandardErrors
        Probabilities at the boundary are held there, and have no standard error except by the bootstrap.

    Examples
    --------
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> fit = fit_classes(datasets.load("values"), 2, rng=np.random.default_rng(0), tol=1e-9)
    >>> found = standard_errors(fit)
    >>> found.table("B").round(3).tolist()
    [[0.05, 0.05], [0.066, 0.066]]
    """
    if method not in ("information", "scores", "robust", "bootstrap"):
        must = "'information', 'scores', 'robust' or 'bootstrap'"
        raise bad_parameter("method", "standard_errors", must, method)
    if not 0 < level < 1:
        raise bad_parameter("level", "standard_errors", "a number between 0 and 1", level)
    if method != "bootstrap":
        return _from_information(fit, method, level, pseudo_counts(fit.model.tree, prior, basis), held)
    if rng is None:
        raise bad_parameter("rng", "standard_errors", "a numpy.random.Generator for the bootstrap", rng)
    resample = _parametric(fit) if parametric else _of_rows(fit)
    finalists = min(2, n_init)

    def one(own: np.random.Generator) -> FloatArray:
        again = restart_em(
            fit.model,
            resample(own),
            rng=own,
            n_init=n_init,
            finalists=finalists,
            include=True,
            prior=prior,
            basis=basis,
            held=held,
        )
        return matched_labels(again.model, fit.model).parameters

    done, reason = replicate(
        one, n_replicates, rng, stage="bootstrap", n_jobs=n_jobs, on_progress=on_progress, budget=budget
    )
    return _from_replicates(fit, np.array(done).reshape(len(done), fit.model.tree.size), level, reason)


# ---- by the information -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions in which free probabilities can move, scaled to information one in complete data."""

    at: NDArray[np.int64]  # the free entries
    scale: FloatArray  # what their derivatives are multiplied by
    basis: FloatArray  # [free entries, directions]: orthonormal, and orthogonal to the square roots in each row
    spread: FloatArray  # [free entries, directions]: the moves of the probabilities themselves


def _from_information(fit: Fit, method: str, level: float, pseudo: FloatArray | None, held: Held) -> StandardErrors:
    model, tree = fit.model, fit.model.tree
    theta = model.parameters
    found = fit.table.map_parts(lambda table: information_sums(model, table))
    rows, grams, pairs = (np.sum(own, axis=0) for own in zip(*found, strict=True))
    counts = rows if pseudo is None else rows + pseudo
    fixed = _constant(tree, held)
    boundary = _at_boundary(tree, theta, fixed)
    empty = ~fixed & (spread(tree, row_sums(tree, counts)) <= BOUNDARY * max(1.0, fit.counts.weight))
    ways = _directions(tree, theta, ~fixed & ~boundary & ~empty, spread(tree, row_sums(tree, counts)))

    scaled = np.outer(ways.scale, ways.scale)
    products = grams[np.ix_(ways.at, ways.at)] * scaled
    hessian = products - pairs[np.ix_(ways.at, ways.at)] * scaled
    if pseudo is not None:
        hessian += np.diag((pseudo / theta.clip(BOUNDARY))[ways.at] * ways.scale**2 * theta[ways.at])
    slopes = ways.basis.T @ (counts[ways.at] * ways.scale)
    outer, inner = (ways.basis.T @ m @ ways.basis for m in (products, hessian))
    values, vectors = np.linalg.eigh(outer if method == "scores" else inner)
    known = values > NO_INFORMATION
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
    gain = 0.5 * float(slopes @ inverse @ slopes)
    if method == "robust":
        inverse = inverse @ outer @ inverse
    # A probability is determined if no direction without information moves it.
    lost = np.abs(ways.spread @ vectors[:, ~known]).max(axis=1, initial=0.0)
    unidentified = empty.copy()
    unidentified[ways.at] = lost > 1e-4 * np.linalg.norm(ways.spread, axis=1)

    covariance = np.full((tree.size, tree.size), np.nan)
    covariance[np.ix_(ways.at, ways.at)] = ways.spread @ inverse @ ways.spread.T
    covariance[unidentified] = covariance[:, unidentified] = np.nan
    covariance[fixed] = covariance[:, fixed] = 0.0
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    lower, upper = _logit_interval(theta, errors, level)
    said = tuple(
        _warnings(model, errors, boundary, unidentified, float(values.min(initial=1.0)), gain, pseudo is not None)
    )
    return StandardErrors(model, method, level, errors, lower, upper, covariance, boundary, unidentified, said)


def _directions(tree: Tree, theta: FloatArray, free: Mask, n: FloatArray) -> _Directions:
    at = np.flatnonzero(free)
    rows = np.repeat(np.arange(int(tree.rows.sum())), _widths(tree))[at]
    parts, columns = [], 0
    for row in np.unique(rows):
        own = np.flatnonzero(rows == row)
        root = np.sqrt(theta[at[own]])
        across = np.linalg.svd(root[None, :])[2][1:].T
        parts.append((own, columns, across))
        columns += across.shape[1]
    basis = np.zeros((len(at), columns))
    for own, start, across in parts:
        basis[own, start : start + across.shape[1]] = across
    scale = 1.0 / np.sqrt(theta[at] * n[at])
    return _Directions(at, scale, basis, np.sqrt(theta[at] / n[at])[:, None] * basis)


def _constant(tree: Tree, held: Held) -> Mask:
    """What was held, alone in its row, or all that is left of a row otherwise held: known without error."""
    mask = held_mask(tree, held)
    known: Mask = np.zeros(tree.size, dtype=bool) if mask is None else mask.astype(bool)
    known |= _in_row(tree, ~known) == 1
    return known


def _at_boundary(tree: Tree, theta: FloatArray, fixed: Mask) -> Mask:
    """Probabilities at 0, and those that are all that is left of their row then."""
    zero: Mask = ~fixed & (theta < BOUNDARY)
    zero |= ~fixed & (_in_row(tree, ~fixed & ~zero) == 1)
    return zero


def _in_row(tree: Tree, marked: Mask) -> FloatArray:
    """How many entries of its row are marked, for every entry."""
    return spread(tree, row_sums(tree, marked.astype(np.float64)))


def _widths(tree: Tree) -> NDArray[np.int64]:
    """Entries of each row of each table."""
    return np.repeat(tree.cardinality.astype(np.int64), tree.rows)


def _logit_interval(theta: FloatArray, errors: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    inside = np.isfinite(errors) & (errors > 0)
    lower, upper = (np.where(errors == 0, theta, np.nan) for _ in range(2))
    p = theta[inside]
    middle, half = logit(p), float(ndtri(0.5 + level / 2)) * errors[inside] / (p * (1 - p))
    lower[inside], upper[inside] = expit(middle - half), expit(middle + half)
    return lower, upper


def _warnings(
    model: Model, errors: FloatArray, boundary: Mask, unidentified: Mask, least: float, gain: float, prior: bool
) -> Iterator[str]:
    theta = model.parameters
    if least < -NO_INFORMATION:
        yield (
            "The information has a negative eigenvalue: the fit is not at a maximum. Fit with a smaller tolerance and "
            "more starts."
        )
    elif unidentified.any():
        yield (
            f"The data do not determine {int(unidentified.sum())} of the {len(theta)} probabilities (states that are "
            "empty or coincide, or too many of them), which have no standard error. Use fewer states."
        )
    if gain > OFF_MAXIMUM:
        other = "" if prior else ", or say which prior it was made with"
        yield (
            "The fit is not at a maximum, so that standard errors there mean little. Fit with a smaller tolerance"
            f"{other}."
        )
    if boundary.any():
        yield (
            f"{int(boundary.sum())} of the {len(theta)} probabilities are 0 or 1. They are held there and have no "
            "standard error, and those of the others may be too small. Use the bootstrap, or a prior above 1."
        )
    with np.errstate(invalid="ignore"):
        near = int((errors > np.minimum(theta, 1 - theta)).sum())
    if near:
        yield (
            f"{near} probabilities are within one standard error of 0 or 1, where the normal approximation is poor. "
            "Prefer the bootstrap for them."
        )


def information_sums(model: Model, table: Table) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over the rows of E(a | x), E(a | x) E(b | x) and E(a, b | x), as at the head of this module.

    The matrix of second derivatives is ``(third - second) / outer(parameters, parameters)``.

    Parameters
    ----------
    model, table
        A model and data.

    Returns
    -------
    tuple of float arrays [size], [size, size], [size, size]
    """
    own, tree = matched(model, table), model.tree
    first, second = np.zeros(tree.size), np.zeros((tree.size, tree.size))
    third = np.zeros((tree.size, tree.size))
    step = max(1, BLOCK_CELLS // tree.size)
    for start in range(0, own.n_patterns, step):
        part = slice(start, start + step)
        weights = own.weights[part]
        nodes, edges = _posteriors(model, own.codes[part])
        above = [np.ones((len(weights), 1)), *(nodes[u] for u in tree.parent[1:])]
        used = np.hstack([(p[:, :, None] * e).reshape(len(weights), -1) for p, e in zip(above, edges, strict=True)])
        first += weights @ used
        second += used.T @ (weights[:, None] * used)
        for v in range(tree.n_nodes):
            if tree.children[v]:
                _add_pairs(third, tree, v, weights[:, None], above[v], nodes[v], edges)
    return first, second, third


def _posteriors(model: Model, codes: NDArray[np.int16]) -> tuple[list[FloatArray], list[FloatArray]]:
    """P(node | x) [rows, states], and P(node | parent, x) [rows, parent's states, states], of every node."""
    tree, n = model.tree, len(codes)
    log_below = [np.zeros((n, int(k))) for k in tree.cardinality]
    edges: list[FloatArray] = [np.empty(0)] * tree.n_nodes
    with np.errstate(divide="ignore", invalid="ignore"):
        for v in reversed(range(tree.n_nodes)):
            i = int(tree.variable[v])
            if i >= 0:
                other = codes[:, i, None] != np.arange(tree.cardinality[v])
                log_below[v][(codes[:, i, None] >= 0) & other] = -np.inf
            joint = np.log(model.table(v)) + log_below[v][:, None, :]
            total = logsumexp(joint, axis=2)
            edge = np.nan_to_num(np.exp(joint - total[:, :, None]), nan=0.0)
            edge[edge < NEGLIGIBLE] = 0.0
            edges[v] = edge
            if v:
                log_below[tree.parent[v]] += total
            elif np.isneginf(total).any():
                raise DataError("The model cannot produce some of the rows: there is no information at zero.")
    nodes = [edges[0][:, 0, :]]
    for v in range(1, tree.n_nodes):
        node = np.einsum("ni,nij->nj", nodes[tree.parent[v]], edges[v])
        node[node < NEGLIGIBLE] = 0.0
        nodes.append(node)
    return nodes, edges


def _add_pairs(
    out: FloatArray,
    tree: Tree,
    v: int,
    weights: FloatArray,
    above: FloatArray,
    here: FloatArray,
    edges: list[FloatArray],
) -> None:
    """Add E(a, b | x) for pairs that meet in v: a in its own table and b below, or a and b in different branches."""
    own = np.arange(tree.offsets[v], tree.offsets[v + 1]).reshape(tree.rows[v], -1)
    for state in range(int(tree.cardinality[v])):
        at, branch, given = _given_state(tree, v, state, edges)
        down = (weights * above * edges[v][:, :, state]).T @ given
        out[np.ix_(own[:, state], at)] += down
        out[np.ix_(at, own[:, state])] += down.T
        across = given.T @ (weights * here[:, state, None] * given)
        across[branch[:, None] == branch] = 0.0
        out[np.ix_(at, at)] += across


def _given_state(
    tree: Tree, v: int, state: int, edges: list[FloatArray]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """E(a | v = state, x) of the entries below v that it allows: where they are, in which branch, and the values."""
    at, branch, values = [], [], []
    for c in tree.children[v]:
        first = edges[c][:, state, :]
        k = first.shape[1]
        at.append(tree.offsets[c] + state * k + np.arange(k))
        branch.append(np.full(k, c))
        values.append(first)
        deeper = [(c, first)]
        for u, p in deeper:
            for d in tree.children[u]:
                joint = p[:, :, None] * edges[d]
                at.append(np.arange(tree.offsets[d], tree.offsets[d + 1]))
                branch.append(np.full(len(at[-1]), c))
                values.append(joint.reshape(len(joint), -1))
                deeper.append((d, joint.sum(axis=1)))
    return np.concatenate(at), np.concatenate(branch), np.hstack(values)


# ---- by the bootstrap ---------------------------------------------------------------------------------------------


def _of_rows(fit: Fit) -> Callable[[np.random.Generator], Table]:
    """Draw rows with replacement."""
    weights = fit.table.weights
    n = int(whole_counts(np.array([weights.sum()]))[0])
    return lambda rng: fit.table.reweighted(rng.multinomial(n, weights / weights.sum()).astype(np.float64))


def _parametric(fit: Fit) -> Callable[[np.random.Generator], Table]:
    return Resampler.of(fit.model, fit.table).draw


def _from_replicates(fit: Fit, drawn: FloatArray, level: float, reason: StopReason) -> StandardErrors:
    tree = fit.model.tree
    boundary = _at_boundary(tree, fit.model.parameters, _constant(tree, ()))
    covariance = np.full((tree.size, tree.size), np.nan)
    ends = np.full((2, tree.size), np.nan)
    said = []
    if len(drawn) < 2:
        said.append("Fewer than two bootstrap samples were done: there are no standard errors.")
    else:
        covariance = np.cov(drawn, rowvar=False).reshape(tree.size, tree.size)
        ends = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    if boundary.any():
        many = f"{int(boundary.sum())} of the {tree.size} probabilities"
        said.append(f"{many} are 0 or 1, where bootstrap intervals are too short.")
    return StandardErrors(
        model=fit.model,
        method="bootstrap",
        level=level,
        errors=np.sqrt(covariance.diagonal()),
        lower=ends[0],
        upper=ends[1],
        covariance=covariance,
        boundary=boundary,
        unidentified=np.zeros(tree.size, dtype=bool),
        warnings=tuple(said),
        n_replicates=len(drawn),
        reason=reason,
    )


def matched_labels(model: Model, reference: Model) -> Model:
    """The same model with the states of every latent variable in the order that is most like another model's.

    States are compared by what they say about all manifest variables: the sum of absolute differences of
    P(variable | state) is made smallest by optimal assignment, for each latent variable by itself.

    Parameters
    ----------
    model, reference : Model
        Two models with the same structure.

    Examples
    --------
    >>> from latentree._variables import numbered
    >>> rng = np.random.default_rng(0)
    >>> one = Model.random(Tree.star(3, [2, 2, 2, 2]), numbered([2, 2, 2, 2]), rng)
    >>> other = one.with_parameters(reordered(one.tree, one.parameters, 0, np.array([2, 0, 1])))
    >>> matched_labels(other, one) == one
    True
    """
    tree = model.tree
    if not np.array_equal(tree.parent, reference.tree.parent) or not np.array_equal(
        tree.cardinality, reference.tree.cardinality
    ):
        raise ModelError("States can only be matched between models of the same structure.")
    parameters = model.parameters
    for z in tree.latent:
        ours, theirs = _profile(model, int(z)), _profile(reference, int(z))
        cost = np.abs(theirs[:, None, :] - ours[None, :, :]).sum(axis=2)
        parameters = reordered(tree, parameters, int(z), linear_sum_assignment(cost)[1])
    return model.with_parameters(parameters, provenance=model.provenance)


def _profile(model: Model, z: int) -> FloatArray:
    """P(variable | state of z) of all variables, their states side by side."""
    at, values = profiles_below(model.rerooted(z))[0]
    return values[:, np.argsort(at)]
