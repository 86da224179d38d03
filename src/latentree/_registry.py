"""Tables of things by name: scores, methods, formats, data sets.

Whoever needs a list of them (commands, messages, documents, tests) reads it here, so that adding one is one line.
Importing a registry loads nothing it names: entries that cost time to import are loaded when they are first used.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from .errors import Parameter, ParameterError

__all__ = ["Registry", "loaded", "suggestion"]

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in the order in which they are shown.

    Parameters
    ----------
    kind : str
        What an entry is, in one word: ``score``, ``method``, ``format``.
    entries : mapping of str to entry

    Examples
    --------
    >>> animals = Registry("animal", {"cat": 1, "dog": 2})
    >>> animals["cat"], list(animals)
    (1, ['cat', 'dog'])
    >>> animals.find("dgo", owner="feed")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    latentree.errors.ParameterError: ... must be one of 'cat', 'dog'. Got 'dgo' instead. Did you mean 'dog'?
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {', '.join(self)})"

    def register(self, name: str, entry: Entry) -> None:
        """Add an entry of one's own, which commands, messages and searches then know.

        Examples
        --------
        >>> animals = Registry("animal", {"cat": 1})
        >>> animals.register("owl", 3)
        >>> list(animals)
        ['cat', 'owl']
        """
        if name in self._entries:
            raise ParameterError("There is a {kind} '{name}' already.", kind=self.kind, name=name)
        self._entries[name] = entry

    def unregister(self, name: str) -> None:
        """Take an entry out again.

        Examples
        --------
        >>> animals = Registry("animal", {"cat": 1, "owl": 3})
        >>> animals.unregister("owl")
        >>> list(animals)
        ['cat']
        """
        self.find(name, owner="unregister", parameter="name")
        del self._entries[name]

    def find(self, name: object, *, owner: str, parameter: str | None = None) -> Entry:
        """Look a name up; a name that is not there is answered with the names that are, and the likeliest of them."""
        if isinstance(name, str) and name in self._entries:
            return self._entries[name]
        raise ParameterError(
            "{parameter} must be one of {known}. Got {got!r} instead.{meant}",
            parameter=Parameter(parameter or self.kind, owner),
            known=", ".join(map(repr, self)),
            got=name,
            meant=suggestion(name, self),
        )


def suggestion(name: object, known: Mapping[str, Any] | list[str]) -> str:
    """Return " Did you mean 'x'?" if some known name is like this one, otherwise nothing.

    Examples
    --------
    >>> suggestion("bci", ["aic", "bic"])
    " Did you mean 'bic'?"
    >>> suggestion("nothing like it", ["bic"])
    ''
    """
    close = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return f" Did you mean '{close[0]}'?" if close else ""


def loaded(reference: str) -> Any:
    """Load what ``module:name`` refers to.

    Examples
    --------
    >>> loaded("math:sqrt")(9.0)
    3.0
    """
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
