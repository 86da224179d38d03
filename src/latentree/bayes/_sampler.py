"""Several chains side by side: burn-in, draws, progress, Ctrl-C, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._files import MAX_BYTES
from .._options import renamed
from .._table import Table
from ..errors import LatentreeError, ParameterError
from ..method import Options, Run, Storage, Whole, drive, option
from ..runner import Budget, OnProgress, Progress, StopReason, memory, spawn
from ._chain import SWEEPS, TRIES, Info, State, Target, init, step, with_counts
from ._draws import Draws
from ._prior import ClassPrior

BLOCK_SECONDS = 0.2
"""How long chains run between two looks at the clock, the keyboard and the checkpoint."""

FIRST_BLOCK = 20


@dataclass(frozen=True)
class SampleOptions(Options):
    """How many chains, and how long they are."""

    n_draws: int = option(1000, Whole(1), "models to keep of each chain")
    n_burn: int = option(1000, Whole(0), "sweeps thrown away before")
    thin: int = option(5, Whole(1), "sweeps from one draw to the next")
    n_chains: int = option(4, Whole(1), "chains")
    n_jobs: int = option(1, Whole(1), "chains that run at a time")


@dataclass(frozen=True, eq=False)
class _Drawn:
    """All chains as they are after a block, and what they have drawn."""

    chains: tuple[State, ...]
    blocks: tuple[tuple[Info, ...], ...]
    burnt: int
    drawn: int
    passed: int = 0
    """Sweeps since the last draw."""


@renamed
def sample(
    table: Table,
    prior: ClassPrior,
    *,
    rng: np.random.Generator,
    method: str = "marginal",
    n_draws: int = 1000,
    n_burn: int = 1000,
    thin: int = 5,
    n_chains: int = 4,
    n_jobs: int = 1,
    budget: Budget | None = None,
    on_progress: OnProgress | None = None,
    checkpoint: Any = None,
    **options: Any,
) -> Draws:
    """Draw latent class models from their posterior distribution.

    Parameters
    ----------
    table : Table
        The data. Weights that are counts mean what repeating a row means. With others, such as those of a survey, the
        posterior is that of the weighted likelihood (a pseudo-posterior): they are scaled to add up to the table's
        sample size, and rounded up or down at random, on average to the weight itself and in all to the sample size
        within one row; the seed decides which. Make them add up to the (effective) number of people asked first.
    prior : ClassPrior
        Dirichlet parameters, and P(k) of 1 to kmax classes.
    rng : numpy.random.Generator
        Source of randomness. Every chain has a stream of its own: threads do not change the result.
    method : {"marginal", "reversible_jump", "gibbs"}
        Reversible jump without the allocation, which mixes best; with it, as in the source; or Gibbs sampling with
        kmax classes, no more and no less.
    n_draws, n_burn, thin : int
        Models to keep of each chain, sweeps thrown away before, and sweeps from one to the next.
    n_chains, n_jobs : int
        Chains, and how many of them run at a time.
    budget : Budget, optional
        Limit of time. When it is reached, or at Ctrl-C, what was drawn is kept.
    on_progress : callable, optional
        Takes :class:`~latentree.runner.Progress` events.
    checkpoint : str or path, optional
        A file to keep the state in. If it is there, the run is resumed from it.
    **options
        Those of :class:`~latentree.bayes.JumpOptions`: split, scale, tries, informed, small.

    Returns
    -------
    Draws

    Examples
    --------
    >>> from latentree.bayes import prior_on_classes
    >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1], [0, 1, 1]], weights=[30, 20, 3])
    >>> draws = sample(table, ClassPrior(prior_on_classes(4)), rng=np.random.default_rng(0), n_draws=200)
    >>> draws.k.shape, draws.k_mode
    ((4, 200), 2)
    """
    sweep = SWEEPS.find(method, owner="sample")
    given = {"n_draws": n_draws, "n_burn": n_burn, "thin": thin, "n_chains": n_chains, "n_jobs": n_jobs}
    own = SampleOptions.of(given, owner="sample")
    target = Target.of(with_counts(table, rng), prior, **options)
    _check_memory(target, own)
    storage: Storage[_Drawn, None] | None = None
    if checkpoint is not None:
        _check_room(target, own.n_draws * own.n_chains)
        settings = [method, list(prior.n_classes), prior.delta1, prior.delta2, n_burn, thin, n_chains, options]
        made_from, read = (
            {"data": table, "settings": settings},
            partial(_unpacked, target=target, n_chains=own.n_chains),
        )
        storage = Storage(checkpoint, "sample", made_from, _packed, read)
    with ThreadPoolExecutor(min(own.n_jobs, own.n_chains)) as pool:
        chains = _Chains(sweep, prior.max_classes if method == "gibbs" else None, own, pool)
        report = _reporter(on_progress, own)
        end = drive(chains, target, rng=rng, budget=budget, on_state=report, storage=storage)
    return _draws(table, prior, method, own, end)


@dataclass
class _Chains:
    """The method: every step advances all chains by a block, about as long as a look at the clock is apart."""

    sweep: tuple[str, ...]
    fixed: int | None
    options: SampleOptions
    pool: ThreadPoolExecutor
    sweeps: int = FIRST_BLOCK  # only how often one looks up: a chain does not know where it was cut

    def init(self, target: Target, rng: np.random.Generator) -> _Drawn:
        """Begin every chain with a stream of its own."""
        chains = tuple(init(target, own, k=self.fixed) for own in spawn(rng, self.options.n_chains))
        return _Drawn(chains, (), 0, 0)

    def step(self, target: Target, state: _Drawn, rng: np.random.Generator) -> tuple[_Drawn, None]:
        """Burn in, or draw."""
        began, own = time.monotonic(), self.options
        burning = state.burnt < own.n_burn
        if burning:
            sweeps = min(self.sweeps, own.n_burn - state.burnt)
            thin = sweeps + 1  # nothing is kept
        elif own.thin - state.passed > self.sweeps:
            sweeps, thin = self.sweeps, self.sweeps + 1  # on the way to the next draw
        elif state.passed:
            sweeps = thin = own.thin - state.passed
        else:
            thin = own.thin
            sweeps = thin * max(min(self.sweeps // thin, own.n_draws - state.drawn), 1)
        done = list(
            self.pool.map(lambda c: step(target, c, sweep=self.sweep, n_sweeps=sweeps, thin=thin), state.chains)
        )
        seconds = max(time.monotonic() - began, 1e-6)
        self.sweeps = max(1, min(int(sweeps * BLOCK_SECONDS / seconds), 4 * self.sweeps))
        chains = tuple(c for c, _ in done)
        if burning:
            return replace(state, chains=chains, burnt=state.burnt + sweeps), None
        block = tuple(info for _, info in done)
        passed = state.passed + sweeps if thin > sweeps else 0
        return _Drawn(chains, (*state.blocks, block), state.burnt, state.drawn + sweeps // thin, passed), None

    def done(self, target: Target, state: _Drawn) -> StopReason | None:
        """Whether all draws are there."""
        return StopReason.FINISHED if state.drawn >= self.options.n_draws else None


def _reporter(on_progress: OnProgress | None, own: SampleOptions) -> Callable[[_Drawn], None] | None:
    if on_progress is None:
        return None
    began = time.monotonic()

    def report(state: _Drawn) -> None:
        seconds = time.monotonic() - began
        if not state.drawn:
            if state.burnt or not own.n_burn:
                on_progress(Progress("burn-in", state.burnt, own.n_burn, seconds=seconds))
            return
        last = np.concatenate([info.k for block in state.blocks[-2:] for info in block])
        if not len(last):
            return
        classes = {"classes": f"{float(last.mean()):.2g}"}
        on_progress(Progress("draws", state.drawn, own.n_draws, seconds=seconds, detail=classes))

    return report


def _draws(table: Table, prior: ClassPrior, method: str, own: SampleOptions, end: Run[_Drawn, None]) -> Draws:
    state = end.state
    if state is None or not state.drawn:
        if end.reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        raise LatentreeError("The time was over before the first draw. Allow more time, or a shorter burn-in.")
    n = len(state.chains)

    def joined(name: str) -> Any:
        return np.stack([np.concatenate([getattr(b[c], name) for b in state.blocks]) for c in range(n)])

    tried, accepted = (
        {t: np.array([sum(getattr(b[c], name)[t] for b in state.blocks) for c in range(n)]) for t in TRIES}
        for name in ("tried", "accepted")
    )
    arrays = {name: joined(name) for name in ("k", "weights", "theta", "log_likelihood")}
    ended: dict[str, Any] = {"n_burn": own.n_burn, "thin": own.thin, "reason": end.reason, "seconds": end.seconds}
    return Draws(table, prior, method, tried=tried, accepted=accepted, **arrays, **ended)


# ---- checkpoints ------------------------------------------------------------------------------------------------

_STATE = ("log_weights", "log_theta", "members", "stream")
_INFO = ("k", "weights", "theta", "log_likelihood")


def _check_memory(target: Target, own: SampleOptions) -> None:
    """Say now that the draws will not find room, instead of after long work."""
    states, draws = target.max_classes * (1 + target.n_cells + len(target.weights)), own.n_draws * own.n_chains
    n_bytes = 8 * (own.n_chains * states + 2 * draws * (2 + target.max_classes * (1 + target.n_cells)))
    if n_bytes > memory():
        raise ParameterError(
            "{draws} draws of each of {chains} chains need about {room:,.0f} GB of memory. Draw fewer and thin more, "
            "or allow fewer classes.",
            draws=f"{own.n_draws:,}",
            chains=f"{own.n_chains:,}",
            room=n_bytes / 1e9,
        )


def _check_room(target: Target, n_draws: int) -> None:
    """Say now what would be in the way of the last checkpoint: draws that do not fit into one."""
    numbers = 2 + target.max_classes * (1 + target.n_cells)
    n_bytes = n_draws * numbers * 8 * 4 // 3  # as text in base64
    if n_bytes > MAX_BYTES:
        raise ParameterError(
            f"{n_draws:,} draws of {numbers:,} numbers take {n_bytes:,} bytes of a checkpoint, which holds "
            f"{MAX_BYTES:,}. Draw fewer and thin more, allow fewer classes, or sample without a checkpoint."
        )


def _packed(state: _Drawn) -> dict[str, Any]:
    n = len(state.chains)
    return {
        "burnt": state.burnt,
        "drawn": state.drawn,
        "passed": state.passed,
        "chains": [{name: getattr(c, name) for name in _STATE} for c in state.chains],
        "draws": [_packed_draws([b[c] for b in state.blocks]) for c in range(n)] if state.blocks else [],
    }


def _packed_draws(blocks: list[Info]) -> dict[str, Any]:
    arrays = {name: np.concatenate([getattr(b, name) for b in blocks]) for name in _INFO}
    counts = {name: {t: sum(getattr(b, name)[t] for b in blocks) for t in TRIES} for name in ("tried", "accepted")}
    return arrays | counts


def _unpacked(payload: Mapping[str, Any], target: Target, n_chains: int) -> _Drawn:
    burnt, drawn, passed = payload["burnt"], payload["drawn"], payload.get("passed", 0)
    chains = tuple(_unpacked_chain(chain, target) for chain in payload["chains"])
    if any(type(n) is not int or n < 0 for n in (burnt, drawn, passed)):
        raise ValueError("what it has drawn is not a number of models")
    infos = tuple(_unpacked_draws(draws, drawn, target) for draws in payload["draws"])
    if len(chains) != n_chains or len(infos) not in ((n_chains,) if drawn else (0, n_chains)):
        raise ValueError("its chains and draws do not fit together")
    return _Drawn(chains, (infos,) if infos else (), burnt, drawn, passed)


def _unpacked_chain(packed: Mapping[str, Any], target: Target) -> State:
    k = len(packed["log_weights"])
    if not 1 <= k <= target.max_classes:
        raise ValueError(f"a chain has {k} classes")
    shapes = {"log_weights": (k,), "log_theta": (k, target.n_cells), "members": (k, len(target.weights))}
    floats = {name: _array(packed, name, np.float64, shapes[name]) for name in ("log_weights", "log_theta")}
    members = _array(packed, "members", np.int64, shapes["members"])
    if not all((array <= 0).all() for array in floats.values()):  # nor is it NaN
        raise ValueError("a chain has probabilities above one")
    if (members < 0).any() or (members.sum(axis=0) != target.weights).any():
        raise ValueError("a chain has other rows than the data")
    return State(**floats, members=members, stream=_array(packed, "stream", np.uint64, (4,)))


def _unpacked_draws(packed: Mapping[str, Any], drawn: int, target: Target) -> Info:
    sizes = (drawn, target.max_classes)
    none = np.empty((0, 0), dtype=np.int64)
    shapes = {"k": (drawn,), "weights": sizes, "theta": (*sizes, target.n_cells), "log_likelihood": (drawn,)}
    arrays = {name: _array(packed, name, np.int32 if name == "k" else np.float64, of) for name, of in shapes.items()}
    tried, accepted = ({t: int(packed[name][t]) for t in TRIES} for name in ("tried", "accepted"))
    return Info(**arrays, tried=tried, accepted=accepted, sizes=none, cells=none[..., None])


def _array(packed: Mapping[str, Any], name: str, kind: type[np.generic], shape: tuple[int, ...]) -> Any:
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.dtype != kind or array.shape != shape:
        raise ValueError(f"'{name}' is not an array of {kind.__name__} of shape {shape}")
    return array
