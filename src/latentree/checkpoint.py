"""Checkpoints: the state of a computation in a JSON file, replaced whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ._data import Data
from ._files import MAX_BYTES, decoded, encoded, read_text, write_atomically
from ._model import Model
from ._table import Table
from ._tree import Tree
from ._variables import Variable, typed
from .errors import FileFormatError, LatentreeError, ParameterError, bad_parameter

__all__ = ["Checkpoint", "Saved", "fingerprint", "pack_model", "unpack_model"]

FORMAT = "latentree-checkpoint"
VERSION = 1
_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "kind_version": (int,),
    "made_from": (dict,),
    "steps": (int,),
    "seconds": (float,),
    "generator": (dict, type(None)),
    "payload": (dict,),
}
_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    g.__name__: g for g in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
# Positions in a buffer, which NumPy trusts to lie inside it.
_POSITIONS = {"MT19937": (("state", "pos"), 624), "Philox": (("buffer_pos",), 4)}


@dataclass(frozen=True)
class Saved:
    """What a checkpoint held."""

    payload: dict[str, Any]
    rng: np.random.Generator | None
    steps: int
    seconds: float


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of a computation: JSON, replaced whole or not at all, no code in it.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What computation it belongs to.
    made_from : mapping of str to str
        Fingerprints of what the computation depends on (see :func:`fingerprint`); others are refused on loading.
    version : int, default 1
        Version of the payload's layout.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Checkpoint(Path(folder.name) / "state.json", "walk", {"settings": fingerprint({"p": 0.5})})
    >>> rng = np.random.default_rng(1)
    >>> file.save({"x": np.arange(3), "best": -np.inf}, rng=rng, steps=7)
    >>> saved = file.load()
    >>> saved.payload["x"].tolist(), saved.payload["best"], saved.steps
    ([0, 1, 2], -inf, 7)
    >>> float(saved.rng.random()) == float(rng.random())
    True
    >>> folder.cleanup()
    """

    path: str | os.PathLike[str]
    kind: str
    made_from: Mapping[str, str] = field(default_factory=dict)
    version: int = 1

    def exists(self) -> bool:
        """Whether there is something to load."""
        return Path(self.path).exists()

    def save(
        self,
        payload: Mapping[str, Any],
        *,
        rng: np.random.Generator | Mapping[str, Any] | None = None,
        steps: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Write the file.

        Parameters
        ----------
        payload : mapping
            Plain values, NumPy arrays of numbers, and lists and mappings of them. Tuples come back as lists,
            mappings in their order.
        rng : numpy.random.Generator or its state, optional
            The generator to go on with.
        steps, seconds
            How far it is.
        """
        if not isinstance(payload, Mapping):
            raise bad_parameter("payload", "Checkpoint.save", "a mapping", payload)
        state = rng.bit_generator.state if isinstance(rng, np.random.Generator) else rng
        bits = None if state is None else state.get("bit_generator")
        if state is not None and bits not in _GENERATORS:
            raise ParameterError(f"A generator of kind {bits!r} cannot be saved; use one of {', '.join(_GENERATORS)}.")
        document = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "kind_version": self.version,
            "made_from": dict(self.made_from),
            "steps": int(steps),
            "seconds": float(seconds),
            "generator": encoded(state, "rng"),
            "payload": encoded(payload, "payload"),
        }
        text = _text({**document, "sha256": _digest(document)}, sort_keys=False) + "\n"  # mappings keep their order
        if len(text) > MAX_BYTES:  # better now than when it is needed
            raise ParameterError(f"The state of '{self.kind}' takes {len(text):,} bytes; {MAX_BYTES:,} are possible.")
        write_atomically(self.path, text)

    def load(self) -> Saved:
        """Read the file, or say what is wrong with it.

        Raises
        ------
        FileFormatError
            When the file is damaged, of another kind or from another version.
        ParameterError
            When it was made from other data or settings.
        """
        try:
            document = _document(read_text(self.path))
            self._check_kind(document)
            payload, rng = decoded(document["payload"]), _generator(document["generator"])
        except (FileFormatError, RecursionError) as error:
            raise FileFormatError(
                "Cannot resume from '{file}': {error}", file=os.fspath(self.path), error=error
            ) from None
        self._check_origin(document["made_from"])
        return Saved(payload, rng, document["steps"], document["seconds"])

    def _check_kind(self, document: dict[str, Any]) -> None:
        if document["kind"] != self.kind:
            raise FileFormatError(f"it belongs to '{document['kind']}', not '{self.kind}'. Choose another file.")
        if document["kind_version"] != self.version:
            raise FileFormatError(
                f"it has version {document['kind_version']} of the state of '{self.kind}', this latentree version "
                f"{self.version}. Remove the file to start afresh."
            )

    def _check_origin(self, made_from: Mapping[str, str]) -> None:
        other = sorted(k for k in {*made_from, *self.made_from} if made_from.get(k) != self.made_from.get(k))
        if other:
            rest = " and ".join(k for k in other if k != "seed")
            parts = [f"other {rest}" if rest else "", "another seed" if "seed" in other else ""]
            raise ParameterError(
                "'{path}' was made with {differs}. Use the same as then to resume it, or name another file to start "
                "afresh.",
                path=os.fspath(self.path),
                differs=" and ".join(filter(None, parts)),
            )


def _text(value: Any, *, sort_keys: bool = True) -> str:
    return json.dumps(value, sort_keys=sort_keys, allow_nan=False, separators=(",", ":"))


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(document).encode()).hexdigest()


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise FileFormatError("it is not whole JSON; the file is damaged or of another kind.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError("it is not a checkpoint of latentree.")
    if document.get("version") != VERSION:
        raise FileFormatError(
            f"its format has version {document.get('version')!r}, this latentree reads {VERSION}. Use the latentree "
            "that wrote it, or remove the file to start afresh."
        )
    digest = document.pop("sha256", None)
    try:
        whole = digest == _digest(document)
    except (ValueError, RecursionError):  # not-a-number, or nested beyond reason: not from us
        whole = False
    if not whole:
        raise FileFormatError("its checksum does not fit; the file is damaged or was edited.")
    for name, types in _FIELDS.items():
        if not isinstance(document.get(name, ...), types):
            raise FileFormatError(f"its '{name}' is missing or of the wrong kind.")
    return document


def _generator(stored: Any) -> np.random.Generator | None:
    if stored is None:
        return None
    try:
        state = decoded(stored)
        kind = _GENERATORS[state["bit_generator"]]
        _check_position(state)
        bits = kind(0)
        bits.state = state
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FileFormatError("the state of its random generator is damaged or of an unknown kind.") from None
    return np.random.Generator(bits)


def _check_position(state: Mapping[str, Any]) -> None:
    path, most = _POSITIONS.get(state["bit_generator"], ((), 0))
    at: Any = state
    for key in path:
        at = at[key]
    if path and not 0 <= int(at) <= most:
        raise ValueError("position outside the buffer")


# ---- what a checkpoint was made from, and what it may hold ----------------------------------------------------


def fingerprint(value: Any) -> str:
    """Return a hash of data or settings: equal for equal values, whatever the machine.

    Parameters
    ----------
    value
        A Table, Model, Tree, Variable, array, plain value, or a list or mapping of them. The order of a mapping does
        not count.

    Examples
    --------
    >>> fingerprint({"tol": 0.01, "prior": 1.0}) == fingerprint({"prior": 1.0, "tol": 0.01})
    True
    >>> fingerprint([1, 2]) == fingerprint([1, "2"])
    False
    """
    return _digest({"value": encoded(_described(value), "fingerprint")})


def _described(value: Any) -> Any:
    if isinstance(value, Data):
        rows = value.map_parts(_rows_of)
        whole = rows[0] if len(rows) == 1 else [[fingerprint(own) for own in rows], None]
        return ["Table", *whole, value.n, [_described(v) for v in value.variables]]
    if isinstance(value, Model):
        return ["Model", pack_model(value), [_described(v) for v in value.variables]]
    if isinstance(value, Tree):
        return ["Tree", _packed_tree(value)]
    if isinstance(value, Variable):
        return ["Variable", value.name, [list(typed(s)) for s in value.states], value.edges]
    if isinstance(value, Enum):
        return [type(value).__name__, _described(value.value)]
    if isinstance(value, Mapping):
        return {k: _described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    return value


def _rows_of(table: Table) -> list[Any]:
    return [np.asarray(table.codes), np.asarray(table.weights)]


def _packed_tree(tree: Tree) -> dict[str, Any]:
    return {
        "parent": tree.parent,
        "cardinality": tree.cardinality,
        "variable": tree.variable,
        "names": list(tree.names),
    }


def pack_model(model: Model) -> dict[str, Any]:
    """Turn a model into what a checkpoint can hold; the variables are left out, they come with the data."""
    return {**_packed_tree(model.tree), "parameters": model.parameters}


def unpack_model(packed: Mapping[str, Any], variables: Sequence[Variable]) -> Model:
    """Make the model again; the opposite of :func:`pack_model`.

    Examples
    --------
    >>> from latentree._variables import numbered
    >>> model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    >>> unpack_model(pack_model(model), model.variables) == model
    True
    """
    try:
        tree = Tree(packed["parent"], packed["cardinality"], packed["variable"], tuple(packed["names"]))
        return Model(tree, tuple(variables), packed["parameters"])
    except (KeyError, TypeError, LatentreeError) as error:
        raise FileFormatError(f"The model in a checkpoint is damaged: {error}") from None
