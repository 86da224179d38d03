"""The results that README and the site's first page state are those of the pages they link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOLD = {"README.md": ROOT / "README.md", "index.md": ROOT / "docs" / "index.md"}


def page(name: str) -> str:
    return (ROOT / "docs" / "reproduction" / f"{name}.md").read_text("utf-8")


def rows(text: str, first: str) -> list[dict[str, str]]:
    """The table whose first column has this name."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    cells = []
    for line in (lines[at], *lines[at + 2 :]):
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split("|")])
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


@pytest.fixture(params=TOLD)
def told(request):
    """A page's text in one line."""
    return " ".join(TOLD[request.param].read_text("utf-8").split())


def shares(cells: list[str]) -> tuple[int, int]:
    pairs = [re.match(r"(\d+) of (\d+)", cell).groups() for cell in cells]
    return sum(int(a) for a, _ in pairs), sum(int(b) for _, b in pairs)


def test_the_ten_fold_study(told):
    sets = rows(page("ten-fold-study"), "data")
    reached, folds = shares([row["reached"] for row in sets])
    worst = min(float(row["least difference"].replace(",", "")) for row in sets)
    assert f"{reached} of {folds} folds" in told and f"{len(sets)} of its 11 data sets" in told
    assert worst >= -0.05 or f"{-worst:.1f} below" in told
    large = [next(row for row in sets if row["data"] == name) for name in ("coil_42", "mushroom", "pascal_voc_2007")]
    above = [f"{float(row['mean difference'].replace(',', '')):,.0f}" for row in large]
    assert f"{above[0]}, {above[1]} and {above[2]} above EAST" in told
    most = max(float(row["largest share"].rstrip("%")) for row in large)
    assert f"at {most:.1f} % of EAST's time or less" in told


def test_coil(told):
    text = page("trees")
    (own,) = [row for row in rows(text, "") if row[""] == "default"]
    assert f"{own['BIC']}".replace("-", "−") in told and f"{own['processor s']} processor seconds" in told
    assert f"{own['owners']} owners" in told and "−51,465" in told


def test_all_regular_trees(told):
    sets = rows(page("search"), "data")
    trees = sum(int(row["trees"]) for row in sets)
    hits, of = shares([row["default (ours)"] for row in sets])
    assert f"all {trees:,} regular trees" in told and f"{hits} of {of}" in told
    for name in ("EAST", "HSHC (K = 3)"):
        assert f"{name.split()[0]} in {shares([row[name] for row in sets])[0]}" in told


def test_false_conjectures_and_printed_ratios(told):
    assert page("identifiability").count("**The conjecture is false") == 2 and "two conjectures" in told
    printed, right = rows(page("reversible-jump"), "P(k given 5 rows)")
    assert float(printed["4"]) < 0.1 < 0.3 < float(right["4"])
    assert f"{float(printed['4']):.2f} instead of {float(right['4']):.2f}" in told


def test_density(told):
    at_least, of = re.search(r"(\d) of (\d) are at\s+least as good as published", page("density")).groups()
    worst = re.search(r"(\d) if the worst of the seeds", page("density")).group(1)
    assert f"{at_least} of {of} density benchmarks ({worst} counting the worst seed tried)" in told


def test_classes_and_other_variables(told):
    differ = [float(row["estimates differ by"]) for row in rows(page("relate"), "model") if row["estimates differ by"]]
    assert max(differ) < 1e-5 and "all published digits" in told
    name = "mean coverage, separation .80 and .90"
    covered = [float(row[name].removesuffix(" %")) for row in rows(page("relate"), "method")]
    assert f"cover {min(covered):.1f} to {max(covered):.1f} %" in told


def test_new_rows(told):
    near, of = re.search(r"(\d+) of (\d+) are within 0.5 % with the defaults", page("new-rows")).groups()
    assert f"on {near} of {of} data sets" in told
