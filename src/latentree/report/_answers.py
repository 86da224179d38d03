"""Which answer of a variable to show when one is enough, and what the states of a latent variable answer in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

__all__ = ["is_sparse", "lifts", "shown_answer", "state_phrase", "top_items"]

AFFIRMATIVE = frozenset(
    {"1", "1.0", "yes", "y", "true", "t", "present", "positive", "pos", "agree", "correct", "right"}
    | {"ja", "wahr", "oui", "vrai", "si", "sí", "sim", "да", "是", "はい"}
)
"""Answers that say that something is so."""

NEGATIVE = frozenset(
    {"0", "0.0", "no", "n", "false", "f", "absent", "negative", "neg", "disagree", "incorrect", "wrong"}
    | {"nein", "falsch", "non", "faux", "não", "нет", "否", "いいえ"}
)

MOSTLY = 0.7
"""An answer that is this probable is what a state answers."""

SPARSE_SHARE = 0.8
"""Data are sparse if this share of the variables are of two values, the affirmative one being rare."""

OFTENER = 0.1
"""An answer that is so much more probable in a state than overall sets it apart."""

RARE = 0.25
"""An answer is rare if, in the median over variables, it is less probable than this."""


def shown_answer(labels: Sequence[str]) -> int | None:
    """Position of the answer that stands for a variable of two values; None if it has more.

    The one that says that something is so, otherwise the second, which is the higher one of codes.

    Examples
    --------
    >>> shown_answer(["yes", "no"]), shown_answer(["f", "m"]), shown_answer(["a", "b", "c"])
    (0, 1, None)
    """
    if len(labels) != 2:
        return None
    first, second = (label.strip().casefold() for label in labels)
    if first.replace(".", "", 1).isdigit() and second.replace(".", "", 1).isdigit():
        return 1  # codes, such as 0 and 1 or 1 and 2
    if (first in AFFIRMATIVE and second not in AFFIRMATIVE) or (second in NEGATIVE and first not in NEGATIVE):
        return 0
    return 1


def lifts(given: Sequence[float], overall: float) -> list[float | None]:
    """How many times as probable an answer is in each state as overall; None where it never occurs.

    Examples
    --------
    >>> lifts([0.5, 0.125], 0.25)
    [2.0, 0.5]
    """
    return [p / overall if overall > 0 else None for p in given]


def is_sparse(labels: Sequence[Sequence[str]], marginals: Sequence[Sequence[float]]) -> bool:
    """Whether data are like words in documents or items in baskets: of two values, of which the positive one is rare.

    Examples
    --------
    >>> is_sparse([["0", "1"]] * 4, [[0.9, 0.1]] * 4), is_sparse([["no", "yes"]] * 4, [[0.5, 0.5]] * 4)
    (True, False)
    """
    shown = [(shown_answer(own), p) for own, p in zip(labels, marginals, strict=True)]
    rare = [p[at] for at, p in shown if at is not None]
    return len(rare) >= 4 and len(rare) >= SPARSE_SHARE * len(shown) and float(np.median(rare)) < RARE


def top_items(
    names: Sequence[str], given: Sequence[float], overall: Sequence[float], most: int = 8
) -> list[tuple[str, float, float]]:
    """The items that tell most about being in a state: name, P(1 | state) and lift, as topic tools list words.

    They are ranked by what they contribute to the divergence of the state from all rows, P(1 | state) log lift, so
    that an item must be both frequent in the state and rarer elsewhere.

    Examples
    --------
    >>> top_items(["milk", "bread", "caviar"], [0.9, 0.9, 0.02], [0.3, 0.9, 0.01])
    [('milk', 0.9, 3.0), ('caviar', 0.02, 2.0)]
    """
    found = [(p * np.log(p / q), name, p, p / q) for name, p, q in zip(names, given, overall, strict=True) if p > q > 0]
    found.sort(key=lambda own: -own[0])
    return [(name, float(p), float(lift)) for _, name, p, lift in found[:most]]


def state_phrase(
    leaves: Sequence[tuple[str, Sequence[str], Sequence[float]]],
    most: int = 3,
    *,
    long: int = 24,
    overall: Sequence[Sequence[float]] = (),
) -> str:
    """What a state answers, in a few words: ``mostly yes: smokes, drinks; no: exercises``.

    Parameters
    ----------
    leaves : sequence of (name, labels, probabilities)
        The most informative variables first, with P(answer | state).
    most : int
        How many variables are named.
    long : int
        Names and answers are cut to this.
    overall : sequence of probabilities, optional
        P(answer) of each variable. Where no answer is that of most, it tells which ones are given more often.

    Examples
    --------
    >>> state_phrase([("smokes", ["no", "yes"], [0.1, 0.9]), ("drinks", ["no", "yes"], [0.2, 0.8])])
    'mostly yes: smokes, drinks'
    >>> state_phrase([("smokes", ["no", "yes"], [0.5, 0.5])])
    'mixed answers'
    >>> state_phrase([("trust", ["low", "some", "high"], [0.2, 0.2, 0.6])], overall=[[0.4, 0.3, 0.3]])
    'more often than others high: trust'
    """
    from ._layout import shortened

    groups: dict[str, list[str]] = {}
    most_often = ((name, labels, p, max(range(len(p)), key=p.__getitem__)) for name, labels, p in leaves)
    clear = ((name, labels[best]) for name, labels, p, best in most_often if p[best] >= MOSTLY)
    for name, answer in islice(clear, most):
        groups.setdefault(shortened(answer, long), []).append(shortened(name, long))
    if groups:
        return "mostly " + _listed(groups)
    for (name, labels, p), own in zip(leaves[:most], overall, strict=False):
        more = np.asarray(p) - np.asarray(own)
        at = int(np.argmax(more))
        if more[at] >= OFTENER:
            groups.setdefault(shortened(labels[at], long), []).append(shortened(name, long))
    return "more often than others " + _listed(groups) if groups else "mixed answers"


def _listed(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{answer}: {', '.join(names)}" for answer, names in groups.items())
