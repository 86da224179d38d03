"""The HTML report: one page to read, print and send, without scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._model import Model
from .._scale import direction, lower_is_better, shown_score
from .._table import Table
from ..comparison import Comparison
from ..errors import LatentreeError
from ..estimation import Fit
from ..score._registry import SCORES
from ..search import Run
from ._charts import bars_svg, curve_svg, line_svg
from ._contents import (
    GrowthContents,
    LatentContents,
    NodeContents,
    ResidualContents,
    StatisticsContents,
    StepContents,
    TreeReport,
)
from ._growth import growth, said
from ._headline import criterion_of, facts, origin_in_words, title_of
from ._html import Page, page
from ._in_words import answers, items, sparse
from ._layout import shortened
from ._profile_chart import Interval, profile_rows, profiles_svg
from ._report import Report
from ._statistics import largest_residuals
from ._svg import INDEPENDENT, Drawing, shown, tree_svg

__all__ = ["write_report"]

MANY_VARIABLES = 60
"""With more of them, fit statistics of all pairs of variables are left out."""

MANY_PARAMETERS = 400
"""With more of them, intervals are left out of the page: they would take longer than all else."""

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
    comparison: Comparison | None = None,
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
    comparison : Comparison, optional
        Models with other numbers of classes, to show beside it.

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
    body = "\n".join(_parts(name, report, _intervals(described), comparison))
    made = page(name, body, styles=("base.css", "report.css"))
    if path is not None:
        made.save(path)
    return made


def with_statistics(n_variables: int) -> bool:
    """Whether a report of so many variables has statistics of the fit unless told otherwise."""
    return n_variables <= MANY_VARIABLES


def with_intervals(model: Model) -> bool:
    """Whether a report of a model has intervals unless there is no time for them."""
    return model.tree.is_star and model.tree.n_parameters <= MANY_PARAMETERS


Intervals = dict[int, list[list[Interval]]]


def _intervals(described: Report) -> Intervals:
    """95 % intervals of the probabilities of a latent class model that is not too large; none where there are none."""
    fit = described.fit
    if fit is None or described.short or not with_intervals(described.model):
        return {}
    from ..score import standard_errors  # which takes a while to load

    try:
        errors = standard_errors(fit)
    except LatentreeError:  # the fit is not at a maximum of the likelihood
        return {}

    def pair(low: float, high: float) -> Interval:
        return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else (None, None)

    return {
        v: [
            [pair(a, b) for a, b in zip(low, high, strict=True)]
            for low, high in zip(errors.table(v, "lower"), errors.table(v, "upper"), strict=True)
        ]
        for v in range(described.model.tree.n_nodes)
    }


def _classes(report: TreeReport, intervals: Intervals) -> Iterator[str]:
    """The profiles of the classes as everybody knows them, and their sizes."""
    root = report["nodes"][0]
    yield "<h2>Class profiles</h2>"
    sure = ", with 95 % intervals" if intervals else ""
    yield f"<p>The probability of each answer in each class{sure}."
    yield '<span class="screen">Hover over a row for its numbers.</span></p>'
    yield profiles_svg(
        profile_rows(report, intervals),
        list(zip(root["labels"], root["marginal"], strict=True)),
        title="Class profiles",
    )
    counts = report["latents"][0]["counts"]
    heads = ["class", "size", *(["95 % interval"] if intervals else []), *(["cases"] if counts else []), "in words"]
    rows = []
    for i, phrase in enumerate(answers(report, report["latents"][0])):
        low, high = intervals[0][0][i] if intervals else (None, None)
        between = "–" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f} %"
        cells = [f"{100 * root['marginal'][i]:.1f} %", *([between] if intervals else [])]
        cells += [f"{counts[i]:,.1f}"] if counts else []
        numbers = "".join(f'<td class="number">{shown(cell)}</td>' for cell in cells)
        rows.append(f'<tr><th scope="row">{shown(root["labels"][i])}</th>{numbers}<td>{shown(phrase)}</td></tr>')
    yield _table(heads, rows)


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{shown(name)}</th>' for name in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _comparison(comparison: Comparison) -> Iterator[str]:
    """Numbers of classes side by side."""
    from ._paper import paper_tables  # likewise

    (table,) = paper_tables(comparison)
    yield "<h2>Number of classes</h2>"
    rows = [f"<tr>{''.join(f'<td class=number>{shown(text)}</td>' for text in texts)}</tr>" for texts in table.texts]
    yield _table(table.heads, rows)
    name = comparison.scores[0]
    yield line_svg(
        [row["n_classes"] for row in comparison.table],
        [shown_score(row[name], name) for row in comparison.table],
        title=f"{name} by number of classes",
        x_label="classes",
        y_label=name,
    )
    yield f'<p class="muted">{shown(table.note)}</p>'


def _parts(name: str, report: TreeReport, intervals: Intervals, comparison: Comparison | None = None) -> Iterator[str]:
    yield f"<h1>{shown(name)}</h1>"
    pairs = "".join(f"<dt>{shown(a)}</dt><dd>{shown(b)}</dd>" for a, b in facts(report))
    yield f'<dl class="facts">{pairs}</dl>'
    yield from (f'<p class="warning">{shown(text)}</p>' for text in report["warnings"])
    yield from (f"<p>{shown(text)}</p>" for text in (*report["independence"], *report["notes"]))
    if report["star"] and report["edges"]:
        yield from _classes(report, intervals)
    elif report["n_nodes"] > 1:
        yield "<h2>The tree</h2>"
        yield "<p>Latent variables are boxes with their numbers of states; edges are as thick as the mutual"
        yield "information of their ends. Colours tell branches apart and mean nothing else."
        yield f"{INDEPENDENT if report['cuts'] else ''}</p>"
        yield f'<div class="scroll">{tree_svg(Drawing(report), title=f"The tree of {name}", still=True)}</div>'
    if comparison is not None:
        yield from _comparison(comparison)
    if report["latents"]:
        yield "<h2>What tells the classes apart</h2>" if report["star"] else "<h2>Latent variables</h2>"
        yield _contents(report)
        like_words = sparse(report)
        yield from (_latent(report, z, like_words) for z in report["latents"])
    if "statistics" in report:
        yield from _statistics(report["statistics"])
    yield from _questions(report)
    if report["trace"]:
        yield from _trace(growth(report["trace"], report["nodes"]), criterion_of(report))
    told = origin_in_words(report)
    if told:
        yield "<h2>Where it comes from</h2>"
        yield from (f"<p>{shown(text)}</p>" for text in told)
    scale = "−2 log-likelihood + penalty" if lower_is_better("bic") else "log-likelihood − penalty"
    yield f'<p class="foot">Made by latentree. Scores are {scale}: {direction("bic")}.'
    yield "Mutual information is in nats.</p>"


def _questions(report: TreeReport) -> Iterator[str]:
    """What the variables are in words, as far as the data said it."""
    rows = [
        f'<tr><th scope="row">{shown(node["name"])}</th><td>{shown(node["question"])}</td></tr>'
        for node in report["nodes"]
        if node["question"]
    ]
    if rows:
        yield "<h2>What the variables are</h2>"
        yield _table(["variable", "in words"], rows)


def _contents(report: TreeReport) -> str:
    if len(report["latents"]) < 4:
        return ""
    links = "".join(f'<li><a href="#z{z["node"]}">{shown(z["name"])}</a></li>' for z in report["latents"])
    return f'<ul class="contents">{links}</ul>'


def _latent(report: TreeReport, z: LatentContents, like_words: bool) -> str:
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
    kind = "classes" if report["star"] else "states"
    whose, of = ("the", "") if report["star"] else ("its", f" of {z['name']}")
    bars = bars_svg(node["labels"], z["sizes"], notes, title=f"Sizes of the {kind}{of}")
    return (
        f'<section><h3 id="z{z["node"]}">{shown(z["name"])}</h3><p class="muted">{len(z["sizes"])} {kind}{entropy}</p>'
        f"{_in_words(report, node, z, like_words)}"
        f'<div class="columns"><div><p class="muted small">Sizes of {whose} {kind}</p>{bars}'
        '<p class="muted small">Mutual information of each variable (bar), and of all<br>up to it (line, per cent '
        "of that of all)</p>"
        f"{curve if names else ''}</div>{_profiles(report, node, z)}</div></section>"
    )


def _in_words(report: TreeReport, node: NodeContents, z: LatentContents, like_words: bool) -> str:
    """What each state answers; for words and baskets the items it has more often than others."""
    top = items(report, z, like_words=like_words)
    if top is None:
        said = answers(report, z)
    else:
        said = [
            ", ".join(f"{name} ({100 * p:.0f} %, {lift:.1f} times as often)" for name, p, lift in own)
            or "nothing more often than elsewhere"
            for own in top
        ]
    listed = zip(node["labels"], z["sizes"], said, strict=True)
    rows = [
        f'<tr><th scope="row">{shown(label)}</th><td class="number">{100 * p:.1f} %</td><td>{shown(text)}</td></tr>'
        for label, p, text in listed
    ]
    return "" if report["star"] and top is None else _table(("state", "size", "in words"), rows)


def _profiles(report: TreeReport, node: NodeContents, z: LatentContents) -> str:
    if not z["leaves"]:
        return ""
    heads = "".join(f'<th scope="col" class="number">{shown(label)}</th>' for label in node["labels"])
    rows = []
    for u in z["leaves"]:
        leaf = report["nodes"][u["node"]]
        for j, label in enumerate(leaf["labels"]):
            name = shown(leaf["name"])
            first = (
                f'<th scope="row" title="{name}">{shown(shortened(leaf["name"], 32))}</th>' if j == 0 else "<td></td>"
            )
            cells = "".join(_shade(row[j]) for row in u["profile"])
            kind = ' class="first"' if j == 0 else ""
            rows.append(f"<tr{kind}>{first}<td>{shown(label)}</td>{cells}</tr>")
    caption = f"<caption>P(state of a variable | {shown(z['name'])})</caption>"
    head = f'<thead><tr><th scope="col">variable</th><th scope="col">state</th>{heads}</tr></thead>'
    shades = '<p class="shades">probability 0<span></span>1</p>'
    body = "".join(rows)
    return f'<div class="scroll"><table class="heat">{caption}{head}<tbody>{body}</tbody></table>{shades}</div>'


def _shade(p: float) -> str:
    return f'<td class="number s{round(STEPS * min(max(p, 0.0), 1.0))}">{p:.3f}</td>'


def _statistics(found: StatisticsContents) -> Iterator[str]:
    yield "<h2>Fit</h2>"
    absolute = found["absolute"]
    if absolute["g2"] is None:
        yield f"<p>G² and X² are not defined: {shown(_for_readers(absolute['reason'] or ''))}</p>"
    else:
        pairs = (
            ("G²", absolute["g2"], ",.2f"),
            ("X²", absolute["x2"], ",.2f"),
            ("degrees of freedom", absolute["degrees_of_freedom"], ",d"),
            ("p of G²", absolute["p_g2"], ".3f"),
            ("p of X²", absolute["p_x2"], ".3f"),
        )
        yield _pairs([(name, format(value, form)) for name, value, form in pairs if value is not None])
        if absolute["note"]:
            yield f"<p>{shown(_for_readers(absolute['note']))}</p>"
    loose = "" if found["identified"] else ": the structure is not identified"
    yield f"<p>Effective dimension {found['effective_dimension']:,}{loose}.</p>"
    yield f"<h3>Scores, {direction('bic')}</h3>"
    known = {name: shown_score(s["value"], name) for name, s in found["scores"].items()}
    yield _pairs([(SCORES[name].title, f"{value:,.2f}") for name, value in known.items() if value is not None])
    residuals = found["residuals"]
    if "residuals" in residuals:
        yield "<h3>Largest bivariate residuals</h3>"
        yield '<p class="muted">X² of a pair of variables by its degrees of freedom; well above 4, the latent '
        yield "variables leave something of the pair unexplained.</p>"
        yield _largest(residuals)


def _for_readers(text: str) -> str:
    """Without the sentences that tell which argument of a Python function to give."""
    return " ".join(part for part in re.split(r"(?<=[.:]) ", text) if not re.search(r"\w=\w", part))


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{shown(a)}</th><td class="number">{shown(b)}</td></tr>' for a, b in pairs)
    return f"<table><tbody>{rows}</tbody></table>"


def _largest(found: ResidualContents) -> str:
    rows = "".join(
        f'<tr><th scope="row">{shown(a)}</th><td>{shown(b)}</td><td class="number">{value:.2f}</td></tr>'
        for value, b, a in largest_residuals(found, 10)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _trace(grown: GrowthContents, criterion: str | None) -> Iterator[str]:
    yield "<h2>How the tree grew</h2>"
    starts = grown["starts"]
    if len(starts) > 1:
        same = sum(start["same"] for start in starts)
        yield f"<p>The search started {len(starts)} times, and {same} of the starts reached the best score. These are"
        yield f"the steps of start {grown['start']}, which led to the tree.</p>"
    steps: list[StepContents] = [{**step, "operation": said(step)} for step in grown["steps"]]
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
    return "–" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
