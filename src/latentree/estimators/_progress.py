"""Where a long fit is: lines on standard error, or one bar in a notebook that moves."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from html import escape
from typing import Any

from ..runner import Progress

__all__ = ["reporter"]


class _Bar:
    """A bar as a notebook shows it."""

    def __init__(self, text: str, done: float | None = None, total: float | None = None) -> None:
        self.text, self.done, self.total = text, done, total

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        known = self.done is not None and self.total
        bar = f'<progress value="{self.done}" max="{self.total}"></progress> ' if known else "<progress></progress> "
        return f"<div>{bar}<code>{escape(self.text)}</code></div>"


def _notebook() -> Any:
    """What shows things in the notebook that this runs in; None elsewhere. IPython is there already or not needed."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display if ipython is not None and hasattr(shell, "kernel") else None


def reporter() -> Callable[[object], None]:
    r"""Make what takes progress events, or steps of a search.

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as said:
    ...     reporter()(Progress("restarts", 3, 16, -1234.5, 0.25))
    >>> said.getvalue()
    '[latentree] restarts 3/16, objective -1234.5, 0.2 s\n'
    """
    place, name, begun = _notebook(), uuid.uuid4().hex, False

    def report(event: object) -> None:
        nonlocal begun
        if place is None:
            print(f"[latentree] {event}", file=sys.stderr)
            return
        ends = (event.done, event.total) if isinstance(event, Progress) else (None, None)
        show = place.update_display if begun else place.display
        show(_Bar(str(event), *ends), display_id=name)
        begun = True

    return report
