"""``latentree convert``: model files of one program into those of another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from ..formats import MODEL_FORMATS
from ..formats._models import format_of
from .command import command as command_, flag, option
from .options import force_option
from .output import emit, note
from .types import Choice, split

__all__ = ["command"]

READABLE = [kind for kind, one in MODEL_FORMATS.items() if one.is_read]

READING, WRITING = "How IN is read", "How OUT is written"

EXAMPLES = """
latentree convert model.json model.bif
latentree convert asia.net asia.xdsl
latentree convert hlta.bif model.json --inner-latent
latentree convert network.xml model.json --from xmlbif --latent class,trait
latentree convert model.json - --to dot | dot -Tsvg > tree.svg
"""


@command_("convert", examples=EXAMPLES)
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path(allow_dash=True))
@option(
    "--from KIND",
    "from_",
    READING,
    f"What kind of file IN is: {', '.join(READABLE)}. Default: as its name ends.",
    type=Choice(READABLE),
)
@option(
    "--latent NAME,...",
    READING,
    "These nodes are latent, and no others. Default: those that the file says are. Files of latentree do, and of "
    "pgmpy; in others all nodes are observed. Names with commas: in double quotes.",
    multiple=True,
)
@flag("--inner-latent", READING, "All nodes that have children are latent.")
@option(
    "--encoding NAME",
    READING,
    "Encoding of a BIF or NET file, such as cp1252 or latin-1. Default: UTF-8. The others tell it themselves.",
)
@option(
    "--to KIND",
    WRITING,
    f"What kind of file to write: {', '.join(MODEL_FORMATS)}. Default: as the name of OUT ends.",
    type=Choice(list(MODEL_FORMATS)),
)
@force_option
def command(
    source: str,
    target: str,
    from_: str | None,
    latent: Sequence[str],
    inner_latent: bool,
    encoding: str | None,
    to: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Convert a model file into one of another program.

    IN is a model file, OUT the file to write, '-' for standard output. Their names tell what kinds they are; both may
    be gzipped (.gz).

    \b
    json    .json                  latentree's own, which keeps everything
    bif     .bif                   BIF: bnlearn, HLTA, JavaBayes, pgmpy, pyAgrum
    xmlbif  .xmlbif .bifxml .xml   XMLBIF: JavaBayes, Weka, SamIam, pgmpy, pyAgrum
    net     .net                   NET: Hugin, bnlearn, pgmpy, pyAgrum
    xdsl    .xdsl                  XDSL: GeNIe and SMILE, pgmpy, pyAgrum
    dot     .dot .gv               DOT: a drawing for Graphviz, written only

    Only trees can be read: an error names the first node that has two parents.

    What a format has no room for is kept in properties, which other programs pass over: which nodes are latent, types
    of states, cut points, and names that it cannot hold as they are; a warning tells which were changed. Reading the
    file back gives the same model. Only json keeps where a model comes from.
    """  # noqa: D301
    from ..formats._models import text_of
    from ..formats._text import write_text_file
    from .data import load_model
    from .files import Kind, Outputs

    if latent and inner_latent:
        raise click.UsageError("--latent names the latent nodes, --inner-latent finds them; give one of the two.")
    if target == "-" and as_json:
        raise click.UsageError("Standard output cannot hold both the model and --json. Give OUT a name.")
    to = to or _kind(target)
    from_ = from_ or _kind(source, default="json")
    file = None if target == "-" else target
    outputs = Outputs("convert", {"OUT": (Kind("a model", later=True), file)}, [source], force=force)
    hidden = "inner" if inner_latent else [name for text in latent for name in split(text)] or None
    model = load_model(source, format=from_, latent=hidden, encoding=encoding)
    text = text_of(model, to)
    if target == "-":
        click.echo(text.encode(), nl=False)
        return
    outputs.check("OUT", target, _holds(target, text))
    write_text_file(target, text)
    note(f"'{source}' ({from_}) written to '{target}' ({to}): {_size(model)}.")
    if as_json:
        tree = model.tree
        document: dict[str, Any] = {"from": from_, "to": to, "n_parameters": tree.n_parameters}
        document |= {"n_variables": tree.n_variables, "latent": [tree.names[v] for v in tree.latent]}
        emit(document)


def _holds(path: str, text: str) -> bool:
    """Whether a file has this text already, so that nothing is lost."""
    from ..errors import FileFormatError
    from ..formats._text import read_text_file

    try:
        return os.path.isfile(path) and read_text_file(path) == text
    except FileFormatError:
        return False


def _kind(path: str, default: str | None = None) -> str:
    kind = format_of(path) or default
    if kind is None:
        endings = ", ".join(suffix for one in MODEL_FORMATS.values() for suffix in one.suffixes)
        raise click.UsageError(
            f"'{path}' does not tell what kind of file to write, ending in none of {endings}. Give --to."
        )
    return kind


def _size(model: Any) -> str:
    n, hidden = model.tree.n_variables, len(model.tree.latent_variables)
    return f"{n:,} {'variable' if n == 1 else 'variables'}, {hidden:,} latent"
