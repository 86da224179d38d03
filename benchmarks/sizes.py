"""Lines of the package's modules and functions: median, 90th percentile and most; see docs/architecture.md.

python benchmarks/sizes.py
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np

import latentree


def body(node: ast.FunctionDef) -> int:
    """Lines of a function without its docstring, from its signature to its end."""
    first = node.body[0]
    about = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if about else 0)


def main() -> None:
    """Print a line for modules and one for functions."""
    texts = [path.read_text("utf-8") for path in Path(latentree.__file__).parent.rglob("*.py")]
    trees = [ast.parse(text) for text in texts]
    sizes = {
        "modules": [len(text.splitlines()) for text in texts],
        "functions": [body(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)],
    }
    for what, lines in sizes.items():
        median, p90, p99 = np.percentile(lines, [50, 90, 99])
        print(
            f"{len(lines):,} {what}, {sum(lines):,} lines: {median:.0f} / {p90:.0f} / {p99:.0f} / {max(lines)}", end=""
        )
        print("  (median / 90 % / 99 % / longest)")


if __name__ == "__main__":
    main()
