"""Which module may import which, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import latentree

ROOT = Path(latentree.__file__).parent
# A module imports only modules that stand before it here (or in its own package).
ORDER = [
    "errors",
    "_registry",
    "_options",
    "_types",
    "_lazy",
    "_variables",
    "_data",
    "_table",
    "_tree",
    "_model",
    "_trace",
    "_files",
    "checkpoint",
    "runner",
    "method",
    "engine",
    "infer",
    "_information",
    "naming",
    "dimension",
    "estimation",
    "score",
    "_scale",
    "cardinality",
    "search",
    "search_result",
    "diagnostics",
    "comparison",
    "bayes",
    "formats",
    "datasets",
    "scale",
    "estimators",
    "report",
    "cli",
]
# Conveniences on the types, imported when they are called.
LATE = {
    ("_data", "engine"),
    ("_data", "_model"),
    ("_table", "engine"),
    ("_table", "_model"),  # for its name in a signature
    ("_table", "formats"),
    ("_table", "scale"),
    ("_model", "infer"),
    ("_model", "formats"),
    ("_model", "report"),
    ("comparison", "report"),
    ("estimators", "report"),
}
FOREIGN = {
    "sklearn": {"estimators"},
    "matplotlib": {"report"},
    "click": {"cli"},
    "dask": {"scale"},
    "distributed": {"scale"},
    "duckdb": {"scale"},
}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield path, parts


def imports(path: Path, parts: tuple[str, ...]):
    """Names of what a file imports, and whether it does so at its top level."""
    tree = ast.parse(path.read_text())
    top = set(map(id, tree.body))
    package = parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, id(node) in top) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or "", id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            names = [node.module] if node.module else [a.name for a in node.names]
            yield from ((".".join(("latentree", *base, n)), id(node) in top) for n in names)


@pytest.mark.parametrize(("path", "parts"), list(modules()), ids=lambda x: "/".join(x) if isinstance(x, tuple) else "")
def test_imports_go_one_way(path, parts):
    here = parts[0]
    assert here in ORDER, f"{here} has no place in the order"
    for name, at_top in imports(path, parts):
        if not name.startswith("latentree."):
            continue
        there = name.split(".")[1]
        if there == here or there not in ORDER:
            continue
        allowed = ORDER.index(there) < ORDER.index(here) or (not at_top and (here, there) in LATE)
        assert allowed, f"{'/'.join(parts)} imports {there}"


@pytest.mark.parametrize(("library", "homes"), FOREIGN.items())
def test_foreign_libraries_stay_where_they_belong(library, homes):
    for path, parts in modules():
        if any(name.split(".")[0] == library for name, _ in imports(path, parts)):
            assert parts[0] in homes, f"{'/'.join(parts)} imports {library}"


def test_importing_the_package_imports_nothing_heavy():
    heavy = ("numpy", "pandas", "scipy", "sklearn", "rich")
    code = f"import latentree, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_pickle_and_no_eval():
    for path, parts in modules():
        names = {name.split(".")[0] for name, _ in imports(path, parts)}
        assert not names & {"pickle", "marshal", "shelve", "dill"}, path
        calls = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"eval", "exec"}, path


def test_every_public_name_is_there():
    for name in latentree.__all__:
        assert getattr(latentree, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        latentree.nothing  # noqa: B018
