"""Exceptions and warnings that say what is wrong, where, and what to do.

A message is a template and its fields. What depends on where the person is, in Python or in the shell, is a field of
its own type (:class:`Advice`, :class:`Row`, :class:`Parameter`) and is put into words when the message is shown. Names
and values from data are fields too, so that no text of theirs is ever taken for a part of the message.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Advice",
    "DataError",
    "FileFormatError",
    "LatentreeError",
    "LatentreeWarning",
    "ModelError",
    "Parameter",
    "ParameterError",
    "Row",
]

Surface = Literal["python", "shell"]

_LONGEST = 3_000

SHELL_NAMES = {
    "checkpoint": "resume",
    "n_classes": "classes",
    "outcome_kind": "kind",
    "random_state": "seed",
    "rng": "seed",
    "sample_weight": "weights",
    "seconds": "time-limit",
}
"""Options whose name in the shell is not the Python name with dashes."""


def shell_name(option: str) -> str:
    """Return the shell's name of an option.

    Examples
    --------
    >>> shell_name("n_init"), shell_name("n_classes")
    ('--n-init', '--classes')
    """
    return "--" + SHELL_NAMES.get(option, option).replace("_", "-")


def amount(x: float) -> str:
    """Put a sum of weights into words: whole ones as numbers of rows, others to six digits.

    Examples
    --------
    >>> amount(1_000_000.0), amount(519.24816), amount(1_234_567.5)
    ('1,000,000', '519.248', '1,234,568')
    """
    return f"{x:,.0f}" if float(x).is_integer() or abs(x) >= 1e6 else f"{x:,.6g}"


@dataclass(frozen=True)
class Advice:
    """An option that would help, with the value to give it.

    Attributes
    ----------
    option : str
        Name of the option in Python.
    value : optional
        Its value; None speaks of the option alone.

    Examples
    --------
    >>> advice = Advice("drop", ["id", "date"])
    >>> advice.shown("python"), advice.shown("shell")
    ("drop=['id', 'date']", '--drop id,date')
    >>> Advice("bins", {"age": 3}).shown("shell"), Advice("header", False).shown("shell")
    ('--bins age=3', '--no-header')
    >>> Advice("weights").shown("python"), Advice("weights").shown("shell")
    ('weights=', '--weights')
    """

    option: str
    value: Any = None

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        if surface == "python":
            return f"{self.option}=" + ("" if self.value is None else repr(self.value))
        name = shell_name(self.option)
        if self.value is None or self.value is True:
            return name
        if self.value is False:
            return "--no-" + name.removeprefix("--")
        return " ".join(f"{name} {_quoted(text)}" for text in _shell_values(self.value))


@dataclass(frozen=True)
class Row:
    """A row of the data, counted from 0; in the shell the first line below the header is data row 1.

    Examples
    --------
    >>> Row(6).shown("python"), Row(6, begins=True).shown("shell")
    ('row 6', 'Data row 7')
    """

    index: int
    begins: bool = False
    """Whether a sentence begins with it."""

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        text = f"row {self.index}" if surface == "python" else f"data row {self.index + 1}"
        return text.capitalize() if self.begins else text


@dataclass(frozen=True)
class Parameter:
    """An argument of a function, or the option of a command that hands it on.

    Examples
    --------
    >>> Parameter("tol", "estimate").shown("python"), Parameter("tol", "estimate").shown("shell")
    ("The 'tol' parameter of estimate", '--tol')
    """

    name: str
    owner: str

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        return f"The '{self.name}' parameter of {self.owner}" if surface == "python" else shell_name(self.name)


def _quoted(text: str) -> str:
    """Quote what the shell would take apart, and what a reader would take for punctuation."""
    return shlex.quote(text) if any(map(str.isalnum, text)) else f"'{text}'"


def _shell_values(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{name}={_joined(own)}" for name, own in value.items()]
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [str(value)]
    parts = [str(part) for part in value]
    return parts if any("," in part for part in parts) else [",".join(parts)]


def _joined(value: Any) -> str:
    return str(value) if isinstance(value, str) or not isinstance(value, Iterable) else ",".join(map(str, value))


class _Message(BaseException):
    """A template with fields, shown in the words of the surface that a person is on."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        self.template, self.fields = message, fields
        super().__init__(self.shown("python"))

    def shown(self, surface: Surface) -> str:
        """Put the message into the words of a surface; without fields it is the same everywhere.

        Names in damaged files can be as long as the files: what is too long to read is cut out of the middle.
        """
        text = self.template
        if self.fields:
            text = text.format(
                **{
                    name: value.shown(surface) if isinstance(value, Advice | Row | Parameter | _Message) else value
                    for name, value in self.fields.items()
                }
            )
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST * 2 // 3]} [...] {text[-_LONGEST // 3 :]}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.template, self.fields)


def _rebuilt(kind: Any, template: str, fields: Mapping[str, Any]) -> Any:
    return kind(template, **fields)


class LatentreeError(_Message, Exception):
    """Base of all errors that latentree raises on purpose.

    Examples
    --------
    >>> error = DataError("Column '{column}' looks like an identifier. Leave it out with {remedy}.",
    ...                   column="id", remedy=Advice("drop", ["id"]))
    >>> print(error)
    Column 'id' looks like an identifier. Leave it out with drop=['id'].
    >>> print(error.shown("shell"))
    Column 'id' looks like an identifier. Leave it out with --drop id.
    """


class DataError(LatentreeError, ValueError):
    """The data cannot be used as they are; the message names column, row or value and a remedy."""


class ModelError(LatentreeError, ValueError):
    """A tree, a table of probabilities or a model breaks one of its rules."""


class ParameterError(LatentreeError, ValueError):
    """An argument has a value it cannot have."""


class FileFormatError(LatentreeError, ValueError):
    """A file is damaged, foreign or from a newer version."""


class LatentreeWarning(_Message, UserWarning):
    """Something about a result that its user should know."""


def bad_parameter(name: str, owner: str, must: str, got: object) -> ParameterError:
    """Return the one form in which every wrong argument is reported.

    Examples
    --------
    >>> error = bad_parameter("tol", "estimate", "a number above 0", -1)
    >>> print(error)
    The 'tol' parameter of estimate must be a number above 0. Got -1 instead.
    >>> print(error.shown("shell"))
    --tol must be a number above 0. Got -1 instead.
    """
    return ParameterError(
        "{parameter} must be {must}. Got {got!r} instead.", parameter=Parameter(name, owner), must=must, got=got
    )


def missing_extra(what: str, extra: str) -> LatentreeError:
    """Return the one form in which a library that is not installed is reported, with the extra that brings it.

    Examples
    --------
    >>> print(missing_extra("Pictures need Matplotlib", "plot"))
    Pictures need Matplotlib, which is not installed: pip install 'latentree[plot]'
    """
    return LatentreeError(f"{what}, which is not installed: pip install 'latentree[{extra}]'")
