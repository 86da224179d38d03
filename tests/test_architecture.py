"""Which module may import which, and what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
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
    "_columns",
    "_folds",
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
    "prediction",
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
    "relate",
    "planning",
    "estimators",
    "report",
    "cli",
]
# Conveniences on the types, imported when they are called, and names in signatures. (module, room): why
LATE = {
    ("_data", "engine"): "the type of a compiled plan, in a signature",
    ("_data", "_model"): "the type of a model, in a signature",
    ("_table", "engine"): "Table.compiled",
    ("_table", "_model"): "the type of a model, in a signature",
    ("_table", "formats"): "Table.from_frame, Table.read",
    ("_table", "scale"): "Table.from_chunks",
    ("_model", "infer"): "Model.query, Model.sample",
    ("_model", "formats"): "Model.save, Model.to_bif and the like",
    ("_model", "naming"): "Model.renamed",
    ("_model", "prediction"): "Model.predict, Model.predict_proba",
    ("prediction", "formats"): "rows of a data frame, for Model.predict",
    ("_model", "report"): "Model.explore",
    ("relate", "report"): "Relation.plot",
    ("planning", "report"): "PowerStudy as text, HTML and picture",
    ("comparison", "report"): "Comparison as text and HTML",
    ("estimators/_reporting", "report"): "summary(), report(), explore() of the estimators",
    ("estimators/_latent_class", "report"): "the type of a reviewer's pack, in a signature",
}
# Every library that is not Python's own, and the rooms that may import it.
LIBRARIES = {
    "numpy": set(ORDER) - {"errors", "_registry", "_options", "_lazy"},
    "scipy": {
        "engine",
        "estimation",
        "score",
        "search",
        "bayes",
        "dimension",
        "cardinality",
        "formats",
        "_information",
        "scale",
        "relate",
        "planning",
    },
    "narwhals": {"formats", "datasets", "estimators", "comparison", "scale", "relate", "planning", "report", "cli"},
    "sklearn": {"estimators"},
    "joblib": {"estimators"},
    "click": {"cli"},
    "rich": {"cli", "report"},
    "matplotlib": {"report"},
    "docx": {"report"},
    "openpyxl": {"report"},
    "pyarrow": {"formats", "scale"},
    "xarray": {"bayes"},
    "h5netcdf": {"bayes"},
    "h5py": {"bayes"},
    "arviz": {"bayes"},
    "duckdb": {"scale"},
    "dask": {"scale"},
    "distributed": {"scale"},
    "networkx": {"formats"},
    "formulaic": {"relate"},
    "pgmpy": {"formats"},
    "pyagrum": {"formats"},
    "pyreadstat": {"formats"},
    "python_calamine": {"formats"},
}
# Required, though never imported by name: made by another library at our request.
THROUGH = {"pandas": "narwhals makes the data frames that are handed back"}
# Names of distributions that differ from the module's.
DISTRIBUTIONS = {"docx": "python-docx", "python_calamine": "python-calamine", "sklearn": "scikit-learn"}


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
    """At the top of a module, within functions and for type checkers alike."""
    here, module = parts[0], "/".join(parts)
    assert here in ORDER, f"{here} has no place in the order"
    for name, at_top in imports(path, parts):
        if not name.startswith("latentree."):
            continue
        there = name.split(".")[1]
        if there == here or there not in ORDER:
            continue
        late = not at_top and {(here, there), (module, there)} & set(LATE)
        assert ORDER.index(there) < ORDER.index(here) or late, f"{module} imports {there}"


def foreign(name: str) -> bool:
    first = name.split(".")[0]
    return first != "latentree" and first not in sys.stdlib_module_names


def test_libraries_stay_where_they_belong():
    for path, parts in modules():
        for name, _ in imports(path, parts):
            if foreign(name):
                library = name.split(".")[0]
                assert library in LIBRARIES, f"{'/'.join(parts)} imports {library}, which has no home"
                assert parts[0] in LIBRARIES[library], f"{'/'.join(parts)} imports {library}"


def test_declared_dependencies_are_the_true_ones():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    needed = {_named(text) for text in project["dependencies"]}
    optional = {_named(text) for own in project["optional-dependencies"].values() for text in own} - {"latentree"}
    always, sometimes = set(), set()
    for path, parts in modules():
        for name, at_top in imports(path, parts):
            if foreign(name):
                library = name.split(".")[0]
                (always if at_top else sometimes).add(DISTRIBUTIONS.get(library, library))
    assert always | sometimes <= needed | optional
    assert needed == (always | sometimes) & needed | set(THROUGH), "required, but imported nowhere"


def _named(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;]", requirement.strip(), maxsplit=1)[0].lower()


def test_every_module_is_private_or_lists_what_is_public():
    for path, parts in modules():
        if parts[0] in ("cli", "datasets") or parts[-1] in ("__main__",):
            continue
        private = parts[-1].startswith("_") and parts[-1] != "__init__"
        assert private or "__all__" in path.read_text(), f"{'/'.join(parts)} says neither"


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
