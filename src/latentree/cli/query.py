"""``latentree query``: what follows from what."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from .command import command as command_, option
from .options import model_argument
from .output import emit

if TYPE_CHECKING:
    from .._model import Model
    from .._variables import State

__all__ = ["command"]

EXAMPLES = """
latentree query model.json --ask smokes
latentree query model.json --ask smokes --given sex=f --given age=37
latentree query model.json --ask class --given smokes=yes
latentree query model.json --ask smokes,sex --given class=0 --json
"""


@command_("query", examples=EXAMPLES)
@model_argument
@option(
    "--ask NAME,...",
    "The question",
    "A variable, or 'class'. Several: their joint distribution. Names with commas: one option each.",
    multiple=True,
    required=True,
)
@option(
    "--given NAME=STATE",
    "The question",
    "What is known. For a variable that was cut into bins any number will do; classes are 0, 1, ... or class0, "
    "class1, ...",
    multiple=True,
)
def command(model: str, ask: tuple[str, ...], given: tuple[str, ...], as_json: bool) -> None:
    """Probability of any variables given any others.

    MODEL is a model file. The classes of a latent class model go by the name 'class', if no variable has it; other
    latent variables by the names that 'latentree show MODEL' shows.
    """
    from ..infer import find_node, query
    from .data import load_model

    loaded = load_model(model)
    import click

    pairs = [evidence(loaded, text) for text in given]
    known = dict(pairs)
    for name in known:
        if [other for other, _ in pairs].count(name) > 1:
            raise click.UsageError(f"--given names '{name}' twice.")
    ask = tuple(name for text in ask for name in asked(loaded, text))
    answer = query(loaded, list(ask), known)
    states = [loaded.states(find_node(loaded, name)) for name in ask]
    if as_json:
        emit({"ask": ask, "given": known, "states": dict(zip(ask, states, strict=True)), "probabilities": answer})
        return
    from ..naming import node_labels
    from .tables import grid

    shown = [node_labels(loaded, find_node(loaded, name)) for name in ask]
    combinations = itertools.product(*shown)
    rows = ([*map(str, combination), f"{p:.6f}"] for combination, p in zip(combinations, answer.flat, strict=True))
    grid([*ask, "probability"], rows, right=["probability"])


def asked(model: Model, text: str) -> list[str]:
    """Names in one ``--ask``: with commas between them, or one that holds commas."""
    from .types import split

    return [text] if text in model.tree.names else [name.strip() for name in split(text)]


def evidence(model: Model, text: str) -> tuple[str, State]:
    """Read NAME=STATE: which variable, and which of its states the text stands for."""
    from ..infer import find_node, find_state

    name, written = _parts(model, text)
    node = find_node(model, name)
    return name, model.states(node)[find_state(model, name, _with_point(model, node, written))]


def _with_point(model: Model, node: int, written: str) -> str:
    """Read a decimal comma where the model's data had them, and the variable is one of numbers."""
    from ..formats._coding import DECIMAL_COMMA
    from ..formats._recipe import Recipe

    i = int(model.tree.variable[node])
    if i < 0 or Recipe.of(model).decimal != "," or not DECIMAL_COMMA.fullmatch(written):
        return written
    own = model.variables[i]
    is_text = own.edges is None and all(isinstance(state, str) for state in own.states)
    return written if is_text else written.replace(",", ".")


def _parts(model: Model, text: str) -> tuple[str, str]:
    # Both names and states may hold '='.
    at = [i for i, character in enumerate(text) if character == "="]
    if not at:
        import click

        raise click.UsageError(f"--given '{text}' must have the form NAME=STATE.")
    best = next((i for i in at if text[:i].strip() in model.tree.names), at[0])
    return text[:best].strip(), text[best + 1 :].strip()
