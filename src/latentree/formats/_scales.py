"""Answer scales that everybody knows, so that "agree" comes after "disagree" and not before it."""

from __future__ import annotations

from collections.abc import Sequence

from .._variables import State

__all__ = ["scale_order"]

SCALES = """
no < yes
no < don't know < yes
no < maybe < yes
false < true
strongly disagree|disagree strongly|completely disagree|totally disagree < disagree
    < somewhat disagree|slightly disagree|disagree somewhat|disagree slightly|rather disagree
    < neither|neutral|undecided|neither agree nor disagree|neither disagree nor agree|no opinion
    < somewhat agree|slightly agree|agree somewhat|agree slightly|rather agree < agree
    < strongly agree|agree strongly|completely agree|totally agree
very dissatisfied < dissatisfied < somewhat dissatisfied < neither|neutral|neither satisfied nor dissatisfied
    < somewhat satisfied < satisfied < very satisfied
never < almost never < rarely|seldom < occasionally < sometimes < often|frequently < usually < very often
    < almost always < always
very poor < very bad < poor < bad < fair|average < good < very good < excellent
none < very low < low < medium|moderate|middle|mid|average < high < very high
none < mild < moderate < severe
not at all < not at all important < unimportant|not important < a little|slightly important|a little important
    < somewhat|somewhat important|moderately important|moderately < important|quite|quite a bit
    < very|very important|very much < extremely|extremely important
very unlikely < unlikely < somewhat unlikely < neutral < somewhat likely < likely < very likely
much worse < worse < the same|same < better < much better
small < medium < large
young < middle|middle-aged|middle aged < old
"""
"""From low to high; an indented line goes on with the scale above. Words with a bar between them are not told apart."""

_RANKS: tuple[dict[str, int], ...] = tuple(
    {word.strip(): rank for rank, words in enumerate(scale.split(" < ")) for word in words.split("|")}
    for scale in SCALES.strip().replace("\n    ", " ").splitlines()
)


def scale_order(states: Sequence[State]) -> list[int] | None:
    """Order the states of a variable by a well-known scale.

    Examples
    --------
    >>> scale_order(["Agree", "Disagree", "Strongly agree"])
    [1, 0, 2]
    >>> scale_order(["Agree", "Disagree", "Banana"]) is None
    True
    """
    if len(states) < 2 or not all(isinstance(s, str) for s in states):
        return None
    words = [str(s).lower().replace("\u2019", "'") for s in states]
    for ranks in _RANKS:
        found = [ranks.get(word, -1) for word in words]
        if min(found) >= 0 and len(set(found)) == len(found):
            return sorted(range(len(found)), key=found.__getitem__)
    return None
