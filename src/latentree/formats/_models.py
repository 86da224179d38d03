"""Model files of every kind: which format a name stands for, and reading and writing by it."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from .._registry import Registry
from ..errors import FileFormatError, Parameter, ParameterError
from ._formats import MODEL_FORMATS, ModelFormat, by_suffix

if TYPE_CHECKING:
    from .._model import Model
    from ._network import Latent

__all__ = ["FORMATS", "ModelFormat", "format_of", "load", "save", "text_of"]


FORMATS = MODEL_FORMATS


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Tell the kind of model file that a name stands for, gzipped or not; None if it does not tell.

    Examples
    --------
    >>> format_of("asia.BIF.gz"), format_of("model")
    ('bif', None)
    """
    return by_suffix(path, FORMATS)


def load(
    path: str | os.PathLike[str], *, format: str | None = None, latent: Latent = None, encoding: str | None = None
) -> Model:
    """Read a model from a file of latentree or of another program.

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    format : {"json", "bif", "xmlbif", "net", "xdsl"}, optional
        What kind of file it is. Default: as its name ends; JSON if that does not tell.
    latent : sequence of str or "inner", optional
        Which nodes of another program's network are latent: these, or ``"inner"`` for all that have children. Default:
        those that the file says are. Files of latentree say it, and those of pgmpy; otherwise no node is.
    encoding : str, optional
        Encoding of a BIF or NET file. Default: UTF-8. The others tell it themselves.

    Raises
    ------
    FileFormatError
        When the file is damaged, foreign, too large, or holds no tree; the message says what is wrong where.

    Examples
    --------
    >>> import tempfile
    >>> from latentree.datasets import generator
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generator("d7").save(folder + "/d7.bif")
    ...     load(folder + "/d7.bif") == generator("d7")
    True
    """
    kind = format or format_of(path) or "json"
    read = {name: one for name, one in FORMATS.items() if one.is_read}
    if format is None and kind not in read:
        raise FileFormatError(
            "'{file}': files of format '{format}' are only written, since they do not hold a whole model. Give a model "
            "file, which ends in {endings}.",
            file=os.fspath(path),
            format=kind,
            endings=", ".join(ending for one in read.values() for ending in one.suffixes),
        )
    Registry("format", read).find(kind, owner="load")
    if kind == "json" and latent is not None:
        raise ParameterError(
            "{parameter} is for files of other programs: '{file}' is of latentree, and says itself which nodes are "
            "latent. Leave it out.",
            parameter=Parameter("latent", "load"),
            file=os.fspath(path),
        )
    from .._files import preceded, read_text
    from ._text import read_bytes, read_text_file
    from ._tokens import MAX_CHARACTERS

    more: dict[str, Any] = {} if kind == "json" else {"latent": latent}
    try:
        if kind == "json":
            content: Any = read_text_file(path) if os.fspath(path).lower().endswith(".gz") else read_text(path)
        elif FORMATS[kind].is_xml:
            content = read_bytes(path, max_bytes=MAX_CHARACTERS)
        else:
            content = read_text_file(path, encoding, max_bytes=4 * MAX_CHARACTERS)
        model: Model = _module(kind).loads(content, **more)
    except FileFormatError as error:
        raise preceded(error, "Cannot read the model file '{model}': ", model=os.fspath(path)) from None
    return model


def save(model: Model, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a model to a file of latentree or of another program, whole or not at all.

    What another format has no room for is kept in properties, as :mod:`latentree.formats._network` tells; a warning
    says which names were changed.

    Parameters
    ----------
    model : Model
        The model.
    path : str or path
        The file to make or replace; gzipped if its name ends in ``.gz``.
    format : {"json", "bif", "xmlbif", "net", "xdsl", "dot"}, optional
        What kind of file to write. Default: as its name ends; JSON if that does not tell.
    """
    from ._text import write_text_file

    write_text_file(path, text_of(model, format or format_of(path) or "json"))


def text_of(model: Model, format: str) -> str:
    """Return what :func:`save` writes."""
    FORMATS.find(format, owner="save")
    text: str = _module(format).dumps(model)
    return text


def _module(kind: str) -> Any:
    return importlib.import_module(FORMATS[kind].module)
