"""``latentree name``: what latent variables, their states and classes are called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .command import command as command_, file, option
from .options import force_option, model_argument
from .output import emit, note

if TYPE_CHECKING:
    from .._model import Model

__all__ = ["command"]

NAMES = "Names"

EXAMPLES = """
latentree name model.json --class 0="Heavy users" --class 1=Others
latentree name model.json --latent x5+x8=Budget --state Budget:0=against
latentree name model.json --names names.json --out named.json
latentree name model.json
"""


@command_("name", examples=EXAMPLES)
@model_argument
@option("--class N=NAME", "classes", NAMES, "Name a class of a latent class model, by its number.", multiple=True)
@option("--latent OLD=NEW", "latents", NAMES, "Name a latent variable.", multiple=True)
@option("--state LATENT:N=NAME", "states", NAMES, "Name a state of a latent variable, by its number.", multiple=True)
@file("--names", NAMES, "Take the names from a file that the explorer page saved.")
@file("--out", "Output", "Where to write the model. Default: MODEL is written again, with the names in it.")
@force_option
def command(
    model: str,
    classes: Sequence[str],
    latents: Sequence[str],
    states: Sequence[str],
    names: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Name classes, states and latent variables.

    MODEL is a model file. The names are kept in it, and reports, tables, figures and the explorer page show them;
    nothing else in the model changes. Without a name to give, the names are listed.
    """
    from .data import load_model
    from .files import MODEL, Outputs

    loaded = load_model(model)
    wanted = _from_file(names) if names is not None else {"latents": {}, "states": {}}
    wanted["latents"] |= dict(_pair("--latent", text) for text in latents)
    for text in states:
        left, name = _pair("--state", text)
        latent, colon, number = left.rpartition(":")
        if not colon:
            raise click.UsageError(f"--state '{text}': it must be of the form LATENT:N=NAME.")
        wanted["states"].setdefault(latent, {})[number] = name
    for text in classes:
        number, name = _pair("--class", text)
        wanted["states"].setdefault("class", {})[number] = name
    if wanted["latents"] or wanted["states"]:
        loaded = loaded.renamed(wanted["latents"], states=wanted["states"])
        outputs = Outputs("name", {"--out": (MODEL, out)}, [model], force=force)
        outputs.write_model(loaded, out or model)
        _say_if_lost(loaded, out or model)
    if as_json:
        emit({"latents": _listed(loaded)})
        return
    from .tables import grid

    rows = [[own["name"] if i == 0 else "", str(i), label] for own in _listed(loaded) for i, label in _numbered(own)]
    grid(["latent", "state", "name"], rows, right=[])


def _pair(option: str, text: str) -> tuple[str, str]:
    left, equals, name = text.rpartition("=")
    if not equals or not left.strip() or not name.strip():
        raise click.UsageError(f"{option} '{text}': a name is given after '=', as in {option} 0=\"Heavy users\".")
    return left.strip(), name.strip()


def _from_file(path: str) -> dict[str, dict[str, Any]]:
    from .._files import read_text
    from ..errors import FileFormatError

    try:
        found = json.loads(read_text(path))
        known = {key: dict(found.get(key, {})) for key in ("latents", "states")}
        if all(isinstance(own, Mapping) for own in known["states"].values()):
            return {"latents": known["latents"], "states": {z: dict(own) for z, own in known["states"].items()}}
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise FileFormatError(
        "'{file}' holds no names. It must be a JSON object with 'latents', new names by old ones, and 'states', for "
        "each latent variable the names of its states by number.",
        file=path,
    )


def _say_if_lost(model: Model, path: str) -> None:
    from ..formats._models import format_of

    if format_of(path) not in ("json", None) and any(any(model.state_names(int(z))) for z in model.tree.latent):
        note(
            f"'{path}': only latentree's own files (.json) keep the names of states.", label="Warning:", colour="yellow"
        )


def _listed(model: Model) -> list[dict[str, Any]]:
    from ..naming import latent_title, node_labels

    return [
        {"name": latent_title(model, int(z)), "states": list(node_labels(model, int(z)))}
        for z in model.tree.latent_variables
    ]


def _numbered(own: Mapping[str, Any]) -> list[tuple[int, str]]:
    return list(enumerate(own["states"]))
