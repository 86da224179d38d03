"""Reading text word by word, for formats with brackets and semicolons."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import FileFormatError

__all__ = ["MAX_CHARACTERS", "QUOTED", "Tokens", "number", "text_in"]

MAX_CHARACTERS = 1 << 27
"""Network files above this size are not read: the tree with the most probabilities that fits holds millions."""

QUOTED = r'"[^"\\]*(?:\\.[^"\\]*){0,9999}"'
"""Text in quotes. The engine of regular expressions remembers every repetition, so there is a bound for them."""

ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Tokens:
    """The words, numbers, quoted texts and signs of a text, one after the other.

    Notes
    -----
    The end of the text reads as an empty token.
    """

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        if len(text) > MAX_CHARACTERS:
            raise FileFormatError(f"The file has more than {MAX_CHARACTERS:,} characters; such networks are not read.")
        self.text = text
        self._found = self._scan(pattern)
        self.at = 0
        self._next = next(self._found)

    def _scan(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, int]]:
        at, size = 0, len(self.text)
        while at < size:
            found = pattern.match(self.text, at)
            if found is None:
                self.at = at
                raise self.error("a quote or comment that begins here does not end")
            if found.lastgroup != "skip":
                yield found[0], at
            at = found.end()
        while True:
            yield "", size

    @property
    def now(self) -> str:
        """The token to be taken next."""
        return self._next[0]

    def take(self) -> str:
        """Return the next token and go on."""
        token, self.at = self._next
        self._next = next(self._found)
        return token

    def expect(self, *wanted: str) -> str:
        """Take one of these tokens, whatever their case."""
        token = self.take()
        if token.lower() not in wanted:
            raise self.error(f"{' or '.join(repr(w) for w in wanted)} must come here. {self.got(token)}")
        return token.lower()

    def accept(self, wanted: str) -> bool:
        """Take this token if it comes next."""
        if self.now.lower() != wanted:
            return False
        self.take()
        return True

    def until(self, end: str) -> Iterator[str]:
        """Take all tokens up to and with this one, which is not given."""
        while (token := self.take()) != end:
            if not token:
                raise self.error(f"the file breaks off where {end!r} must come")
            yield token

    def skip(self, end: str) -> str:
        """Return the text up to this token, as it stands."""
        start = self._next[1]
        for _ in self.until(end):
            pass
        return self.text[start : self.at].strip()

    def got(self, token: str) -> str:
        """Say what there is instead."""
        return f"Got {token[:40]!r}" if token else "The file ends"

    def error(self, what: str) -> FileFormatError:
        """Return an error that names the line of the token taken last."""
        return FileFormatError(f"Line {self.text.count(chr(10), 0, self.at) + 1}: {what}.")


def text_in(token: str) -> str:
    """Return the text of a token, without quotes if it has some."""
    return ESCAPED.sub(r"\1", token[1:-1]) if token.startswith('"') else token


def number(tokens: Tokens, token: str) -> float:
    """Read a token as a number."""
    try:
        if "_" not in token:
            return float(token)
    except ValueError:
        pass
    raise tokens.error(f"a number must come here. {tokens.got(token)}")
