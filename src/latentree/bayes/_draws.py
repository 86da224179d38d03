"""What a sampler returns: models drawn from the posterior, and how the drawing went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._types import FloatArray, IndexArray
from ..errors import bad_parameter
from ..runner import StopReason
from ._diagnostics import effective_samples, r_hat
from ._prior import ClassPrior


@dataclass(frozen=True, eq=False)
class ClassDraws:
    """Models with the same number of classes, of all chains one after the other.

    Attributes
    ----------
    table : Table
        The data.
    weights : float array [draws, k]
        Class sizes.
    theta : float array [draws, k, cells]
        P(state | class), one variable after the other.
    log_likelihood : float array [draws]
        Of the data.
    chain : int array [draws]
        Which chain each is from.
    """

    table: Table
    weights: FloatArray
    theta: FloatArray
    log_likelihood: FloatArray
    chain: IndexArray

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.weights.shape[1])

    @property
    def offsets(self) -> IndexArray:
        """First cell of each variable, then the number of cells."""
        return np.concatenate([[0], np.cumsum(self.table.cardinalities, dtype=np.int64)])

    def permuted(self, order: IndexArray) -> ClassDraws:
        """The same models with their classes in another order: ``order[d, i]`` becomes class i of draw d."""
        weights = np.take_along_axis(self.weights, order, axis=1)
        theta = np.take_along_axis(self.theta, order[:, :, None], axis=1)
        return replace(self, weights=weights, theta=theta)

    def part(self, chosen: Any) -> ClassDraws:
        """Some of the draws."""
        names = ("weights", "theta", "log_likelihood", "chain")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def profile(self, name: str) -> FloatArray:
        """P(state | class) of one variable; [draws, k, states]."""
        i = self.table.names.index(name)
        return self.theta[:, :, self.offsets[i] : self.offsets[i + 1]]


@dataclass(frozen=True, eq=False)
class Draws:
    """Models drawn from the posterior. Made by :func:`latentree.bayes.sample`.

    Attributes
    ----------
    table : Table
        The data.
    prior : ClassPrior
        What was believed before.
    method : str
        "marginal", "reversible_jump" or "gibbs".
    k : int array [chains, draws]
        Number of classes.
    weights : float array [chains, draws, kmax]
        Class sizes, NaN beyond k.
    theta : float array [chains, draws, kmax, cells]
        P(state | class), one variable after the other, NaN beyond k.
    log_likelihood : float array [chains, draws]
        Of the data, under each model drawn.
    tried, accepted : dict of str to int array [chains]
        Splits, combinations, births and deaths, burn-in left out.
    n_burn, thin : int
        Sweeps thrown away at the start of each chain, and sweeps from one draw to the next.
    reason : StopReason
        Why it ended.
    seconds : float
        How long it took.
    """

    table: Table
    prior: ClassPrior
    method: str
    k: NDArray[np.int32]
    weights: FloatArray
    theta: FloatArray
    log_likelihood: FloatArray
    tried: Mapping[str, IndexArray]
    accepted: Mapping[str, IndexArray]
    n_burn: int
    thin: int
    reason: StopReason
    seconds: float

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.k)

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return int(self.k.shape[1])

    @property
    def k_posterior(self) -> FloatArray:
        """P(k | data), k = 1 ... kmax."""
        return np.bincount(self.k.ravel(), minlength=self.prior.max_classes + 1)[1:] / self.k.size

    @property
    def k_mode(self) -> int:
        """The most probable number of classes."""
        return int(self.k_posterior.argmax()) + 1

    @property
    def acceptance(self) -> dict[str, float]:
        """Share of the jumps tried that were accepted, by kind; NaN for those never tried."""
        return {
            name: float(self.accepted[name].sum() / tried.sum()) if tried.sum() else float("nan")
            for name, tried in self.tried.items()
        }

    @property
    def k_r_hat(self) -> float:
        """R-hat of the number of classes; NaN if it never changed."""
        return r_hat(self.k)

    @property
    def k_effective(self) -> float:
        """Effective draws of the number of classes; NaN if it never changed."""
        return effective_samples(self.k)

    def given(self, k: int | None = None) -> ClassDraws:
        """The models with k classes.

        Parameters
        ----------
        k : int, optional
            Number of classes. Default: the most probable.
        """
        k = self.k_mode if k is None else k
        at = self.k == k
        if not at.any():
            seen = ", ".join(map(str, np.unique(self.k).tolist()))
            raise bad_parameter("k", "Draws.given", f"a number of classes that was drawn ({seen})", k)
        chain = np.repeat(np.arange(self.n_chains), at.sum(axis=1))
        return ClassDraws(
            self.table, self.weights[at][:, :k], self.theta[at][:, :k], self.log_likelihood[at], chain.astype(np.int64)
        )

    def to_datatree(self) -> Any:
        """Return an xarray DataTree in ArviZ' layout; see :func:`latentree.bayes._layout.datatree`."""
        from ._layout import datatree

        return datatree(self)

    def save(self, path: Any) -> None:
        """Write to a netCDF file, which ArviZ and xarray read; see :func:`latentree.bayes._layout.save`."""
        from ._layout import save

        save(self, path)
