"""What estimation needs of data, wherever their rows lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ._variables import Variable

if TYPE_CHECKING:
    from ._model import Model
    from .engine._plan import Passes

__all__ = ["Data"]

T = TypeVar("T")


@runtime_checkable
class Data(Protocol):
    """Weighted distinct rows of known variables, in one place or in many.

    A :class:`~latentree.Table` has them in memory, :class:`~latentree.scale.Partitions` on the disk and
    :class:`~latentree.scale.Spread` on the workers of a cluster. Whatever is a sum over rows works on all of them;
    what needs all rows at once takes a ``Table``.
    """

    variables: tuple[Variable, ...]
    n: float

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        raise NotImplementedError

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        raise NotImplementedError

    def map_parts(self, f: Callable[..., T], *more: Sequence[Any]) -> list[T]:
        """Call a function with every :class:`~latentree.Table` that the data are made of.

        Whatever is a sum over rows is a sum over these calls. Items of further sequences go to the table they are for.
        The function may be sent to other processes: it should hold no more than it needs.
        """
        raise NotImplementedError

    def compiled(self, model: Model) -> Passes:
        """The data compiled for passes with the structure of a model; columns are matched by name."""
        raise NotImplementedError

    @property
    def n_variables(self) -> int:
        """Number of columns."""
        return len(self.variables)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(v.name for v in self.variables)

    @property
    def cardinalities(self) -> NDArray[np.int32]:
        """Number of states of each column."""
        return np.array([v.cardinality for v in self.variables], dtype=np.int32)
