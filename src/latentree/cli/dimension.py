"""``latentree dimension``: how many dimensions a model has, and whether data can fix its parameters."""

from __future__ import annotations

from dataclasses import asdict

import click

from .command import command as command_
from .options import model_argument
from .output import emit, printable

__all__ = ["command"]

EXAMPLES = """
latentree dimension model.json
latentree dimension model.json --json
"""


@command_("dimension", examples=EXAMPLES)
@model_argument
def command(model: str, as_json: bool) -> None:
    """Effective dimension of a model, and what data can identify.

    MODEL is a model file. The standard dimension counts its free parameters; the effective dimension is that of the
    set of distributions that its structure can produce, which BICe uses instead; the rank is that of the Jacobian at
    the model's own parameters. Where they differ, some parameters can move without changing the distribution.
    """
    from ..dimension import identifiability
    from .data import load_model
    from .tables import grid, pairs

    found = identifiability(load_model(model))
    if as_json:
        own = asdict(found)
        del own["coincide"]
        told = {"structural": found.structural, "here": found.here, "messages": list(found.messages)}
        emit({**own, **told})
        return
    pairs(
        {
            "standard dimension": f"{found.standard:,}",
            "effective dimension": f"{found.effective:,}",
            "rank at the model's parameters": f"{found.rank:,}",
        }
    )
    click.echo()
    if len(found.latents) > 1:
        numbers = ["states", "standard", "effective", "rank"]
        rows = [[z.name, *map(str, (z.n_states, z.standard, z.effective, z.rank))] for z in found.latents]
        grid(["latent variable", *numbers], rows, right=numbers)
        click.echo()
    click.echo(printable(str(found)))
