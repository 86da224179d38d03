"""Writes docs/reference: a page for every public module, made from its docstrings, and a table of all public names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import latentree

FOLDER = Path(__file__).parents[1] / "reference"
FIRST = ("estimators", "datasets", "search", "estimation", "score", "cardinality", "bayes", "infer", "report")
FURTHER = ("report.figures", "formats._frame")
"""Modules that no public name leads to, and that people use all the same."""

INDEX = """# API reference

`import latentree as lt` gives the names of this table; what they are about is told, module by module, on the pages
below. All examples on these pages run as tests.

| name | what it is | module |
|---|---|---|
{rows}

```{{toctree}}
:maxdepth: 1

{pages}
```
"""
PAGE = """# latentree.{name}

```{{eval-rst}}
.. automodule:: latentree.{name}
   :members:
   :imported-members:
```
"""


def modules() -> dict[str, ModuleType]:
    """Public modules by name, the most used first; those that export nothing are left out."""
    names = {*latentree._MODULES, *latentree._HOME.values(), *FURTHER}
    ordered = [*(n for n in FIRST if n in names), *sorted(names - set(FIRST))]
    found = {name: importlib.import_module(f"latentree.{name}") for name in ordered}
    return {name: module for name, module in found.items() if hasattr(module, "__all__")}


def rows(pages: dict[str, ModuleType]) -> Iterator[str]:
    """Lines of the table: name, first line of the docstring, module."""
    for name in latentree.__all__:
        if name in latentree._HOME:
            home = latentree._HOME[name]
            told = (inspect.getdoc(getattr(latentree, name)) or "").split("\n")[0].replace("|", "\\|")
            yield f"| `lt.{name}` | {told} | [{home}]({home}.md) |"
        elif name in pages:
            told = (inspect.getdoc(pages[name]) or "").split("\n")[0]
            yield f"| `lt.{name}` | {told} | [{name}]({name}.md) |"


def write_reference(folder: Path = FOLDER) -> list[str]:
    """Write all pages and return the names of the modules."""
    pages = modules()
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in (*pages, "index"):
            old.unlink()
    texts = {name: PAGE.format(name=name) for name in pages}
    texts["index"] = INDEX.format(rows="\n".join(rows(pages)), pages="\n".join(pages))
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:  # what has not changed is not built again
            path.write_text(text, "utf-8")
    return list(pages)
