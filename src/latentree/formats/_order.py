"""The order of a column's answers, as a person gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._variables import number_in
from ..errors import Advice, DataError
from ._coding import Missing
from ._columns import Column, some

__all__ = ["in_order"]

ORDER = Advice("order")


def in_order(name: str, column: Column, given: Sequence[Any], missing: Missing) -> Column:
    """Put the levels of a column into the order that a person gave; one that is not named is an error.

    Examples
    --------
    >>> from latentree.formats._columns import column_from
    >>> in_order("x", column_from(["b", "a"]), ["b", "c", "a"], Missing()).levels
    ('b', 'c', 'a')
    """
    texts = [str(own).strip() for own in given]
    place = {text: i for i, text in enumerate(texts)}
    if len(place) < len(texts):
        twice = next(text for i, text in enumerate(texts) if text in texts[:i])
        raise DataError("{order} names '{twice}' of column '{column}' twice.", order=ORDER, twice=twice, column=name)
    gone = missing.of(column)
    seen = column.counts(None) > 0
    to = np.full(len(column.levels) + 1, -1, dtype=np.int32)
    states: list[Any] = list(texts)
    lost = []
    for i, level in enumerate(column.levels.tolist() if isinstance(column.levels, np.ndarray) else column.levels):
        shown = str(int(level) if isinstance(level, float) and level.is_integer() else level).strip()
        if shown in place:
            to[i] = place[shown]
            states[place[shown]] = number_in(shown) if column.untyped and _all_numbers(texts) else _whole(level)
        elif seen[i] and not gone[i]:
            lost.append(level)
    if lost:
        raise DataError(
            "Column '{column}' has {lost}, which {order} does not name; it names {texts}. Name every answer, or count "
            "it as missing with {missing}.",
            column=name,
            lost=some(lost),
            order=ORDER,
            texts=some(texts),
            missing=Advice("missing", {name: str(lost[0])}),
        )
    return replace(column, codes=to[column.codes], levels=tuple(states), declared=True, ordered=True, given=True)


def _all_numbers(texts: Sequence[str]) -> bool:
    return all(number_in(text) is not None for text in texts)


def _whole(level: Any) -> Any:
    if isinstance(level, str):
        return level.strip()
    return int(level) if isinstance(level, float) and level.is_integer() else level
