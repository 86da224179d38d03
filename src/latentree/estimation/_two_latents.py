"""Two independent latent variables above every leaf ([Whiley1999] 4.8.8).

To the engine it is a star whose latent state is a pair: state ``i * k2 + j`` is (z1 = i, z2 = j). Its root table is the
product P(z1) P(z2), so that the M-step sets the two factors to the marginals of the root's expected counts. The EM loop
is the one of all fits: it is given these marginals as tables of their own (:class:`Factored`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._model import Model
from .._options import Number, Whole, Wholes, check, option
from .._table import Table, as_table
from .._tree import Tree
from .._types import FloatArray
from .._variables import numbered
from ..engine._plan import Passes, Plan
from ..errors import bad_parameter
from ._em_options import FitOptions, Value, or_none
from ._fit import Fit, Prior
from ._restarts import RestartOptions, fit_restarts, random_starts


@dataclass(frozen=True, eq=False)
class TwoLatentsOptions(FitOptions):
    """Options of fits with two latents."""

    n_init: int = option(64, Whole(1), "starts")
    q: float = option(2.0, Number(above=1), "one in so many starts goes on")
    start: Model | None = option(None, Value("a Model, or None", or_none(Model)), "instead of the first random start")


@dataclass(frozen=True, eq=False)
class TwoLatentsFit(Fit):
    """A fit whose root state is a pair of independent latents, of so many states."""

    n_states: tuple[int, int]

    @property
    def n_parameters(self) -> int:
        """Free probabilities: (k1 - 1) + (k2 - 1) and the leaves'."""
        k1, k2 = self.n_states
        return self.model.tree.n_parameters - (k1 * k2 - 1) + (k1 - 1) + (k2 - 1)

    @property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """P(z1) and P(z2)."""
        pair = self.model.table(0).reshape(self.n_states)
        return pair.sum(axis=1), pair.sum(axis=0)


def fit_two_latents(
    table: Table, n_states: tuple[int, int], *, rng: np.random.Generator, **options: Any
) -> TwoLatentsFit:
    """Fit two independent latents above every leaf from many random starts.

    Options are ``n_init`` (64) starts, of which after 1, 3, 7, 15, ... steps the best ``1 / q`` (2) go on; ``start``, a
    model whose parameters take the place of the first; and those of :func:`latentree.estimation.estimate`, the prior
    being one number, for the rows of P(z1) and P(z2) too.

    Examples
    --------
    >>> codes = np.random.default_rng(0).integers(0, 2, (200, 4))
    >>> fit = fit_two_latents(Table.from_codes(codes), (2, 2), rng=np.random.default_rng(1), n_init=4, tol=1e-3)
    >>> fit.n_parameters, bool((np.diff(fit.trace) >= -1e-9).all())
    (18, True)
    >>> p1, p2 = fit.factors
    >>> np.allclose(np.outer(p1, p2).ravel(), fit.model.table("z"))
    True
    """
    check("fit_two_latents", n_states=(tuple(n_states), Wholes(2, 1)))
    own: TwoLatentsOptions = TwoLatentsOptions.of(options, owner="fit_two_latents")
    k1, k2 = map(int, n_states)
    tree = Tree.star(k1 * k2, table.cardinalities, names=table.names)
    starts = random_starts(tree, own.n_init, rng)
    root = rng.standard_exponential((own.n_init, k1 + k2))  # P(z1) and P(z2) uniform on their simplices
    pair = root[:, :k1, None] * root[:, None, k1:]
    starts[:, : k1 * k2] = (pair / pair.sum(axis=(1, 2), keepdims=True)).reshape(own.n_init, -1)
    if own.start is not None:
        starts[0] = own.start.parameters
    return _run_em(Model(tree, table.variables, starts[0]), table, (k1, k2), starts, own)


def two_latents_em(fit: TwoLatentsFit, **options: Any) -> TwoLatentsFit:
    """EM from the parameters of a fit, with another prior perhaps."""
    own: TwoLatentsOptions = TwoLatentsOptions.of(options, owner="two_latents_em")
    return _run_em(fit.model, as_table(fit.table), fit.n_states, fit.model.parameters[None].copy(), own)


def _run_em(
    model: Model, table: Table, n_states: tuple[int, int], starts: FloatArray, options: TwoLatentsOptions
) -> TwoLatentsFit:
    passes = Factored(Plan.of(model, table), n_states)
    factored = passes.split(starts)
    own = {name: getattr(options, name) for name in FitOptions.names()}
    how = {"prior": passes.prior(options), "held": ("pair",), "plan": passes, "accelerate": False}
    racing = {
        "starts": factored,
        "n_init": len(starts),
        "q": options.q,
        "rng": np.random.default_rng(0),
    }  # draws nothing
    shape = Model(passes.tree, numbered(passes.tree.cardinality[passes.tree.manifest]), factored[0])
    found = fit_restarts(shape, table, RestartOptions.trusted({**own, **how, **racing}))
    return TwoLatentsFit(
        model.with_parameters(passes.joint(found.model.parameters[None])[0], provenance=model.provenance),
        table,
        replace(found.counts, vector=found.counts.vector[passes.n_factors :]),
        *(found.trace, found.reason, None, found.seconds, found.evaluations, found.starts, n_states),
    )


class Factored(Passes):
    """A star whose root state is a pair, as EM sees it: P(z1) and P(z2) are tables of their own.

    Its tree only lays the tables out. Below a root of one state stand z1, z2 and the pair, each with one row; below the
    pair stand the leaves. The table of the pair is held: the product of the other two takes its place in every pass.
    """

    def __init__(self, star: Plan, n_states: tuple[int, int]) -> None:
        k1, k2 = self.n_states = n_states
        below = star.tree.cardinality[1:]
        names = ("", "z1", "z2", "pair", *(f"leaf {i}" for i in range(len(below))))
        self.star, self.weight = star, star.weight
        self.n_factors = 1 + k1 + k2
        self.tree = Tree(
            np.array([-1, 0, 0, 0, *[3] * len(below)]),
            np.array([1, k1, k2, k1 * k2, *below]),
            np.array([-1, 0, 1, -1, *range(2, 2 + len(below))]),
            names=names,
        )

    def evaluate_batch(
        self, parameters: FloatArray, *, counts: bool = True, n_jobs: int = 1, lanes: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods and expected counts of several vectors in shared passes."""
        seen, found = self.star.evaluate_batch(self.joint(parameters), counts=counts, n_jobs=n_jobs, lanes=lanes)
        return seen, self.split(found)

    def joint(self, factored: FloatArray) -> FloatArray:
        """The star's vectors: the root is the product of the factors."""
        (k1, k2), n = self.n_states, self.n_factors
        out: FloatArray = factored[:, n:].copy()
        out[:, : k1 * k2] = (factored[:, 1 : 1 + k1, None] * factored[:, None, 1 + k1 : n]).reshape(-1, k1 * k2)
        return out

    def split(self, joint: FloatArray) -> FloatArray:
        """Vectors of the star, probabilities or counts, with the root's margins before them."""
        k1, k2 = self.n_states
        pair = joint[:, : k1 * k2].reshape(-1, k1, k2)
        return np.hstack([pair.sum(axis=(1, 2))[:, None], pair.sum(axis=2), pair.sum(axis=1), joint])

    def prior(self, options: FitOptions) -> Prior:
        """The same number for every row of P(z1), P(z2) and the leaves; none for what only holds the layout."""
        if options.prior is None:
            return None
        if isinstance(options.prior, Mapping):
            raise bad_parameter("prior", "fit_two_latents", "a number, or None", options.prior)
        alpha, none = float(options.prior), 1.0 if options.basis == "probability" else 0.0
        return {name: none if name in ("", "pair") else alpha for name in self.tree.names}
