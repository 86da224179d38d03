"""The report on draws from a posterior as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from ._text import (
    GAP,
    Report,
    _count,
    _grid,
    _listed,
    _most_frequent,
    _most_informative,
    _number,
    _percent,
    _plain,
    _room,
    _shortened,
)

__all__ = ["posterior_parts"]

BAR = 24
"""Width of the bar of a certain number of classes."""

CELL = 18
"""Room for a probability with its interval."""


def posterior_parts(
    report: Report, width: int, max_variables: int | None, max_states: int | None
) -> Iterator[RenderableType]:
    """The parts of the report, one below the other."""
    yield Text(_title(report), style="bold")
    yield _numbers_of_classes(report["posterior"])
    yield Text(_course(report))
    if report["warnings"]:
        yield _listed("Warnings", report["warnings"], "bold yellow")
    yield Text(_shown(report), style="bold")
    yield _sizes(report["classes"])
    yield from _profiles(report, width, max_variables, max_states)
    if report["notes"]:
        yield _listed("Notes", report["notes"], "bold")


def _title(report: Report) -> str:
    missing = f", {100 * report['missing']:.2g} % of the cells missing" if report["missing"] else ""
    rows = f"{_number(report['n'])} rows ({report['n_patterns']:,} distinct)"
    return f"Bayesian latent class model: {_count(report['n_variables'], 'variable')}, {rows}{missing}"


def _numbers_of_classes(posterior: Sequence[Report]) -> RenderableType:
    grid = _grid("classes", "posterior", "prior", "", texts=0)
    grid.columns[-1].justify = "left"
    for own in posterior:
        p = own["probability"]
        grid.add_row(str(own["n_classes"]), f"{p:.3f}", f"{own['prior']:.3f}", "#" * round(BAR * p))
    return grid


def _course(report: Report) -> str:
    seed = "" if report["seed"] is None else f", seed {report['seed']}"
    many = f"{_count(report['n_chains'], 'chain')} of {_count(report['n_draws'], 'draw')}"
    text = f"{many} in {report['seconds']:.2f} s{seed}."
    if report["effective_draws"] is not None:
        text += f" Worth {report['effective_draws']:,.0f} independent draws"
        text += "." if report["r_hat"] is None else f"; R-hat {report['r_hat']:.3f}."
    rates = {name: rate for name, rate in report["acceptance"].items() if rate is not None}
    if rates:
        text += " Accepted: " + ", ".join(f"{name} {_percent(rate)}" for name, rate in rates.items()) + "."
    return text


def _shown(report: Report) -> str:
    level = f"{100 * report['level']:g} % intervals"
    classes = _count(report["n_classes"], "class", "classes")
    return f"{classes}: means and {level} of {_count(report['n_used'], 'draw')}"


def _sizes(classes: Sequence[Report]) -> RenderableType:
    grid = _grid("class", "size", "interval", "cases")
    for own in classes:
        low, high = own["interval"]
        between = f"{_percent(low)} - {_percent(high)}"
        grid.add_row(_plain(own["label"]), _percent(own["size"]), between, f"{own['count']:,.1f}")
    return grid


def _profiles(
    report: Report, width: int, max_variables: int | None, max_states: int | None
) -> Iterator[RenderableType]:
    chosen = _most_informative(report["variables"], max_variables)
    names, states = _room(report["classes"][:1], chosen, width - CELL)
    most = max(1, (width - names - states - 2 * GAP) // CELL)
    for start in range(0, len(report["classes"]), most):
        part = report["classes"][start : start + most]
        grid = _grid("variable", "state", *(own["label"] for own in part), texts=2)
        grid.title, grid.title_justify = Text("P(state | class)", style="bold"), "left"
        for variable, shown in zip(chosen, _shortened([v["name"] for v in chosen], names), strict=True):
            name, labels = shown, variable["labels"]
            cut = _shortened(labels, states)
            for i in _most_frequent(variable["marginal"], max_states):
                grid.add_row(name, cut[i], *(_cell(own, variable["name"], labels[i]) for own in part))
                name = Text("")
            if max_states is not None and len(labels) > max_states:
                grid.add_row("", f"({len(labels) - max_states:,} more)")
        yield grid
    left = len(report["variables"]) - len(chosen)
    if left:
        shown_now = f"The {len(chosen)} most informative variables are shown, {left:,} more are not"
        yield Text(f"{shown_now}: use max_variables=None to see all.")


def _cell(own: Report, variable: str, label: str) -> Text:
    profile = own["profile"][variable]
    p, (low, high) = profile[label], own["intervals"][variable][label]
    dominant = len(profile) > 1 and p == max(profile.values())
    return Text(f"{p:.2f} ({low:.2f}-{high:.2f})", style="bold" if dominant else "")
