"""Text of data files: compressed or not, in whatever encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .._files import read_at_most, write_atomically
from ..errors import FileFormatError, bad_parameter

__all__ = ["MAX_BYTES", "PathLike", "open_text_file", "read_bytes", "read_text_file", "write_text_file"]

PathLike = str | os.PathLike[str]

MAX_BYTES = 1 << 32
"""Text above this size, packed or not, is not read: it would not fit into memory several times."""

RATIO, UNSUSPECTED = 250, 1 << 28
"""How many times its size a packed file may hold, and what may be there in any case. Tables pack to a tenth or so."""

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""Byte order marks, which tell the encoding."""


def read_text_file(path: PathLike, encoding: str | None = None, *, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file, unpacked if it is gzipped.

    Parameters
    ----------
    path : str or path
        The file.
    encoding : str, optional
        Its encoding. Default: as its byte order mark says, else UTF-8.
    max_bytes : int
        How large it may be, unpacked.

    Raises
    ------
    FileFormatError
        When it is not text of that encoding, or too large; the message says where.
    """
    data = read_bytes(path, max_bytes=max_bytes)
    name = os.fspath(path)
    if encoding is None:
        encoding = next((e for mark, e in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except LookupError:
        raise bad_parameter("encoding", "read_table", "the name of an encoding, such as 'cp1252'", encoding) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"'{name}', line {line}: byte {error.start} (0x{data[error.start]:02x}) is not {encoding} text. "
            "Give the file's encoding, for example encoding='cp1252' (Windows) or encoding='latin-1'."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileFormatError(f"'{name}', line {line}: a zero character. This is not a text file; see format=.")
    return text.removeprefix("\ufeff")


@contextmanager
def open_text_file(path: PathLike, encoding: str | None = None) -> Iterator[TextIO]:
    """Open a text file of any size for reading line by line, unpacked if it is gzipped.

    The encoding is found and wrong bytes are reported as by :func:`read_text_file`.
    """
    name = os.fspath(path)
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if packed else open(path, "rb") as file:
        start = file.read(4)
        file.seek(0)
        marked = next((e for mark, e in MARKS if start.startswith(mark)), "utf-8")
        own = marked if encoding is None or (encoding.lower() == "utf-8" and marked == "utf-8-sig") else encoding
        try:
            with io.TextIOWrapper(file, encoding=own, newline="") as text:
                yield text
        except LookupError:
            raise bad_parameter(
                "encoding", "read_table", "the name of an encoding, such as 'cp1252'", encoding
            ) from None
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"'{name}' is not {own} text (0x{error.object[error.start]:02x} is in it). "
                "Give the file's encoding, for example encoding='cp1252' (Windows) or encoding='latin-1'."
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(f"'{name}' is packed but cannot be unpacked: {error}.") from None


def write_text_file(path: PathLike, text: str) -> None:
    """Write a text file whole or not at all, gzipped if its name ends in ``.gz``."""
    data = text.encode()
    # Without a time stamp, the same text always gives the same file.
    write_atomically(path, gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def read_bytes(path: PathLike, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a file of bounded size, unpacked if it is gzipped."""
    with open(path, "rb") as file:
        data = read_at_most(file, max_bytes + 1)
    if data.startswith(b"\x1f\x8b"):
        data = _unpacked(data, path, max_bytes)
    if len(data) > max_bytes:
        raise FileFormatError(f"'{os.fspath(path)}' is larger than {max_bytes:,} bytes; such files are not read.")
    return data


def _unpacked(data: bytes, path: PathLike, max_bytes: int) -> bytes:
    """Unpack piece by piece: a small file may stand for a huge one."""
    limit = min(max_bytes, max(UNSUSPECTED, RATIO * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            out = read_at_most(packed, limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"'{os.fspath(path)}' is damaged: it cannot be unpacked ({error}).") from None
    if limit < len(out) <= max_bytes:
        raise FileFormatError(
            f"'{os.fspath(path)}' unpacks to more than {RATIO} times its size, like a file made to fill the memory. "
            "Unpack it by hand if it is what it should be."
        )
    return out
