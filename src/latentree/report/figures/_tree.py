"""The tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..._information import edge_information
from ..._model import Model
from ...estimation import Fit
from .._contents import DrawnTree, TreeReport
from .._svg import Drawing
from ._axes import axes, found_in, plain

__all__ = ["plot_tree"]


def plot_tree(thing: Model | Fit | TreeReport, ax: Any = None, *, style: str | None = None) -> Any:
    """Draw the tree: latent variables as boxes with their numbers of states, edges by mutual information.

    Parameters
    ----------
    thing : Model, Fit or dict
        The model, or what :func:`latentree.report.describe_tree` returned.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure, as large as the tree needs.
    style : {"rows", "radial"}, optional
        From left to right, or around a circle. Default: rows up to some 60 leaves.

    Returns
    -------
    Axes
    """
    drawing = Drawing(thing if isinstance(thing, Mapping) else _skeleton(thing), style)
    left, top, width, height = drawing.bounds()
    if ax is None:
        scale = min(1 / 80, 60 / max(width, height))
        ax = axes(None, figsize=(max(width * scale, 3), max(height * scale, 1.5)))
    arrangement = drawing.arrangement
    for v in arrangement.order[1:]:
        _edge(ax, drawing, v)
    for v in arrangement.order:
        _node(ax, drawing, v)
    ax.set_xlim(left, left + width)
    ax.set_ylim(top + height, top)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _skeleton(thing: Model | Fit) -> DrawnTree:
    """The part of the report that a drawing needs, without the rest of the work."""
    thing = found_in(thing)
    model = thing.model if isinstance(thing, Fit) else thing
    tree, information = model.tree, edge_information(model)
    return {
        "nodes": [
            {
                "name": tree.names[v],
                "parent": int(tree.parent[v]) if v else None,
                "latent": bool(tree.variable[v] < 0),
                "cardinality": int(tree.cardinality[v]),
            }
            for v in range(tree.n_nodes)
        ],
        "edges": [{"child": v, "information": float(information[v])} for v in range(1, tree.n_nodes)],
    }


def _edge(ax: Any, drawing: Drawing, v: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    up = drawing.arrangement.parent[v]
    start, end = drawing.places[up], drawing.places[v]
    if start.angle is None or end.angle is None:
        # From the middle of a box to the middle of a box: both are drawn above the edge, however wide their texts are.
        x = start.x + drawing.widths[up] / 2
        to = end.x + (drawing.widths[v] / 2 if drawing.arrangement.children[v] else 0.0)
        middle = (start.x + drawing.widths[up] + end.x) / 2
        points = [(x, start.y), (middle, start.y), (middle, end.y), (to, end.y)]
    else:
        half, turn = (start.radius + end.radius) / 2, start.angle if start.radius else end.angle
        first = half * math.cos(turn), half * math.sin(turn)
        second = half * math.cos(end.angle), half * math.sin(end.angle)
        points = [(start.x, start.y), first, second, (end.x, end.y)]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    line = "--" if drawing.is_broken(v) else "-"
    ax.add_patch(PathPatch(path, fill=False, lw=0.75 * drawing.edge_width(v), ls=line, ec="#a9b7c2", zorder=1))


def _node(ax: Any, drawing: Drawing, v: int) -> None:
    place, text = drawing.places[v], plain(drawing.labels[v])
    inner, latent = bool(drawing.arrangement.children[v]), drawing.tree.variable[v] < 0
    turned = 0.0 if place.angle is None or place.radius == 0 else math.degrees(place.angle)
    flip = place.angle is not None and place.radius > 0 and math.cos(place.angle) < 0
    rotation = -(turned + 180 if flip else turned)  # upwards is the other way round on paper
    if v in drawing.cuts:
        latent = False
    if inner:
        x = place.x + drawing.widths[v] / 2 if place.angle is None else place.x
        box = {"boxstyle": "round,pad=0.3,rounding_size=0.8", "fc": "#e6eff4" if latent else "white", "ec": "#2b6a8a"}
        weight = "bold" if latent else "normal"
        ax.text(
            x, place.y, text, ha="center", va="center", size=8, weight=weight, bbox=box, rotation=rotation, zorder=3
        )
        return
    ax.text(
        place.x, place.y, f"{text} " if flip else f" {text}", ha="right" if flip else "left", va="center", size=8,
        rotation=rotation, rotation_mode="anchor", zorder=3,
    )  # fmt: skip
