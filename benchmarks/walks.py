"""How many functions and modules of latentree two everyday calls go through; see docs/architecture.md.

    python benchmarks/walks.py

Each walk runs in a process of its own, once without counting, so that functions that are called while modules are
imported do not count, and once with.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

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

    def profile(frame: object, event: str, argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and "/latentree/" in code.co_filename and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_firstlineno))

    walk = compile(code, "walk", "exec")
    exec(walk, {"__name__": "walk"})
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        exec(walk, {"__name__": "walk"})
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = seen & {(str(path), line) for path, line in _functions({file for file, _ in seen})}
    return len(functions), len({file for file, _ in functions})


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
        functions, modules = count(WALKS[sys.argv[1]])
        print(f"\n{functions:,} functions in {modules} modules: {sys.argv[1]}")
        return
    for walk in WALKS:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), walk], capture_output=True, text=True, cwd=folder
            )
        print(
            *(line for line in done.stdout.splitlines() if " functions in " in line),
            done.stderr[-2000:] * done.returncode,
        )


if __name__ == "__main__":
    main()
