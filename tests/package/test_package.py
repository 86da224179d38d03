"""The package as it was installed: its files, its version, its changelog, the lower bounds of what it needs."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest
from cli.running import program
from package.oldest import constraints

import latentree as lt

ROOT = Path(__file__).parents[2]


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "__init__.pyi",
        "engine/_core.pyi",
        "datasets/registry.json",
        "formats/model.schema.json",
        "report/page/explorer.html",
        "report/page/explorer.css",
        "report/page/report.css",
        "report/page/base.css",
    ],
)
def test_the_package_has_its_files(name):
    assert (resources.files("latentree") / name).is_file()


def test_every_data_set_and_generator_is_there():
    data = resources.files("latentree.datasets") / "data"
    found = {entry.name for entry in data.iterdir()}
    shipped = {lt.datasets.describe(name).file for name in lt.datasets.names() if lt.datasets.describe(name).shipped}
    assert shipped | {f"{name}_generator.json" for name in ("d7", "d12", "d18")} == found


def test_the_licence_comes_along():
    files = metadata.files("latentree") or []
    assert any(file.name == "LICENSE" and "licenses" in file.parts for file in files)
    assert metadata.metadata("latentree")["License-Expression"] == "BSD-3-Clause"


# ---- versions --------------------------------------------------------------------------------------------------------


def test_there_is_one_version():
    """It stands in ``__init__.py``; the metadata and the program take it from there."""
    assert metadata.version("latentree") == lt.__version__
    assert program("--version").stdout.split()[-1] == lt.__version__
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1] == lt.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" in project["dynamic"] and "version" not in project


def headings() -> list[str]:
    return re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


def test_the_changelog_begins_with_what_is_not_released():
    first, *released = headings()
    assert first == "Unreleased"
    for heading in released:
        assert re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading), heading
    numbers = [tuple(map(int, heading.split()[0].split("."))) for heading in released]
    assert numbers == sorted(set(numbers), reverse=True)


# ---- lower bounds ----------------------------------------------------------------------------------------------------


def test_constraints_are_the_lower_bounds():
    asked = ["numpy>=1.26", "dask[dataframe,distributed]>=2024.8", "pytest-timeout", "latentree[plot]", "numpy>=1.26"]
    assert constraints(asked) == {"numpy": "1.26", "dask": "2024.8"}


@pytest.mark.parametrize("wrong", [["numpy>=1.26,<3"], ["numpy==2"], ["numpy>=1.26", "numpy>=2"]])
def test_requirements_without_one_lower_bound_are_refused(wrong):
    with pytest.raises(SystemExit):
        constraints(wrong)


def test_every_required_library_has_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert len(constraints(project["dependencies"])) == len(project["dependencies"])
