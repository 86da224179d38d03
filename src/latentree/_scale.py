"""The scale on which people see scores.

Functions of :mod:`latentree.score`, model files and the JSON of the commands hold LL - penalty, of which higher is
better. Whatever a person looks at (text, pages, figures, data frames) shows minus twice that, -2 LL + penalty, of which
lower is better, as other software for latent class models does, with the log-likelihood beside it. Both are decided
here and nowhere else. A score that a user wrote is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeVar

__all__ = ["HIGHER", "LOWER", "best_shown", "direction", "lower_is_better", "score_label", "shown_on", "shown_score"]

Scale = Literal["deviance", "likelihood"]

_scale: ContextVar[Scale] = ContextVar("scale", default="deviance")

LOWER, HIGHER = "lower is better", "higher is better"

Value = TypeVar("Value", float, None, float | None)


@contextmanager
def shown_on(scale: Scale) -> Iterator[None]:
    """Show scores on another scale within this block: ``"likelihood"`` as LL - penalty, of which higher is better.

    Examples
    --------
    >>> with shown_on("likelihood"):
    ...     shown_score(-348.57), score_label("bic")
    (-348.57, 'BIC (higher is better)')
    """
    before = _scale.set(scale)
    try:
        yield
    finally:
        _scale.reset(before)


def _is_ours(score: object) -> bool:
    """Whether it is a score of :mod:`latentree.score`, not a user's own."""
    from .score import SCORES

    entry = SCORES.get(score) if isinstance(score, str) else None
    return entry is not None and not callable(getattr(entry, "function", None))


def lower_is_better(score: object) -> bool:
    """Whether a score is shown so that lower is better: those of :mod:`latentree.score` are, unless asked otherwise."""
    return _scale.get() == "deviance" and _is_ours(score)


def shown_score(value: Value, score: object = "bic") -> Value:
    """Put a score, as functions return it and files hold it, on the scale on which people see it.

    Examples
    --------
    >>> shown_score(-348.57), shown_score(None), shown_score(0.25, "my own score")
    (697.14, None, 0.25)
    """
    if value is None or not lower_is_better(score):
        return value
    return -2.0 * value


def direction(score: object = "bic") -> str:
    """Say whether lower or higher is better in what is shown.

    Examples
    --------
    >>> direction("aic"), direction("my own score")
    ('lower is better', 'higher is better')
    """
    return LOWER if lower_is_better(score) else HIGHER


def score_label(score: str, at: str = "") -> str:
    """Name a score with its direction and, where there are several, the probabilities that it is of.

    Examples
    --------
    >>> score_label("bic"), score_label("bic", "maximum likelihood")
    ('BIC (lower is better)', 'BIC (maximum likelihood, lower is better)')
    """
    return f"{score.upper() if _is_ours(score) else score} ({at}{', ' if at else ''}{direction(score)})"


def best_shown(values: Iterable[float], score: object = "bic") -> float:
    """Return the best of several values on the scale on which people see them."""
    return min(values) if lower_is_better(score) else max(values)
