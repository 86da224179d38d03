"""Advice of the library in the words of the shell: ``drop=['id']`` is ``--drop id`` here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

__all__ = ["for_shell"]

PARAMETERS = {
    "n_classes": "classes",
    "seconds": "time-limit",
    "merge_rare": "merge-rare",
    "header": "no-header",
}

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

RULES: tuple[Rule, ...] = (
    (
        re.compile(r"( out|): X\.drop\(columns=\['.*?'\]\) of a data frame, or drop=\['(.*?)'\] of Table\.from_frame"),
        lambda m: f"{m[1]} with {_dropping(m[2])}",
    ),
    (re.compile(r"drop=\['(.*?)'\]"), lambda m: _dropping(m[1])),
    (re.compile(r"weights='(.*?)', or sample_weight= of fit"), lambda m: f"--weights {shlex.quote(m[1])}"),
    (re.compile(r"use it as weights: (?=--weights)"), lambda m: "use it as weights with "),
    (re.compile(r"decimal=','"), lambda m: "--decimal ','"),
    (re.compile(r"format='(\w+)'"), lambda m: f"--format {m[1]}"),
    (re.compile(r"bins=\{'(.*?)': (\d+)\}"), lambda m: f"--bins {shlex.quote(f'{m[1]}={m[2]}')}"),
    (re.compile(r"unseen='missing'"), lambda m: "--unseen missing"),
    (re.compile(r"encoding='([\w-]+)'"), lambda m: f"--encoding {m[1]}"),
    (re.compile(r"header=False"), lambda m: "--no-header"),
    (re.compile(r"merge_rare=(\d+)"), lambda m: f"--merge-rare {m[1]}"),
    (re.compile(r"\b(columns|drop|weights|bins|delimiter|format|missing)=(?=[ ,.;:)]|$)"), lambda m: f"--{m[1]}"),
    (re.compile(r"^The '(\w+)' parameter of \w+"), lambda m: f"--{PARAMETERS.get(m[1], m[1].replace('_', '-'))}"),
    # The library counts rows from 0; who reads a file counts the first line below the header as the first.
    (re.compile(r"\b([Rr])ow (\d+)(?=[:.,)]| and)"), lambda m: f"{'D' if m[1] == 'R' else 'd'}ata row {int(m[2]) + 1}"),
)


def _dropping(names: str) -> str:
    """Turn ``a', 'b`` into options; a name with a comma needs one of its own."""
    parts = names.split("', '")
    together = [",".join(parts)] if not any("," in part for part in parts) else parts
    return " ".join(f"--drop {shlex.quote(part)}" for part in together)


def for_shell(message: str) -> str:
    """Reword a message of the library.

    Examples
    --------
    >>> for_shell("Column 'id' has 30 values, like an identifier. Leave it out with drop=['id'].")
    "Column 'id' has 30 values, like an identifier. Leave it out with --drop id."
    >>> for_shell("Leave them out: X.drop(columns=['a', 'b']) of a data frame, or drop=['a', 'b'] of Table.from_frame.")
    'Leave them out with --drop a,b.'
    """
    for pattern, words in RULES:
        message = pattern.sub(words, message)
    return message
