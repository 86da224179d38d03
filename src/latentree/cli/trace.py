"""``latentree trace``: how a search came to its tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..errors import FileFormatError
from .command import command as command_
from .output import emit

__all__ = ["command"]

EXAMPLES = """
latentree trace model.json
latentree trace steps.json --json
latentree trace big.checkpoint
"""


@command_("trace", examples=EXAMPLES)
@click.argument("file", type=click.Path())
def command(file: str, as_json: bool) -> None:
    """Show the steps of a search.

    FILE is a model that 'latentree learn' wrote, the file of its --trace, or that of its --resume, also while the
    search goes on.

    SI and SD add and take away a state, NI, ND and NR add, take away and relocate a node. Scores are lower for better
    trees (with --json, higher). A model file does not hold seconds, so that the same search gives the same file.
    """
    from .data import load_search

    found, score = load_search(file)
    steps = _checked(found, file)
    if as_json:
        last = steps[-1] if steps else {}
        emit(
            {
                "n_steps": len(steps),
                "log_likelihood": last.get("log_likelihood"),
                "n_parameters": last.get("dimension"),
                "trace": steps,
            }
        )
    elif steps:
        _show(steps, score)
    else:
        click.echo("No steps were made.")


def _checked(steps: Sequence[Any], file: str) -> list[dict[str, Any]]:
    from ..search import Step

    try:
        return [
            {**Step.from_plain({"seconds": 0.0, **step}).to_plain(), "seconds": step.get("seconds")} for step in steps
        ]
    except (FileFormatError, TypeError, AttributeError) as error:
        raise FileFormatError(f"'{file}' holds steps that cannot be read: {error}") from None


def _show(steps: Sequence[Mapping[str, Any]], score: str) -> None:
    from .._scale import shown_score
    from .tables import grid

    timed = any(step["seconds"] is not None for step in steps)
    numbers = ["step", score, "log-lik.", "parameters", "latents", "candidates", *(["seconds"] if timed else [])]
    rows = [
        [
            str(step["number"]),
            f"{shown_score(step['score'], score):,.2f}",
            f"{step['log_likelihood']:,.2f}",
            f"{step['dimension']:,}",
            f"{_latents(step):,}",
            f"{step['candidates']:,}",
            *([f"{step['seconds']:.1f}"] if timed else []),
            f"{step['kind']}: {step['operation']}",
        ]
        for step in steps
    ]
    grid([*numbers, "what was done"], rows, right=numbers, fold=True)


def _latents(step: Mapping[str, Any]) -> int:
    """Inner nodes: in a search, all that are observed are leaves. Of several, those of one state do not count."""
    often = Counter(name for pair in step["edges"] for name in pair)
    inner = [name for name, n in often.items() if n > 1]
    return len(inner) if len(inner) < 2 else sum(step["states"].get(name, 2) > 1 for name in inner)
