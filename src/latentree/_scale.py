"""The scale on which people see scores.

Functions of :mod:`latentree.score`, model files and the JSON of the commands hold LL - penalty, of which higher is
better. Whatever a person looks at (text, pages, figures, data frames) shows minus twice that, -2 LL + penalty, of which
lower is better, as other software for latent class models does, with the log-likelihood beside it. Both are decided
here and nowhere else. A score that a user wrote is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["HIGHER", "LOWER", "best_shown", "direction", "lower_is_better", "score_label", "shown_score"]

LOWER, HIGHER = "lower is better", "higher is better"

Value = TypeVar("Value", float, None, float | None)


def lower_is_better(score: object) -> bool:
    """Whether a score is shown so that lower is better: those of :mod:`latentree.score` are."""
    from .score import SCORES

    entry = SCORES.get(score) if isinstance(score, str) else None
    return entry is not None and not callable(getattr(entry, "function", None))  # which is a user's own


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


def score_label(score: str) -> str:
    """Name a score with its direction.

    Examples
    --------
    >>> score_label("bic")
    'BIC (lower is better)'
    """
    return f"{score.upper() if lower_is_better(score) else score} ({direction(score)})"


def best_shown(values: Iterable[float], score: object = "bic") -> float:
    """Return the best of several values on the scale on which people see them."""
    return min(values) if lower_is_better(score) else max(values)
