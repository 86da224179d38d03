"""Arguments checked by the constraints that describe them."""

from __future__ import annotations

from typing import Any

from .._options import Constraint
from ..errors import bad_parameter

__all__ = ["check"]


def check(owner: str, **given: tuple[Any, Constraint]) -> None:
    """Raise if an argument of ``owner`` has a value that it cannot have.

    Examples
    --------
    >>> from latentree._options import Whole
    >>> check("laplace", k=(1, Whole(2)))
    Traceback (most recent call last):
    latentree.errors.ParameterError: The 'k' parameter of laplace must be a whole number of at least 2. Got 1 instead.
    """
    for name, (value, rule) in given.items():
        if not rule.check(value):
            raise bad_parameter(name, owner, str(rule), value)
