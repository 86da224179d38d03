"""Options of the estimation methods: described and checked once, then handed through as one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from .._data import Data
from .._model import Model
from .._options import Flag, Number, OneOf, Options, Whole, option
from .._table import as_table
from ..engine._plan import Passes, Plan
from ..errors import bad_parameter
from ..runner import Budget, Clock, OnProgress
from ._fit import Basis, Held, Prior
from ._fit_checkpoint import FitLocation, FitSlot

TOLERANCE = 1e-6
"""Least gain of the objective in one step for which EM goes on."""
ITERATIONS = 10_000
"""Most steps of one run."""


@dataclass(frozen=True)
class Value:
    """What only Python can give: an array, a function, a generator."""

    what: str
    allowed: Callable[[Any], bool]

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return self.allowed(value)

    def parse(self, text: str) -> Any:
        """Refuse text."""
        raise ValueError(text)

    def __str__(self) -> str:
        return self.what


def or_none(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kinds)


@cache
def _required(options: Any) -> dict[str, str]:
    """Options that must be given, since their default is none, and what they must be."""
    rules = {own.name: (own.metadata["constraint"], own.default) for own in fields(options)}
    return {name: str(rule) for name, (rule, default) in rules.items() if not rule.check(default)}


@dataclass(frozen=True, eq=False)
class FitOptions(Options):
    """What every method of estimation takes; see :func:`latentree.estimation.estimate`."""

    prior: Prior = option(
        None,
        Value(
            "a number, a mapping of nodes to numbers or arrays, or None",
            lambda value: value is None or isinstance(value, Mapping) or Number().check(value),
        ),
        "Dirichlet parameter",
    )
    basis: Basis = option("probability", OneOf("probability", "softmax"), "where the posterior mode is sought")
    tol: float = option(TOLERANCE, Number(least=0), "least gain of a step for which it goes on")
    max_iterations: int = option(ITERATIONS, Whole(1, 2**31 - 1), "most steps")
    n_jobs: int = option(1, Whole(1, 2**31 - 1), "threads; they do not change the result")
    budget: Budget | Clock | None = option(None, Value("a Budget, or None", or_none(Budget, Clock)), "time limit")
    on_progress: OnProgress | None = option(
        None, Value("a function, or None", lambda value: value is None or callable(value)), "takes progress events"
    )

    @classmethod
    def of(cls, given: Mapping[str, Any], *, owner: str, parse: bool = False) -> Any:
        """Make options of what a user gave."""
        options: Any = cls
        for name, must in _required(options).items():
            if name not in given:
                raise bad_parameter(name, owner, must, None)
        return super().of(given, owner=owner, parse=parse)

    @classmethod
    def trusted(cls, values: Mapping[str, Any]) -> Any:
        """Make options of what our own code gives: names are checked, values are not."""
        if not values.keys() <= cls.__dataclass_fields__.keys():
            raise TypeError(f"{cls.__name__} has no options {sorted(values.keys() - cls.__dataclass_fields__.keys())}.")
        own = object.__new__(cls)
        own.__dict__.update(values)  # the class itself holds the defaults
        return own

    def clock(self) -> Clock:
        """The clock that runs, or a new one."""
        return self.budget if isinstance(self.budget, Clock) else (self.budget or Budget()).start()


@dataclass(frozen=True, eq=False)
class AscentOptions(FitOptions):
    """What all methods take that move the tables of the whole tree."""

    held: Held = option(
        (),
        Value(
            "names of nodes, a mapping of masks, or a boolean vector",
            lambda value: isinstance(value, Sequence | Set | Mapping | np.ndarray),
        ),
        "tables, or entries of them, that keep their value",
    )
    plan: Passes | None = option(None, Value("a Plan, or None", or_none(Passes)), "model and data, compiled before")

    def passes(self, model: Model, table: Data) -> Passes:
        """Model and data, compiled; the data may lie anywhere."""
        return self.plan or table.compiled(model)

    def whole_plan(self, model: Model, table: Data) -> Plan:
        """Model and data compiled as one plan, for methods that look at single rows."""
        return self.plan if isinstance(self.plan, Plan) else Plan.of(model, as_table(table))


@dataclass(frozen=True, eq=False)
class EmOptions(AscentOptions):
    """Options of EM, plain or accelerated."""

    accelerate: bool = option(True, Flag(), "whether to take safeguarded Newton steps")
    checkpoint: FitLocation = option(
        None, Value("a path, or None", or_none(str, os.PathLike, FitSlot)), "file to keep the runs in"
    )

    def settings(self) -> dict[str, Any]:
        """What the result depends on, beside model, data and starts."""
        names = ("prior", "basis", "held", "accelerate", "tol", "max_iterations")
        return {name: getattr(self, name) for name in names}
