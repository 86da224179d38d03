"""What every learner of cardinalities needs: the data, a score, K's constants, and EM on whole models or stars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from .._model import Counts, Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import ModelError, bad_parameter
from ..estimation._em import EmRuns, em
from ..estimation._fit import Basis, Fit, Prior
from ..estimation._restarts import restart_em, successive_halving
from ..runner import Budget, Clock, StopReason
from ._directions import DIRECTIONS
from ._neighbourhood import Neighbourhood
from ._states import States

__all__ = ["ScoreFunction", "Settings", "Task", "standing"]

ScoreFunction = Callable[[Fit], float]


@dataclass(frozen=True)
class Settings:
    """The constants of the learners, as in K 6.3.1 unless said otherwise.

    Attributes
    ----------
    n_splits : int
        Random splits of each state, N0 in K's Split.
    n_init : int
        Random starts of Standard3 (and the first number of starts of StandardFixed is ``n_splits``).
    p : float
        Length of a split's direction.
    direction : {"random", "alternating", "greedy", "variance"}
        Which way to split; all but the first make every split of a state the same.
    q, q_merge : float
        One in how many starts goes on in multiple restart EM; ``q_merge`` when merging and adjusting.
    delta : float
        Least gain of the score for which adjusting is accepted. K's value is lost in the text; ours is 0.1.
    adjust : bool
        Whether parameters are adjusted when neither splitting nor merging helps (K table 6.15).
    local : bool
        On trees, move only the tables around a changed node first, and all tables after that (K 7.3.4, 8). For a
        latent class model there is no difference.
    tol, max_iterations, accelerate
        Where EM ends, and whether it is accelerated (K's is not).
    prior, basis
        For posterior modes; as in :func:`latentree.estimation.estimate`.
    max_states : int or None
        Most states of a latent node. Default: as many as the data have distinct rows.
    n_jobs : int
        Threads; they do not change the result.
    """

    n_splits: int = 16
    n_init: int = 64
    p: float = 0.001
    direction: str = "random"
    q: float = 2.0
    q_merge: float = 10.0
    delta: float = 0.1
    adjust: bool = True
    local: bool = False
    tol: float = 0.01
    max_iterations: int = 200
    accelerate: bool = False
    prior: Prior = None
    basis: Basis = "probability"
    max_states: int | None = None
    n_jobs: int = 1

    def __post_init__(self) -> None:
        whole = "a whole number of at least 1"
        for name in ("n_splits", "n_init", "max_iterations", "n_jobs"):
            self._check(name, _is_whole(getattr(self, name)), whole)
        self._check("max_states", self.max_states is None or _is_whole(self.max_states), f"{whole}, or None")
        self._check("p", 0 < self.p < 1, "between 0 and 1")
        self._check("direction", self.direction in DIRECTIONS, f"one of {', '.join(map(repr, DIRECTIONS))}")
        for name in ("q", "q_merge"):
            self._check(name, getattr(self, name) > 1, "a number above 1")
        for name in ("delta", "tol"):
            self._check(name, getattr(self, name) >= 0, "a number of at least 0")

    def _check(self, name: str, good: bool, must: str) -> None:
        if not good:
            raise bad_parameter(name, "cardinality.learn", must, getattr(self, name))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all settings."""
        return tuple(f.name for f in fields(cls))


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


@dataclass(frozen=True, eq=False)
class Task:
    """Data to learn from, and how.

    Attributes
    ----------
    table : Table
        The data.
    score : callable
        Score of a fit; higher is better.
    settings : Settings
        The constants.
    clock : Clock
        When to stop.
    """

    table: Table
    score: ScoreFunction
    settings: Settings = Settings()
    clock: Clock = field(default_factory=lambda: Budget().start())

    @property
    def max_states(self) -> int:
        """Most states of a latent node: more than there are distinct rows cannot be told apart."""
        most = self.table.n_patterns
        return most if self.settings.max_states is None else min(most, self.settings.max_states)

    def only_latent(self, model: Model) -> str:
        """The one latent node of a model, for algorithms that know of one only."""
        names = [model.tree.names[z] for z in model.tree.latent]
        if len(names) != 1:
            raise ModelError(f"This method learns one latent node; the model has {len(names)}.")
        return str(names[0])

    # ---- whole models ----------------------------------------------------------------------------------------

    def fit(self, model: Model) -> Fit:
        """EM from the model's own parameters to the end."""
        s = self.settings
        return _not_interrupted(
            em(
                model,
                self.table,
                prior=s.prior,
                basis=s.basis,
                accelerate=s.accelerate,
                tol=s.tol,
                max_iterations=s.max_iterations,
                budget=self.clock,
                n_jobs=s.n_jobs,
            )
        )

    def restart(
        self,
        model: Model,
        rng: np.random.Generator,
        *,
        starts: Sequence[Model] = (),
        n_init: int | None = None,
        q: float | None = None,
    ) -> Fit:
        """Multiple restart EM: from given models of one structure, or from ``n_init`` random points."""
        s = self.settings
        given = np.stack([m.parameters for m in starts]) if starts else None
        return _not_interrupted(
            restart_em(
                model,
                self.table,
                rng=rng,
                n_init=n_init or len(starts),
                starts=given,
                q=q or s.q,
                prior=s.prior,
                basis=s.basis,
                accelerate=s.accelerate,
                tol=s.tol,
                max_iterations=s.max_iterations,
                budget=self.clock,
                n_jobs=s.n_jobs,
            )
        )

    # ---- one latent node and its neighbours --------------------------------------------------------------------

    def star(self, model: Model, node: str | int) -> Neighbourhood:
        """The neighbourhood of a latent node."""
        return Neighbourhood.around(model, self.table, node)

    def climb(
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
        s = self.settings
        flat = starts if isinstance(starts, np.ndarray) else np.stack([states.flat for states in starts])
        plan = star.plan(flat.shape[1] // (1 + sum(star.widths)))
        prior = _prior_of(plan, s.prior)
        climb = EmRuns(plan, flat, prior=prior, basis=s.basis, accelerate=s.accelerate, n_jobs=s.n_jobs)
        stopped = successive_halving(
            climb,
            self.clock,
            q=q or s.q,
            finalists=finalists,
            tol=s.tol if tol is None else tol,
            early_tol=None if s.accelerate else 0.0,  # plain EM is slow to leave a split state: K lets it
            max_iterations=max_iterations or s.max_iterations,
        )
        if stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        best = int(np.argmax(climb.objectives))
        return States.of(climb.parameters(best), star.widths), climb.counts(best).log_likelihood

    def judged(self, star: Neighbourhood, states: States) -> Fit:
        """The whole model with these states at the node, as it stands."""
        model = star.whole(states)
        if not star.is_whole:
            return standing(model, self.table, self.settings.n_jobs)
        return _standing(model, self.table, star.plan(states.n).evaluate(states.flat, n_jobs=self.settings.n_jobs))

    def settled(self, star: Neighbourhood, states: States) -> Fit:
        """EM on the whole model with these states at the node; by ``local``, only around the node first."""
        if self.settings.local and not star.is_whole:
            states, _ = self.climb(star, [states])
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


def standing(model: Model, table: Table, n_jobs: int = 1) -> Fit:
    """The fit that a model is as it stands."""
    return _standing(model, table, Plan.of(model, table).evaluate(model.parameters, n_jobs=n_jobs))


def _standing(model: Model, table: Table, counts: Counts) -> Fit:
    trace: FloatArray = np.array([counts.log_likelihood])
    return Fit(model, table, counts, trace, StopReason.ITERATIONS, None, 0.0, 1, trace)
