"""A survey as people keep it, and files of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

MARKUP = "[red]x[/red]"
USE = ("--drop", "id,name", "--bins", "age=2", "--weights", "n")
"""Options that make the survey usable."""


def survey_rows(n: int = 200) -> list[dict[str, object]]:
    """Two groups of people, their names, some blanks, some text that looks like markup, some weights of zero."""
    rng = np.random.default_rng(1)
    group = rng.random(n) < 0.4
    smokes = np.where(rng.random(n) < np.where(group, 0.9, 0.1), "yes", "no")
    drinks = np.where(rng.random(n) < np.where(group, 0.8, 0.2), "often", "never, or rarely")
    view = np.where(rng.random(n) < np.where(group, 0.8, 0.2), MARKUP, "agree")
    grade = np.where(rng.random(n) < np.where(group, 0.7, 0.3), 1, 2)
    age = rng.normal(np.where(group, 50.0, 30.0), 5.0)
    return [
        {
            "id": i + 1,
            "name": f"person {i}",
            "smokes": "" if i % 17 == 0 else smokes[i],
            "drinks": drinks[i],
            "view": view[i],
            "grade": "NA" if i % 13 == 0 else grade[i],
            "age": f"{age[i]:.2f}",
            "n": 0 if i % 20 == 3 else 1 + i % 3,
        }
        for i in range(n)
    ]


def write_csv(path: Path, rows: list[dict[str, object]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_csv(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def strict(text: str):
    """Read JSON as everybody does, without the numbers it does not have."""

    def refuse(constant: str):
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)
