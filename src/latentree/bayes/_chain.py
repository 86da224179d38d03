"""A Markov chain over latent class models: its target, its state, and a step of it by the C++ kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._options import Number, OneOf, Options, Whole, option
from .._registry import Registry
from .._table import Table
from .._types import FloatArray, IndexArray
from ..engine import _core
from ..errors import DataError, bad_parameter
from ._prior import ClassPrior

_NAMES = ("weights", "parameters", "allocation", "split_combine", "birth_death", "n_classes", "marginal")
MOVES = {name: i for i, name in enumerate(_NAMES)}
"""The kernel's moves and their numbers."""

SWEEPS: Registry[tuple[str, ...]] = Registry(
    "method",
    {
        "gibbs": ("weights", "parameters", "allocation"),
        "reversible_jump": ("weights", "parameters", "allocation", "split_combine", "birth_death"),
        "marginal": ("n_classes", "parameters", "weights", "marginal", "allocation"),
    },
)
"""The moves of a sweep by the name of the method."""

TRIES = ("split", "combine", "birth", "death")

MOST_COPIES = 2**53


@dataclass(frozen=True)
class JumpOptions(Options):
    """How jumps from one number of classes to another are proposed."""

    split: str = option(
        "simplex",
        OneOf("simplex", "source"),
        "how a class is split: by factors on the simplex, or as in [Whiley1999, section 5.2.1]",
    )
    scale: float = option(1.5, Number(above=0), "standard deviation of the logarithms of those factors")
    tries: int = option(4, Whole(0), 'jumps of each kind in a "marginal" sweep')
    informed: float = option(1.0, Number(above=0), "how often a birth there sees the row it starts from")
    small: float = option(50.0, Number(above=0), "half of the births there have a weight of about 1 / small")


@dataclass(frozen=True, eq=False)
class Target:
    """The posterior distribution to sample, and how jumps are proposed. Make one with :meth:`of`.

    Attributes
    ----------
    codes : int16 array [patterns, variables]
        Distinct rows, -1 where missing.
    weights : int64 array [patterns]
        How often each was seen.
    cardinalities : int32 array [variables]
        States of each variable.
    prior : ClassPrior
        What was believed before.
    jumps : JumpOptions
        How jumps are proposed.
    """

    codes: NDArray[np.int16]
    weights: IndexArray
    cardinalities: NDArray[np.int32]
    prior: ClassPrior
    jumps: JumpOptions = JumpOptions()

    @classmethod
    def of(cls, table: Table, prior: ClassPrior, **options: Any) -> Target:
        """The posterior of a table whose weights are counts, with options of :class:`JumpOptions`.

        Examples
        --------
        >>> target = Target.of(Table.from_codes([[0, 1], [1, 1], [1, 1]]), ClassPrior([1, 1]))
        >>> target.n, target.max_classes, target.n_cells
        (3, 2, 4)
        """
        weights = _counts(table)
        if weights.sum() < prior.max_classes:
            n = int(weights.sum())
            have = "is one row (n_samples=1)" if n == 1 else f"are {n:,} rows"
            raise DataError(
                f"There {have} for {prior.max_classes} classes; there must be at least as many rows as classes. Allow "
                "fewer classes."
            )
        jumps = JumpOptions.of({"small": max(float(weights.sum()) / 10.0, 2.0), **options}, owner="sample")
        return cls(np.ascontiguousarray(table.codes), weights, table.cardinalities, prior, jumps)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.weights.sum())

    @property
    def max_classes(self) -> int:
        """Most classes."""
        return self.prior.max_classes

    @cached_property
    def offsets(self) -> IndexArray:
        """First cell of each variable, then the number of cells."""
        return np.concatenate([[0], np.cumsum(self.cardinalities, dtype=np.int64)])

    @property
    def n_cells(self) -> int:
        """States of all variables together: the probabilities a class has."""
        return int(self.offsets[-1])

    @cached_property
    def kernel(self) -> _core.Sampler:
        """The C++ sampler."""
        p, j = self.prior, self.jumps
        jumps: Any = (j.split == "simplex", float(j.scale), int(j.tries), float(j.informed), float(j.small))
        priors = float(p.delta1), float(p.delta2), p.log_k
        return _core.Sampler(self.codes, self.cardinalities, self.weights, *priors, *jumps)


def with_counts(table: Table, rng: np.random.Generator) -> Table:
    """The table with weights that are counts, since whole rows are allocated to classes.

    Weights that are counts stay as they are. Others are scaled to add up to the table's sample size, and each becomes
    one of the two whole numbers next to it, at random, so that its mean is the weight and the sum is right within one
    row (systematic sampling: one random number shifts the running sum of the weights, and whole numbers passed are
    counted).

    Examples
    --------
    >>> table = Table.from_codes([[0], [1], [2]], weights=[0.5, 2.25, 1.25])
    >>> with_counts(table, np.random.default_rng(0)).weights.tolist()
    [1.0, 2.0, 1.0]
    """
    if not _off(table.weights).any():
        return table
    ends = np.cumsum(table.weights * (table.n / table.weights.sum())) + rng.random()
    counts = np.diff(np.floor(ends), prepend=0.0)
    if not counts.any():
        raise DataError("The weights add up to {total:g}, which is not one row. Scale them.", total=table.n)
    return table.reweighted(counts)


def _off(weights: FloatArray) -> NDArray[np.bool_]:
    """Which weights are not counts."""
    whole = np.rint(weights)
    return (whole < 1) | (np.abs(weights - whole) > 1e-9 * np.maximum(whole, 1.0))


def _counts(table: Table) -> IndexArray:
    whole, off = np.rint(table.weights), _off(table.weights)
    if off.any():
        raise DataError(
            "A row has the weight {weight:g}, but whole rows are allocated to classes: weights must be counts.",
            weight=float(table.weights[np.flatnonzero(off)[0]]),
        )
    if whole.sum() > MOST_COPIES:
        raise DataError(f"The weights add up to {whole.sum():g}; at most {MOST_COPIES:g} rows can be sampled from.")
    return whole.astype(np.int64)


@dataclass(frozen=True, eq=False)
class State:
    """Where a chain is.

    Attributes
    ----------
    log_weights : float array [k]
        Logarithms of the class sizes.
    log_theta : float array [k, cells]
        Logarithms of P(state | class), one variable after the other.
    members : int array [k, patterns]
        How many copies of each pattern are in each class.
    stream : uint64 array [4]
        State of the chain's own random numbers.
    """

    log_weights: FloatArray
    log_theta: FloatArray
    members: IndexArray
    stream: NDArray[np.uint64]

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.log_weights)

    @property
    def sizes(self) -> IndexArray:
        """Rows in each class."""
        sizes: IndexArray = self.members.sum(axis=1)
        return sizes


@dataclass(frozen=True, eq=False)
class Info:
    """What happened in a step: the models drawn, and how the jumps went.

    Attributes
    ----------
    k : int array [draws]
        Number of classes.
    weights : float array [draws, kmax]
        Class sizes, NaN beyond k.
    theta : float array [draws, kmax, cells]
        P(state | class), NaN beyond k.
    log_likelihood : float array [draws]
        Of the data, under each model drawn.
    tried, accepted : dict of str to int
        Splits, combinations, births and deaths.
    sizes, cells : int arrays [draws, kmax] and [draws, kmax, cells]
        Rows, and values of each variable, in each class; only if asked for.
    """

    k: NDArray[np.int32]
    weights: FloatArray
    theta: FloatArray
    log_likelihood: FloatArray
    tried: dict[str, int]
    accepted: dict[str, int]
    sizes: IndexArray
    cells: IndexArray


def init(target: Target, rng: np.random.Generator, *, k: int | None = None) -> State:
    """Begin a chain: rows in classes at random, parameters drawn given that.

    Parameters
    ----------
    target : Target
        What to sample.
    rng : numpy.random.Generator
        Source of randomness; the chain has a stream of its own from then on.
    k : int, optional
        Number of classes. Default: any up to kmax with equal chances, so that chains start far apart.
    """
    k = int(rng.integers(1, target.max_classes + 1)) if k is None else k
    if not 1 <= k <= target.max_classes:
        raise bad_parameter("k", "init", f"a whole number from 1 to {target.max_classes}", k)
    members = rng.multinomial(target.weights, np.full(k, 1.0 / k)).T.reshape(k, len(target.weights))
    flat = np.concatenate([np.full(r, -np.log(r)) for r in target.cardinalities.tolist()])
    words = rng.integers(0, 2**64, size=4, dtype=np.uint64)
    start = State(np.full(k, -np.log(k)), np.tile(flat, (k, 1)), members.astype(np.int64), words)
    return step(target, start, sweep=("weights", "parameters"), thin=2)[0]


def step(
    target: Target,
    state: State,
    *,
    sweep: tuple[str, ...] = SWEEPS["marginal"],
    n_sweeps: int = 1,
    thin: int = 1,
    with_counts: bool = False,
) -> tuple[State, Info]:
    """Make some sweeps.

    Parameters
    ----------
    target : Target
        What to sample.
    state : State
        Where the chain is; it is not changed.
    sweep : tuple of str
        The moves of a sweep, by name; those of the methods are in ``SWEEPS``.
    n_sweeps : int, default 1
        How many sweeps.
    thin : int, default 1
        Keep one model of so many.
    with_counts : bool
        Whether to keep the counts of every draw, too.

    Examples
    --------
    >>> target = Target.of(Table.from_codes([[0, 0], [1, 1]], weights=[9, 5]), ClassPrior([1, 1, 1]))
    >>> state = init(target, np.random.default_rng(0))
    >>> state, info = step(target, state, n_sweeps=100)
    >>> len(info.k), bool((state.members.sum(axis=0) == target.weights).all())
    (100, True)
    """
    k, max_classes = state.k, target.max_classes
    weights, theta = np.zeros(max_classes), np.zeros((max_classes, target.n_cells))
    members = np.zeros((max_classes, len(target.weights)), dtype=np.int64)
    weights[:k], theta[:k], members[:k] = state.log_weights, state.log_theta, state.members
    moves = [MOVES[name] for name in sweep]
    out = target.kernel.advance(k, weights, theta, members, state.stream, moves, n_sweeps, thin, with_counts)
    k = out[0]
    after = State(out[1][:k].copy(), out[2][:k].copy(), out[3][:k].copy(), out[4])
    tried, accepted = (dict(zip(TRIES, counts.tolist(), strict=True)) for counts in out[9:11])
    return after, Info(out[5], out[6], out[7], out[8], tried, accepted, out[11], out[12])
