"""The report on draws from a posterior as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from ._contents import PosteriorOfNumber, PosteriorReport
from ._text import _count, _grid, _listed, _percent, _profiles, _rows, _sizes

__all__ = ["posterior_parts"]

BAR = 24
"""Width of the bar of a certain number of classes."""

CELL = 18
"""Room for a probability with its interval."""


def posterior_parts(
    report: PosteriorReport, width: int, max_variables: int | None, max_states: int | None
) -> Iterator[RenderableType]:
    """The parts of the report, one below the other."""
    yield Text(_title(report), style="bold")
    yield _numbers_of_classes(report["posterior"])
    yield Text(_course(report))
    if report["warnings"]:
        yield _listed("Warnings", report["warnings"], "bold yellow")
    yield Text(_shown(report), style="bold")
    yield _sizes(report["classes"])
    yield from _profiles(report["classes"], report["variables"], width, max_variables, max_states, CELL)
    if report["notes"]:
        yield _listed("Notes", report["notes"], "bold")


def _title(report: PosteriorReport) -> str:
    return f"Bayesian latent class model: {_count(report['n_variables'], 'variable')}, {_rows(report, report['n'])}"


def _numbers_of_classes(posterior: Sequence[PosteriorOfNumber]) -> RenderableType:
    grid = _grid("classes", "posterior", "prior", "", texts=0)
    grid.columns[-1].justify = "left"
    for own in posterior:
        p = own["probability"]
        grid.add_row(str(own["n_classes"]), f"{p:.3f}", f"{own['prior']:.3f}", "#" * round(BAR * p))
    return grid


def _course(report: PosteriorReport) -> str:
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


def _shown(report: PosteriorReport) -> str:
    level = f"{100 * report['level']:g} % intervals"
    classes = _count(report["n_classes"], "class", "classes")
    return f"{classes}: means and {level} of {_count(report['n_used'], 'draw')}"
