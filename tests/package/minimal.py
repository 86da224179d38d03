"""What works with the required libraries alone, and what is said where more is needed: ``make minimal`` runs it.

It needs nothing but latentree, so that no test tool brings in a library that latentree forgot to ask for.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path

import latentree as lt

OPTIONAL = (
    *(
        "arviz",
        "dask",
        "docx",
        "duckdb",
        "h5netcdf",
        "h5py",
        "matplotlib",
        "networkx",
        "openpyxl",
        "pgmpy",
        "polars",
        "pyagrum",
        "pyarrow",
    ),
    *("pytest", "stepmix", "xarray"),
)
PROGRAM = [sys.executable, "-m", "latentree.cli"]


def command(*args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True)
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def named_extra(told: str) -> str:
    """The extra that a message tells to install, which must exist."""
    [extra] = re.findall(r"'latentree\[(\w+)\]'", told)
    assert extra in metadata.metadata("latentree").get_all("Provides-Extra", [])
    return extra


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except lt.LatentreeError as error:
        return named_extra(str(error))
    raise AssertionError("This should have asked for an extra.")


def no_optional_library_is_here() -> None:
    assert not [name for name in OPTIONAL if util.find_spec(name)]
    assert "site-packages" in lt.__file__, "this is not the installed package"


def every_module_can_be_imported() -> None:
    for module in pkgutil.walk_packages(lt.__path__, "latentree."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def the_program_does_its_work() -> None:
    command("learn", "voting", "--out", "voting.json", "--report", "voting.html", "--assign", "rows.csv")
    command("explore", "voting.json", "--data", "voting", "--out", "page.html", "--no-open")
    command("fit", "carcinoma", "--classes", "1-3", "--out", "fit.json", "--assign", "classes.csv")
    command("compare", "carcinoma", "--classes", "1-3")
    command("sample", "carcinoma", "--max-classes", "3", "--draws", "50", "--burn", "50", "--chains", "2")
    command("convert", "voting.json", "voting.bif")
    asked = command("query", "voting.bif", "--ask", "physician-fee-freeze", "--given", "crime=no").stdout
    assert "physician-fee-freeze" in asked
    for page in ("voting.html", "page.html"):
        assert "<html" in Path(page).read_text("utf-8")[:200]


def what_is_missing_is_named() -> None:
    import numpy as np

    from latentree import bayes
    from latentree.report import figures, write_tables

    table = lt.datasets.load("carcinoma")
    prior = bayes.ClassPrior(bayes.prior_on_classes(2))
    model = lt.fit_classes(table, 2, rng=np.random.default_rng(0)).model
    assert refused(lambda: figures.plot_tree(model)) == "plot"
    assert refused(lambda: figures.save_panels("some.svg", [lambda ax: None])) == "plot"
    for ending in ("docx", "xlsx"):
        assert refused(lambda ending=ending: write_tables(f"some.{ending}", model)) == "tables"
    Path("some.parquet").write_bytes(b"PAR1")
    assert refused(lambda: lt.Table.read("some.parquet")) == "parquet"
    assert refused(lambda: lt.Table.from_chunks("some.parquet")) == "parquet"
    assert refused(lambda: lt.Table.from_chunks("classes.csv", counter="duckdb")) == "duckdb"
    draws = bayes.sample(table, prior, rng=np.random.default_rng(0), n_draws=20, n_burn=20)
    assert refused(draws.to_datatree) == "arviz"
    assert refused(lambda: draws.save("some.nc")) == "arviz"
    for name in ("networkx", "pgmpy", "pyagrum"):
        assert refused(getattr(model, f"to_{name}")) == "interop"
    few = ("sample", "carcinoma", "--max-classes", "2", "--draws", "20", "--burn", "20", "--chains", "1")
    assert named_extra(command(*few, "--plots", "pictures", code=1).stderr) == "plot"
    assert named_extra(command(*few, "--out", "draws.nc", code=1).stderr) == "arviz"
    assert named_extra(command("fit", "some.parquet", code=1).stderr) == "parquet"


CHECKS = (
    no_optional_library_is_here,
    every_module_can_be_imported,
    the_program_does_its_work,
    what_is_missing_is_named,
)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in CHECKS:
            check()
            print(check.__name__.replace("_", " "))
        os.chdir("/")
