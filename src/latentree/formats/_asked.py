"""What is asked of a table, checked: bins, missing codes and orders by column, and what is wrong, said at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._table import check_sample_size
from ..errors import Advice, DataError, Surface, bad_parameter
from ._bins import OWNER, bad_bins
from ._coding import Missing
from ._columns import listed

__all__ = [
    "MISSING_TEXTS",
    "MissingCodes",
    "all_at_once",
    "check_options",
    "cuts_of",
    "missing_by_column",
    "nearest",
    "no_column",
    "orders_of",
]

MISSING_TEXTS = ("", "?", ".", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
"""Text cells that count as missing, blanks around them aside.

``None`` and ``-`` are not among them: people answer "None", and a test can be "-".
"""


MissingCodes = str | Collection[Any] | Mapping[Any, Any] | Callable[[str], Missing] | None


MOST_BINS = 32_767
"""More states than that cannot be."""


MOST_WRONG = 12
"""What is wrong with more columns is counted, not told."""


def check_options(variables: Any, bins: Any, unseen: str, merge_rare: float | None, n: float | None = None) -> None:
    """Refuse options that mean nothing, or that do not go together."""
    if unseen not in ("error", "missing", "smooth"):
        raise bad_parameter("unseen", OWNER, "'error', 'missing' or 'smooth'", unseen)
    if isinstance(bins, Mapping):
        for name, cut in bins.items():
            if not (_is_count(cut) or (isinstance(cut, Iterable) and not isinstance(cut, (str, bytes)))):
                raise bad_bins(str(name), cut)
    elif bins is not None and not _is_count(bins):
        raise bad_parameter(
            "bins", OWNER, f"a whole number of at least 2 (and at most {MOST_BINS:,}) or a dict of columns", bins
        )
    if merge_rare is not None and not (isinstance(merge_rare, (int, float)) and merge_rare > 0):
        raise bad_parameter("merge_rare", OWNER, "a number above 0", merge_rare)
    if variables is not None and (bins is not None or merge_rare is not None):
        name, got = ("bins", bins) if bins is not None else ("merge_rare", merge_rare)
        raise bad_parameter(name, OWNER, "None when variables= is given, which has the states already", got)
    check_sample_size(n)


def _is_count(bins: Any) -> bool:
    return isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and bool(2 <= bins <= MOST_BINS)


def cuts_of(bins: Any, chosen: Sequence[str]) -> tuple[int | None, dict[str, int | Sequence[float]]]:
    """Tell the number of bins that goes for all columns from what goes for some by name."""
    if not isinstance(bins, Mapping):
        return (None if bins is None else int(bins)), {}
    cuts = {str(name): int(cut) if _is_count(cut) else cut for name, cut in bins.items()}
    for name in cuts:
        if name not in chosen:
            raise no_column(name, chosen, "bins")
    return None, cuts


def missing_by_column(given: MissingCodes, names: Collection[str]) -> Callable[[str], Missing]:
    """Return what counts as missing in each column; codes of single columns come besides the usual ones.

    Examples
    --------
    >>> codes = missing_by_column({"age": [99], None: ["k.A."]}, ["age", "sex"])
    >>> 99 in codes("age"), 99 in codes("sex"), "k.A." in codes("sex"), "NA" in codes("sex")
    (True, False, True, True)
    """
    if callable(given):
        return given
    if not isinstance(given, Mapping):
        everywhere = Missing(_as_codes(given))
        return lambda name: everywhere
    for name in given:
        if name is not None and str(name) not in names:
            raise no_column(str(name), list(names), "missing")
    common = (*MISSING_TEXTS, *_as_codes(given.get(None)))
    usual = Missing(common)
    special = {str(name): Missing((*common, *_as_codes(own))) for name, own in given.items() if name is not None}
    return lambda name: special.get(name, usual)


def _as_codes(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str | int | float) else tuple(given)


def orders_of(order: Any, chosen: Sequence[str]) -> dict[str, list[Any]]:
    """Check the orders that were given, by the names of their columns."""
    if order is None:
        return {}
    if not isinstance(order, Mapping) or any(isinstance(own, str) for own in order.values()):
        raise bad_parameter("order", OWNER, "a dict of columns with a list of answers for each", order)
    found = {str(name): list(own) for name, own in order.items()}
    for name in found:
        if name not in chosen:
            raise no_column(name, chosen, "order")
    return found


def no_column(name: str, names: Sequence[str], option: str) -> DataError:
    """Say that a column named in an option does not exist, and which may have been meant."""
    near = nearest(name, names, 3)
    return DataError(
        "There is no column '{column}', which {option} names. {meant}",
        column=name,
        option=Advice(option),
        meant=f"Did you mean {listed(near, ' or ')}?" if near else f"There are {listed(list(names))}.",
    )


def nearest(name: str, names: Sequence[str], most: int) -> list[str]:
    near = difflib.get_close_matches(name, names, n=most, cutoff=0.5)
    return near or [other for other in names if other.lower() == name.lower()][:most]


class _Check(Advice):
    """What looks at all columns: a function in Python, a command in the shell."""

    def shown(self, surface: Surface) -> str:
        """Put it into the words of a surface."""
        return "latentree.check(data)" if surface == "python" else "'latentree check DATA'"


CHECK = _Check("check")


def all_at_once(wrong: Sequence[DataError]) -> DataError:
    """Say what is wrong with several columns in one message."""
    if len(wrong) == 1:
        return wrong[0]
    shown = wrong[:MOST_WRONG]
    lines = "".join(f"\n- {{wrong{i}}}" for i in range(len(shown)))
    more = f"\n- and {len(wrong) - len(shown)} more" if len(wrong) > len(shown) else ""
    return DataError(
        "{found} columns cannot be used as they are:" + lines + more + "\n{check} proposes what to do with each.",
        found=len(wrong),
        check=CHECK,
        **{f"wrong{i}": error for i, error in enumerate(shown)},
    )
