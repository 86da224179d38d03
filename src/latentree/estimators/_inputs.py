"""What estimators are given: parameters, generators, data of any form, weights; and rows given back in that form."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Number as AnyNumber
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from .._model import Model
from .._options import AnyOf, Constraint, Flag, Number, OneOf, Text, Whole
from .._table import Table, checked_weights
from .._types import FloatArray
from .._variables import Variable
from ..cardinality._registry import DEFAULT, require_time_limit
from ..errors import Advice, DataError, Parameter, ParameterError, bad_parameter
from ..estimation._smoothing import CHOSEN
from ..formats._frame import refuse_missing_weights
from ._progress import reporter

if TYPE_CHECKING:
    from ._latent_class import LatentClass

__all__ = [
    "Bins",
    "Constraints",
    "Form",
    "Missing",
    "RandomState",
    "Worded",
    "check_parameters",
    "columns_of",
    "fit_options",
    "generator",
    "learn_options",
    "parameters_of",
    "refuse_learning_options",
    "softened",
    "validated",
    "weights_of",
]

RandomState = int | np.random.RandomState | np.random.Generator | None
Bins = int | Mapping[str, int | Sequence[float]] | None
Missing = str | Sequence[Any] | Mapping[Any, Any] | None

SOFTENING = 1e-9
"""Share of the uniform distribution that separates rows which the model itself calls impossible."""


@dataclass(frozen=True)
class Worded:
    """A constraint, or a type that a value must have, in words of its own.

    Examples
    --------
    >>> str(Worded(dict, "a dict")), Worded(dict, "a dict").check([]), Worded(Whole(1), "a count").check(3)
    ('a dict', False, True)
    """

    allowed: Constraint | type | tuple[type, ...]
    words: str

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, self.allowed) if isinstance(self.allowed, type | tuple) else self.allowed.check(value)

    def parse(self, text: str) -> Any:
        """Read a value from text, which things of a type cannot be."""
        if isinstance(self.allowed, type | tuple):
            raise ValueError(text)
        return self.allowed.parse(text)

    def __str__(self) -> str:
        return self.words


Constraints = dict[str, Constraint]
_NONE = OneOf(None)
FLAG = Flag()
_CONSTRAINTS: Constraints = {
    "n_classes": AnyOf(Whole(1), OneOf("auto")),
    "n_init": Whole(1),
    "max_classes": AnyOf(Whole(1), _NONE),
    "prior": AnyOf(Number(least=1), Worded(Mapping, "a mapping of them by name"), OneOf(*CHOSEN, None)),
    "method": Text("the name of a method"),
    "start": AnyOf(Worded(Model, "a Model"), _NONE),
    "options": AnyOf(Worded(Mapping, "a dict of options of the method"), _NONE),
    "checkpoint": AnyOf(Worded((str, os.PathLike), "a path"), _NONE),
    "bins": AnyOf(Whole(2), Worded(Mapping, "a dict of columns"), _NONE),
    "keep_levels": Flag(),
    "missing": AnyOf(Worded((str, list, tuple, set, frozenset, Mapping), "a list or dict of codes"), _NONE),
    "unseen": OneOf("error", "missing", "smooth"),
    "tol": Number(least=0),
    "max_iter": Whole(1),
    "n_jobs": Worded(AnyOf(Whole(1), Whole(most=-1), _NONE), "a whole number other than 0, or None"),
    "time_limit": AnyOf(Number(least=0), _NONE),
    "verbose": Worded(AnyOf(Flag(), Whole(0)), "a whole number of at least 0"),
}
"""What a parameter must be, for all estimators that have it."""


def check_parameters(given: BaseEstimator, owner: str | None = None, own: Constraints | None = None) -> None:
    """Say which parameter has a value it cannot have; ``own`` are constraints of this estimator alone."""
    values = given.get_params(deep=False)
    for name, constraint in {**_CONSTRAINTS, **(own or {})}.items():
        if name in values and not constraint.check(values[name]):
            got = values[name].item() if isinstance(values[name], np.generic) else values[name]
            raise bad_parameter(name, owner or type(given).__name__, str(constraint), got)


@contextmanager
def parameters_of(owner: str) -> Iterator[None]:
    """Blame wrong parameters on the one whom a user gave them to, not on the function that they were handed on to."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(error.template, **{k: _owned(v, owner) for k, v in error.fields.items()}) from None


def _owned(field: Any, owner: str) -> Any:
    match field:
        case Parameter(name=name) | Advice(option=name, value=None):
            return Parameter(name, owner)
    return field


def fit_options(given: LatentClass) -> dict[str, Any]:
    """Collect the options of the fit."""
    return {
        "n_init": int(given.n_init),
        "prior": None if isinstance(given.prior, str) else given.prior,  # what is chosen comes when all is fitted
        "tol": float(given.tol),
        "max_iterations": int(given.max_iter),
        "n_jobs": int(effective_n_jobs(given.n_jobs)),
        "on_progress": reporter() if given.verbose else None,
    }


def learn_options(given: LatentClass) -> dict[str, Any]:
    """Collect the options of the search for the number of classes."""
    options = fit_options(given)
    polish = {name: options.pop(name) for name in ("tol", "max_iterations")}
    del options["n_init"]
    require_time_limit(given.method, given.time_limit, "LatentClass")
    search = {"score": given.__dict__["score"], **{name: getattr(given, name) for name in _LEARNING}}
    return {**options, **search, "polish": polish}


_LEARNING = {"max_classes": None, "method": DEFAULT, "start": None}


def refuse_learning_options(given: LatentClass) -> None:
    """Say that an option has nothing to do when the number of classes is given."""
    values = given.get_params(deep=False)
    for name, default in {**_LEARNING, "score": "bic"}.items():
        if values[name] is not default and values[name] != default:
            text = (
                "{parameter} is for a number of classes that is learned: n_classes='auto'. Got n_classes={n} as well."
            )
            raise ParameterError(text, parameter=Parameter(name, "LatentClass"), n=given.n_classes)


def generator(random_state: Any, owner: str = "LatentClass") -> tuple[np.random.Generator, int | None]:
    """Turn what scikit-learn takes for a source of randomness into a generator, and the seed if it is a number."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state), None
    if Whole(0).check(random_state):
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
    if isinstance(X, str | bytes | os.PathLike | Table):
        given = "a Table" if isinstance(X, Table) else f"the text or path {X!r}"
        raise DataError(
            "X must be data: a data frame, an array or a list of rows. Got {given} instead. Read a file first, as "
            "pandas.read_csv does; fit_classes and learn take a Table, such as Table.read returns for a file.",
            given=given,
        )
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(map(str, X.columns))
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError("Two columns are called '{name}'. Give every column a name of its own.", name=twice) from None
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
    if isinstance(sample_weight, AnyNumber):
        sample_weight = np.full(n_rows, sample_weight)
    if isinstance(sample_weight, str | bytes):
        must = "one number for each row; for a column of the data, sample_weight=X['w'] and X.drop(columns=['w'])"
        raise bad_parameter("sample_weight", "fit", must, sample_weight)
    try:
        array = check_array(sample_weight, ensure_2d=False, dtype=np.float64, ensure_all_finite=False)
    except OverflowError:
        raise DataError("A weight is too large for a float. Divide all of them by one number.") from None
    except TypeError:
        raise bad_parameter("sample_weight", "fit", "one number for each row", sample_weight) from None
    refuse_missing_weights(array)
    weights = checked_weights(array, n_rows)
    if not weights.any():
        raise DataError("All sample weights are zero. At least one row must count.")
    return weights


def softened(model: Model) -> Model:
    """Lift all probabilities above zero, so little that only rows the model calls impossible are affected."""
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
