"""Draws in ArviZ' layout: an xarray DataTree, and netCDF files that ArviZ (old and new) and xarray read.

Groups: ``posterior`` (n_classes, weights, theta by chain and draw), ``sample_stats`` (log_likelihood, and jumps tried
and accepted by chain) and ``observed_data`` (distinct rows and their counts). ``theta`` has one axis ``cell``, a cell
being a state of a variable; the coordinates ``variable`` and ``state`` say which.

They need xarray, and files need h5netcdf and h5py: ``pip install 'latentree[arviz]'``.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._files import write_atomically
from .._table import Table
from .._variables import Variable
from ..errors import FileFormatError, missing_extra
from ..runner import StopReason
from ._draws import Draws
from ._prior import ClassPrior
from ._relabel import relabel

VERSION = 1


def datatree(draws: Draws) -> Any:
    """Return an xarray DataTree.

    With a fixed number of classes they are relabelled, so that R-hat and the like mean something; otherwise they stand
    as they were drawn, NaN beyond each draw's number of classes.
    """
    xr = _xarray()
    weights, theta = draws.weights, draws.theta
    if draws.method == "gibbs":
        own = relabel(draws.given(draws.prior.max_classes))
        weights, theta = own.weights.reshape(weights.shape), own.theta.reshape(theta.shape)
    variables = draws.table.variables
    coords = {
        "chain": np.arange(draws.n_chains),
        "draw": np.arange(draws.n_draws),
        "class": np.arange(draws.prior.max_classes),
        "variable": ("cell", np.array([v.name for v in variables for _ in v.states], dtype=object).astype(str)),
        "state": ("cell", np.array([str(s) for v in variables for s in v.states], dtype=object).astype(str)),
    }
    posterior = xr.Dataset(
        {
            "n_classes": (("chain", "draw"), draws.k.astype(np.int64)),
            "weights": (("chain", "draw", "class"), weights),
            "theta": (("chain", "draw", "class", "cell"), theta),
        },
        coords=coords,
        attrs=_attributes(draws),
    )
    jumps = list(draws.tried)
    stats = xr.Dataset(
        {
            "log_likelihood": (("chain", "draw"), draws.log_likelihood),
            "tried": (("chain", "jump"), np.stack([draws.tried[j] for j in jumps], axis=1)),
            "accepted": (("chain", "jump"), np.stack([draws.accepted[j] for j in jumps], axis=1)),
        },
        coords={"chain": coords["chain"], "draw": coords["draw"], "jump": jumps},
    )
    observed = xr.Dataset(
        {
            "codes": (("pattern", "column"), draws.table.codes.astype(np.int16)),
            "count": (("pattern",), draws.table.weights),
        },
        coords={"column": list(draws.table.names)},
    )
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats, "observed_data": observed})


def _attributes(draws: Draws) -> dict[str, Any]:
    from .. import __version__

    edges = [None if v.edges is None else list(v.edges) for v in draws.table.variables]
    return {
        "inference_library": "latentree",
        "inference_library_version": __version__,
        "latentree_layout": VERSION,
        "method": draws.method,
        "prior_n_classes": np.asarray(draws.prior.n_classes, dtype=np.float64),
        "delta1": float(draws.prior.delta1),
        "delta2": float(draws.prior.delta2),
        "n_burn": draws.n_burn,
        "thin": draws.thin,
        "reason": draws.reason.value,
        "sampling_time": float(draws.seconds),
        "variables": json.dumps(
            [[v.name, list(v.states), e] for v, e in zip(draws.table.variables, edges, strict=True)]
        ),
        "values": json.dumps([_values(v) for v in draws.table.variables]),
        "inverse": np.asarray(draws.table.inverse, dtype=np.int32),
    }


def _values(variable: Variable) -> dict[str, Any]:
    """How values are read as its states, where that is more than their names."""
    known = {name: getattr(variable, name) for name in ("merged", "other", "never_seen", "label", "order")}
    return {name: value for name, value in known.items() if value not in (None, (), "")}


def _variable(raw: list[Any], values: dict[str, Any]) -> Variable:
    name, states, edges = raw
    merged = tuple(map(tuple, values.get("merged", ())))
    words = {key: values.get(key, "") for key in ("label", "order")}
    never_seen = tuple(values.get("never_seen", ()))
    return Variable(name, tuple(states), edges, merged, values.get("other"), never_seen, **words)


def save(draws: Draws, path: str | os.PathLike[str]) -> None:
    """Write draws to a netCDF file, whole or not at all."""
    tree = datatree(draws)
    tree["posterior"].attrs.pop("inverse")  # as long as the data: a variable, not an attribute
    tree["observed_data"] = tree["observed_data"].to_dataset().assign(inverse=("row", draws.table.inverse))
    check_libraries()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draws.nc"
        tree.to_netcdf(file, engine="h5netcdf")
        write_atomically(path, file.read_bytes())


def load(path: str | os.PathLike[str]) -> Draws:
    """Read what :func:`save` wrote.

    With a fixed number of classes these come back relabelled.
    """
    check_libraries()
    xr = _xarray()
    if not Path(path).exists():
        raise FileNotFoundError(2, "There is no such file", os.fspath(path))
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return _draws({name: tree[name].to_dataset().load() for name in tree.children})
    except (LookupError, OSError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise FileFormatError(
            "'{file}' does not hold draws of latentree: {error}", file=os.fspath(path), error=error
        ) from None


def _draws(groups: dict[str, Any]) -> Draws:
    posterior, stats, observed = (groups[name] for name in ("posterior", "sample_stats", "observed_data"))
    attributes = posterior.attrs
    stored = json.loads(attributes["variables"])
    values = json.loads(attributes["values"]) if "values" in attributes else [{}] * len(stored)  # not in older files
    variables = [_variable(raw, own) for raw, own in zip(stored, values, strict=True)]
    table = Table.from_codes(observed["codes"].values, variables, observed["count"].values)
    inverse = observed["inverse"].values.astype(np.int32)
    inverse = np.where(inverse >= 0, table.inverse[inverse], np.int32(-1)).astype(np.int32)
    table = Table._made(table.codes, table.weights.copy(), table.variables, inverse, table.n)
    jumps = [str(j) for j in stats["jump"].values]
    tried, accepted = (
        {j: stats[name].values[:, i].astype(np.int64) for i, j in enumerate(jumps)} for name in ("tried", "accepted")
    )
    chances = np.atleast_1d(attributes["prior_n_classes"]).tolist()
    prior = ClassPrior(chances, float(attributes["delta1"]), float(attributes["delta2"]))
    drawn = posterior["n_classes"].values.astype(np.int32), posterior["weights"].values, posterior["theta"].values
    jumped = stats["log_likelihood"].values, tried, accepted
    length, reason = (int(attributes["n_burn"]), int(attributes["thin"])), StopReason.of(attributes["reason"])
    seconds = float(attributes["sampling_time"])
    return Draws(table, prior, str(attributes["method"]), *drawn, *jumped, *length, reason, seconds)


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise missing_extra("Draws in ArviZ' layout need xarray", "arviz") from None
    return xarray


def check_libraries() -> None:
    """Raise an error if what netCDF files need is not installed."""
    _xarray()
    try:
        with _processor_known():
            import h5netcdf  # type: ignore[import-untyped]  # noqa: F401
            import h5py  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise missing_extra("A netCDF file needs h5netcdf with h5py", "arviz") from None


@contextmanager
def _processor_known() -> Iterator[None]:
    """Keep Python from starting ``uname -p``: h5py looks at all of ``platform.uname()``, and needs the machine only."""
    found = vars(platform.uname())
    if "processor" in found:
        yield
        return
    found["processor"] = ""  # what Python says where it finds none
    try:
        yield
    finally:
        found.pop("processor", None)
