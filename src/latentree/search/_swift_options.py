"""Options of our own search, and what each effort stands for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ..method import AnyOf, Flag, Number, OneOf, Options, Text, Whole, option

WIDE = 150
"""Variables from which on the tree to start from is put together from pieces, and moves are local."""
PIECE = 24
"""Variables of a piece, if nothing else is said."""
_EFFORTS: Mapping[str, tuple[int, int, int]] = {
    "low": (4, 1, 1),
    "default": (12, 3, 6),
    "high": (40, 4, 16),
    "max": (40, sys.maxsize, sys.maxsize),
}
"""Failed perturbations in a row, starts that must agree, most starts."""
_PER_START = 7
"""Variables for which the default effort allows one start more: large trees have more local maxima."""


@dataclass(frozen=True)
class SwiftOptions(Options):
    """Options of our own search."""

    effort: str = option(
        "default",
        OneOf(*_EFFORTS),
        "how long it looks for something better; max: until it is stopped or the time is up",
    )
    trials: int | None = option(
        None,
        AnyOf(Whole(0), OneOf(None)),
        "perturbations in a row that may fail before a start is over, 0: none; None: as the effort says",
    )
    agree: int | None = option(
        None,
        AnyOf(Whole(1), OneOf(None)),
        "starts that must end at the best score, of at least five where not all do; None: as the effort says",
    )
    starts: int | None = option(None, AnyOf(Whole(1), OneOf(None)), "most starts; None: as the effort says")
    pieces: int | None = option(
        None,
        AnyOf(Whole(0), OneOf(None)),
        f"variables of a piece if the first tree is put together from pieces, 0: it is a star, None: pieces from "
        f"{WIDE} variables on",
    )
    root: str | None = option(
        None,
        AnyOf(OneOf(None), Text("the name of a variable")),
        "a variable that is to be an inner node, with its values observed",
    )
    cuts: bool = option(
        True, Flag(), "whether variables, and parts of the tree, may become independent where the score prefers that"
    )
    tol: float = option(0.05, Number(least=0), "the gain of a step at which EM stops within the search")
    iterations: int = option(60, Whole(1), "most steps of EM within the search")

    @property
    def tries(self) -> int:
        """Perturbations in a row that may fail; 0: a single climb."""
        return _EFFORTS[self.effort][0] if self.trials is None else self.trials

    def limits(self, n_variables: int) -> tuple[int, int, int]:
        """Perturbations in a row that may fail, starts that must agree, most starts."""
        _, agree, starts = _EFFORTS[self.effort]
        if self.effort == "default":
            starts += n_variables // _PER_START
        return self.tries, self.agree or agree, self.starts or starts
