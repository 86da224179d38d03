"""``latentree check``, recipe files, orders, sheets, missing codes of columns and long data in the shell."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

import latentree as lt


@pytest.fixture
def german(tmp_path):
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, 90)
    words = np.array(["nie", "manchmal", "oft"])
    lines = ["nr;lesen;hören;einkommen;gewicht"]
    for i, z in enumerate(hidden):
        answers = [str(words[min(z + rng.integers(0, 2), 2)]) for _ in range(2)]
        answers[0] = "k.A." if i % 11 == 0 else answers[0]
        money = "99" if i % 8 == 0 else f"{rng.normal(1500 + 900 * z, 200):.2f}".replace(".", ",")
        lines.append(f"{7000 + i};{';'.join(answers)};{money};{rng.uniform(0.5, 2):.2f}")
    text = "\n".join(lines) + "\n"
    path = tmp_path / "umfrage.csv"
    path.write_text("\n".join(_comma(line) for line in text.splitlines()) + "\n", "utf-8")
    return path


def _comma(line: str) -> str:
    head, _, weight = line.rpartition(";")
    return f"{head};{weight.replace('.', ',')}"


def test_the_ready_command_works(run, german):
    done = run("check", german)
    ready = done.stdout.strip().splitlines()[-1]
    assert "k.A. looks like a code for a missing answer" in done.stdout
    assert ready.startswith("latentree fit ") and "--decimal" in ready and "--weights gewicht" in ready
    args = shlex.split(ready)[1:]
    fitted = run(*args, "--classes", "2", "--out", "a.json")
    assert "lesen" in fitted.stdout and "nie < manchmal < oft" in " ".join(fitted.stdout.split())
    run("check", german, "--write-recipe", "r.toml")
    run("fit", german, "--recipe", "r.toml", "--classes", "2", "--out", "b.json")
    assert lt.load("a.json") == lt.load("b.json")
    assert lt.load("a.json").provenance["recipe"] == lt.load("b.json").provenance["recipe"]
    read = json.loads(run("check", german, "--json").stdout)
    assert read["recipe"]["missing_in"] == {"lesen": ["k.A."], "einkommen": ["99"]} and read["remaining"] == ""


def test_options_go_before_the_recipe(run, german):
    run("check", german, "--write-recipe", "r.json")
    run(
        "fit",
        german,
        "--recipe",
        "r.json",
        "--bins",
        "einkommen=2",
        "--drop",
        "nr,hören",
        "--classes",
        "1",
        "--out",
        "m.json",
    )
    model = lt.load("m.json")
    assert [v.name for v in model.variables] == ["lesen", "einkommen"] and model.variables[1].cardinality == 2
    run("score", "m.json", german, "--recipe", "r.json")


def test_what_a_recipe_says_of_columns_that_options_leave_out_is_not_needed(run, german):
    run("check", german, "--write-recipe", "r.toml")
    how = ("--recipe", "r.toml", "--classes", "1", "--force", "--out", "m.json")
    run("fit", german, *how, "--columns", "hören,lesen")
    model = lt.load("m.json")
    assert [v.name for v in model.variables] == ["hören", "lesen"]
    recipe = model.provenance["recipe"]
    assert recipe["missing_in"] == {"lesen": ["k.A."]} and "bins" not in recipe
    run("fit", german, *how, "--drop", "einkommen")  # beside what the recipe leaves out
    model = lt.load("m.json")
    assert set(model.provenance["recipe"]["drop"]) == {"nr", "einkommen"}
    assert [v.name for v in model.variables] == ["lesen", "hören"]
    run("fit", german, *how, "--columns", "hören,lesen", "--bins", "einkommen=2", code=1)  # asked for, and refused


def test_long_data_are_recognised(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"b{i},{item},{rng.integers(1, 4)}" for i in range(80) for item in rng.permutation(list("abcdefg"))[:4]]
    (tmp_path / "long.csv").write_text("\n".join(["basket,product,pieces", *lines]) + "\n")
    done = run("check", "long.csv")
    assert done.stdout.rstrip().endswith("latentree fit long.csv --rows basket --items product")
    assert "80 rows in 320 lines" in done.stdout
    assert run("check", "long.csv", "--rows", "basket", "--items", "product").stdout == done.stdout
    found = {own["name"]: own["treatment"] for own in json.loads(run("check", "long.csv", "--json").stdout)["columns"]}
    assert found == {"basket": "one row for each", "product": "one column for each", "pieces": "not used"}


def test_a_recipe_is_not_replaced_unasked(run, german):
    run("check", german, "--write-recipe", "r.toml")
    assert "already exists" in run("check", german, "--write-recipe", "r.toml", code=1).stderr
    run("check", german, "--write-recipe", "r.toml", "--force")


def test_all_problems_at_once(run, german):
    said = run("fit", german, code=1).stderr
    assert "3 columns cannot be used" in said and "'latentree check DATA'" in said


def test_orders_are_given_and_kept(run, tmp_path):
    (tmp_path / "d.csv").write_text("a: b,c\n" + "hi,1\nlo,2\nmid,1\n" * 4)
    run("fit", "d.csv", "--order", "a: b: lo, mid, hi", "--classes", "1", "--out", "m.json")
    model = lt.load("m.json")
    assert model.variables[0].states == ("lo", "mid", "hi") and model.variables[0].order == "given"
    assert "must be the name of a column" in run("fit", "d.csv", "--order", "lo, mid", code=1).stderr


def test_baskets_in_long_form(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["customer,product,n"]
    for i in range(60):
        own = ["milk", "bread", "eggs"] if i % 2 else ["beer", "chips", "wine"]
        lines += [f"c{i},{item},{rng.integers(1, 4)}" for item in own if rng.random() < 0.8] or [f"c{i},,0"]
    (tmp_path / "b.csv").write_text("\n".join(lines) + "\n")
    run(
        "fit",
        "b.csv",
        "--rows",
        "customer",
        "--items",
        "product",
        "--classes",
        "2",
        "--out",
        "m.json",
        "--assign",
        "rows.csv",
    )
    assert [v.name for v in lt.load("m.json").variables] == ["beer", "bread", "chips", "eggs", "milk", "wine"]
    written = (tmp_path / "rows.csv").read_text().splitlines()
    assert len(written) == 61 and written[0].startswith("customer,class,")
    again = run("assign", "m.json", "b.csv").stdout.splitlines()
    assert again == written
    assert "'latentree assign'" in run("impute", "m.json", "b.csv", code=1).stderr
    counted = run(
        "fit", "b.csv", "--rows", "customer", "--items", "product", "--quantity", "n", "--counts", "2", "--classes", "1"
    )
    assert ">= 2" in counted.stdout
    assert "need both --rows and --items" in run("fit", "b.csv", "--rows", "customer", code=1).stderr


def test_files_of_other_programs(run, tmp_path):
    statistics = pytest.importorskip("pyreadstat")
    import pandas as pd

    frame = pd.DataFrame({"q": [1, 2, 3, 9] * 10, "r": [1, 2] * 20})
    labels = {"q": {1: "nie", 2: "manchmal", 3: "oft", 9: "k.A."}, "r": {1: "ja", 2: "nein"}}
    statistics.write_sav(
        frame,
        tmp_path / "s.sav",
        column_labels={"q": "How often?"},
        variable_value_labels=labels,
        missing_ranges={"q": [9]},
    )
    shown = run("fit", "s.sav", "--classes", "1", "--out", "m.json").stdout
    assert "manchmal" in shown and "k.A." not in shown
    labels = {own["name"]: own.get("label") for own in json.loads(run("show", "m.json", "--json").stdout)["nodes"]}
    assert labels["q"] == "How often?"
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.create_sheet("data").append(["q", "r"])
    for row in [["nie", "ja"], ["oft", "nein"]] * 3:
        book["data"].append(row)
    book.save(tmp_path / "s.xlsx")
    assert "6" in run("score", "m.json", "s.xlsx", "--sheet", "data").stdout


def test_codebooks(run):
    shown = run("datasets", "voting").stdout
    assert "physician-fee-freeze" in shown and "no | yes" in shown
    assert json.loads(run("datasets", "solar", "--json").stdout)["codebook"]["entries"][0]["name"] == "class-code"
