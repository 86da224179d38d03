"""The explorer page: the tree in the middle, what is behind it beside it, all in one offline file."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._scale import direction, score_label, shown_score
from .._table import Table, as_table
from ..estimation import Fit
from ..search import Run
from ._contents import GrowthContents, MaximumContents, TreeReport
from ._growth import growth, said
from ._headline import MAXIMUM, criterion_of, facts, title_of
from ._html import Page, page, source
from ._in_words import answers, items, sparse
from ._printable import printable
from ._profile_chart import MOST_DRAWN, profile_rows, profiles_svg
from ._report import Report
from ._svg import CUT, INDEPENDENT, Drawing, shown, tree_svg
from ._tree import MOST_LEAVES

__all__ = ["explore"]

BASIS = ("messages", "arrange", "model", "elements", "export", "view")
PANELS = ("naming", "profiles", "overview", "selected", "whatif", "rows", "replay")
SCRIPTS = tuple(f"{name}.js" for name in (*BASIS, *PANELS, "main"))
"""Files of scripts, in the order in which they build on each other."""

MOST_ROWS, MOST_CELLS = 20_000, 4_000_000
"""Distinct rows, and cells of them, that go into a page unless more are asked for."""

MOST_NUMBERS = 200_000
"""With more input rows, the page does not say which of them a distinct row is."""

MANY_LATENTS, SHORT_CURVE = 60, 8
"""With more latent variables, curves have only so many leaves, for the sake of the page's size."""


def explore(
    thing: Model | Fit | Run | Report,
    table: Table | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    trace: Iterable[Any] | None = None,
    title: str | None = None,
    style: str | None = None,
    max_rows: int | None = None,
) -> Page:
    """Make the explorer page of a model.

    Parameters
    ----------
    thing : Model, Fit, Run or Report
        Any tree model, latent class models included; a run is one that :func:`latentree.report.search_result` returned.
    table : Table, optional
        Data to show beside it. Default: those of the fit, if it is one.
    path : str or path, optional
        Where to write the page.
    trace : iterable, optional
        How a search grew the tree; see :func:`latentree.report.checked_trace`.
    title : str, optional
        What to call the model.
    style : {"rows", "radial"}, optional
        How the tree is drawn at first. Default: in rows up to some 60 leaves. The page can change it.
    max_rows : int, optional
        Most distinct rows of the data to put into the page. Default: 20,000, fewer if they have many columns.

    Returns
    -------
    Page
        ``save`` writes it, ``open`` shows it in the browser, and a notebook shows it by itself.

    Examples
    --------
    >>> from latentree import datasets
    >>> page = explore(datasets.generator("d7"), title="Seven variables")
    >>> "<title>Seven variables</title>" in page.html
    True
    """
    many = len((thing if isinstance(thing, Model) else thing.model).tree.latent_variables) > MANY_LATENTS
    described = Report.of(thing, table, trace=trace, most_leaves=SHORT_CURVE if many else MOST_LEAVES)
    report, model, fit = described.contents, described.model, described.fit
    drawing = Drawing(report, style)
    name = title or title_of(report)
    data = {
        **_structure(report, drawing),
        "theta": _packed(model.parameters.astype("<f8")),
        "facts": facts(report),
        "warnings": list(map(printable, report["warnings"])),
        "notes": list(map(printable, [*report["independence"], *report["notes"]])),
        "data": _rows(model, as_table(fit.table), max_rows) if fit is not None else None,
        "trace": _shown_trace(growth(report["trace"], report["nodes"]), criterion_of(report)),
    }
    body = _body(name, report, tree_svg(drawing, title=f"The tree of {name}"))
    made = page(name, body, styles=("base.css", "explorer.css"), scripts=SCRIPTS, data=data)
    if path is not None:
        made.save(path)
    return made


def _structure(report: TreeReport, drawing: Drawing) -> dict[str, Any]:
    nodes = report["nodes"]
    n_leaves = None if len(report["latents"]) <= MANY_LATENTS else SHORT_CURVE
    sets: dict[tuple[str, ...], int] = {}
    labels = [sets.setdefault(tuple(map(printable, n["labels"])), len(sets)) for n in nodes]
    like_words = sparse(report)
    return {
        "name": [CUT if v in drawing.cuts else printable(n["name"]) for v, n in enumerate(nodes)],
        "parent": [-1 if n["parent"] is None else n["parent"] for n in nodes],
        "card": [n["cardinality"] for n in nodes],
        "latent": [int(n["latent"]) for n in nodes],
        "cut": dict.fromkeys(report["cuts"], ""),  # what stands for the number of states at such nodes
        "labels": labels,
        "question": {v: printable(n["question"]) for v, n in enumerate(nodes) if n["question"]}
        | dict.fromkeys(report["cuts"], INDEPENDENT),
        "labelSets": [list(own) for own in sets],
        "info": [_short(x) for x in drawing.information],
        "exact": report["curves"]["exact"],
        "latents": {
            z["node"]: {
                "total": _short(z["information"]),
                "entropy": z["relative_entropy"],
                "counts": z["counts"] and [_short(x) for x in z["counts"]],
                "answers": list(map(printable, answers(report, z))),
                "items": items(report, z, like_words=like_words),
                "leaves": [
                    [u["node"], _short(u["information"]), _short(u["cumulative"])] for u in z["leaves"][:n_leaves]
                ],
            }
            for z in report["latents"]
        },
        "draw": {
            "root": drawing.arrangement.root,
            "parent": drawing.arrangement.parent,
            "children": drawing.arrangement.children,
            "widths": [round(w) for w in drawing.widths],
            "style": drawing.style,
        },
    }


def _short(value: float) -> float:
    """As many digits as anyone reads."""
    return float(f"{value:.5g}")


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _rows(model: Model, table: Table, most: int | None) -> dict[str, Any]:
    """Distinct rows, the heaviest first, for the columns that the model knows."""
    nodes = {v.name: int(node) for v, node in zip(model.variables, model.tree.manifest, strict=True)}
    columns = [i for i, name in enumerate(table.names) if name in nodes]
    if most is None:
        most = max(min(MOST_ROWS, MOST_CELLS // max(len(columns), 1)), 1)
    order = np.argsort(-table.weights, kind="stable")[:most]
    position = np.full(table.n_patterns + 1, -1, dtype="<i4")  # the last entry serves inverse = -1
    position[order] = np.arange(len(order))
    codes = table.codes[order][:, columns]
    wide = bool(codes.size) and int(codes.max()) > np.iinfo(np.int8).max
    left = table.n_patterns - len(order)
    return {
        "patterns": len(order),
        "columns": [nodes[table.names[i]] for i in columns],
        "wide": wide,
        "codes": _packed(codes.T.astype("<i2" if wide else "i1")),
        "weights": _packed(table.weights[order].astype("<f8")),
        "inverse": _packed(position[table.inverse]) if len(table.inverse) <= MOST_NUMBERS else "",
        "note": f"The {len(order):,} heaviest distinct rows are here; {left:,} were left out." if left else "",
    }


def _shown_trace(grown: GrowthContents, criterion: str | None) -> dict[str, Any]:
    """Steps with names as positions in one list: names are long, and the same in most steps."""
    at: dict[str, int] = {}
    steps = grown["steps"]
    packed = [
        {
            **step,
            "operation": printable(said(step)),
            "score": shown_score(step["score"], criterion),
            "states": [x for name, k in step["states"].items() for x in (at.setdefault(printable(name), len(at)), k)],
            "edges": [at[printable(name)] for edge in step["edges"] for name in edge],
        }
        for step in steps
    ]
    label = f"score ({direction(None)})" if criterion is None else score_label(criterion)
    starts = [{**own, "score": shown_score(own["score"], criterion)} for own in grown["starts"]]
    return {
        "names": list(at),
        "steps": packed,
        "score": printable(label),
        "start": grown["start"],
        "starts": starts,
    }


def _body(name: str, report: TreeReport, tree: str) -> str:
    scores: TreeReport | MaximumContents = report.get("maximum", report)
    label = score_label("bic", MAXIMUM if "maximum" in report else "")
    known = "" if scores["bic"] is None else f" · {label} {shown_score(scores['bic']):,.1f}"
    score = known if scores["log_likelihood"] is None else f"{known} · log-likelihood {scores['log_likelihood']:,.1f}"
    classes = f"{report['nodes'][0]['cardinality']:,} classes"
    latents = classes if report["star"] else f"{report['n_latents']:,} latent"
    size = f"{report['n_variables']:,} variables · {latents}{score}"
    # One pass: what is put in is not looked at again, whatever a name holds.
    return Template(source("explorer.html")).substitute(
        title=shown(name), size=shown(size), tree=tree, profiles=_profiles(report), strongest=_strongest(report)
    )


def _profiles(report: TreeReport) -> str:
    """The class profiles of a latent class model, which say more than the drawing of a star."""
    if not report["star"] or not report["edges"]:
        return ""
    root = report["nodes"][0]
    classes = list(zip(root["labels"], root["marginal"], strict=True))
    drawn = profiles_svg(profile_rows(report), classes, title="Class profiles")
    left = report["n_variables"] - MOST_DRAWN
    note = f'<p class="muted small">The {MOST_DRAWN} most informative of {report["n_variables"]:,} variables.</p>'
    return f'<div id="profiles">{drawn}{note if left > 0 else ""}</div>'


def _strongest(report: TreeReport) -> str:
    """Mutual information of the strongest edge."""
    return f"{max((edge['information'] for edge in report['edges']), default=0.0):.3g}"
