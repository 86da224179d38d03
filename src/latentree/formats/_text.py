"""Text of data files: compressed or not, in whatever encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .._files import read_at_most, write_atomically
from ..errors import Advice, FileFormatError, bad_parameter

__all__ = [
    "MAX_BYTES",
    "PathLike",
    "lines_in",
    "lines_of",
    "open_text_file",
    "read_bytes",
    "read_text_file",
    "refuse_swollen_archive",
    "write_text_file",
]

PathLike = str | os.PathLike[str]

MAX_BYTES = 1 << 32
"""Text above this size, packed or not, is not read: it would not fit into memory several times."""

RATIO, UNSUSPECTED = 20, 3 << 27
"""How many times its size a packed file may hold, and what may be there in any case. Tables pack to a tenth or so."""

MAX_LINE = 1 << 25
"""Most characters of a line of data: 100,000 columns of 300 characters each."""

PIECE = 1 << 20
"""Characters that are cut into lines at a time."""

ENCODING_ADVICE = "Give the file's encoding, for example {windows} (Windows) or {latin}."
ENCODINGS = {"windows": Advice("encoding", "cp1252"), "latin": Advice("encoding", "latin-1")}

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""Byte order marks, which tell the encoding."""


def read_text_file(path: PathLike, encoding: str | None = None, *, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file, unpacked if it is gzipped."""
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
        message = "'{file}', line {line}: byte {at} (0x{byte:02x}) is not {encoding} text. " + ENCODING_ADVICE
        raise FileFormatError(
            message, file=name, line=line, at=error.start, byte=data[error.start], encoding=encoding, **ENCODINGS
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = "'{file}', line {line}: a zero character. This is not a text file; see {format}."
        raise FileFormatError(message, file=name, line=line, format=Advice("format"))
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
            message = "'{file}' is not {encoding} text (0x{byte:02x} is in it). " + ENCODING_ADVICE
            raise FileFormatError(
                message, file=name, encoding=own, byte=error.object[error.start], **ENCODINGS
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(
                "'{file}' is packed but cannot be unpacked: {error}.", file=name, error=error
            ) from None


def lines_in(read: Callable[[int], str], name: str) -> Iterator[str]:
    r"""Cut text into lines with their ends, piece by piece; a line that is too long is refused before it is read.

    Examples
    --------
    >>> list(lines_in(io.StringIO("a\n\nb", newline="").read, "some.csv"))
    ['a\n', '\n', 'b']
    """
    rest, n_lines = "", 0
    while piece := read(PIECE):
        whole = rest + piece
        # A carriage return at the very end may be half of a line end.
        end = max(whole.rfind("\n"), whole.rfind("\r", 0, len(whole) - 1)) + 1
        if whole[end - 1 : end + 1] == "\r\n":
            end += 1
        for line in io.StringIO(whole[:end], newline=""):
            n_lines += 1
            yield line
        rest = whole[end:]
        if len(rest) > MAX_LINE:
            message = (
                "'{file}', line {line}: more than {most:,} characters without a line end. Such lines are not read."
            )
            raise FileFormatError(message, file=name, line=n_lines + 1, most=MAX_LINE)
    yield from io.StringIO(rest, newline="")


def lines_of(text: str, name: str) -> Iterator[str]:
    """Cut a text into lines; see :func:`lines_in`. A list of them could be many times as large as the text."""
    at = 0

    def read(size: int) -> str:
        nonlocal at
        at += size
        return text[at - size : at]

    return lines_in(read, name)


def write_text_file(path: PathLike, text: str) -> None:
    """Write a text file whole or not at all, gzipped if its name ends in ``.gz``."""
    write_bytes_file(path, text.encode())


def write_bytes_file(path: PathLike, data: bytes) -> None:
    """Write the bytes of a text file; see :func:`write_text_file`."""
    # Without a time stamp, the same text always gives the same file.
    write_atomically(path, gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def read_bytes(path: PathLike, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a file of bounded size, unpacked if it is gzipped."""
    with open(path, "rb") as file:
        data = read_at_most(file, max_bytes + 1)
    if data.startswith(b"\x1f\x8b"):
        data = _unpacked(data, path, max_bytes)
    if len(data) > max_bytes:
        raise FileFormatError(
            "'{file}' is larger than {most:,} bytes; such files are not read.", file=os.fspath(path), most=max_bytes
        )
    return data


def _unpacked(data: bytes, path: PathLike, max_bytes: int) -> bytes:
    """Unpack piece by piece: a small file may stand for a huge one."""
    limit = min(max_bytes, _most_unpacked(len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            out = read_at_most(packed, limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(
            "'{file}' is damaged: it cannot be unpacked ({error}).", file=os.fspath(path), error=error
        ) from None
    if limit < len(out) <= max_bytes:
        raise _suspected(path, limit, "If you trust it, unpack it first.")
    return out


def refuse_swollen_archive(path: PathLike) -> None:
    """Refuse a zip archive, such as a workbook, whose parts unpack to far more than its size."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # damaged, or no archive: what reads it says so
    limit = _most_unpacked(os.path.getsize(path))
    if unpacked > limit:
        raise _suspected(path, limit, "If you trust it, save it as CSV.")


def _most_unpacked(size: int) -> int:
    return max(UNSUSPECTED, RATIO * size)


def _suspected(path: PathLike, limit: int, remedy: str) -> FileFormatError:
    return FileFormatError(
        "'{file}' unpacks to more than {limit:,} bytes, {ratio} times its size or more, like a file made to fill the "
        "memory. {remedy}",
        file=os.fspath(path),
        limit=limit,
        ratio=RATIO,
        remedy=remedy,
    )
