"""Recipes as small files that people read, write and hand to every command: TOML or JSON, by the ending."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .._files import read_text, write_atomically
from .._registry import suggestion
from ..errors import FileFormatError, ParameterError
from ._recipe import Recipe

__all__ = ["ENDINGS", "load_recipe", "save_recipe"]

ENDINGS = (".toml", ".json")
HEAD = "# How latentree reads these data; any command takes this file with --recipe.\n"


def save_recipe(recipe: Recipe, path: str | os.PathLike[str]) -> None:
    """Write a recipe: what differs from the defaults.

    Examples
    --------
    >>> print(toml_of(Recipe(drop=("id",), missing_in={"age": ("99",)}).to_plain()).strip())
    drop = ["id"]
    <BLANKLINE>
    [missing_in]
    age = ["99"]
    """
    plain = recipe.to_plain()
    text = HEAD + toml_of(plain) if _ending(path) == ".toml" else json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    write_atomically(os.fspath(path), text)


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe. A name that means nothing is an error, since nobody would notice that it has no effect."""
    at = os.fspath(path)
    try:
        read = tomllib.loads if _ending(path) == ".toml" else json.loads
        plain = read(read_text(at))
    except FileNotFoundError:
        raise FileFormatError("There is no recipe file '{file}'.", file=at) from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError("'{file}' is not a recipe: {error}.", file=at, error=str(error).rstrip(".")) from None
    known = [own.name for own in fields(Recipe)]
    for name in plain if isinstance(plain, Mapping) else ():
        if name not in known:
            raise FileFormatError(
                "'{file}': a recipe has no '{name}'.{meant}",
                file=at,
                name=name,
                meant=suggestion(str(name), known) or f" It may have {', '.join(known)}.",
            )
    return Recipe.from_plain(_with_texts(plain))


def _ending(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    ending = next((own for own in ENDINGS if name.lower().endswith(own)), None)
    if ending is None:
        raise ParameterError("A recipe is a file that ends in .toml or .json. Got '{file}'.", file=name)
    return ending


def _with_texts(plain: Any) -> Any:
    """Take numbers for the texts that stand in the cells: ``missing = [99]`` means what ``["99"]`` does."""
    if not isinstance(plain, Mapping):
        return plain
    out = dict(plain)
    if isinstance(out.get("missing"), list):
        out["missing"] = [_text(own) for own in out["missing"]]
    for name in ("missing_in", "order"):
        if isinstance(out.get(name), Mapping):
            out[name] = {
                key: [_text(own) for own in value] if isinstance(value, list) else value
                for key, value in out[name].items()
            }
    return out


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def toml_of(plain: Mapping[str, Any]) -> str:
    """Write plain values as TOML: single ones first, then a section for each mapping."""
    single = [f"{name} = {_toml(value)}\n" for name, value in plain.items() if not isinstance(value, Mapping)]
    sections = [
        f"\n[{name}]\n" + "".join(f"{_key(str(key))} = {_toml(own)}\n" for key, own in value.items())
        for name, value in plain.items()
        if isinstance(value, Mapping)
    ]
    return "".join([*single, *sections])


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _toml(text)


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
