"""Fits in a file: those that are finished, and the runs of one that is under way, so that it can go on to the bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._data import Data
from .._model import Counts, Model
from ..checkpoint import Checkpoint, fingerprint
from ..errors import FileFormatError, LatentreeError
from ..runner import CheckpointWriter, StopReason
from ._fit import Fit

Packed = Mapping[str, Any]


@dataclass
class FitCheckpoint:
    """A checkpoint of one or several fits by name. Make one with :meth:`open`."""

    writer: CheckpointWriter
    fits: dict[str, Packed] = field(default_factory=dict)
    under_way: Packed | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], made_from: Mapping[str, Any]) -> FitCheckpoint:
        """Read what the file holds, if it is there; one made from anything else is refused."""
        file = Checkpoint(path, "fit", {name: fingerprint(value) for name, value in made_from.items()})
        found = cls(CheckpointWriter(file))
        if file.exists():
            payload = file.load().payload
            fits: Any = payload.get("fits")
            under_way = payload.get("under_way")
            whole = isinstance(fits, dict) and all(map(_counted, fits.values()))
            if under_way is not None:
                timed = isinstance(under_way, dict) and isinstance(under_way.get("seconds"), float)
                whole = whole and timed and _counted(under_way.get("climb"))
            if not whole:
                raise FileFormatError(f"The fits in '{os.fspath(path)}' are damaged.")
            found = cls(found.writer, fits, under_way)
        return found

    def section(self, name: str) -> FitSlot:
        """The part of the file that belongs to one fit."""
        under_way = self.under_way if self.under_way is not None and self.under_way.get("name") == name else {}
        return FitSlot(self, name, self.fits.get(name), under_way.get("climb"), under_way.get("seconds", 0.0))

    def save(self) -> None:
        """Write the file."""
        passes = sum(int(fit["evaluations"]) for fit in self.fits.values())
        if self.under_way is not None:
            passes += int(self.under_way["climb"]["evaluations"])
        self.writer.save({"fits": self.fits, "under_way": self.under_way}, steps=passes)


@dataclass
class FitSlot:
    """Where one fit is kept."""

    file: FitCheckpoint
    name: str
    fit: Packed | None  # if it is finished
    runs: Packed | None  # if it is under way
    seconds: float  # that it took before
    began: float = field(default_factory=time.monotonic)

    def keep(self, pack: Callable[[], Packed]) -> None:
        """Save the runs if it is time to."""
        if self.file.writer.due:
            self._save(pack)

    def end(self, pack: Callable[[], Packed], fit: Fit, stopped: StopReason | None) -> None:
        """Save the fit, or the runs if it was stopped on the way."""
        if stopped is not None:
            self._save(pack)
            return
        self.file.fits[self.name] = _packed(fit)
        self.file.under_way = None
        self.file.save()

    def finished(self, model: Model, table: Data) -> Fit:
        """The fit, if it is finished."""
        if self.fit is None:
            raise LatentreeError(f"The fit '{self.name}' is not finished.")
        return _unpacked(self.fit, model, table)

    def _save(self, pack: Callable[[], Packed]) -> None:
        seconds = self.seconds + time.monotonic() - self.began
        self.file.under_way = {"name": self.name, "climb": pack(), "seconds": seconds}
        self.file.save()


FitLocation = str | os.PathLike[str] | FitSlot | None
"""Where a fit is kept: a file of its own, or a part of one."""


def fit_slot(checkpoint: FitLocation, model: Model, table: Data, settings: Mapping[str, Any]) -> FitSlot | None:
    """Open the file a fit is kept in, if there is to be one."""
    if checkpoint is None or isinstance(checkpoint, FitSlot):
        return checkpoint
    own = dict(settings)
    made_from = {"data": table, "model": model, "starts": own.pop("starts", None), "settings": own}
    return FitCheckpoint.open(checkpoint, made_from).section("fit")


def _counted(part: Any) -> bool:
    """Whether it says how many passes it took, as all parts of a file do."""
    return isinstance(part, dict) and isinstance(part.get("evaluations"), int)


def _packed(fit: Fit) -> dict[str, Any]:
    return {
        "parameters": fit.model.parameters,
        "counts": fit.counts.vector,
        "log_likelihood": fit.counts.log_likelihood,
        "weight": fit.counts.weight,
        "trace": fit.trace,
        "reason": fit.reason.value,
        "seconds": fit.seconds,
        "evaluations": fit.evaluations,
        "starts": fit.starts,
    }


def _unpacked(packed: Packed, model: Model, table: Data) -> Fit:
    size = model.tree.size
    try:
        return Fit(
            model=model.with_parameters(_vector(packed, "parameters", size), provenance=model.provenance),
            table=table,
            counts=Counts(_vector(packed, "counts", size), float(packed["log_likelihood"]), float(packed["weight"])),
            trace=_vector(packed, "trace"),
            reason=StopReason.of(packed["reason"]),
            seed=None,
            seconds=float(packed["seconds"]),
            evaluations=int(packed["evaluations"]),
            starts=_vector(packed, "starts"),
        )
    except (KeyError, TypeError, ValueError, OverflowError, LatentreeError) as error:
        raise FileFormatError(f"The fit in a checkpoint is damaged: {error!r}.") from None


def _vector(packed: Packed, name: str, size: int | None = None) -> Any:
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != 1 or not len(array):
        raise ValueError(f"'{name}' is not a vector of numbers")
    if size is not None and len(array) != size:
        raise ValueError(f"'{name}' has {len(array)} entries, not {size}")
    return array
