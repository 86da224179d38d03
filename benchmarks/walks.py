"""How many functions and modules of latentree two everyday calls go through; see docs/architecture.md.

    python benchmarks/walks.py

Each walk runs twice in a process of its own: functions that are called while modules are imported count only in the
first.
"""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

FIT = """
import latentree as lt
lt.LatentClass(3, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
"""
LEARN = """
from latentree.cli import application
application(["learn", "voting", "--out", "m.json", "--report", "r.html", "--force"], prog_name="latentree", standalone_mode=False)
"""
WALKS = {"LatentClass(3).fit(df)": FIT, "latentree learn voting --out m.json --report r.html": LEARN}


def count(code: str) -> tuple[int, int]:
    """Distinct functions of latentree that are called while code runs, and the modules they are in."""
    seen: set[tuple[str, int]] = set()

    def profile(frame: Any, event: str, argument: object) -> None:
        own = frame.f_code
        if event == "call" and "/latentree/" in own.co_filename:
            seen.add((own.co_filename, own.co_firstlineno))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        _run(code)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = seen & _functions({file for file, _ in seen})
    return len(functions), len({file for file, _ in functions})


def _run(code: str) -> None:
    with contextlib.suppress(SystemExit):  # how a command ends
        exec(compile(code, "walk", "exec"), {"__name__": "walk"})


def _functions(files: set[str]) -> set[tuple[str, int]]:
    """Where functions begin, decorators included."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                found.add((file, min([node.lineno, *(d.lineno for d in node.decorator_list)])))
    return found


def main() -> None:
    """Print a line for each walk."""
    if len(sys.argv) > 1:
        for call in ("first call, with imports", "second call"):
            functions, modules = count(WALKS[sys.argv[1]])
            print(f"\n{functions:,} functions in {modules} modules: {sys.argv[1]}, {call}")
        return
    for walk in WALKS:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), walk],
                capture_output=True,
                text=True,
                cwd=folder,
                check=True,
            )
        print("\n".join(line for line in done.stdout.splitlines() if " functions in " in line))


if __name__ == "__main__":
    main()
