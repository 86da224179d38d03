"""Writes docs/reference: a page for every public module, made from its docstrings, and a table of all public names."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import latentree

FOLDER = Path(__file__).parents[1] / "reference"
TOP = "latentree"
"""The page of the names whose home is a private module."""
FIRST = (TOP, "estimators", "datasets", "search", "estimation", "score", "cardinality", "bayes", "infer", "report")
FURTHER = ("report.figures",)
"""Modules that no public name leads to, and that people use all the same."""

INDEX = """# API reference

`import latentree as lt` gives the names of this table; the pages below describe them, module by module. All examples on
these pages run as tests.

| name | what it is | page |
|---|---|---|
{rows}

```{{toctree}}
:maxdepth: 1

{pages}
```
"""


def is_public(module: str) -> bool:
    """Whether no part of a module's name is private."""
    return not any(part.startswith("_") for part in module.split("."))


def page_of(name: str) -> str:
    """The page that describes a public name of the package."""
    home = latentree._HOME[name]
    return home if is_public(home) else TOP


def modules() -> dict[str, ModuleType]:
    """Modules with a page, the most used first; those that export nothing have none."""
    names = {TOP, *latentree._MODULES, *filter(is_public, latentree._HOME.values()), *FURTHER}
    ordered = [*(n for n in FIRST if n in names), *sorted(names - set(FIRST))]
    found = {n: latentree if n == TOP else importlib.import_module(f"latentree.{n}") for n in ordered}
    return {name: module for name, module in found.items() if hasattr(module, "__all__")}


def comment(module: ModuleType, name: str) -> str:
    """The string below the assignment of a constant, wherever in its package that is."""
    path = Path(inspect.getfile(module))
    for file in sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]:
        body = ast.parse(file.read_text("utf-8")).body
        for statement, below in pairwise(body):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if name in (getattr(target, "id", None) for target in targets) and isinstance(below, ast.Expr):
                return inspect.cleandoc(str(getattr(below.value, "value", "")))
    return ""


def entry(module: ModuleType, name: str) -> str:
    """The directive that describes a name of a module."""
    value: Any = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if inspect.isclass(value):
        return f".. autoclass:: {full}\n   :members:\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {full}\n"
    text = comment(module, name).replace("\n", "\n   ")
    return f".. py:data:: {full}\n\n   {text}\n"


def page(name: str, module: ModuleType) -> str:
    """The page of a module: what it says of itself, and what it exports."""
    title = TOP if name == TOP else f"{TOP}.{name}"
    exported = [n for n in latentree._HOME if page_of(n) == TOP] if name == TOP else module.__all__
    entries = "\n".join(entry(module, own) for own in exported)
    about = "" if name == TOP else f".. py:module:: {title}\n\n{inspect.getdoc(module)}\n\n"
    return f"# {title}\n\n```{{eval-rst}}\n{about}{entries}```\n"


def rows(pages: dict[str, ModuleType]) -> Iterator[str]:
    """Lines of the table: name, first line of the docstring, page."""
    for name in latentree.__all__:
        if name in latentree._HOME or name in pages:
            where = page_of(name) if name in latentree._HOME else name
            about = (inspect.getdoc(getattr(latentree, name)) or "").split("\n")[0].replace("|", "\\|")
            yield f"| `lt.{name}` | {about} | [{where}]({where}.md) |"


def write_reference(folder: Path = FOLDER) -> list[str]:
    """Write all pages and return the names of the modules."""
    pages = modules()
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in (*pages, "index"):
            old.unlink()
    texts = {name: page(name, module) for name, module in pages.items()}
    texts["index"] = INDEX.format(rows="\n".join(rows(pages)), pages="\n".join(pages))
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:  # what has not changed is not built again
            path.write_text(text, "utf-8")
    return list(pages)
