"""Kinds of values that options take."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .._registry import suggestion
from ..errors import bad_parameter

__all__ = [
    "BINS",
    "CLASSES",
    "DELIMITER",
    "LEARNER_PRIOR",
    "PAIRS",
    "PRIOR",
    "Bins",
    "Choice",
    "Number",
    "Whole",
    "merged_bins",
    "pairs",
    "split",
]

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    AnyChoice = click.Choice[Any]
else:  # generic since click 8.4 only
    ParamType = click.ParamType
    AnyChoice = click.Choice

Cut = int | tuple[float, ...]
Bins = int | dict[str, Cut]

MOST_CLASSES = 32_767
MOST_BINS = 32_767

DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}


def split(text: str) -> list[str]:
    """Split at commas outside double quotes.

    Examples
    --------
    >>> split('a, "b, c",d')
    ['a', 'b, c', 'd']
    """
    return [part for part in next(csv.reader([text], skipinitialspace=True), []) if part]


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """Split NAME=VALUE at the first equals sign.

    Examples
    --------
    >>> pairs(["visits=count", "a = b = c"], "--kind")
    {'visits': 'count', 'a': 'b = c'}
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"{option} '{text}' must have the form NAME=VALUE.")
        found[name.strip()] = value.strip()
    return found


class Choice(AnyChoice):
    """One of several words; another is answered with them and the likeliest."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Say what was given and what there is."""
        return f"'{value}' is not one of {', '.join(map(repr, self.choices))}.{suggestion(value, list(self.choices))}"


class Number(click.FloatRange):
    """A number in a range; NaN never, and infinity only where it is allowed."""

    name = "number"

    def __init__(self, *args: Any, infinite: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.infinite = infinite

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            raise bad_parameter((param and param.name) or "value", "the command", "a finite number", number)
        return number


class Whole(click.IntRange):
    """A whole number in a range."""

    name = "whole number"


class PriorType(ParamType):
    """A Dirichlet parameter of at least 1, ``none``, or a word for one that the data choose."""

    name = "prior"

    def __init__(self, *chosen: str) -> None:
        self.chosen = chosen

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str | None:
        """Return the number, the word, or None."""
        text = str(value).strip().lower()
        if value is None or text == "none":
            return None
        if text in self.chosen:
            return text
        try:
            return float(Number(min=1, max=1e9).convert(text, param, ctx))
        except click.BadParameter as error:
            words = ", ".join(f"'{word}'" for word in self.chosen)
            self.fail(f"{error.message.rstrip('.')}. Give a number of at least 1, {words} or 'none'.", param, ctx)


class Classes(ParamType):
    """Numbers of classes: ``3``, ``2,4``, ``1-6`` or ``1-4,8``."""

    name = "classes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers, rising, each once."""
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or not (high.isdecimal() if dash else not high):
                self.fail(f"'{value}' is not a number of classes such as 3, 2,4 or 1-6.", param, ctx)
            first, last = int(low), int(high or low)
            if first < 1:
                self.fail(f"'{part.strip()}': there must be at least 1 class.", param, ctx)
            if last > MOST_CLASSES:
                self.fail(f"'{part.strip()}': there can be at most {MOST_CLASSES:,} classes.", param, ctx)
            if first > last:
                self.fail(f"'{part.strip()}' must go from the smaller number to the larger.", param, ctx)
            found.update(range(first, last + 1))
        return tuple(sorted(found))


class Pairs(ParamType):
    """Numbers of states of two latent variables: ``2x3``, or several with commas between."""

    name = "pairs"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, int], ...]:
        """Return the pairs as given, each once."""
        if isinstance(value, tuple):
            return value
        found: dict[tuple[int, int], None] = {}
        for part in str(value).split(","):
            first, times, second = part.strip().lower().partition("x")
            if not times or not first.isdecimal() or not second.isdecimal():
                self.fail(f"'{value}' is not a pair such as 2x3, nor several with commas between.", param, ctx)
            k1, k2 = int(first), int(second)
            if min(k1, k2) < 1 or k1 * k2 > MOST_CLASSES:
                self.fail(
                    f"'{part.strip()}': each must have at least 1 state, and there can be at most {MOST_CLASSES:,} "
                    "pairs of states.",
                    param,
                    ctx,
                )
            found[k1, k2] = None
        return tuple(found)


class BinsType(ParamType):
    """Bins: ``3`` for all columns, ``age=3`` or ``age=18:40:65`` for one, several with commas between."""

    name = "bins"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Bins:
        """Return a number, or a number or edges for each column named."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        parts = split(value)
        if len(parts) == 1 and parts[0].isdecimal():
            return self._count(parts[0], param, ctx)
        cuts: dict[str, Cut] = {}
        for part in parts:
            name, equals, cut = part.rpartition("=")
            if not equals:
                self.fail(f"'{part}' is neither a number nor COLUMN=NUMBER.", param, ctx)
            if name in cuts:
                self.fail(f"column '{name}' is named twice.", param, ctx)
            cuts[name] = self._edges(cut, param, ctx) if ":" in cut else self._count(cut, param, ctx)
        return cuts

    def _count(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not text.strip().isdecimal() or int(text) < 2:
            self.fail(f"'{text}' is not a number of bins; there must be at least 2.", param, ctx)
        if int(text) > MOST_BINS:
            self.fail(f"'{text}': there can be at most {MOST_BINS:,} bins.", param, ctx)
        return int(text)

    def _edges(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        try:
            return tuple(float(edge) for edge in text.split(":") if edge.strip())
        except ValueError:
            self.fail(f"'{text}' must be numbers with colons between, such as 18:40:65.", param, ctx)


class Delimiter(ParamType):
    """One character, or the name of one that is hard to type."""

    name = "delimiter"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        character = DELIMITERS.get(value, value)
        if len(character) != 1:
            self.fail(f"'{value}' is not one character, nor one of {', '.join(DELIMITERS)}.", param, ctx)
        return str(character)


CLASSES, PAIRS, BINS, DELIMITER = Classes(), Pairs(), BinsType(), Delimiter()
PRIOR, LEARNER_PRIOR = PriorType("auto"), PriorType("auto", "shuffled", "blocks")


def merged_bins(given: Sequence[Bins]) -> Bins | None:
    """Join what several ``--bins`` say."""
    if not given:
        return None
    cuts = {name: cut for part in given if isinstance(part, dict) for name, cut in part.items()}
    if not cuts and len(given) == 1:
        return given[0]
    if any(isinstance(part, int) for part in given):
        raise click.UsageError("--bins takes one number for all columns, or COLUMN=NUMBER for some; not both.")
    return cuts
