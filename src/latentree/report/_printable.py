"""Text from data, made safe to show on a terminal or a page. Imports nothing, so that commands can use it at once."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, *, keep: str = "") -> str:
    r"""Show by its code every character that would steer a terminal, reorder a line or cannot be seen.

    These are control characters (ESC, BEL, ...), directions of writing (U+202E and the like), separators of lines and
    lone surrogates: all that :meth:`str.isprintable` denies.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters to leave as they are, such as ``"\n\t"`` where a text may have lines.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\u202e\n"))
    a\x1b[2Jb\u202e\n
    >>> printable("two\nlines", keep="\n")
    'two\nlines'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)
