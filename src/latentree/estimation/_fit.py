"""What a fit is, and what is held fixed or believed beforehand while fitting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data import Data
from .._lazy import cached_property
from .._model import Counts, Model
from .._tree import Tree
from .._types import FloatArray
from ..errors import ModelError, bad_parameter
from ..runner import StopReason

MOST_PRIOR = 1e15
"""A larger Dirichlet parameter leaves nothing of the data in a sum with their counts."""

T = TypeVar("T")
Basis = Literal["probability", "softmax"]
Prior = float | Mapping[str, ArrayLike] | FloatArray | None
Held = Sequence[str] | Mapping[str, ArrayLike] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with everything needed to judge it.

    Attributes
    ----------
    model, table
        The model and the data it was fitted to.
    counts : Counts
        Expected counts and log-likelihood at the model's parameters.
    trace : float array
        The method's objective (log-likelihood, log-posterior up to a constant, or free energy) after each step; never
        falls, except with annealing, where it changes with the temperature, and with Nowlan's variant.
    reason : StopReason
        Why it ended.
    seed : int or None
        What the random starts came from, if it was a plain number.
    seconds : float
        Time it took.
    evaluations : int
        Passes over the data.
    starts : float array
        Final objective of every start that was run to the end, best first.
    """

    model: Model
    table: Data
    counts: Counts
    trace: FloatArray
    reason: StopReason
    seed: int | None
    seconds: float
    evaluations: int
    starts: FloatArray

    @cached_property
    def _known(self) -> dict[Any, Any]:
        """What was found from it and is asked for again and again."""
        return {}

    def once(self, what: Any, find: Callable[[], T]) -> T:
        """Find something about the fit, once: a fit never changes."""
        if what not in self._known:
            self._known[what] = find()
        found: T = self._known[what]
        return found

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the data."""
        return self.counts.log_likelihood

    @property
    def objective(self) -> float:
        """What was maximised: the last entry of the trace."""
        return float(self.trace[-1])

    @property
    def n_parameters(self) -> int:
        """Free probabilities of the structure."""
        return self.model.tree.n_parameters

    @property
    def converged(self) -> bool:
        """Whether it ended by its own rule."""
        return self.reason is StopReason.CONVERGED

    def __repr__(self) -> str:
        return f"<Fit: log-likelihood {self.log_likelihood:.4f}, {self.n_parameters} parameters, {self.reason.value}>"


def evaluate(model: Model, table: Data, *, counts: Counts | None = None, n_jobs: int = 1) -> Fit:
    """Evaluate a model on data with the parameters it has, as a fit that took no step.

    Parameters
    ----------
    model : Model
        The model.
    table : Data
        The data; columns are matched by name, variables the data do not have are missing.
    counts : Counts, optional
        Its expected counts on the data, if they are known already.
    n_jobs : int
        Threads; they do not change the result.

    Examples
    --------
    >>> from latentree import Table, Tree
    >>> table = Table.from_codes([[0, 0], [1, 1]], weights=[30, 40])
    >>> fit = evaluate(Model(Tree.star(2, [2, 2]), table.variables, np.full(10, 0.5)), table)
    >>> round(fit.log_likelihood, 3), fit.reason.value, fit.evaluations
    (-97.041, 'finished', 1)
    """
    if counts is None:
        counts = table.compiled(model).evaluate(model.parameters, n_jobs=n_jobs)
    trace = np.array([counts.log_likelihood])
    return Fit(model, table, counts, trace, StopReason.FINISHED, None, 0.0, 1, trace)


def pseudo_counts(tree: Tree, prior: Prior, basis: Basis = "probability") -> FloatArray | None:
    """What a Dirichlet prior adds to the expected counts: alpha - 1, or alpha in the softmax basis.

    See [Karciauskas2005] 3.6. A mapping gives one number or array for each node named; the rest are flat. An array
    gives all of them, laid out like the parameters.
    """
    if basis not in ("probability", "softmax"):
        raise bad_parameter("basis", "estimate", "'probability' or 'softmax'", basis)
    if prior is None:
        return None
    given = prior.values() if isinstance(prior, Mapping) else [prior]
    if any(np.any(np.asarray(alpha, dtype=np.float64) > MOST_PRIOR) for alpha in given):
        raise bad_parameter("prior", "estimate", f"at most {MOST_PRIOR:g}", prior)
    less = 1.0 if basis == "probability" else 0.0
    pseudo = np.full(tree.size, 1.0 - less)
    if isinstance(prior, Mapping):
        for name, alpha in prior.items():
            v = tree.node(name)
            shape = (tree.rows[v], tree.cardinality[v])
            try:
                own = np.broadcast_to(np.asarray(alpha, dtype=np.float64), shape)
            except ValueError:
                raise ModelError(f"The prior of '{name}' must fit a table of {shape[0]} x {shape[1]}.") from None
            pseudo[tree.offsets[v] : tree.offsets[v + 1]] = own.ravel() - less
    elif isinstance(prior, np.ndarray):
        pseudo[:] = prior - less
    else:
        pseudo[:] = float(prior) - less
    if not np.isfinite(pseudo).all() or (pseudo < 0).any():
        least = "1" if basis == "probability" else "0"
        raise bad_parameter("prior", "estimate", f"finite and at least {least} in the {basis} basis", prior)
    return pseudo if (pseudo > 0).any() else None


def held_mask(tree: Tree, held: Held) -> NDArray[np.uint8] | None:
    """Which entries of the flat vector keep their value: whole tables by name, or masks of their shape."""
    if isinstance(held, np.ndarray):
        if held.shape != (tree.size,):
            raise ModelError(f"'held' must have {tree.size} entries. Got shape {held.shape}.")
        return np.ascontiguousarray(held, dtype=np.uint8)
    if isinstance(held, str):
        held = (held,)
    if not held:
        return None
    mask = np.zeros(tree.size, dtype=np.uint8)
    for name in held:
        v = tree.node(name)
        whole = np.ones((tree.rows[v], tree.cardinality[v]), dtype=bool)
        own = np.asarray(held[name], dtype=bool) if isinstance(held, Mapping) else whole
        if own.shape != whole.shape:
            raise ModelError(f"'held' for '{name}' must be {whole.shape[0]} x {whole.shape[1]}. Got shape {own.shape}.")
        mask[tree.offsets[v] : tree.offsets[v + 1]] = own.ravel()
    return mask
