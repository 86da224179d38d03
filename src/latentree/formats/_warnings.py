"""What people should know of the columns of their data."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table import Table
from .._variables import State, Variable
from ..errors import Advice, LatentreeWarning, amount
from ._columns import Column, drop_advice, listed, some

__all__ = ["alike_groups", "warn_of_labelled_numbers", "warn_of_many_states", "warn_of_never_seen", "warn_of_variables"]

MANY_STATES = 20
"""A column of more states is worth a warning."""

FEW_STATES, CASES = 8, 10
"""So is one of more states than the first, if there are fewer cases a state than the second."""


def warn_of_labelled_numbers(name: str, column: Column, gone: NDArray[np.bool_]) -> None:
    """Warn of numbers with a label of their own in a column of numbers: often they stand for no answer."""
    if column.declared or not column.synonyms:
        return
    seen = np.flatnonzero((column.counts(None) > 0) & ~gone).tolist()
    labelled = [column.levels[i] for i in seen if column.levels[i] in column.synonyms]
    if labelled:
        codes = [str(own) for own in labelled]
        _warn(
            "Column '{column}' holds numbers, some of which have a label: {codes} ({labels}). They count as numbers. "
            "If they stand for no answer, make them missing with {missing}.",
            column=name,
            codes=some(codes),
            labels=some([column.synonyms[own] for own in labelled]),
            missing=Advice("missing", {name: codes[0] if len(codes) == 1 else codes}),
        )


def warn_of_variables(variables: Sequence[Variable]) -> None:
    """Warn of columns of one value, and of declared levels that were left out."""
    single = [v.name for v in variables if v.cardinality == 1]
    if single:
        _warn(
            "{columns} only one value, which says nothing about the rows. Leave {it} out with {drop}.",
            columns=f"Column {listed(single)} has" if len(single) == 1 else f"Columns {listed(single)} have",
            it="it" if len(single) == 1 else "them",
            drop=drop_advice(*single),
        )
    alike = {v.name: groups[0] for v in variables if (groups := alike_groups(v.states))}
    if alike:
        some_of = [f"{own[0]!r} and {own[1]!r} in column '{name}'" for name, own in list(alike.items())[:8]]
        more = f", and others in {len(alike) - 8:,} more columns" if len(alike) > 8 else ""
        _warn(
            "{pairs} differ only in capitals or blanks, and are states of their own. Write them alike if they mean the "
            "same.",
            pairs=", ".join(some_of) + more,
        )
    left_out = {v.name: v.never_seen for v in variables if v.never_seen}
    if left_out:
        _warn(
            "No row has {levels}: left out of the model. Count such levels as states with {keep}.",
            levels=_levels_listed(left_out),
            keep=Advice("keep_levels", True),
        )


def alike_groups(states: Sequence[Any]) -> list[list[str]]:
    """Texts among the states that differ only in capitals or blanks.

    Examples
    --------
    >>> alike_groups(["Yes", "no", "yes", 1])
    [['Yes', 'yes']]
    """
    groups: dict[str, list[str]] = {}
    for text in states:
        if isinstance(text, str):
            groups.setdefault("".join(text.casefold().split()), []).append(text)
    return [own for own in groups.values() if len(own) > 1]


def warn_of_never_seen(found: Mapping[str, Sequence[State]]) -> None:
    """Warn of levels in new rows that the data of the model declared but no row had."""
    if found:
        _warn("No training row has {levels}: treated as missing.", levels=_levels_listed(found))


def _levels_listed(levels: Mapping[str, Sequence[State]], most: int = 8) -> str:
    texts = [f"{some(own)} in column '{name}'" for name, own in list(levels.items())[:most]]
    return ", ".join(texts) + (f" and levels of {len(levels) - most} more columns" if len(levels) > most else "")


def warn_of_many_states(table: Table, declared: Collection[str]) -> None:
    """Warn of columns that are not questions with a few answers: they fill the classes with noise."""
    for i, variable in enumerate(table.variables):
        found = variable.cardinality
        cases = float(table.weights[table.codes[:, i] >= 0].sum())
        if variable.edges is None and (found > MANY_STATES or (found > FEW_STATES and cases < CASES * found)):
            numbers = variable.name not in declared and _holds_numbers(variable)
            _warn(
                "Column '{column}' has {found:,} different values in {cases} cases, and each is a state of its "
                "own. If it is not a question with so many answers, "
                + ("cut it with {cut}, " if numbers else "")
                + "merge rare values with {merge}, or leave it out with {drop}.",
                column=variable.name,
                found=found,
                cases=amount(cases),
                cut=Advice("bins", {variable.name: 3}),
                merge=Advice("merge_rare", 30),
                drop=drop_advice(variable.name),
            )


def _holds_numbers(variable: Variable) -> bool:
    return all(isinstance(s, (int, float)) and not isinstance(s, bool) for s in variable.states)


def _warn(text: str, **fields: Any) -> None:
    warnings.warn(LatentreeWarning(text, **fields), stacklevel=4)
