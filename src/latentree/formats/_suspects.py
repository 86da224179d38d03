"""Values that people use for a missing answer, and names that they give to weights and dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray

__all__ = [
    "DATE",
    "DATES",
    "ID_NAME",
    "WEIGHT_NAME",
    "WEIGHT_WORD",
    "missing_among_words",
    "missing_numbers",
    "missing_words",
]

WORDS = frozenset(
    word.strip()
    for word in """
    n.a.|n. a.|na.|n/a.|not available|not applicable|no answer|no response|refused|missing|(missing)|not stated|-|--|---
    k.a.|k. a.|k.a|k. a|keine angabe|keine angaben|keine antwort|verweigert|fehlt|fehlend|trifft nicht zu (filter)
    s.o.|sans réponse|non réponse|pas de réponse|nr|n.r.|refus
    ns/nr|ns/nc|no contesta|no responde|sin respuesta|n.s./n.c.
    non risponde|nessuna risposta|n.d.|n/d
    geen antwoord|geen opgave|weigert|n.v.t.
    sem resposta|não responde|não respondeu|ns/nr
    #null!|#n/a|none given|null
    """.replace("\n", "|").split("|")
    if word.strip()
)
"""Texts, in small letters, that hardly ever are answers. "Don't know" and "none" often are, and are not among them."""

NUMBERS = (7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999, 99999)
"""Numbers that stand for no answer where they lie far above the answers."""

NEGATIVE = (-1, -2, -3, -4, -5, -6, -7, -8, -9, -77, -88, -97, -98, -99, -999, -9999)
"""The same for columns whose other numbers are not below zero."""

DATES = (datetime.date, datetime.time, datetime.timedelta)

DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./](\d{2}|\d{4})( \d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(:\d{2})?"
)

WEIGHT_NAME = re.compile(
    r"(.*[_ .-])?(w|wt|wgt|weight|weights|pweight|sample_?weight|gewicht|gewichtung|gew|hrf|poids|pond(eration)?|peso|"
    r"ponderaci[oó]n|freq|frequency|count|counts|anzahl|häufigkeit|n)([_ .-]?\d*)",
    re.IGNORECASE,
)

WEIGHT_WORD = re.compile(
    r"weight|gewicht|hochrechnung|poids|pond[eé]ra|peso|frequen|count|number of|anzahl|häufigkeit|nombre|n[uú]mero",
    re.IGNORECASE,
)
"""What the text of a column of weights speaks of."""

ID_NAME = re.compile(
    r"(.*[_ .-])?(id|ids|nr|no|num|number|key|uid|uuid|index|row|case|record|respondent|patient|subject|lfd|fall|kunde|"
    r"customer|participant|teilnehmer)([_ .-]?(id|nr|no|number))?",
    re.IGNORECASE,
)


def missing_words(values: Sequence[Any]) -> list[str]:
    """Return the texts among values that look like a missing answer.

    Examples
    --------
    >>> missing_words(["ja", "nein", "k.A.", "Keine Angabe"])
    ['k.A.', 'Keine Angabe']
    """
    return [v for v in values if isinstance(v, str) and " ".join(v.casefold().split()) in WORDS]


def missing_among_words(values: Sequence[Any]) -> list[str]:
    """Return the codes for a missing answer among answers that are words: the only values with digits.

    Examples
    --------
    >>> missing_among_words(["stimme zu", "teils/teils", "stimme nicht zu", "99", "-1"])
    ['99', '-1']
    >>> missing_among_words(["1", "2", "3", "4 or more", "99"]), missing_among_words(["7", "8", "9 or more"])
    ([], [])
    """
    codes = {str(code) for code in (*NUMBERS, *NEGATIVE)}
    with_digits = [str(v).strip() for v in values if any(c.isdigit() for c in str(v))]
    words = len(values) - len(with_digits)
    return with_digits if words >= 2 and codes.issuperset(with_digits) else []


def missing_numbers(numbers: FloatArray, counts: FloatArray) -> list[float]:
    """Return the numbers that look like codes for a missing answer: they lie apart from all others.

    Negative codes count where all other numbers are at least 0. Codes such as 99 count where the largest other number
    is well below: by at least two, and by a fifth of the span of the others, or if the code is far more frequent than
    they; and where it lies so far below all others, and is far more frequent.

    Examples
    --------
    >>> missing_numbers(np.array([-1.0, 1, 2, 3, 4, 5, 99]), np.ones(7))
    [-1.0, 99.0]
    >>> missing_numbers(np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), np.ones(10))
    []
    """
    low = np.isin(numbers, NEGATIVE)
    if (numbers[~low] < 0).any() or (~low).sum() < 2:
        low[:] = False
    found = numbers[low].tolist()
    for code in sorted(x for x in NUMBERS if x in numbers):
        below, above = ~low & (numbers < code), numbers > code
        if _apart(code, below, numbers, counts) and np.isin(numbers[above], NUMBERS).all():
            return sorted([*found, *numbers[numbers >= code].tolist()])
        if not below.any() and _apart(code, above, numbers, counts, often=True):
            return sorted([*found, float(code)])
    return sorted(found)


def _apart(
    code: float, others: NDArray[np.bool_], numbers: FloatArray, counts: FloatArray, often: bool = False
) -> bool:
    """Whether a code lies apart from other numbers; below measurements only if it is frequent as well."""
    if others.sum() < 2:
        return False
    rest = numbers[others]
    gap = min(abs(code - float(rest.min())), abs(code - float(rest.max())))
    frequent = float(counts[numbers == code][0]) >= 3 * float(np.median(counts[others]))
    wide = gap >= float(np.ptp(rest)) / 5
    return gap >= 2 and ((wide and frequent) if often else (wide or frequent))
