"""Reading and writing whole files safely, and values as exact JSON."""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import hashlib
import io
import math
import os
import platform
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import FileFormatError, LatentreeError, ParameterError

__all__ = ["MAX_BYTES", "decoded", "encoded", "preceded", "read_at_most", "read_text", "write_atomically"]

MAX_BYTES = 2**30
"""Files of ours above this size are not read: no model or checkpoint comes near it."""

_PIECE = 1 << 24

_REMEDIES = {
    errno.ENOENT: "The folder does not exist; create it first or choose another.",
    errno.ENOTDIR: "A part of the path is a file, not a folder; choose another path.",
    errno.EACCES: "Writing there is not allowed; choose another folder or change its permissions.",
    errno.EPERM: "Writing there is not allowed; choose another folder or change its permissions.",
    errno.EROFS: "The disk is read-only; choose another folder.",
    errno.ENOSPC: "The disk is full; free some space or choose another disk.",
    errno.EDQUOT: "The disk quota is used up; free some space or choose another disk.",
    errno.EISDIR: "It is a folder; give the name of a file.",
    errno.ENAMETOOLONG: "The name is too long; choose a shorter one.",
}


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that it is there whole or, after any failure, as it was before.

    The content goes to a temporary file in the same folder, is flushed to the disk and then takes the name of the
    target in one step. A symbolic link is followed; pipes and devices, which cannot be replaced, are written straight.
    A process that is killed while it writes leaves its temporary file; the next one to write the same file removes it.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_atomically(Path(folder.name) / "note.txt", "all or nothing")
    >>> (Path(folder.name) / "note.txt").read_text()
    'all or nothing'
    >>> folder.cleanup()
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        _write(target, data)
    except OSError as error:
        raise _explained(error, path) from error


def read_text(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Read a whole UTF-8 text file, with or without byte order mark, of bounded size."""
    with open(path, "rb") as file:
        data = read_at_most(file, max_bytes + 1)
    if len(data) > max_bytes:
        raise FileFormatError(f"'{os.fspath(path)}' is larger than {max_bytes:,} bytes; no file of latentree is.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"'{os.fspath(path)}' is not UTF-8 text (byte {error.start}); it is damaged or of another kind."
        ) from None


def preceded(error: LatentreeError, text: str, **fields: Any) -> Any:
    """Return the error with a text before it, which keeps its own words for the shell."""
    template = error.template if error.fields else error.template.replace("{", "{{").replace("}", "}}")
    return type(error)(text + template, **{**error.fields, **fields})


def read_at_most(file: BinaryIO | gzip.GzipFile, n_bytes: int) -> bytes:
    """Read piece by piece: a file object asked for much sets it all aside, whatever there is to read."""
    out = io.BytesIO()
    while out.tell() < n_bytes and (piece := file.read(min(_PIECE, n_bytes - out.tell()))):
        out.write(piece)
    return out.getvalue()


def _write(target: Path, data: bytes) -> None:
    old = _status(target)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if old is not None and not stat.S_ISREG(old.st_mode):
        target.write_bytes(data)
        return
    _remove_leftovers(target)
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        _write_new(temporary, data, 0o666 if old is None else old.st_mode & 0o777)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException:  # an interrupt too must leave nothing behind
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _prefix(target: Path) -> str:
    """How the temporary files for a target begin that are written on this computer."""
    digest = hashlib.sha256(f"{target.name}\0{platform.node()}".encode()).hexdigest()
    return f".latentree-{digest[:16]}-"


def _remove_leftovers(target: Path) -> None:
    """Remove what processes left behind that were killed while they wrote this file."""
    if os.name != "posix":  # elsewhere one cannot ask whether a process lives
        return
    with contextlib.suppress(OSError):
        for found in target.parent.glob(f"{_prefix(target)}*.tmp"):
            pid = found.name.removeprefix(_prefix(target)).partition("-")[0]
            if pid.isascii() and pid.isdigit() and not _lives(int(pid)):
                found.unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _write_new(temporary: Path, data: bytes, mode: int) -> None:
    # Opened by hand, not by tempfile, so that a new file gets the permissions the user's umask asks for, and one that
    # replaces another is at no moment open to more people than the other is.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(temporary, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    # Without this the new name may be lost in a power cut. Not every system can open folders, nor must it.
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _explained(error: OSError, path: str | os.PathLike[str]) -> OSError:
    remedy = _REMEDIES.get(error.errno or 0, "The file is as it was before.")
    return OSError(error.errno, f"Cannot write: {error.strerror or error}. {remedy}", os.fspath(path))


# ---- values that JSON does not have -----------------------------------------------------------------------------

_ARRAY, _FLOAT = "__array__", "__float__"
_DTYPES = {np.dtype(t).str: np.dtype(t) for t in ("?", *(f"<{k}{b}" for k in "iu" for b in (1, 2, 4, 8)), "<f4", "<f8")}


def encoded(value: Any, where: str = "value") -> Any:
    """Turn plain values, NumPy arrays of numbers, and lists and mappings of them into what JSON can hold exactly.

    Arrays become base64 of their little-endian bytes. Tuples become lists, NumPy scalars plain numbers.

    Examples
    --------
    >>> encoded({"x": np.array([1, 2], dtype=np.int8), "y": -np.inf})
    {'x': {'__array__': {'dtype': '|i1', 'shape': [2], 'data': 'AQI='}}, 'y': {'__float__': '-inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: repr(value)}
    if isinstance(value, np.ndarray):
        return {_ARRAY: _encoded_array(value, where)}
    if isinstance(value, Mapping):
        return {_key(k, where): encoded(v, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(v, f"{where}[{i}]") for i, v in enumerate(value)]
    raise ParameterError(f"{where} is a {type(value).__name__}, which a file of latentree cannot hold.")


def decoded(value: Any) -> Any:
    """Make the values again; the opposite of :func:`encoded`.

    Examples
    --------
    >>> decoded(encoded({"x": np.array([1.5, 2]), "y": -np.inf}))
    {'x': array([1.5, 2. ]), 'y': -inf}
    """
    if isinstance(value, list):
        return [decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    try:
        if _ARRAY in value:
            return _decoded_array(value[_ARRAY])
        if _FLOAT in value:
            return float(value[_FLOAT])
    except (KeyError, TypeError, ValueError):
        raise FileFormatError("an array or number in it is damaged.") from None
    return {k: decoded(v) for k, v in value.items()}


def _key(key: object, where: str) -> str:
    if not isinstance(key, str) or key in (_ARRAY, _FLOAT):
        raise ParameterError(f"{where} has the key {key!r}; keys must be text other than '{_ARRAY}' and '{_FLOAT}'.")
    return key


def _encoded_array(array: NDArray[Any], where: str) -> dict[str, Any]:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if little.dtype.str not in _DTYPES:
        raise ParameterError(f"{where} is an array of {array.dtype}, which a file of latentree cannot hold.")
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"dtype": little.dtype.str, "shape": list(array.shape), "data": data}


def _decoded_array(parts: Any) -> NDArray[Any]:
    dtype, shape = _DTYPES[parts["dtype"]], tuple(int(k) for k in parts["shape"])
    flat = np.frombuffer(base64.b64decode(parts["data"], validate=True), dtype)
    if min(shape, default=0) < 0:
        raise ValueError("a length below zero")
    return flat.reshape(shape).astype(dtype.newbyteorder("="))
