"""Reports of trees as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from .._scale import score_label, shown_score
from ._contents import (
    ClassContents,
    LatentContents,
    MaximumContents,
    NodeContents,
    SearchContents,
    ShownVariable,
    StepContents,
    TreeReport,
)
from ._growth import growth
from ._headline import MAXIMUM, SAVED, criterion_of
from ._in_words import items, sparse
from ._layout import Arrangement
from ._legend import legend
from ._printable import printable
from ._svg import Drawing
from ._text import (
    GAP,
    MOST_STATES,
    MOST_VARIABLES,
    RULED,
    _count,
    _decimals,
    _grid,
    _listed,
    _percent,
    _profiles,
    _rows,
    _shortened,
    _sizes,
)

__all__ = ["tree_parts"]

INDEPENDENT = "(independent)"
"""Stands before what is independent of all else."""

MOST_LATENTS = 40
"""How many latent variables are listed unless all are asked for."""

MOST_PROFILES = 12
"""Of how many the most frequent answers are shown, likewise."""

TYPICAL = 3
"""By how many variables the states of a latent one are shown."""

MOST_STEPS = 20
"""How many steps of a search, likewise."""


def tree_parts(report: TreeReport, width: int, *, everything: bool = False) -> Iterator[RenderableType]:
    """The parts of the report, from top to bottom."""
    yield Text(_title(report), style="bold")
    yield _facts(report)
    if "search" in report:
        yield Text(_search(report["search"]))
    if "estimate" in report:
        yield Text(report["estimate"]["text"])
    if report["independence"]:
        yield Text(printable("\n".join(report["independence"])))
    if report.get("warnings"):
        yield _listed("Warnings", report["warnings"], "bold yellow")
    yield from _structure(report, width, everything)
    if report.get("notes"):
        yield _listed("Notes", report["notes"], "bold")


def _search(search: SearchContents) -> str:
    seed = "" if search["seed"] is None else f", seed {search['seed']}"
    ended = "Found" if search["complete"] else "Best found"
    found = f"{ended} by the method '{search['method']}' in {search['seconds']:.2f} s"
    score = f"{score_label(search['score'])} {_decimals(shown_score(search['value'], search['score']), 3)}"
    sure = f" {search['message']}" if search["complete"] and search["structure"] else ""  # how often it was found
    return printable(f"{found}, {_count(search['steps'], 'step')}{seed}; {score}.{sure}")


def _structure(report: TreeReport, width: int, everything: bool) -> Iterator[RenderableType]:
    if report["star"]:
        yield from _star(report, width, everything)
        return
    yield Text("Latent variables (numbers of states) and the variables below them", style="bold")
    yield _outline(report, width, everything)
    if report["latents"]:
        yield Text("Sizes of their states, and their most informative variables", style="bold")
        yield _latents(report, width, everything)
        yield Text("What their states answer most often", style="bold")
        like_words = sparse(report)
        for z in report["latents"] if everything else report["latents"][:MOST_PROFILES]:
            yield _top_items(report, z, width) if like_words else _typical(report, z, width)
        yield from legend(_named(report, everything), width)
    if report["trace"]:
        grown = growth(report["trace"], report["nodes"])
        several = len(grown["starts"]) > 1
        which = f" (start {grown['start']} of {len(grown['starts'])}, which led to it)" if several else ""
        yield Text(f"How the tree grew{which}", style="bold")
        yield _steps(grown["steps"], criterion_of(report), width, everything)


def _title(report: TreeReport) -> str:
    rows = "" if report["n"] is None else f", {_rows(report, report['n'], report['n_weighted'])}"
    if report["star"]:
        classes = _count(report["nodes"][0]["cardinality"], "class", "classes")
        return f"Latent class model: {classes}, {_count(report['n_variables'], 'variable')}{rows}"
    size = f"{_count(report['n_variables'], 'variable')}, {_count(report['n_latents'], 'latent variable')}"
    return f"Latent tree model: {size}{rows}"


def _star(report: TreeReport, width: int, everything: bool) -> Iterator[RenderableType]:
    """A latent class model: sizes and profiles, as for a fit."""
    root, *leaves = report["nodes"]
    information = {edge["child"]: edge["information"] for edge in report["edges"]}
    variables = [
        ShownVariable(
            name=leaf["name"],
            question=leaf["question"],
            labels=leaf["labels"],
            marginal=leaf["marginal"],
            information=information[i],
        )
        for i, leaf in enumerate(leaves, 1)
    ]
    counts = report["latents"][0]["counts"]
    classes: list[ClassContents] = [
        {
            "label": label,
            "size": root["marginal"][i],
            "count": None if counts is None else counts[i],
            "profile": {leaf["name"]: dict(zip(leaf["labels"], leaf["table"][i], strict=True)) for leaf in leaves},
        }
        for i, label in enumerate(root["labels"])
    ]
    limits = (None, None) if everything else (MOST_VARIABLES, MOST_STATES)
    yield _sizes(classes)
    if items(report, report["latents"][0]) is not None:
        yield Text("What the classes have more often than others", style="bold")
        yield _top_items(report, report["latents"][0], width)
    yield from _profiles(classes, variables, width, *limits)


def _facts(report: TreeReport) -> RenderableType:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row("Parameters", Text(f"{report['n_parameters']:,}", style="bold"))
    if report["n"] is not None:
        if "maximum" in report:
            _add_scores(grid, report["maximum"], MAXIMUM)
        _add_scores(grid, report, SAVED if "maximum" in report else "")
        if report["impossible"]:
            grid.add_row("Distinct rows impossible under the model", Text(f"{report['impossible']:,}", style="bold"))
    return grid


def _add_scores(grid: Grid, scores: TreeReport | MaximumContents, at: str) -> None:
    of = f" ({at})" if at else ""
    grid.add_row(f"Log-likelihood{of}", Text(_decimals(scores["log_likelihood"], 3), style="bold"))
    grid.add_row(score_label("aic", at), Text(_decimals(shown_score(scores["aic"], "aic"), 3), style="bold"))
    grid.add_row(score_label("bic", at), Text(_decimals(shown_score(scores["bic"], "bic"), 3), style="bold"))


def _outline(report: TreeReport, width: int, everything: bool) -> Text:
    arrangement = Drawing(report, "rows").arrangement
    limit = None if everything else width
    cuts, tops, lines = set(report["cuts"]), _tops(report, arrangement), []
    inner = [v for v in arrangement.order if arrangement.children[v] and v not in cuts]
    apart = len({tops[v] for v in inner}) > 1
    place = {v: i for i, v in enumerate(arrangement.order)}
    inner.sort(key=lambda v: place[tops[v]])  # part by part
    if not inner and not cuts:
        inner = arrangement.order[:1]
    for v in inner if everything else inner[:MOST_LATENTS]:
        node = report["nodes"][v]
        depth = arrangement.depth[v] - arrangement.depth[tops[v]]
        said = f"{INDEPENDENT} " if apart and v == tops[v] else ""
        start = f"{'  ' * depth}{said}{printable(node['name'])} ({node['cardinality']})"
        leaves = [report["nodes"][c]["name"] for c in arrangement.children[v] if not arrangement.children[c]]
        lines.append(_with_leaves(start, [printable(name) for name in leaves], limit))
    if len(lines) < len(inner):
        lines.append(
            f"... and {_count(len(inner) - len(lines), 'latent variable')} more (max_variables=None shows all)"
        )
    alone = [own[0] for own in report["parts"] if len(own) == 1] if cuts else []
    lines += [f"{INDEPENDENT} {printable(name)}" for name in (alone if everything else alone[:MOST_LATENTS])]
    if not everything and len(alone) > MOST_LATENTS:
        lines.append(f"... and {_count(len(alone) - MOST_LATENTS, 'variable')} more (max_variables=None shows all)")
    return Text("\n".join(lines))


def _tops(report: TreeReport, arrangement: Arrangement) -> list[int]:
    """The uppermost node of each node's part in a drawing."""
    cuts, tops = set(report["cuts"]), list(range(len(report["nodes"])))
    for v in arrangement.order[1:]:
        up = arrangement.parent[v]
        tops[v] = v if v in cuts or up in cuts else tops[up]
    return tops


def _with_leaves(start: str, leaves: Sequence[str], width: int | None) -> str:
    if not leaves:
        return start
    whole = f"{start}: {', '.join(leaves)}"
    if width is None or len(whole) <= width:
        return whole
    for n in range(len(leaves) - 1, 0, -1):
        cut = f"{start}: {', '.join(leaves[:n])} and {len(leaves) - n} more"
        if len(cut) <= width:
            return cut
    return f"{start}: {_count(len(leaves), 'variable')}"


def _latents(report: TreeReport, width: int, everything: bool) -> RenderableType:
    with_data = report["n"] is not None
    grid = _grid("latent", "sizes of its states", *(["rel. entropy"] if with_data else []), "most informative", texts=2)
    grid.columns[-1].justify = "left"
    latents = report["latents"] if everything else report["latents"][:MOST_LATENTS]
    for z in latents:
        sizes = " ".join(f"{p:.3f}" for p in z["sizes"][:8]) + (" ..." if len(z["sizes"]) > 8 else "")
        leaves = ", ".join(printable(report["nodes"][u["node"]]["name"]) for u in z["leaves"][:TYPICAL])
        entropy = [_decimals(z["relative_entropy"], 3)] if with_data else []
        grid.add_row(_shortened([z["name"]], 20)[0], sizes, *entropy, _shortened([leaves], max(width - 55, 20))[0])
    return grid


def _typical(report: TreeReport, z: LatentContents, width: int) -> RenderableType:
    """The states of a latent variable by the most frequent answers to its most informative questions."""
    labels = report["nodes"][z["node"]]["labels"]
    states = _shortened([z["name"], *labels], 22)
    room = (width - max(state.cell_len for state in states) - 9) // TYPICAL - 2
    leaves = z["leaves"][:TYPICAL]
    names = _shortened([report["nodes"][u["node"]]["name"] for u in leaves], room)
    grid = Grid(box=RULED, padding=(0, GAP - 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    grid.add_column(states[0], no_wrap=True)
    grid.add_column("size", justify="right", no_wrap=True)
    for name in names:
        grid.add_column(name, no_wrap=True)
    for state, size in enumerate(z["sizes"]):
        cells = [_answer(report["nodes"][u["node"]]["labels"], u["profile"][state], room) for u in leaves]
        grid.add_row(states[1 + state], _percent(size), *cells)
    return grid


def _named(report: TreeReport, everything: bool) -> list[NodeContents]:
    """The variables in the tables of the latent variables, in the order of the data."""
    if everything:
        return [node for node in report["nodes"] if not node["latent"]]
    shown = {u["node"] for z in report["latents"][:MOST_PROFILES] for u in z["leaves"][:TYPICAL]}
    return [report["nodes"][v] for v in sorted(shown)][:MOST_VARIABLES]


def _top_items(report: TreeReport, z: LatentContents, width: int) -> RenderableType:
    """For words and baskets: what each state has more often than others, with P(1 | state) and lift."""
    grid = Grid(box=RULED, padding=(0, GAP - 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    grid.add_column(_shortened([z["name"]], 22)[0], no_wrap=True)
    grid.add_column("size", justify="right", no_wrap=True)
    grid.add_column("items (probability, times as often as overall)", width=max(width - 34, 20))
    labels = report["nodes"][z["node"]]["labels"]
    for state, own in enumerate(items(report, z) or []):
        listed = ", ".join(f"{printable(name)} ({100 * p:.0f} %, x{lift:.1f})" for name, p, lift in own[:6])
        grid.add_row(_shortened([labels[state]], 22)[0], _percent(z["sizes"][state]), Text(listed or "-"))
    return grid


def _answer(labels: Sequence[str], p: Sequence[float], room: int) -> Text:
    best = max(range(len(p)), key=p.__getitem__)
    return Text.assemble(_shortened(labels, room - 6)[best], f" {100 * p[best]:.0f} %")


def _steps(steps: Sequence[StepContents], criterion: str | None, width: int, everything: bool) -> RenderableType:
    timed = any(step["seconds"] is not None for step in steps)
    heads = [criterion or "score", "log-lik.", "dimension", *(["seconds"] if timed else [])]
    grid = _grid("step", "operation", *heads, texts=2)
    room = max(width - 44 - (9 if timed else 0), 20)
    shown = steps if everything else steps[-MOST_STEPS:]
    for i, step in enumerate(shown, len(steps) - len(shown)):
        numbers = [_decimals(value, 2) for value in (shown_score(step["score"], criterion), step["log_likelihood"])]
        grid.add_row(
            str(i),
            _shortened([step["operation"]], room)[0],
            *numbers,
            _decimals(step["dimension"], 0),
            *([_decimals(step["seconds"], 1)] if timed else []),
        )
    return grid
