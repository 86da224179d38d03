"""Standard errors and intervals of the probabilities of a fitted model.

The information is exact (:mod:`latentree.score._moments`), in the free parameters of the fit, constraints included.
Directions within the simplex are scaled so that complete data would give the identity: the eigenvalues are then the
shares of the information that the rows hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from .._model import Model, reordered
from .._options import Number, OneOf, check, renamed
from .._table import Table, as_table
from .._types import FloatArray
from ..errors import ModelError, bad_parameter
from ..estimation import Fit
from ..estimation._fit import Basis, Held, Prior, held_mask
from ..runner import Budget, Clock, OnProgress, StopReason
from ._bootstrap import Resampler, replicate, whole_and_rest
from ._layout import Layout, layout_of
from ._mode import refit
from ._moments import information_sums
from ._residuals import profiles_below

Method = Literal["information", "scores", "robust", "bootstrap"]
Mask = NDArray[np.bool_]

BOUNDARY = 1e-6
"""Probabilities this close to 0 or 1 are at the boundary."""

NO_INFORMATION = 1e-6
"""A direction of which the rows hold a smaller share of what complete data would is not identified."""

OFF_MAXIMUM = 0.01
"""A Newton step that would gain more log-likelihood than this shows that the fit is not at its maximum."""


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


@renamed
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
    methods = OneOf("information", "scores", "robust", "bootstrap")
    check("standard_errors", method=(method, methods), level=(level, Number(above=0, below=1)))
    if method != "bootstrap":
        return _from_information(fit, method, level, prior, basis, held)
    if rng is None:
        raise bad_parameter("rng", "standard_errors", "a numpy.random.Generator for the bootstrap", rng)
    resample = Resampler.of(fit.model, fit.table).draw if parametric else _of_rows(fit)
    pair, finalists = layout_of(fit).pair, min(2, n_init)

    def one(own: np.random.Generator) -> FloatArray:
        again = refit(
            fit, resample(own), rng=own, n_init=n_init, finalists=finalists, prior=prior, basis=basis, held=held
        )
        return matched_labels(again.model, fit.model, pair=pair).parameters

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


def _from_information(fit: Fit, method: str, level: float, prior: Prior, basis: Basis, held: Held) -> StandardErrors:
    model, layout = fit.model, layout_of(fit)
    theta, pseudo = layout.parameters(model), layout.pseudo(prior, basis)
    found = fit.table.map_parts(lambda table: information_sums(model, table))
    rows, products, pairs = (np.sum(own, axis=0) for own in zip(*found, strict=True))
    seen = layout.counts(rows)
    products = layout.covariance(products)
    pairs = layout.covariance(pairs + np.diag(rows)) - np.diag(seen)  # none within one row
    counts = seen if pseudo is None else seen + pseudo
    n = layout.spread(layout.sums(counts))
    fixed = _constant(layout, held)
    boundary = _at_boundary(layout, theta, fixed)
    empty = ~fixed & (n <= BOUNDARY * max(1.0, fit.counts.weight))
    ways = _directions(layout, theta, ~fixed & ~boundary & ~empty, n)

    scaled = np.outer(ways.scale, ways.scale)
    products = products[np.ix_(ways.at, ways.at)] * scaled
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

    # from the free parameters to the probabilities of the model
    moves = np.zeros((len(theta), ways.spread.shape[1]))
    moves[ways.at] = ways.spread
    by = layout.moves(theta)
    moves = moves if by is None else by @ moves
    fixed, boundary, empty = ~layout.touched(~fixed), layout.touched(boundary), layout.touched(empty)
    # A probability is determined if no direction without information moves it.
    lost = np.abs(moves @ vectors[:, ~known]).max(axis=1, initial=0.0)
    unidentified = empty | (lost > 1e-4 * np.linalg.norm(moves, axis=1))
    covariance = moves @ inverse @ moves.T
    none = boundary | unidentified
    covariance[none] = covariance[:, none] = np.nan
    covariance[fixed] = covariance[:, fixed] = 0.0
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    lower, upper = _logit_interval(model.parameters, errors, level)
    warnings = tuple(
        _warnings(model, errors, boundary, unidentified, float(values.min(initial=1.0)), gain, pseudo is not None)
    )
    return StandardErrors(model, method, level, errors, lower, upper, covariance, boundary, unidentified, warnings)


def _directions(layout: Layout, theta: FloatArray, free: Mask, n: FloatArray) -> _Directions:
    at = np.flatnonzero(free)
    rows = np.repeat(np.arange(len(layout.widths)), layout.widths)[at]
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


def _constant(layout: Layout, held: Held) -> Mask:
    """What was held, alone in its row, or all that is left of a row otherwise held: known without error."""
    mask = held_mask(layout.tree, held)
    if mask is not None and layout.pair is not None:
        raise ModelError("With two latents above every leaf no table can be held.")
    known: Mask = np.zeros(int(layout.widths.sum()), dtype=bool) if mask is None else mask.astype(bool)
    known |= _in_row(layout, ~known) == 1
    return known


def _at_boundary(layout: Layout, theta: FloatArray, fixed: Mask) -> Mask:
    """Probabilities at 0, and those that are all that is left of their row then."""
    zero: Mask = ~fixed & (theta < BOUNDARY)
    zero |= ~fixed & (_in_row(layout, ~fixed & ~zero) == 1)
    return zero


def _in_row(layout: Layout, marked: Mask) -> FloatArray:
    """How many entries of its row are marked, for every entry."""
    return layout.spread(layout.sums(marked.astype(np.float64)))


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
            f"The fit is not at a maximum, so standard errors there mean little. Fit with a smaller tolerance{other}."
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


# ---- by the bootstrap ---------------------------------------------------------------------------------------------


def _of_rows(fit: Fit) -> Callable[[np.random.Generator], Table]:
    """Draw rows with replacement."""
    table = as_table(fit.table)
    weights = table.weights
    shares = weights / weights.sum()
    whole, rest = whole_and_rest(np.array([weights.sum()]))

    def draw(rng: np.random.Generator) -> Table:
        drawn = rng.multinomial(int(whole[0]), shares).astype(np.float64)
        return table.reweighted(drawn + rest[0] * rng.multinomial(1, shares) if rest[0] else drawn)

    return draw


def _from_replicates(fit: Fit, drawn: FloatArray, level: float, reason: StopReason) -> StandardErrors:
    tree = fit.model.tree
    plain = Layout(tree)
    boundary = _at_boundary(plain, fit.model.parameters, _constant(plain, ()))
    covariance = np.full((tree.size, tree.size), np.nan)
    ends = np.full((2, tree.size), np.nan)
    warnings = []
    if len(drawn) < 2:
        warnings.append("Fewer than two bootstrap samples were done: there are no standard errors.")
    else:
        covariance = np.cov(drawn, rowvar=False).reshape(tree.size, tree.size)
        ends = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    if boundary.any():
        many = f"{int(boundary.sum())} of the {tree.size} probabilities"
        warnings.append(f"{many} are 0 or 1, where bootstrap intervals are too short.")
    errors, unidentified = np.sqrt(covariance.diagonal()), np.zeros(tree.size, dtype=bool)
    found = (errors, *ends, covariance, boundary, unidentified, tuple(warnings), len(drawn), reason)
    return StandardErrors(fit.model, "bootstrap", level, *found)


def matched_labels(model: Model, reference: Model, *, pair: tuple[int, int] | None = None) -> Model:
    """The same model with the states of every latent variable in the order that is most like another model's.

    States are compared by what they say about all manifest variables: the sum of absolute differences of
    P(variable | state) is made smallest by optimal assignment, for each latent variable by itself.
    """
    tree = model.tree
    if not np.array_equal(tree.parent, reference.tree.parent) or not np.array_equal(
        tree.cardinality, reference.tree.cardinality
    ):
        raise ModelError("States can only be matched between models of the same structure.")
    from scipy.optimize import linear_sum_assignment  # which takes longer to load than all else here

    parameters = model.parameters
    for z in tree.latent:
        ours, theirs = _profile(model, int(z)), _profile(reference, int(z))
        cost = np.abs(theirs[:, None, :] - ours[None, :, :]).sum(axis=2)
        order = linear_sum_assignment(cost)[1] if pair is None else _order_of_pairs(cost, pair)
        parameters = reordered(tree, parameters, int(z), order)
    return model.with_parameters(parameters, provenance=model.provenance)


def _order_of_pairs(cost: FloatArray, pair: tuple[int, int]) -> NDArray[np.int64]:
    """The cheapest order of pairs of states that is an order of the first latent's states and one of the second's."""
    from scipy.optimize import linear_sum_assignment

    k1, k2 = pair
    states = np.arange(k1 * k2).reshape(pair)
    best, order = np.inf, states.ravel()
    for own in (states, states.T) if k1 == k2 else (states,):
        for first in permutations(range(k1)):
            moved = own[list(first)]  # [state of the first, of the second]
            of_second = cost[states[:, :, None], moved[:, None, :]].sum(axis=0)
            at, to = linear_sum_assignment(of_second)
            if of_second[at, to].sum() < best:
                best, order = of_second[at, to].sum(), moved[:, to].ravel()
    return order


def _profile(model: Model, z: int) -> FloatArray:
    """P(variable | state of z) of all variables, their states side by side."""
    at, values = profiles_below(model.rerooted(z))[0]
    return values[:, np.argsort(at)]
