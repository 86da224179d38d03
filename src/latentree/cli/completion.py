"""``latentree completion``: what a shell needs to complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .command import command as command_
from .output import emit

__all__ = ["command"]

EXAMPLES = """
eval "$(latentree completion bash)"                                         # in ~/.bashrc
eval "$(latentree completion zsh)"                                          # in ~/.zshrc
latentree completion fish > ~/.config/fish/completions/latentree.fish
"""


@command_("completion", examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str, as_json: bool) -> None:
    """Print the completion script of a shell.

    It lets the shell complete commands, options and names of data sets.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # the three are part of click
    root = click.get_current_context().find_root().command
    # Filled in by hand: click's own source() would run bash to look at its version.
    completer = kind(root, {}, "latentree", "_LATENTREE_COMPLETE")
    script = completer.source_template % completer.source_vars()
    if as_json:
        emit({"shell": shell, "script": script})
    else:
        click.echo(script)
