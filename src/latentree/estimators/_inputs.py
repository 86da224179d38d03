"""What estimators are given: parameters, generators, data of any form, weights; and rows given back in that form."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Number
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import (
    validate_data,
)

from .._model import Model
from .._table import checked_weights
from .._types import FloatArray
from .._variables import Variable
from ..errors import DataError, bad_parameter
from ..formats._frame import refuse_missing_weights
from ..runner import Progress

if TYPE_CHECKING:
    from ._latent_class import LatentClass

__all__ = [
    "Bins",
    "FloatArray",
    "Form",
    "RandomState",
    "Rules",
    "check_parameters",
    "columns_of",
    "fit_options",
    "generator",
    "is_number",
    "is_whole",
    "learn_options",
    "softened",
    "validated",
    "weights_of",
]

RandomState = int | np.random.RandomState | np.random.Generator | None
Bins = int | Mapping[str, int | Sequence[float]] | None

SOFTENING = 1e-9
"""Share of the uniform distribution that tells rows apart which the model itself calls impossible."""


def is_whole(value: Any, least: float) -> bool:
    """Whether it is a whole number of at least that."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def _is_classes(value: Any) -> bool:
    return value == "auto" if isinstance(value, str) else is_whole(value, 1)


def is_number(value: Any, least: float) -> bool:
    """Whether it is a finite number of at least that."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return bool(real and least <= value < inf)


def _is_jobs(jobs: Any) -> bool:
    return jobs is None or (is_whole(jobs, -inf) and jobs != 0)


def _is_prior(prior: Any) -> bool:
    return prior is None or isinstance(prior, Mapping) or is_number(prior, 1)


def _is_bins(bins: Any) -> bool:
    return bins is None or isinstance(bins, Mapping) or is_whole(bins, 2)


_NUMBER = "a number of at least 0"
Rules = dict[str, tuple[Callable[[Any], bool], str]]
"""For parameters by name: whether a value is good, and what it must be."""
_RULES: Rules = {
    "n_classes": (_is_classes, "a whole number of at least 1, or 'auto'"),
    "n_init": (lambda x: is_whole(x, 1), "a whole number of at least 1"),
    "prior": (_is_prior, "a number of at least 1, a mapping of them by name, or None"),
    "method": (lambda x: isinstance(x, str), "the name of a method"),
    "start": (lambda x: x is None or isinstance(x, Model), "a Model or None"),
    "options": (lambda x: x is None or isinstance(x, Mapping), "a dict of options of the method, or None"),
    "checkpoint": (lambda x: x is None or isinstance(x, str | os.PathLike), "a path or None"),
    "bins": (_is_bins, "a whole number of at least 2, a dict of columns, or None"),
    "unseen": (lambda x: isinstance(x, str) and x in ("error", "missing"), "'error' or 'missing'"),
    "tol": (lambda x: is_number(x, 0), _NUMBER),
    "max_iter": (lambda x: is_whole(x, 1), "a whole number of at least 1"),
    "n_jobs": (_is_jobs, "a whole number other than 0, or None"),
    "time_limit": (lambda x: x is None or is_number(x, 0), f"{_NUMBER}, or None"),
    "verbose": (lambda x: isinstance(x, bool) or is_whole(x, 0), "a whole number of at least 0"),
}
"""What a parameter must be, for all estimators that have it."""


def check_parameters(given: BaseEstimator, owner: str | None = None, own: Rules | None = None) -> None:
    """Say which parameter has a value it cannot have; ``own`` are rules of this estimator alone."""
    values = given.get_params(deep=False)
    for name, (good, must) in {**_RULES, **(own or {})}.items():
        if name in values and not good(values[name]):
            raise bad_parameter(name, owner or type(given).__name__, must, values[name])


def fit_options(given: LatentClass) -> dict[str, Any]:
    """Collect what the core is told."""
    return {
        "n_init": int(given.n_init),
        "prior": given.prior,
        "tol": float(given.tol),
        "max_iterations": int(given.max_iter),
        "n_jobs": int(effective_n_jobs(given.n_jobs)),
        "on_progress": _report_progress if given.verbose else None,
    }


def learn_options(given: LatentClass) -> dict[str, Any]:
    """Collect what the core is told when the number of classes is learned."""
    told = fit_options(given)
    polish = {name: told.pop(name) for name in ("tol", "max_iterations")}
    del told["n_init"]
    return {**told, "polish": polish}


def _report_progress(event: Progress) -> None:
    print(f"[latentree] {event}", file=sys.stderr)


def generator(random_state: Any, owner: str = "LatentClass") -> tuple[np.random.Generator, int | None]:
    """Turn what scikit-learn takes for a source of randomness into a generator, and the seed if it is a number."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state), None
    if is_whole(random_state, 0):
        return np.random.default_rng(random_state), int(random_state)
    if random_state is np.random or isinstance(random_state, np.random.RandomState):
        # A RandomState goes on with every use, as it does elsewhere in scikit-learn.
        drawn = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(drawn.tolist()), None
    must = "a whole number of at least 0, a RandomState, a Generator or None"
    raise bad_parameter("random_state", owner, must, random_state)


# ---- data ----------------------------------------------------------------------------------------------------------


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a narwhals frame or an array, checked by scikit-learn's rules."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        # Not made an array, which would cost time, and categories their order.
        validate_data(estimator, frame.to_native(), reset=reset, skip_check_array=True)
        return frame
    if isinstance(X, np.ma.MaskedArray):  # a plain array forgets what is masked
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    checked = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    if checked.dtype.kind in "US" and not hasattr(X, "dtype"):  # a list, whose numbers have become text
        return np.array(X, dtype=object)
    return checked


def columns_of(data: Any) -> list[Any]:
    """The columns of a frame or an array."""
    return list(data.iter_columns()) if isinstance(data, nw.DataFrame) else list(data.T)


def weights_of(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Weights as scikit-learn's users give them: None, one number or one for each row."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    if isinstance(sample_weight, str | bytes):
        must = "one number for each row; for a column of the data, sample_weight=X['w'] and X.drop(columns=['w'])"
        raise bad_parameter("sample_weight", "fit", must, sample_weight)
    array = check_array(sample_weight, ensure_2d=False, dtype=np.float64, ensure_all_finite=False)
    refuse_missing_weights(array)
    weights = checked_weights(array, n_rows)
    if not weights.any():
        raise DataError("All sample weights are zero. At least one row must count.")
    return weights


def softened(model: Model) -> Model:
    """Lift all probabilities above zero, so little that only rows the model calls impossible can tell."""
    tree = model.tree
    even = np.repeat(1.0 / tree.cardinality, tree.rows * tree.cardinality)
    return model.with_parameters((1 - SOFTENING) * model.parameters + SOFTENING * even)


@dataclass(frozen=True)
class Form:
    """What the training data looked like, so that samples look the same."""

    empty: Any
    """An array or native data frame without rows."""

    @classmethod
    def of(cls, data: Any) -> Form:
        """The form that data have."""
        return cls(data.head(0).to_native() if isinstance(data, nw.DataFrame) else np.empty(0, dtype=data.dtype))

    def rows(self, codes: NDArray[np.int16], variables: Sequence[Variable]) -> Any:
        """Codes as rows of that form."""
        columns = [_decoded(codes[:, i], v) for i, v in enumerate(variables)]
        if isinstance(self.empty, np.ndarray):
            table = np.column_stack(columns)
            return table if any(v.edges is not None for v in variables) else table.astype(self.empty.dtype)
        return self._frame(columns, variables)

    def _frame(self, columns: Sequence[NDArray[np.object_]], variables: Sequence[Variable]) -> Any:
        like = nw.from_native(self.empty)
        kinds = like.schema.values() if not like.implementation.is_pandas_like() else self.empty.dtypes
        named = {
            v.name: _as_declared(column.tolist(), kind)
            for v, column, kind in zip(variables, columns, kinds, strict=True)
        }
        frame = nw.from_dict(named, backend=like.implementation)
        kept = [v.name for v in variables if v.edges is None]
        if not like.implementation.is_pandas_like():
            types = dict(zip(named, like.schema.values(), strict=True))
            return frame.with_columns(nw.col(name).cast(types[name]) for name in kept).to_native()
        native: Any = frame.to_native()  # pandas itself, since narwhals does not know the order of its categories
        types = dict(zip(named, self.empty.dtypes, strict=True))
        native = native.astype({name: types[name] for name in kept})
        native.columns = self.empty.columns
        return native


def _categories(kind: Any) -> list[Any]:
    found = getattr(kind, "categories", None)
    return [] if found is None else list(found)


def _as_declared(states: list[Any], kind: Any) -> list[Any]:
    """Give states the blanks back that the categories of a column have."""
    own = {c.strip(): c for c in _categories(kind) if isinstance(c, str)}
    return [own.get(s, s) if isinstance(s, str) else s for s in states] if own else states


def _decoded(codes: NDArray[np.int16], variable: Variable) -> NDArray[np.object_]:
    states = np.empty(variable.cardinality, dtype=object)
    states[:] = variable.states
    return states[codes]
