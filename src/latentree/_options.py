"""Options as data: a frozen dataclass whose fields say what values they take.

The same description checks values in Python, reads them from text (``--set k=10``), and lists them in help and error
messages.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

from ._registry import suggestion
from .errors import ParameterError, bad_parameter

__all__ = [
    "AnyOf",
    "Constraint",
    "Flag",
    "Number",
    "OneOf",
    "Options",
    "Text",
    "Whole",
    "Wholes",
    "check",
    "option",
    "renamed",
]

RENAMED = {"threads": "n_jobs", "n_starts": "n_init", "k_max": "max_classes"}
"""Options of earlier versions, and what they are called now."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Constraint(Protocol):
    """What values an option takes."""

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""

    def parse(self, text: str) -> Any:
        """Read a value from text; ValueError if that cannot be."""

    def __str__(self) -> str:
        """What it must be, as in "a whole number of at least 1"."""


@dataclass(frozen=True)
class Whole:
    """A whole number.

    Examples
    --------
    >>> str(Whole(1)), Whole(1).check(0), Whole(1).check(3), Whole(1).check(True), Whole().parse("12")
    ('a whole number of at least 1', False, True, False, 12)
    """

    least: int | None = None
    most: int | None = None

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            return False
        value = int(value)
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def parse(self, text: str) -> int:
        """Read a value from text."""
        return int(text)

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f"a whole number from {self.least} to {self.most}"
        return "a whole number" if self.least is None else f"a whole number of at least {self.least}"


@dataclass(frozen=True)
class Number:
    """A finite number within limits.

    Examples
    --------
    >>> str(Number(above=0)), str(Number(least=0, below=1)), Number(above=0).check(float("nan"))
    ('a number above 0', 'a number of at least 0 and below 1', False)
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            return False
        v = float(value)
        return (
            (self.least is None or v >= self.least)
            and (self.above is None or v > self.above)
            and (self.most is None or v <= self.most)
            and (self.below is None or v < self.below)
        )

    def parse(self, text: str) -> float:
        """Read a value from text."""
        return float(text)

    def __str__(self) -> str:
        words = [
            f"{word} {limit:g}"
            for word, limit in (
                ("of at least", self.least),
                ("above", self.above),
                ("of at most", self.most),
                ("below", self.below),
            )
            if limit is not None
        ]
        return " ".join(["a number", " and ".join(words)]).strip()


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, bool)

    def parse(self, text: str) -> bool:
        """Read a value from text.

        Examples
        --------
        >>> Flag().parse("yes"), Flag().parse("False")
        (True, False)
        """
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.strip().lower() not in words:
            raise ValueError(text)
        return words[text.strip().lower()]

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class OneOf:
    """One of several words, or None if that is among them.

    Examples
    --------
    >>> str(OneOf("em", "cg")), OneOf("em").check("cg")
    ("'em' or 'cg'", False)
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return any(type(value) is type(own) and value == own for own in self.values)

    def parse(self, text: str) -> Any:
        """Read a value from text."""
        found = [own for own in self.values if str(own).lower() == text.strip().lower()]
        if not found:
            raise ValueError(text)
        return found[0]

    def __str__(self) -> str:
        words = [repr(own) for own in self.values]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True)
class Text:
    """Any text."""

    what: str = "text"

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, str)

    def parse(self, text: str) -> str:
        """Read a value from text."""
        return text

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Wholes:
    """Several whole numbers, separated by commas in text.

    Examples
    --------
    >>> str(Wholes(3, 1)), Wholes(3, 1).parse("8,40,50"), Wholes(3, 1).check((8, 40))
    ('3 whole numbers of at least 1', (8, 40, 50), False)
    """

    n: int | None = None
    least: int = 0

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if not isinstance(value, list | tuple) or (self.n is not None and len(value) != self.n):
            return False
        return all(Whole(self.least).check(v) for v in value)

    def parse(self, text: str) -> tuple[int, ...]:
        """Read a value from text."""
        return tuple(int(part) for part in text.strip("()[] ").split(","))

    def __str__(self) -> str:
        return f"{'' if self.n is None else f'{self.n} '}whole numbers of at least {self.least}"


@dataclass(frozen=True)
class AnyOf:
    """Whatever one of several constraints allows.

    Examples
    --------
    >>> either = AnyOf(Whole(1), OneOf(None))
    >>> str(either), either.check(None), either.parse("3"), either.parse("none")
    ('a whole number of at least 1 or None', True, 3, None)
    """

    choices: tuple[Constraint, ...]

    def __init__(self, *choices: Constraint) -> None:
        object.__setattr__(self, "choices", choices)

    def check(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return any(choice.check(value) for choice in self.choices)

    def parse(self, text: str) -> Any:
        """Read a value from text."""
        for choice in self.choices:
            try:
                value = choice.parse(text)
            except ValueError:
                continue
            if choice.check(value):
                return value
        raise ValueError(text)

    def __str__(self) -> str:
        return " or ".join(map(str, self.choices))


def check(owner: str, **given: tuple[Any, Constraint]) -> None:
    """Raise if an argument of a function has a value that it cannot have.

    Parameters
    ----------
    owner : str
        The function, for the message.
    **given
        Value and constraint of each argument.

    Examples
    --------
    >>> check("laplace", k=(1, Whole(2)))
    Traceback (most recent call last):
    latentree.errors.ParameterError: The 'k' parameter of laplace must be a whole number of at least 2. Got 1 instead.
    """
    for name, (value, rule) in given.items():
        if not rule.check(value):
            raise bad_parameter(name, owner, str(rule), value)


def option(default: Any, constraint: Constraint, help: str = "") -> Any:
    """Return a field of an :class:`Options` class: its default value, what values it takes, and what it does."""
    return field(default=default, metadata={"constraint": constraint, "help": help})


Own = TypeVar("Own", bound="Options")


@dataclass(frozen=True)
class Options:
    """Options of a method. Subclass it as a frozen dataclass whose fields are made by :func:`option`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Mine(Options):
    ...     k: int = option(10, Whole(1), "candidates kept")
    >>> Mine(k=3)
    Mine(k=3)
    >>> Mine.of({"k": "abc"}, owner="method 'mine'", parse=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    latentree.errors.ParameterError: ... must be a whole number of at least 1. Got 'abc' instead.
    >>> Mine.of({"kk": 3}, owner="method 'mine'")
    Traceback (most recent call last):
    ...
    latentree.errors.ParameterError: There is no option 'kk' of method 'mine'. It has k. Did you mean 'k'?
    """

    def __post_init__(self) -> None:
        self._check(type(self).__name__)

    def _check(self, owner: str) -> None:
        for own in fields(self):
            rule = own.metadata.get("constraint")
            value = getattr(self, own.name)
            if rule is not None and not rule.check(value):
                raise bad_parameter(own.name, owner, str(rule), value)

    @classmethod
    def names(cls) -> list[str]:
        """Names of the options."""
        return [own.name for own in fields(cls)]

    @classmethod
    def of(cls: type[Own], given: Mapping[str, Any], *, owner: str, parse: bool = False) -> Own:
        """Make options of what a user gave, as values or as text.

        Parameters
        ----------
        given : mapping of str to value
            Options by name; those not given have their defaults.
        owner : str
            Whose options they are, for messages.
        parse : bool
            Whether the values are text, as the shell hands them on.
        """
        known = {own.name: own for own in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                _refuse_old(name, known, owner)
                have = f"It has {', '.join(known)}." if known else "It has no options."
                raise ParameterError(
                    "There is no option '{name}' of {owner}. {have}{meant}",
                    name=name,
                    owner=owner,
                    have=have,
                    meant=suggestion(name, list(known)),
                )
            rule = known[name].metadata.get("constraint")
            values[name] = value
            if rule is None:
                continue
            if parse and isinstance(value, str):
                try:
                    values[name] = rule.parse(value)
                except ValueError:
                    raise bad_parameter(name, owner, str(rule), value) from None
            if not rule.check(values[name]):
                raise bad_parameter(name, owner, str(rule), value)
        return cls(**values)

    def plain(self) -> dict[str, Any]:
        """The options as plain values, for files and fingerprints."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @classmethod
    def described(cls) -> list[tuple[str, Any, str, str]]:
        """Name, default, allowed values and purpose of every option, for help and documents."""
        return [
            (
                own.name,
                None if own.default is MISSING else own.default,
                str(own.metadata.get("constraint", "")),
                str(own.metadata.get("help", "")),
            )
            for own in fields(cls)
        ]


# ---- old names ----------------------------------------------------------------------------------------------------


def _refuse_old(name: str, known: Collection[str], owner: str) -> None:
    new = RENAMED.get(name)
    if new in known:
        raise ParameterError("'{old}' of {owner} is called '{new}' now.", old=name, new=new, owner=owner)


def renamed(function: Function) -> Function:
    """Make a function answer keywords of earlier versions with their new names.

    Examples
    --------
    >>> @renamed
    ... def count(*, n_jobs=1):
    ...     return n_jobs
    >>> count(threads=2)
    Traceback (most recent call last):
    latentree.errors.ParameterError: 'threads' of count is called 'n_jobs' now.
    """
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name in RENAMED.keys() & options.keys() - known.keys():
            _refuse_old(name, known, function.__name__)
        return function(*args, **options)

    return cast(Function, call)
