"""Runs the scripts in docs/notebooks as notebooks; see `make notebooks`.

Each becomes an .ipynb with its results, beside it. Those whose data are not there are written without results, with a
line that says so.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from latentree import DataError, datasets

FOLDER = Path(__file__).parents[1] / "notebooks"
LOADED = re.compile(r'datasets\.load(?:_frame)?\("(\w+)"')
KERNEL = ["--log-level=ERROR", "--InlineBackend.figure_formats=svg"]
NOT_RUN = "```{{note}}\nNot run here, so that there are no results: {reason}\n```"


def lacking(script: str) -> str:
    """Why the data that a script loads are not there; empty if they are."""
    for name in dict.fromkeys(LOADED.findall(script)):
        try:
            datasets.read(name)
        except DataError as error:
            return str(error)
    return ""


def run(path: Path) -> str:
    """Run one script, write its notebook and say what happened."""
    script = path.read_text("utf-8")
    notebook = jupytext.reads(script, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    reason = lacking(script)
    began = time.perf_counter()
    if reason:
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(NOT_RUN.format(reason=reason)))
    else:
        where = {"metadata": {"path": str(FOLDER)}}
        NotebookClient(notebook, timeout=600, extra_arguments=KERNEL, resources=where).execute()
    nbformat.write(notebook, path.with_suffix(".ipynb"))
    return f"skipped: {reason}" if reason else f"{time.perf_counter() - began:.0f} s"


def is_stale(path: Path) -> bool:
    """Whether no notebook with results is there that is newer than its script."""
    made = path.with_suffix(".ipynb")
    if not made.exists() or made.stat().st_mtime < path.stat().st_mtime:
        return True
    return all(not cell.get("execution_count") for cell in nbformat.read(made, 4).cells)


def main(words: list[str]) -> None:
    """Run all scripts, or those that are named, or with ``--stale`` those that have changed since they were run."""
    paths = sorted(FOLDER.glob("*.py"))
    if words == ["--stale"]:
        paths = [path for path in paths if is_stale(path)]
    elif words:
        paths = [path for path in paths if path.stem in words]
    for path in paths:
        print(f"{path.stem}: ", end="", flush=True)
        print(run(path), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
