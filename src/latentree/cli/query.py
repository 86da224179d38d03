"""``latentree query``: what follows from what."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from .command import command as command_
from .command import option, session
from .options import model_argument
from .output import emit

if TYPE_CHECKING:
    from ..model import Model
    from ..variables import State

__all__ = ["command"]

EXAMPLES = """
latentree query model.json --ask smokes
latentree query model.json --ask smokes --given sex=f --given age=37
latentree query model.json --ask z --given smokes=yes
latentree query model.json --ask smokes --ask sex --given z=0 --json
"""


@command_("query", examples=EXAMPLES)
@model_argument
@option(
    "--ask",
    multiple=True,
    required=True,
    metavar="NAME",
    section="The question",
    help="A variable or latent variable. Given several times: their joint distribution.",
)
@option(
    "--given",
    multiple=True,
    metavar="NAME=STATE",
    section="The question",
    help="What is known. States of latent variables are 0, 1, ...; of a variable cut into bins, any number will do.",
)
def command(model: str, ask: tuple[str, ...], given: tuple[str, ...], as_json: bool) -> None:
    """Probability of any variables given any others.

    MODEL is a model file. Latent variables go by the names that 'latentree show MODEL' shows, usually 'z'.
    """
    from ..infer import query
    from .data import load_model

    started = time.perf_counter()
    loaded = load_model(model)
    known = dict(evidence(loaded, text) for text in given)
    answer = query(loaded, list(ask), known)
    states = [loaded.states(name) for name in ask]
    if as_json:
        emit(
            {
                "command": "query",
                "ask": ask,
                "given": known,
                "states": dict(zip(ask, states, strict=True)),
                "probabilities": answer,
                "seconds": time.perf_counter() - started,
                "warnings": session().warnings,
            }
        )
        return
    from .tables import grid

    combinations = itertools.product(*states)
    rows = ([*map(str, combination), f"{p:.6f}"] for combination, p in zip(combinations, answer.flat, strict=True))
    grid([*ask, "probability"], rows, right=["probability"])


def evidence(model: Model, text: str) -> tuple[str, State]:
    """Read NAME=STATE: which node, and which of its states the text stands for."""
    name, written = _parts(model, text)
    v = model.tree.node(name)
    i = int(model.tree.variable[v])
    return name, _latent_state(model, v, written) if i < 0 else _state(model, i, written)


def _parts(model: Model, text: str) -> tuple[str, str]:
    # Both names and states may hold '='.
    at = [i for i, character in enumerate(text) if character == "="]
    if not at:
        import click

        raise click.UsageError(f"--given '{text}' must have the form NAME=STATE.")
    best = next((i for i in at if text[:i] in model.tree.names), at[0])
    return text[:best], text[best + 1 :]


def _latent_state(model: Model, v: int, written: str) -> int:
    from ..errors import DataError

    k = int(model.tree.cardinality[v])
    if not written.isdecimal() or int(written) >= k:
        raise DataError(f"Latent node '{model.tree.names[v]}' has no state '{written}'. Its states are 0 to {k - 1}.")
    return int(written)


def _state(model: Model, i: int, written: str) -> State:
    import numpy as np

    from ..formats.coding import match
    from ..formats.columns import Column

    variable = model.variables[i]
    cell = Column(np.zeros(1, dtype=np.int32), (written,), untyped=True)  # read like a cell of a file
    code = int(match(variable, cell, None, missing=(), unseen="missing").recode[0])
    return variable.states[code if code >= 0 else variable.code(written)]
