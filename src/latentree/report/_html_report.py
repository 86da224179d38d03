"""The HTML report: one page to read, print and send, without scripts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._model import Model
from .._scale import LOWER, direction, shown_score
from .._table import Table
from ..estimation import Fit
from ..search import Run
from ._charts import bars_svg, curve_svg, line_svg
from ._contents import LatentContents, NodeContents, ResidualContents, StatisticsContents, StepContents, TreeReport
from ._headline import criterion_of, facts, origin, title_of
from ._html import Page, page
from ._report import Report
from ._statistics import largest_residuals
from ._svg import Drawing, shown, tree_svg

__all__ = ["write_report"]

MANY_VARIABLES = 60
"""With more of them, fit statistics of all pairs of variables are left out."""

STEPS = 20
"""Shades of a table."""


def write_report(
    thing: Model | Fit | Run | Report,
    table: Table | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    trace: Iterable[Any] | None = None,
    title: str | None = None,
    statistics: bool | None = None,
) -> Page:
    """Make the HTML report of a model.

    Parameters
    ----------
    thing : Model, Fit, Run or Report
        Any tree model, latent class models included; a run is one that :func:`latentree.report.search_result` returned.
    table : Table, optional
        Data to judge it by. Default: those of the fit, if it is one.
    path : str or path, optional
        Where to write it.
    trace : iterable, optional
        How a search grew the tree; see :func:`latentree.report.checked_trace`.
    title : str, optional
        What to call the model.
    statistics : bool, optional
        Whether to add absolute fit, residuals and all quick scores. Default: with data, up to 60 variables.

    Returns
    -------
    Page

    Examples
    --------
    >>> from latentree import datasets
    >>> "<h1>Latent tree model</h1>" in write_report(datasets.generator("d7")).html
    True
    """
    described = Report.of(thing, table, trace=trace)
    if statistics is None:
        statistics = not described.short and with_statistics(described.model.tree.n_variables)
    report = described.to_dict(statistics=statistics)
    name = title or title_of(report)
    body = "\n".join(_parts(name, report))
    made = page(name, body, styles=("base.css", "report.css"))
    if path is not None:
        made.save(path)
    return made


def with_statistics(n_variables: int) -> bool:
    """Whether a report of so many variables has statistics of the fit unless told otherwise."""
    return n_variables <= MANY_VARIABLES


def _parts(name: str, report: TreeReport) -> Iterator[str]:
    yield f"<h1>{shown(name)}</h1>"
    pairs = "".join(f"<dt>{shown(a)}</dt><dd>{shown(b)}</dd>" for a, b in facts(report))
    yield f'<dl class="facts">{pairs}</dl>'
    yield from (f'<p class="warning">{shown(text)}</p>' for text in report["warnings"])
    yield from (f"<p>{shown(text)}</p>" for text in report["notes"])
    if report["n_nodes"] > 1:
        yield "<h2>The tree</h2>"
        yield "<p>Latent variables are boxes with their numbers of states; edges are as thick as the mutual"
        yield "information of their ends.</p>"
        yield tree_svg(Drawing(report), title=f"The tree of {name}", still=True)
    if report["latents"]:
        yield "<h2>Latent variables</h2>"
        yield _contents(report)
        yield from (_latent(report, z) for z in report["latents"])
    if "statistics" in report:
        yield from _statistics(report["statistics"])
    if report["trace"]:
        yield from _trace(report["trace"], criterion_of(report))
    if report["provenance"]:
        yield "<h2>Where it comes from</h2>"
        pairs = "".join(f"<dt>{shown(a)}</dt><dd>{shown(b)}</dd>" for a, b in origin(report))
        yield f'<dl class="facts">{pairs}</dl>'
    yield '<p class="foot">Made by latentree. Scores are -2 log-likelihood + penalty: lower is better. Mutual '
    yield "information is in nats.</p>"


def _contents(report: TreeReport) -> str:
    if len(report["latents"]) < 4:
        return ""
    links = "".join(f'<li><a href="#z{z["node"]}">{shown(z["name"])}</a></li>' for z in report["latents"])
    return f'<ul class="contents">{links}</ul>'


def _latent(report: TreeReport, z: LatentContents) -> str:
    node = report["nodes"][z["node"]]
    cases: Sequence[float | None] = z["counts"] or [None] * len(z["sizes"])
    notes = [
        f"{100 * p:.1f} %" + ("" if n is None else f" ({n:,.1f} cases)") for p, n in zip(z["sizes"], cases, strict=True)
    ]
    entropy = "" if z["relative_entropy"] is None else f", relative entropy {z['relative_entropy']:.3f}"
    names = [report["nodes"][u["node"]]["name"] for u in z["leaves"]]
    curve = curve_svg(
        names,
        [u["information"] for u in z["leaves"]],
        [u["cumulative"] for u in z["leaves"]],
        z["information"],
        title=f"Information curve of {z['name']}",
    )
    bars = bars_svg(node["labels"], z["sizes"], notes, title=f"Sizes of the states of {z['name']}")
    return (
        f'<section><h3 id="z{z["node"]}">{shown(z["name"])}</h3><p class="muted">{len(z["sizes"])} states{entropy}</p>'
        f'<div class="columns"><div><p class="muted small">Sizes of its states</p>{bars}'
        '<p class="muted small">Mutual information of each variable (bar), and of all<br>up to it (line, per cent '
        "of that of all)</p>"
        f"{curve if names else ''}</div>{_profiles(report, node, z)}</div></section>"
    )


def _profiles(report: TreeReport, node: NodeContents, z: LatentContents) -> str:
    if not z["leaves"]:
        return ""
    heads = "".join(f'<th scope="col" class="number">{shown(label)}</th>' for label in node["labels"])
    rows = []
    for u in z["leaves"]:
        leaf = report["nodes"][u["node"]]
        for j, label in enumerate(leaf["labels"]):
            first = f'<th scope="row">{shown(leaf["name"])}</th>' if j == 0 else "<td></td>"
            cells = "".join(_shade(row[j]) for row in u["profile"])
            kind = ' class="first"' if j == 0 else ""
            rows.append(f"<tr{kind}>{first}<td>{shown(label)}</td>{cells}</tr>")
    caption = f"<caption>P(variable | {shown(z['name'])})</caption>"
    head = f'<thead><tr><th scope="col">variable</th><th scope="col">state</th>{heads}</tr></thead>'
    return f'<div class="scroll"><table class="heat">{caption}{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _shade(p: float) -> str:
    return f'<td class="number s{round(STEPS * min(max(p, 0.0), 1.0))}">{p:.3f}</td>'


def _statistics(found: StatisticsContents) -> Iterator[str]:
    yield "<h2>Fit</h2>"
    absolute = found["absolute"]
    if absolute["g2"] is None:
        yield f"<p>G² and X² are not defined: {shown(absolute['reason'])}</p>"
    else:
        pairs = (
            ("G²", absolute["g2"]),
            ("X²", absolute["x2"]),
            ("degrees of freedom", absolute["degrees_of_freedom"]),
            ("p of G²", absolute["p_g2"]),
            ("p of X²", absolute["p_x2"]),
        )
        yield _pairs([(name, value) for name, value in pairs if value is not None])
        if absolute["note"]:
            yield f"<p>{shown(absolute['note'])}</p>"
    yield f"<p>Effective dimension {found['effective_dimension']:,}"
    yield ".</p>" if found["identified"] else ": the structure is not identified.</p>"
    yield f"<h3>Scores, {LOWER}</h3>"
    known = {name: shown_score(s["value"], name) for name, s in found["scores"].items()}
    yield _pairs([(name, value) for name, value in known.items() if value is not None])
    residuals = found["residuals"]
    if "residuals" in residuals:
        yield "<h3>Largest bivariate residuals</h3>"
        yield '<p class="muted">X² of a pair of variables by its degrees of freedom; well above 4, the latent '
        yield "variables leave something of the pair unexplained.</p>"
        yield _largest(residuals)


def _pairs(pairs: Sequence[tuple[str, float]]) -> str:
    rows = "".join(f'<tr><th scope="row">{shown(a)}</th><td class="number">{b:,.6g}</td></tr>' for a, b in pairs)
    return f"<table><tbody>{rows}</tbody></table>"


def _largest(found: ResidualContents) -> str:
    rows = "".join(
        f'<tr><th scope="row">{shown(a)}</th><td>{shown(b)}</td><td class="number">{value:.2f}</td></tr>'
        for value, b, a in largest_residuals(found, 10)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _trace(steps: Sequence[StepContents], criterion: str | None) -> Iterator[str]:
    yield "<h2>How the tree grew</h2>"
    steps = [{**step, "score": shown_score(step["score"], criterion)} for step in steps]
    label = criterion or "score"
    scores = [step["score"] for step in steps]
    yield line_svg(range(len(steps)), scores, title="Score by step", x_label="step", y_label=label)
    yield f'<p class="muted">{shown(label)}: {direction(criterion)}.</p>'
    heads = "".join(
        f'<th scope="col">{shown(name)}</th>' for name in ("step", "operation", label, "log-likelihood", "dimension")
    )
    rows = "".join(
        f'<tr><th scope="row">{i}</th><td>{shown(step["operation"])}</td>'
        + "".join(f'<td class="number">{_number(step[key])}</td>' for key in ("score", "log_likelihood", "dimension"))
        + "</tr>"
        for i, step in enumerate(steps)
    )
    yield f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.10g}"
