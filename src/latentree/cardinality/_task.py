"""What every learner of numbers of states needs: the data, a criterion, constants, and EM on whole models or stars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._data import Data
from .._model import Model
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import ModelError
from ..estimation._em import EmRuns, em
from ..estimation._fit import Basis, Fit, Prior, evaluate
from ..estimation._restarts import restart_em, successive_halving
from ..method import AnyOf, Flag, Number, OneOf, Options, Whole, option
from ..runner import Budget, Clock, StopReason
from ._directions import DIRECTIONS
from ._neighbourhood import Neighbourhood
from ._states import States

Criterion = Callable[[Fit], float]
"""What decides between fits; higher is better."""


@dataclass(frozen=True)
class Settings(Options):
    """Options that all learners share, with the values of [Karciauskas2005] 6.3.1 unless said otherwise.

    ``Settings.described()`` lists them. Karciauskas' ``delta`` is lost in the text; ours is 0.1. With ``local`` only
    the tables around a changed node move first, and all tables after that ([Karciauskas2005] 7.3.4, 8); for a latent
    class model there is no difference. ``adjust`` is that of [Karciauskas2005] table 6.15; ``prior`` and ``basis`` are
    as in :func:`latentree.estimation.estimate`.
    """

    n_splits: int = option(
        16, Whole(1), "random splits of each state, N0 in Karciauskas' Split; first of StandardFixed"
    )
    n_init: int = option(64, Whole(1), "random starts of Standard3")
    p: float = option(0.001, Number(above=0, below=1), "length of a split's direction")
    direction: str = option("random", OneOf(*DIRECTIONS), "which way to split; the last three leave nothing to chance")
    q: float = option(2.0, Number(above=1), "one in how many starts goes on in multiple restart EM")
    q_merge: float = option(10.0, Number(above=1), "the same when merging and adjusting")
    delta: float = option(0.1, Number(least=0), "least gain of the score for which adjusting is accepted")
    adjust: bool = option(True, Flag(), "whether parameters are adjusted when neither splitting nor merging helps")
    local: bool = option(False, Flag(), "on trees, fit the tables around a changed node first")
    tol: float = option(0.01, Number(least=0), "least gain of a step of EM")
    max_iterations: int = option(200, Whole(1), "most steps of EM")
    accelerate: bool = option(False, Flag(), "whether EM is accelerated")
    prior: Prior = None
    basis: Basis = option("probability", OneOf("probability", "softmax"), "where the posterior is at its mode")
    max_states: int | None = option(
        None, AnyOf(Whole(1), OneOf(None)), "most states of a latent node; None: distinct rows"
    )
    n_jobs: int = option(1, Whole(1), "threads; they do not change the result")


@dataclass(frozen=True, eq=False)
class Task:
    """Data to learn from, and how.

    Attributes
    ----------
    table : Data
        The data.
    criterion : callable
        Score of a fit; higher is better.
    settings : Settings
        The options of the learner.
    clock : Clock
        When to stop.
    start : Model or None
        The model to start from.
    given : bool
        Whether that is a model to improve; otherwise its parameters mean nothing.
    resumable : bool
        Whether the work is kept in a file: then a step that ran out of time is dropped, to be taken again as a whole.
    scored : list of (Fit, float)
        What was scored since the learner last cleared it.
    """

    table: Data
    criterion: Criterion
    settings: Settings = Settings()
    clock: Clock = field(default_factory=lambda: Budget().start())
    start: Model | None = None
    given: bool = False
    resumable: bool = False
    scored: list[tuple[Fit, float]] = field(default_factory=list, repr=False)
    _stars: list[Neighbourhood] = field(default_factory=list, repr=False)

    @property
    def first(self) -> Model:
        """The model to start from."""
        if self.start is None:
            raise ModelError("There is no model to start from.")
        return self.start

    @property
    def max_states(self) -> int:
        """Most states of a latent node: more than there are distinct rows cannot be told apart."""
        most = self.table.n_patterns
        return most if self.settings.max_states is None else min(most, self.settings.max_states)

    def only_latent(self, model: Model) -> str:
        """The one latent node of a model, for algorithms that know of one only."""
        names = [model.tree.names[z] for z in model.tree.latent]
        if len(names) != 1:
            raise ModelError("This method learns one latent node; the model has {n}.", n=len(names))
        return str(names[0])

    def score(self, fit: Fit) -> float:
        """The score of a fit, which is added to ``scored``; a fit is scored once."""
        for own, score in self.scored:
            if own is fit:
                return score
        score = float(self.criterion(fit))
        self.scored.append((fit, score))
        return score

    # ---- whole models ----------------------------------------------------------------------------------------

    def fit(self, model: Model) -> Fit:
        """EM from the model's own parameters to the end."""
        return _not_interrupted(em(model, self.table, **self._em))

    def restart(
        self,
        model: Model,
        rng: np.random.Generator,
        *,
        n_init: int | None = None,
    ) -> Fit:
        """Multiple restart EM from ``n_init`` random points."""
        own = {"n_init": n_init, "q": self.settings.q, **self._em}
        return _not_interrupted(restart_em(model, self.table, rng=rng, **own))

    def restart_from(
        self, star: Neighbourhood, candidates: Sequence[States], rng: np.random.Generator, *, q: float | None = None
    ) -> Fit:
        """Multiple restart EM of the whole model, from several sets of states of equal number at the node."""
        starts = star.whole_vectors(candidates)
        own = {"n_init": len(starts), "starts": starts, "q": q or self.settings.q, **self._em}
        return _not_interrupted(restart_em(star.whole(candidates[0]), self.table, rng=rng, **own))

    @property
    def _em(self) -> dict[str, Any]:
        names = ("prior", "basis", "accelerate", "tol", "max_iterations", "n_jobs")
        return {"budget": self.clock, **{name: getattr(self.settings, name) for name in names}}

    # ---- one latent node and its neighbours --------------------------------------------------------------------

    def star(self, model: Model, node: str | int) -> Neighbourhood:
        """The neighbourhood of a latent node; that of a latent class model, with its plans, is made once."""
        for known in self._stars:
            if model.tree.names == known.model.tree.names and (model.tree.parent == known.model.tree.parent).all():
                return replace(known, model=model)
        star = Neighbourhood.around(model, self.table, node)
        if star.is_whole and star.nodes == tuple(range(model.tree.n_nodes)):
            self._stars.append(star)
        return star

    def fit_states(
        self,
        star: Neighbourhood,
        starts: Sequence[States] | FloatArray,
        *,
        q: float | None = None,
        finalists: int = 1,
        tol: float | None = None,
        max_iterations: int | None = None,
    ) -> tuple[States, float]:
        """Multiple restart EM in a star, from states of equal number; the best, and its log-likelihood."""
        runs = self.run_states(star, starts, q=q, finalists=finalists, tol=tol, max_iterations=max_iterations)
        best = int(np.argmax(runs.objectives))
        return States.of(runs.parameters(best), star.widths), runs.counts(best).log_likelihood

    def run_states(
        self,
        star: Neighbourhood,
        starts: Sequence[States] | FloatArray,
        *,
        q: float | None = None,
        finalists: int = 1,
        tol: float | None = None,
        max_iterations: int | None = None,
    ) -> EmRuns:
        """Multiple restart EM in a star, from states of equal number; the runs that went to the end."""
        s = self.settings
        flat = starts if isinstance(starts, np.ndarray) else np.stack([states.flat for states in starts])
        plan = star.plan(flat.shape[1] // (1 + sum(star.widths)))
        prior = _prior_of(plan, s.prior)
        runs = EmRuns(plan, flat, prior=prior, basis=s.basis, accelerate=s.accelerate, n_jobs=s.n_jobs)
        stopped = successive_halving(
            runs,
            self.clock,
            q=q or s.q,
            finalists=finalists,
            tol=s.tol if tol is None else tol,
            early_tol=None
            if s.accelerate
            else 0.0,  # plain EM is slow to leave a split state: [Karciauskas2005] lets it
            max_iterations=max_iterations or s.max_iterations,
        )
        if stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return runs

    def evaluate(self, star: Neighbourhood, states: States) -> Fit:
        """The whole model with these states at the node, evaluated without EM."""
        counts = star.plan(states.n).evaluate(states.flat, n_jobs=self.settings.n_jobs) if star.is_whole else None
        return evaluate(star.whole(states), self.table, counts=counts, n_jobs=self.settings.n_jobs)

    def fit_from(self, star: Neighbourhood, states: States) -> Fit:
        """EM on the whole model with these states at the node; by ``local``, only around the node first."""
        if self.settings.local and not star.is_whole:
            states, _ = self.fit_states(star, [states])
        return self.fit(star.whole(states))


def _not_interrupted(fit: Fit) -> Fit:
    """Ctrl-C ends the whole step, not only one EM run of it."""
    if fit.reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return fit


def _prior_of(plan: Plan, prior: Prior) -> Prior:
    """What a prior by name says about the nodes of a star."""
    if not isinstance(prior, Mapping):
        return prior
    return {name: alpha for name, alpha in prior.items() if name in plan.tree.names}
