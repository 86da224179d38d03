"""Reports as text: tables for a terminal by rich, or plain text of 80 columns."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import Box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .._scale import direction, score_label, shown_score
from ..errors import amount
from ._answers import is_sparse, shown_answer, top_items
from ._contents import (
    AbsoluteFit,
    ClassContents,
    ClassReport,
    ClassSearch,
    ComparisonReport,
    Contents,
    PosteriorReport,
    ResidualContents,
    ShownVariable,
    StatisticsContents,
    TreeReport,
)
from ._legend import legend
from ._printable import printable
from ._statistics import largest_residuals

__all__ = ["Shown", "render", "to_text"]

MOST_VARIABLES, MOST_STATES = 30, 12
"""How many variables, and states of each, are shown unless more are asked for."""

NAME_WIDTH = 24
"""Names of variables and states may be this long even if fewer classes fit beside them then."""

LEAST_NAME = 9
"""They are never cut further than this."""

GAP = 2
"""Blanks between columns."""

# Plain characters, so that no terminal or file is too old for it. Eight lines: top, head, head row, row, ...
RULED = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


class Shown(str):
    """Text that shows itself as it reads, also where Python would show quotes and backslashes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def to_text(
    report: Contents,
    *,
    width: int = 80,
    max_variables: int | None = MOST_VARIABLES,
    max_states: int | None = MOST_STATES,
) -> str:
    """Write a report as plain text.

    Parameters
    ----------
    report : dict
        What :func:`~latentree.report.describe` or :meth:`~latentree.report.Comparison.to_dict` returned.
    width : int, default 80
        Columns of text.
    max_variables, max_states : int or None
        Of more variables, the most informative about the class are shown; of more states, the most frequent. None
        shows all.

    Examples
    --------
    >>> from latentree import datasets
    >>> import numpy as np
    >>> from latentree.estimation import fit_classes
    >>> from latentree.report import describe
    >>> fit = fit_classes(datasets.load("hiv_test"), 2, rng=np.random.default_rng(0))
    >>> print(to_text(describe(fit)).splitlines()[0])
    Latent class model: 2 classes, 4 variables, 428 rows (9 distinct)
    """
    file = io.StringIO()
    # Not a terminal: no colour, no styles, whatever the environment says.
    console = Console(file=file, width=width, force_terminal=False, force_jupyter=False, color_system=None, _environ={})
    console.print(render(report, width=width, max_variables=max_variables, max_states=max_states))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def render(
    report: Contents,
    *,
    width: int = 80,
    max_variables: int | None = MOST_VARIABLES,
    max_states: int | None = MOST_STATES,
) -> RenderableType:
    """Make what ``rich`` prints: the same as :func:`to_text`, the main things in bold."""
    if report["kind"] == "latent class":
        return Group(*_spaced(_latent_class(report, width, max_variables, max_states)))
    if report["kind"] == "latent tree":
        from ._text_tree import tree_parts  # which is made of the same pieces

        return Group(*_spaced(tree_parts(report, width, everything=max_variables is None)))
    if report["kind"] == "posterior":
        from ._sampled_text import posterior_parts

        return Group(*_spaced(posterior_parts(report, width, max_variables, max_states)))
    return Group(*_spaced(_comparison(report, width)))


# ---- a latent class model ----------------------------------------------------------------------------------------


def _latent_class(
    report: ClassReport, width: int, max_variables: int | None, max_states: int | None
) -> Iterator[RenderableType]:
    yield Text(_title(report), style="bold")
    yield _statistics(report, width)
    yield Text(_course(report))
    if "estimate" in report:
        yield Text(report["estimate"]["text"])
    if report["warnings"]:
        yield _listed("Warnings", report["warnings"], "bold yellow")
    yield _sizes(report["classes"])
    if is_sparse([v["labels"] for v in report["variables"]], [v["marginal"] for v in report["variables"]]):
        yield Text(
            "What the classes have more often than others (probability, times as often as overall)", style="bold"
        )
        yield _items(report["classes"], report["variables"], width)
    yield from _profiles(report["classes"], report["variables"], width, max_variables, max_states)
    if "statistics" in report:
        yield from _further(report["statistics"], report["classes"])
    if report["notes"]:
        yield _listed("Notes", report["notes"], "bold")


def _title(report: ClassReport) -> str:
    kind = f"Latent class model: {_count(report['n_classes'], 'class', 'classes')}"
    rows = _rows(report, report["n"], report.get("n_weighted"))
    return f"{kind}, {_count(report['n_variables'], 'variable')}, {rows}"


def _rows(report: ClassReport | TreeReport | PosteriorReport, n: float, n_weighted: int | None = None) -> str:
    """How many rows the data have, and how much of them is missing."""
    rows = f"{amount(n)} rows"
    if n_weighted is not None:
        rows = f"{_count(n_weighted, 'row')}, weights adding up to {amount(n)}"
    missing = f", {100 * report['missing']:.2g} % of the cells missing" if report["missing"] else ""
    return f"{rows} ({report['n_patterns']:,} distinct){missing}"


def _statistics(report: ClassReport, width: int) -> RenderableType:
    free = report["degrees_of_freedom"]
    pairs = [
        ("Log-likelihood", _decimals(report["log_likelihood"], 3)),
        ("Parameters", f"{report['n_parameters']:,}"),
        (score_label("aic"), _decimals(shown_score(report["aic"], "aic"), 3)),
        ("Degrees of freedom", "very many" if free is None else f"{free:,}"),
        (score_label("bic"), _decimals(shown_score(report["bic"], "bic"), 3)),
        ("Relative entropy", _decimals(report["relative_entropy"], 3)),
    ]
    columns = [pairs[::2], pairs[1::2]]
    needed = sum(max(len(pair[i]) for pair in own) + GAP for own in columns for i in (0, 1))
    if needed > width:
        columns = [[*pairs[::2], *pairs[1::2]]]  # below each other
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for _ in columns:
        grid.add_column(no_wrap=needed <= width)
        grid.add_column(justify="right", no_wrap=True)
    for row in zip(*columns, strict=True):
        grid.add_row(*(cell for label, value in row for cell in (label, Text(value, style="bold"))))
    return grid


def _further(found: StatisticsContents, classes: Sequence[ClassContents]) -> Iterator[RenderableType]:
    """Absolute fit, residuals, average posteriors and scores."""
    yield Text(_absolute(found["absolute"]))
    if "residuals" in found["residuals"]:
        yield Text(_largest_residuals(found["residuals"]))
    if "average" in found["assignment"]:
        yield Text("Mean posterior of the rows assigned to each class", style="bold")
        grid = _grid("assigned to", *(own["label"] for own in classes))
        for own, row in zip(classes, found["assignment"]["average"], strict=True):
            grid.add_row(_plain(own["label"]), *("-" if p is None else f"{p:.3f}" for p in row))
        yield grid
    known = {name: s["value"] for name, s in found["scores"].items() if s["value"] is not None}
    listed = ", ".join(f"{name} {_decimals(shown_score(value, name), 2)}" for name, value in known.items())
    yield Text(f"Scores ({direction('bic')}): {listed}.")
    loose = "" if found["identified"] else ": the structure is not identified"
    yield Text(f"Effective dimension {found['effective_dimension']:,}{loose}.")


def _absolute(found: AbsoluteFit) -> str:
    if found["g2"] is None:
        return f"G2 and X2 are not defined: {found['reason']}"
    parts = [f"G2 {found['g2']:.2f}", f"X2 {found['x2']:.2f}", f"{found['degrees_of_freedom']:,} degrees of freedom"]
    if found["p_g2"] is not None:
        parts.append(f"p {found['p_g2']:.3f} and {found['p_x2']:.3f}")
    more = f" {found['note']}" if found["note"] else ""
    return ", ".join(parts) + f".{more}"


def _largest_residuals(found: ResidualContents) -> str:
    listed = ", ".join(f"{printable(a)} and {printable(b)} {value:.2f}" for value, a, b in largest_residuals(found, 3))
    return f"Largest bivariate residuals (X2/df; above 3.84 the classes leave something unexplained): {listed}."


def _course(report: ClassReport) -> str:
    seed = "" if report["seed"] is None else f", seed {report['seed']}"
    if "search" in report:  # its steps, seconds and starts, not those of the last EM
        return " ".join([report["search"]["text"], *([f"Seed {report['seed']}."] if seed else [])])
    ended = "Converged" if report["converged"] else "Not converged"
    steps = f"{ended} after {_count(report['n_iter'], 'step')} in {report['seconds']:.2f} s{seed}."
    starts, n = report["starts"], len(report["starts"]["objectives"])
    if n == 1 or not report["converged"]:
        return steps
    found = f"All {n}" if starts["at_best"] == n else f"{starts['at_best']} of the {n}"
    return f"{steps} {found} starts run to the end found this fit."


def _sizes(classes: Sequence[ClassContents]) -> RenderableType:
    counted = all(own["count"] is not None for own in classes)
    ranged = all("interval" in own for own in classes)
    grid = _grid("class", "size", *(["interval"] if ranged else []), *(["cases"] if counted else []))
    for own in classes:
        between = [" - ".join(map(_percent, own["interval"]))] if ranged else []
        cases = [f"{own['count']:,.1f}"] if counted else []
        grid.add_row(_plain(own["label"]), _percent(own["size"]), *between, *cases)
    return grid


def _items(classes: Sequence[ClassContents], variables: Sequence[ShownVariable], width: int) -> RenderableType:
    """For words and baskets: the top items of each class, as topic tools show them."""
    known = [(v, at) for v in variables if (at := shown_answer(v["labels"])) is not None]
    names, overall = [v["name"] for v, _ in known], [v["marginal"][at] for v, at in known]
    grid = _grid("class", "items", texts=2)
    grid.columns[-1].no_wrap = False
    grid.columns[-1].width = max(width - 2 - max(len(own["label"]) for own in classes) - GAP, 20)
    for own in classes:
        given = [own["profile"][v["name"]][v["labels"][at]] for v, at in known]
        top = top_items(names, given, overall, 6)
        listed = ", ".join(f"{printable(name)} ({100 * p:.0f} %, x{lift:.1f})" for name, p, lift in top)
        grid.add_row(_plain(own["label"]), Text(listed or "-"))
    return grid


def _profiles(
    classes: Sequence[ClassContents],
    variables: Sequence[ShownVariable],
    width: int,
    max_variables: int | None,
    max_states: int | None,
    cell_width: int | None = None,
) -> Iterator[RenderableType]:
    """As many classes side by side as the width has room for, in cells of the width given, or just wide enough."""
    chosen = _most_informative(variables, max_variables)
    number = max(cell_width or 0, *(len(own["label"]) + GAP for own in classes))
    room = _room(number, 1 if cell_width else len(classes), chosen, width)
    most = max(1, (width - sum(room) - 2 * GAP) // number)
    for start in range(0, len(classes), most):
        yield _profile_table(chosen, classes[start : start + most], max_states, room)
    left = len(variables) - len(chosen)
    if left:
        shown = f"The {len(chosen)} most informative variables are shown, {left:,} more are not"
        yield Text(f"{shown}: use max_variables=None to see all.")
    yield from legend(chosen, width)


def _most_informative(variables: Sequence[ShownVariable], most: int | None) -> list[ShownVariable]:
    """In their own order, the variables to show."""
    if most is None or len(variables) <= most:
        return list(variables)
    ranked = sorted(range(len(variables)), key=lambda i: -variables[i]["information"])
    return [variables[i] for i in sorted(ranked[:most])]


def _room(number: int, n_classes: int, variables: Sequence[ShownVariable], width: int) -> tuple[int, int]:
    """Room for the names of variables and of states: what they need, or what the numbers leave of the width."""
    names = max(len("variable"), *(cell_len(_plain(v["name"]).plain) for v in variables))
    states = max(len("(99 more)"), *(cell_len(_plain(s).plain) for v in variables for s in v["labels"]))
    left = width - 2 * GAP - number * n_classes
    # Many classes are shown in parts, so that names keep some room, but at least one class stands beside them.
    left = max(left, min(2 * NAME_WIDTH, width - 2 * GAP - number), 2 * LEAST_NAME)
    half = left // 2
    if names + states <= left:
        return names, states
    if names <= half:
        return names, left - names
    return (left - states, states) if states <= left - half else (half, left - half)


def _profile_table(
    variables: Sequence[ShownVariable], classes: Sequence[ClassContents], max_states: int | None, room: tuple[int, int]
) -> RenderableType:
    grid = _grid("variable", "state", *(own["label"] for own in classes), texts=2)
    grid.title = Text("P(state | class)", style="bold")
    grid.title_justify = "left"
    names = _shortened([v["name"] for v in variables], room[0])
    for variable, shown in zip(variables, names, strict=True):
        name, labels = shown, variable["labels"]
        states = _shortened(labels, room[1])
        for i in _most_frequent(variable["marginal"], max_states):
            grid.add_row(name, states[i], *(_cell(own, variable["name"], labels[i]) for own in classes))
            name = Text("")
        if max_states is not None and len(labels) > max_states:
            grid.add_row("", f"({len(labels) - max_states:,} more)")
    return grid


def _most_frequent(marginal: Sequence[float], most: int | None) -> list[int]:
    """In their own order, the states to show."""
    if most is None or len(marginal) <= most:
        return list(range(len(marginal)))
    return sorted(sorted(range(len(marginal)), key=lambda i: -marginal[i])[:most])


def _cell(own: ClassContents, variable: str, label: str) -> Text:
    profile = own["profile"][variable]
    p = profile[label]
    text = f"{p:.3f}"
    if "intervals" in own:
        low, high = own["intervals"][variable][label]
        text = f"{p:.2f} ({low:.2f}-{high:.2f})"
    # The most probable answer of the class, if there are others.
    dominant = len(profile) > 1 and p == max(profile.values())
    return Text(text, style="bold" if dominant else "")


# ---- a comparison ------------------------------------------------------------------------------------------------

_HEADS = {
    "log_likelihood": "log-lik.",
    "n_parameters": "parameters",
    "relative_entropy": "rel. entropy",
    "smallest_class": "smallest",
}


def _comparison(report: ComparisonReport, width: int) -> Iterator[RenderableType]:
    scores, fits = list(report["scores"]), report["fits"]
    errors = {f"{name}_error" for name in scores if any(f"{name}_error" in row for row in fits)}
    own = [part for name in scores for part in (name, f"{name}_error") if part == name or part in errors]
    names = ["log_likelihood", "n_parameters", *own]
    names += [n for n in ("relative_entropy", "smallest_class") if n not in scores]
    columns = [_compared_column(report, name) for name in names]
    # What is known not to be good is marked; None is not known.
    marks = (("!" if row["converged"] is False else "") + ("?" if row["identified"] is False else "") for row in fits)
    numbers = [f"{mark}{row['n_classes']:,}" for row, mark in zip(fits, marks, strict=True)]
    first = [Text("classes"), *map(Text, numbers)]
    for part in _side_by_side(columns, width - len("classes")):
        grid = _grid(texts=0)
        for head, *_ in (first, *part):
            grid.add_column(head, justify="right", no_wrap=True)
        for cells in list(zip(first, *part, strict=True))[1:]:
            grid.add_row(*cells)
        yield grid
    legend = " ! did not converge." if any(row["converged"] is False for row in fits) else ""
    if any(row["identified"] is False for row in fits):
        legend += " ? not identified: some parameters are free to move."
    if errors:
        legend += " +-: standard error of the difference from the best; of what is within one, the fewest classes."
    chosen = f", * is best.{legend} {_chosen(report['best'])}" if len(fits) > 1 else f".{legend}"
    yield Text(f"{_directions(scores)}{chosen}")
    if "search" in report:
        yield Text(_searched(report["search"], scores))
    words = [f"{_count(row['n_classes'], 'class', 'classes')}: {w}" for row in report["fits"] for w in row["warnings"]]
    if report["skipped"]:
        why = "It was interrupted" if report["interrupted"] else "The time was over"
        words.append(f"{why} before {', '.join(map(str, report['skipped']))} classes were fitted.")
    if words:
        yield _listed("Warnings", words, "bold yellow")


def _directions(scores: Sequence[str]) -> str:
    ways = {name: direction(name) for name in scores}
    if len(set(ways.values())) == 1:
        return f"Scores: {ways[scores[0]]}"
    return "; ".join(f"{printable(name)}: {way}" for name, way in ways.items())


def _searched(search: ClassSearch, scores: Sequence[str]) -> str:
    """Which numbers of classes the rows are, and which columns say nothing about the best one."""
    criterion = search["criterion"]
    others = [name for name in scores if name != criterion]
    rows = f"The rows are the numbers of classes that the search by {criterion} tried."
    more = f" By {' or '.join(others)}, another number may be best: that was not searched." if others else ""
    return printable(rows + more)


def _compared_column(report: ComparisonReport, name: str) -> list[Text]:
    best = report["best"].get(name) if len(report["fits"]) > 1 else None  # the only one is no best
    rows: Sequence[Mapping[str, Any]] = report["fits"]  # the scores are under their names
    cells = (_compared(name, row[name], row["n_classes"] == best) for row in rows)
    return [Text("+-" if name.endswith("_error") else _HEADS.get(name, name)), *cells]


def _compared(name: str, value: float | None, best: bool) -> Text:
    if value is None:  # a score that is not defined for this fit
        return Text("-")
    if name == "n_parameters":
        return Text(f"{value:,}")
    if name == "smallest_class":
        return Text(_percent(value))
    if name.endswith("_error"):  # on the scale of the score as it is shown
        return Text(_decimals(abs(shown_score(value, name.removesuffix("_error"))), 2))
    shown = value if name in _HEADS else shown_score(value, name)
    text = _decimals(shown, 3 if name == "relative_entropy" else 2)
    return Text(f"*{text}", style="bold") if best else Text(text)


def _side_by_side(columns: Sequence[list[Text]], width: int) -> Iterator[list[list[Text]]]:
    """As many columns side by side as the width has room for."""
    part: list[list[Text]] = []
    room = width
    for column in columns:
        need = max(cell.cell_len for cell in column) + GAP
        if part and need > room:
            yield part
            part, room = [], width
        part.append(column)
        room -= need
    yield part


def _chosen(best: Mapping[str, int]) -> str:
    return " ".join(f"{name}: {_count(k, 'class', 'classes')}." for name, k in best.items())


# ---- words and numbers -------------------------------------------------------------------------------------------


def _grid(*heads: str, texts: int = 1) -> Grid:
    """Make a table whose first columns hold text and whose other columns hold numbers."""
    grid = Grid(box=RULED, padding=(0, GAP - 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    for i, head in enumerate(heads):
        grid.add_column(_plain(head), justify="left" if i < texts else "right", no_wrap=True)
    return grid


def _spaced(parts: Iterator[RenderableType]) -> Iterator[RenderableType]:
    for i, part in enumerate(parts):
        yield part if i == 0 else Padding(part, (1, 0, 0, 0))


def _listed(head: str, texts: Sequence[str], style: str) -> RenderableType:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for text in texts:
        grid.add_row("-", _plain(text))
    return Group(Text(head, style=style), grid)


def _plain(text: str) -> Text:
    """Show text from the data as it is: no markup in it is obeyed, and nothing in it can steer the terminal."""
    return Text(printable(text))


def _shortened(names: Sequence[str], room: int) -> list[Text]:
    """Show names in the room there is: cut at the end, or in the middle where the beginnings are the same."""
    shown = [_plain(name).plain for name in names]
    cut = [_cut_end(name, room) for name in shown]
    often = Counter(cut)
    return [Text(c if often[c] == 1 else _cut_middle(s, room)) for s, c in zip(shown, cut, strict=True)]


def _cut_end(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, room - 3).rstrip() + "..."


def _cut_middle(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    tail = (room - 3) // 2
    ending = set_cell_size(text[::-1], tail)[::-1]
    return set_cell_size(text, room - 3 - tail).rstrip() + "..." + ending.lstrip()


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _decimals(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
