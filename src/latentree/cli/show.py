"""``latentree show``: what is in a model file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from .command import command as command_
from .options import model_argument
from .output import emit, printable

if TYPE_CHECKING:
    from .._model import Model

__all__ = ["command"]

EXAMPLES = """
latentree show model.json
latentree show model.json --json
"""

SCORES = ("log_likelihood", "n_parameters", "n", "aic", "bic", "seed")
"""What a model file may know of the data it was fitted to."""


@command_("show", examples=EXAMPLES)
@model_argument
def command(model: str, as_json: bool) -> None:
    """Show what is in a model file.

    MODEL is a model file. Shown are where it comes from, its classes and how they answer. A model with several latent
    variables is drawn as a tree: latent variables have a star, numbers of states are in brackets.
    """
    from .data import load_model, reading_of

    loaded = load_model(model)
    if as_json:
        emit({**_document(loaded)})
        return
    from ..report._headline import MAXIMUM
    from ..report._tree import remembered_maximum
    from .tables import pairs

    at = "" if remembered_maximum(loaded.provenance) is None else MAXIMUM
    known = {
        _heading(name, at): _told(name, value)
        for name, value in loaded.provenance.items()
        if not isinstance(value, Mapping | list)
    }
    read = reading_of(loaded)
    estimate = loaded.provenance.get("estimate")
    if at and isinstance(estimate, Mapping) and "text" in estimate:
        known["saved estimate"] = str(estimate["text"])
    pairs({"model": _kind(loaded), **known, **({"read with": read} if read else {})})
    click.echo()
    if loaded.tree.is_star:
        _show_classes(loaded)
    else:
        from ..report._independence import independence_in_words

        click.echo(printable(loaded.tree.to_text()))
        for sentence in independence_in_words(loaded.tree):
            click.echo(f"\n{printable(sentence)}")
    _show_texts(loaded)


HEADINGS = {"n": "sample size", "n_parameters": "parameters", "n_classes": "classes"}
HEADINGS |= {"log_likelihood": "log-likelihood"}
"""Entries of the file that people know by other names."""


def _heading(name: str, at: str) -> str:
    """What people call an entry; ``at`` says which probabilities scores are of, if not those of the file."""
    from .._scale import score_label

    if name in ("aic", "bic"):
        return score_label(name, at)
    heading = HEADINGS.get(name, name.replace("_", " "))
    return f"{heading} ({at})" if at and name == "log_likelihood" else heading


def _told(name: str, value: Any) -> str:
    """Return a value as people see it: scores so that lower is better."""
    from .._scale import shown_score

    if name in ("aic", "bic") and isinstance(value, int | float):
        value = shown_score(float(value), name)
    return f"{value:,.10g}" if isinstance(value, float) else str(value)


def _kind(model: Model) -> str:
    tree, n = model.tree, _n_parameters(model)
    if tree.is_star:
        k = tree.cardinality[0]
        return f"{k} class{'es' if k > 1 else ''}, {tree.n_variables} variables, {n:,} parameters"
    parts = f", {len(tree.parts)} independent parts" if len(tree.cuts) else ""
    return f"{tree.n_variables} variables, {len(tree.latent_variables)} latent variables{parts}, {n:,} parameters"


def _n_parameters(model: Model) -> int:
    """Free parameters: fewer than those of the tree if classes are pairs of states of two latent variables."""
    known, own = model.provenance.get("n_parameters"), model.tree.n_parameters
    return min(known, own) if isinstance(known, int) and known > 0 else own


def _show_classes(model: Model) -> None:
    """Print the sizes of the classes and, below, P(state | class)."""
    from ..naming import latent_title, node_labels, state_labels
    from .tables import grid

    classes = list(node_labels(model, 0))
    rows = [[f"size of {latent_title(model, 0)}", "", *(f"{p:.3f}" for p in model.table(0)[0])]]
    for variable in model.variables:
        name = variable.name
        for label, given in zip(state_labels(variable), model.table(variable.name).T, strict=True):
            rows.append([name, label, *(f"{p:.3f}" for p in given)])
            name = ""
    grid(["variable", "state", *classes], rows, right=classes)


def _show_texts(model: Model) -> None:
    """Print what the variables are in words, and which orders were guessed, if any."""
    from ..diagnostics import guessed_orders
    from ..report._legend import legend_lines

    lines = legend_lines([(v.name, v.label) for v in model.variables], shutil.get_terminal_size().columns)
    if lines:
        click.echo("\n".join(["\nWhat the variables are", *lines]))
    for finding in guessed_orders(model.variables):
        click.echo(f"\n{printable(finding.text)}")


def _words(model: Model, v: int) -> dict[str, str]:
    """What a variable is in words, and where the order of its states comes from, if that is known."""
    column = int(model.tree.variable[v])
    own = None if column < 0 else model.variables[column]
    return {} if own is None else {name: text for name in ("label", "order") if (text := getattr(own, name))}


def _document(model: Model) -> dict[str, Any]:
    tree = model.tree
    known = {name: model.provenance.get(name) for name in SCORES}
    return {
        **known,
        "n_parameters": _n_parameters(model),
        "nodes": [
            {
                "name": name,
                "parent": tree.names[tree.parent[v]] if v else None,
                "latent": bool(tree.variable[v] < 0),
                "states": model.states(v),
                **_words(model, v),
                "marginal": marginal,
                "table": model.table(v),
            }
            for v, (name, marginal) in enumerate(zip(tree.names, model.marginals(), strict=True))
        ],
        "provenance": dict(model.provenance),
    }
