"""XML without its dangers: no entities, nothing fetched, nothing nested deep, sizes bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from ..errors import FileFormatError
from ._tokens import MAX_CHARACTERS

__all__ = ["PLAIN", "Element", "parse"]

MAX_DEPTH = 50
MAX_ELEMENTS = 2_000_000
MAX_DECLARATIONS = 200

WORD = r"[^\s\x00-\x1f\x7f-\xa0\ud800-\udfff\ufffe\uffff&<>{|}]+"
PLAIN = re.compile(f"{WORD}(?: {WORD})*")
"""Text that comes out of an XML file as it went in: no controls, no blanks but single ones between words, nothing
that pyAgrum forgets to escape."""


@dataclass(eq=False, slots=True)
class Element:
    """An element: its tag, attributes, text and elements in it."""

    tag: str
    attributes: Mapping[str, str]
    pieces: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text in it, without blanks around."""
        return "".join(self.pieces).strip()

    def all(self, *tags: str) -> Iterator[Element]:
        """Elements directly in it that have one of these tags."""
        return (child for child in self.children if child.tag in tags)


def parse(data: str | bytes) -> Element:
    """Read an XML file as a tree of elements, tags in small letters.

    Entities of the file's own are refused, whatever they stand for: this is how small files become large ones. A
    declaration of elements, as XMLBIF files have it, may be there and is not looked at.

    Examples
    --------
    >>> parse("<a><B x='1'> text </B></a>").children[0].text
    'text'
    """
    if len(data) > MAX_CHARACTERS:
        raise FileFormatError(f"The file has more than {MAX_CHARACTERS:,} characters; such networks are not read.")
    reader = _Reader()
    parser = expat.ParserCreate("utf-8" if isinstance(data, str) else None)
    parser.buffer_text = True
    parser.specified_attributes = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = reader.entity
    parser.AttlistDeclHandler = parser.ElementDeclHandler = reader.declaration
    try:
        parser.Parse(data.encode("utf-8") if isinstance(data, str) else data, True)
    except expat.ExpatError as error:
        raise FileFormatError(f"Line {error.lineno}: this is not XML ({expat.ErrorString(error.code)}).") from None
    except (LookupError, UnicodeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"The text of the file cannot be read: {error}.") from None
    return reader.root.children[0]


class _Reader:
    def __init__(self) -> None:
        self.root = Element("", {})
        self.open = [self.root]
        self.n_elements = self.n_declarations = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.n_elements += 1
        if len(self.open) > MAX_DEPTH:
            raise FileFormatError(f"Elements are nested more than {MAX_DEPTH} deep; this is not a network.")
        if self.n_elements > MAX_ELEMENTS:
            raise FileFormatError(f"The file has more than {MAX_ELEMENTS:,} elements; such networks are not read.")
        element = Element(tag.lower(), attributes)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def text(self, piece: str) -> None:
        self.open[-1].pieces.append(piece)

    def entity(self, name: str, *rest: object) -> None:
        raise FileFormatError(f"The file declares the entity '{name[:40]}', and entities are not read. Take it out.")

    def declaration(self, *what: object) -> None:
        self.n_declarations += 1
        if self.n_declarations > MAX_DECLARATIONS:
            raise FileFormatError(f"The file has more than {MAX_DECLARATIONS:,} declarations; such are not read.")
