"""Options of a method, given as ``--set NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import Parameter, ParameterError
from .types import pairs

if TYPE_CHECKING:
    from .._options import Options

__all__ = ["settings_of"]


def settings_of(
    kind: type[Options], method: str, given: Sequence[str], *, called: Mapping[str, str] | None = None, **own: Any
) -> dict[str, Any]:
    """Read the options of a method, each NAME=VALUE; return the values of those that were given.

    ``own`` are options that the command gives itself, which are checked with the others and cannot be set; ``called``
    says what the command calls them, where that is another name.
    """
    found = pairs(given, "--set")
    for name in found:
        if name in own:
            option = (called or {}).get(name, name).replace("_", "-")
            raise click.UsageError(f"--set {name} cannot be used here: use --{option}.")
    try:
        made = kind.of({**own, **found}, owner=f"method '{method}'", parse=True)
    except ParameterError as error:
        wrong = error.fields.get("parameter")
        if not isinstance(wrong, Parameter) or wrong.name not in found:
            raise
        raise ParameterError(error.template, **{**error.fields, "parameter": f"--set {wrong.name}"}) from None
    return {name: getattr(made, name) for name in found}
