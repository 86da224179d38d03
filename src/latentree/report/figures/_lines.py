"""The class-profile line plot that everybody knows, and figures at print size."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..._files import write_atomically
from ...errors import LatentreeError, ParameterError
from ...estimation import Fit
from ...naming import latent_title, node_labels
from ...score import StandardErrors, standard_errors
from .._answers import shown_answer
from .._layout import shortened
from ._axes import axes, found_in, latent_node, lengths, plain, pyplot

__all__ = ["plot_profile_lines", "save_figure"]

COLOURS = ("#0072b2", "#e69f00", "#882255", "#56b4e9", "#117733", "#cc79a7", "#332288", "#999933")
"""They can be told apart without full colour vision; markers and dashes differ as well."""

MARKERS, DASHES = "osD^vP*X", ("-", "--", ":", "-.")

PRINT = {"single": 89.0, "double": 183.0}
"""Widths of columns of a journal, in millimetres."""


def plot_profile_lines(
    thing: Any,
    ax: Any = None,
    *,
    node: str | int | None = None,
    errors: StandardErrors | bool | None = True,
    kind: Literal["lines", "bars"] = "lines",
) -> Any:
    """Draw the profile of each class: the items to the right, the probability of an answer upwards, a line a class.

    Of an item with two answers one is drawn, the one that says that something is so; of others every answer.

    Parameters
    ----------
    thing : estimator, Fit or Model
        What was fitted.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.
    node : str or int, optional
        The latent variable. Default: the first.
    errors : StandardErrors or bool, default True
        Intervals: those given, or computed from the information of a fit. False: none.
    kind : {"lines", "bars"}
        Lines through the items, or bars side by side.

    Returns
    -------
    Axes
        Its legend has the names of the classes and their sizes.
    """
    found = found_in(thing)
    model = found.model if isinstance(found, Fit) else found
    z = latent_node(model, node)
    tree = model.tree
    known = errors if isinstance(errors, StandardErrors) else _errors(thing, found) if errors else None
    items = [
        (v, j)
        for v in sorted((v for v in tree.children[z] if tree.variable[v] >= 0), key=lambda v: int(tree.variable[v]))
        for j in _shown(node_labels(model, v))
    ]
    ax = axes(ax, figsize=(max(4.5, 0.42 * len(items) + 2.2), 3.6))
    sizes, names = model.marginals()[z], node_labels(model, z)
    for i, name in enumerate(names):
        p = np.array([model.table(v)[i, j] for v, j in items])
        reach = None
        if known is not None:
            low, high = (
                np.array([known.table(v, "lower" if end == 0 else "upper")[i, j] for v, j in items]) for end in (0, 1)
            )
            reach = lengths(p, (low, high))
        _draw(ax, kind, i, len(names), p, reach, f"{plain(name)} ({100 * sizes[i]:.0f} %)")
    one = {node_labels(model, v)[j] for v, j in items if _two(model, v)}
    labels = [_label(model, v, j, alone=len(one) == 1) for v, j in items]
    turned = max(map(len, labels), default=0) > 3
    ax.set_xticks(range(len(items)), labels, rotation=45 if turned else 0, ha="right" if turned else "center")
    ax.set_ylim(-0.03, 1.03)
    alone = len(one) == 1 and all(_two(model, v) for v, _ in items)
    what = f"P({plain(shortened(next(iter(one)), 20))})" if alone else "probability"
    ax.set_ylabel(what)
    ax.grid(axis="y", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(title=plain(latent_title(model, z)), frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _two(model: Any, v: int) -> bool:
    return int(model.tree.cardinality[v]) == 2


def _shown(labels: tuple[str, ...]) -> list[int]:
    one = shown_answer(labels)
    return list(range(len(labels))) if one is None else [one]


def _label(model: Any, v: int, j: int, *, alone: bool) -> str:
    name = plain(shortened(model.tree.names[v], 24))
    return name if alone and _two(model, v) else f"{name}: {plain(shortened(node_labels(model, v)[j], 16))}"


def _draw(ax: Any, kind: str, i: int, k: int, p: Any, reach: Any, label: str) -> None:
    at = np.arange(len(p))
    colour = COLOURS[i % len(COLOURS)]
    if kind == "bars":
        width = 0.8 / k
        ax.bar(at - 0.4 + width * (i + 0.5), p, width, yerr=reach, color=colour, label=label, error_kw={"lw": 0.8})
        return
    shift = 0.12 * (i / max(k - 1, 1) - 0.5) if reach is not None else 0.0
    ax.errorbar(
        at + shift, p, yerr=reach, marker=MARKERS[i % len(MARKERS)], ms=5, lw=1.4, elinewidth=0.8,
        ls=DASHES[i % len(DASHES)], color=colour, label=label,
    )  # fmt: skip


def _errors(thing: Any, found: Any) -> StandardErrors | None:
    """Standard errors from the information, where they can be had."""
    if not isinstance(found, Fit):
        return None
    try:
        own: StandardErrors = thing.standard_errors() if hasattr(thing, "standard_errors") else standard_errors(found)
    except LatentreeError:
        return None
    return own


def save_figure(ax: Any, path: str | os.PathLike[str], *, width: float | str | None = None, dpi: int = 300) -> None:
    """Write a figure for print: PDF, SVG, or PNG at 300 dots an inch.

    Parameters
    ----------
    ax : Axes or Figure
        What a ``plot_`` function returned.
    path : str or path
        The file, ending in ``.pdf``, ``.svg`` or ``.png``.
    width : float or {"single", "double"}, optional
        Millimetres, or the column or columns of a journal (89 and 183 mm). Default: as it was drawn.
    dpi : int, default 300
        Dots an inch of a PNG.
    """
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("pdf", "svg", "png"):
        raise ParameterError("Figures are written as .pdf, .svg or .png. Got '{path}'.", path=os.fspath(path))
    figure = getattr(ax, "figure", ax)
    if width is not None:
        inches = (PRINT[width] if isinstance(width, str) else float(width)) / 25.4
        wide, high = figure.get_size_inches()
        figure.set_size_inches(inches, inches * high / wide)
    picture = io.BytesIO()
    # Text stays text in PDF and SVG, so that it can be edited and searched; no date, so that bytes are the same.
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with pyplot().rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "latentree"}):
        figure.savefig(picture, format=kind, dpi=dpi, bbox_inches="tight" if width is None else None, metadata=undated)
    write_atomically(path, picture.getvalue())
