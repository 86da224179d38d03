"""Exceptions and warnings that say what is wrong, where, and what to do."""

from __future__ import annotations

__all__ = [
    "DataError",
    "FileFormatError",
    "LatentreeError",
    "LatentreeWarning",
    "ModelError",
    "ParameterError",
]


_LONGEST = 3_000


class LatentreeError(Exception):
    """Base of all errors that latentree raises on purpose.

    Messages name what they are about, and names in damaged files can be as long as the files: what is too long to read
    is cut out of the middle.
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST * 2 // 3]} [...] {message[-_LONGEST // 3 :]}"
        super().__init__(message)


class DataError(LatentreeError, ValueError):
    """The data cannot be used as they are; the message names column, row or value and a remedy."""


class ModelError(LatentreeError, ValueError):
    """A tree, a table of probabilities or a model breaks one of its rules."""


class ParameterError(LatentreeError, ValueError):
    """An argument has a value it cannot have."""


class FileFormatError(LatentreeError, ValueError):
    """A file is damaged, foreign or from a newer version."""


class LatentreeWarning(UserWarning):
    """Something about a result that its user should know."""


def bad_parameter(name: str, owner: str, must: str, got: object) -> ParameterError:
    """Return the one form in which every wrong argument is reported.

    Examples
    --------
    >>> print(bad_parameter("tol", "estimate", "a number above 0", -1))
    The 'tol' parameter of estimate must be a number above 0. Got -1 instead.
    """
    return ParameterError(f"The '{name}' parameter of {owner} must be {must}. Got {got!r} instead.")


def missing_extra(what: str, extra: str) -> LatentreeError:
    """Return the one form in which a library that is not installed is reported, with the extra that brings it.

    Examples
    --------
    >>> print(missing_extra("Pictures need Matplotlib", "plot"))
    Pictures need Matplotlib, which is not installed: pip install 'latentree[plot]'
    """
    return LatentreeError(f"{what}, which is not installed: pip install 'latentree[{extra}]'")
