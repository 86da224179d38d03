"""One look at every column, orders of answers, missing codes by column, and recipe files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import latentree as lt
from latentree import DataError, FileFormatError, Model, ParameterError, Table, Tree, Variable, check
from latentree.formats import Recipe
from latentree.formats._scales import SCALES, scale_order
from latentree.formats._suspects import missing_numbers, missing_words
from latentree.report import Report


def survey(n: int = 120) -> dict[str, list]:
    rng = np.random.default_rng(3)
    return {
        "id": list(range(5000, 5000 + n)),
        "date": [f"{1 + i % 28:02d}.03.2024" for i in range(n)],
        "item": rng.choice([1, 2, 3, 4, 5, 99, -1], n).tolist(),
        "often": rng.choice(["nie", "manchmal", "oft", "k.A."], n).tolist(),
        "smokes": rng.choice(["Yes", "yes", "no"], n).tolist(),
        "income": [99.0 if i % 6 == 0 else float(x) for i, x in enumerate(rng.normal(2000, 300, n).round(2))],
        "remarks": [f"a sentence of some words, number {i}" for i in range(n)],
        "country": ["DE"] * n,
        "nothing": [None] * n,
        "weight": rng.uniform(0.5, 2, n).round(3).tolist(),
    }


def test_every_column_is_seen_for_what_it_is():
    found = check(survey())
    assert {own.name: own.kind for own in found.columns} == {
        "id": "identifier", "date": "date", "item": "answers", "often": "answers", "smokes": "answers",
        "income": "numbers", "remarks": "free text", "country": "constant", "nothing": "empty", "weight": "weights",
    }  # fmt: skip
    assert found.recipe == Recipe(
        drop=("id", "date", "remarks", "country", "nothing"),
        weights="weight",
        missing_in={"item": ("-1", "99"), "often": ("k.A.",), "income": ("99",)},
        bins={"income": 3},
    )
    assert found.error is None
    by_name = {own.name: own for own in found.columns}
    assert "'Yes', 'yes' differ only in capitals" in " ".join(by_name["smokes"].findings)
    assert "nie < manchmal < oft" in " ".join(by_name["often"].findings)
    assert by_name["nothing"].missing == 120


@pytest.mark.filterwarnings("ignore::latentree.LatentreeWarning")
def test_what_is_proposed_works():
    table = check(survey()).recipe.table(survey())
    assert table.names == ("item", "often", "smokes", "income")
    assert table.variables[0].states == (1, 2, 3, 4, 5)
    assert table.variables[1].states == ("nie", "manchmal", "oft") and table.variables[1].order == "guessed"


def test_what_is_decided_is_not_asked_again():
    found = check(survey(), Recipe(drop=("income",), columns=("item", "income")))
    assert [own.name for own in found.columns] == ["item", "weight"]


def test_blanks_around_cells_do_not_count():
    found = check({"a": ["x", " x", "y"] * 20, "b": ["1", "2", "1 "] * 20})
    assert [own.n_values for own in found.columns] == [2, 2] and not any(own.findings for own in found.columns)


def test_plain_data_need_nothing():
    found = check({"a": ["x", "y"] * 20, "b": [0, 1, 2, 3] * 10})
    assert found.recipe == Recipe() and "can be used as they are" in str(found)


@pytest.mark.parametrize(
    ("numbers", "suspects"),
    [
        ([1, 2, 3, 4, 5, 9], [9]),
        ([1, 2, 3, 4, 5, 8, 9], [8, 9]),
        ([1, 2, 3, 4, 5, 6, 7], []),
        (list(range(11)), []),
        (list(range(18, 100)), []),
        ([0, 1, 7], [7]),
        ([-9, 0, 1], [-9]),
        ([-5.5, 1, 2], []),
    ],
)
def test_numbers_that_stand_for_no_answer(numbers, suspects):
    found = missing_numbers(np.array(numbers, dtype=float), np.ones(len(numbers)))
    assert found == suspects


def test_words_that_stand_for_no_answer():
    assert missing_words(["K. A.", "no answer", "don't know", "none", 7]) == ["K. A.", "no answer"]


# ---- all at once ---------------------------------------------------------------------------------------------------


def test_all_problems_are_said_at_once():
    data = {"id": [f"p{i}" for i in range(40)], "x": np.linspace(0, 1, 40), "ok": [0, 1] * 20, "e": [None] * 40}
    with pytest.raises(DataError) as caught:
        Table.from_frame(data)
    text = str(caught.value)
    assert text.startswith("3 columns cannot be used as they are:")
    assert all(f"Column '{name}'" in text for name in ("id", "x", "e")) and "latentree.check(data)" in text
    assert "--drop id" in caught.value.shown("shell") and "'latentree check DATA'" in caught.value.shown("shell")


# ---- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale",
    [
        ["stimme gar nicht zu", "stimme eher nicht zu", "teils/teils", "stimme eher zu", "stimme voll zu"],
        ["nie", "selten", "manchmal", "oft", "immer"],
        ["Pas du tout d'accord", "Plutôt pas d'accord", "Plutôt d'accord", "Tout à fait d'accord"],
        ["jamais", "rarement", "parfois", "souvent", "toujours"],
        ["muy en desacuerdo", "en desacuerdo", "de acuerdo", "muy de acuerdo"],
        ["nunca", "a veces", "siempre"],
        ["per niente d'accordo", "poco d'accordo", "abbastanza d'accordo", "molto d'accordo"],
        ["mai", "raramente", "spesso", "sempre"],
        ["helemaal mee oneens", "mee oneens", "neutraal", "mee eens", "helemaal mee eens"],
        ["nooit", "soms", "vaak", "altijd"],
        ["discordo totalmente", "discordo", "concordo", "concordo totalmente"],
        ["péssimo", "ruim", "regular", "bom", "ótimo"],
        ["sehr unzufrieden", "unzufrieden", "zufrieden", "sehr zufrieden"],
        ["never", "sometimes", "always"],
    ],
)
def test_scales_of_seven_languages(scale):
    shuffled = sorted(scale, key=lambda text: text[::-1])
    order = scale_order(shuffled)
    assert order is not None and [shuffled[i] for i in order] == scale
    table = Table.from_frame({"q": shuffled * 3})
    assert list(table.variables[0].states) == scale and table.variables[0].order == "guessed"


@given(st.data())
def test_a_guess_never_contradicts_itself(data):
    """Any part of a scale, in any order, comes back in the order of the scale, or nothing is guessed."""
    scales = SCALES.replace("\n    ", " ").splitlines()
    words = [own.split("|")[0].strip() for own in data.draw(st.sampled_from(scales)).split(" < ")]
    chosen = data.draw(st.lists(st.sampled_from(words), min_size=2, unique=True))
    order = scale_order(chosen)
    assert order is None or [chosen[i] for i in order] == sorted(chosen, key=words.index)


def test_a_guessed_order_changes_no_likelihood():
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 300)
    words = np.array(["nie", "manchmal", "oft"])
    data = {f"q{j}": words[np.clip(hidden + rng.integers(0, 2, 300), 0, 2)].tolist() for j in range(4)}
    guessed = Table.from_frame(data)
    sorted_ = Table.from_frame(data, order={name: ["manchmal", "nie", "oft"] for name in data})
    assert guessed.variables[0].states != sorted_.variables[0].states
    fits = [lt.fit_classes(t, 2, rng=np.random.default_rng(1), n_init=16, tol=1e-9) for t in (guessed, sorted_)]
    assert fits[0].log_likelihood == pytest.approx(fits[1].log_likelihood, abs=1e-5)


def test_an_order_that_is_given():
    data = {"q": ["b", "a", "c", None], "n": ["1", "2", "2", "1"]}
    table = Table.from_frame(data, order={"q": ["c", "b", "a"], "n": [2, 1]})
    assert [v.states for v in table.variables] == [("c", "b", "a"), ("2", "1")]
    assert {v.order for v in table.variables} == {"given"}
    with pytest.raises(DataError, match=r"'q' has 'c', which order= does not name; it names 'a', 'b'"):
        Table.from_frame(data, order={"q": ["a", "b"]})
    with pytest.raises(DataError, match=r"order= names 'a' of column 'q' twice"):
        Table.from_frame(data, order={"q": ["a", "b", "c", "a"]})
    with pytest.raises(DataError, match="no column 'z', which order= names"):
        Table.from_frame(data, order={"z": ["a"]})
    with pytest.raises(ParameterError, match="a dict of columns"):
        Table.from_frame(data, order={"q": "abc"})


def test_an_answer_that_nobody_gave_is_remembered():
    with pytest.warns(lt.LatentreeWarning, match="No row has 'middle'"):
        table = Table.from_frame({"q": ["low", "high"]}, order={"q": ["low", "middle", "high"]})
    assert table.variables[0] == Variable("q", ("low", "high")) and table.variables[0].never_seen == ("middle",)


def test_the_order_is_told_with_the_result():
    data = {f"q{j}": ["nie", "manchmal", "oft", "nie"] * 10 for j in range(3)}
    text = str(lt.LatentClass(1, random_state=0).fit(pd.DataFrame(data)).summary())
    assert "guessed from well-known scales" in " ".join(text.split())


@pytest.mark.parametrize("shape", ["classes", "tree"])
def test_a_saved_model_still_tells_that_an_order_was_guessed(tmp_path, shape):
    rng = np.random.default_rng(0)
    data = {f"q{j}": rng.choice(["nie", "manchmal", "oft"], 60).tolist() for j in range(6)}
    table = Table.from_frame(data)
    tree = (
        Tree.star(2, [3] * 6)
        if shape == "classes"
        else Tree([-1, 0, 0, 0, 0, 1, 1, 1], [2, 2] + [3] * 6, [-1, -1, 0, 1, 2, 3, 4, 5])
    )
    Model.random(tree, table.variables, rng).save(tmp_path / "m.json")
    saved = lt.load(tmp_path / "m.json")
    told = (
        "The order of the answers is guessed from well-known scales: q0, q1, q2, q3 and 2 more (nie < manchmal < oft)"
    )
    for report in (Report.of(saved), Report.of(saved, table)):
        assert sum(note.startswith(told) for note in report.contents["notes"]) == 1
        assert told in " ".join(report.to_text().split())
        assert told.replace("<", "&lt;") in report.to_html().html
        assert "guessed from well-known scales" in report.explore().html
    given = Table.from_frame(data, order={name: ["nie", "manchmal", "oft"] for name in data})
    assert not Report.of(Model.random(tree, given.variables, rng)).contents["notes"]


# ---- long data -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(30, 300))
def test_ordinary_tables_are_not_taken_for_long_ones(seed, n_columns, n_rows):
    rng = np.random.default_rng(seed)
    many = {0: 2, 1: 5, 2: 60, 3: n_rows, 4: 12}
    columns = {f"x{j}": rng.choice([f"v{i}" for i in range(many[j])], n_rows).tolist() for j in range(n_columns)}
    assert check(columns).recipe.rows is None


def test_waves_of_a_panel_are_not_items():
    rng = np.random.default_rng(0)
    panel = {
        "person": np.repeat(np.arange(100), 4).tolist(),
        "wave": [1, 2, 3, 4] * 100,
        "q": rng.integers(1, 4, 400).tolist(),
    }
    assert check(panel).recipe.rows is None


# ---- missing codes ---------------------------------------------------------------------------------------------------


def test_missing_codes_of_single_columns():
    data = {"a": [1, 2, 99, 1], "b": [1, 99, 1, 2], "c": ["x", "NA", "k.A.", "y"]}
    table = Table.from_frame(data, missing={"a": [99], None: ["k.A."]})
    assert [v.states for v in table.variables] == [(1, 2), (1, 2, 99), ("x", "y")]
    with pytest.raises(DataError, match="no column 'z', which missing= names"):
        Table.from_frame(data, missing={"z": [1]})


@pytest.mark.filterwarnings("ignore::latentree.LatentreeWarning")
@pytest.mark.parametrize("estimator", [lt.LatentClass(2, random_state=0), lt.LatentTree(random_state=0)])
def test_missing_codes_of_estimators(estimator):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 200)
    frame = pd.DataFrame({f"q{j}": np.where(rng.random(200) < 0.85, hidden, 1 - hidden) for j in range(4)})
    coded, plain = frame.copy(), frame.astype("float")
    coded.loc[:30, "q0"], plain.loc[:30, "q0"] = 99, np.nan
    one = estimator.set_params(missing={"q0": [99]}).fit(coded)
    assert one.model_.states("q0") == (0, 1)
    from sklearn.base import clone

    other = clone(estimator).set_params(missing=None).fit(plain)
    assert one.fit_.log_likelihood == pytest.approx(other.fit_.log_likelihood, abs=1e-9)
    with pytest.raises(ParameterError, match="'missing' parameter"):
        clone(estimator).set_params(missing=99).fit(coded)


# ---- recipe files ----------------------------------------------------------------------------------------------------

FULL = Recipe(
    drop=("id", 'odd "name"'), weights="w", decimal=",", missing=("k.A.",), missing_in={"Größe, cm": ("99", "-1")},
    bins={"Größe, cm": 3, "age": (18.0, 40.0)}, order={"q": ("low", "high")}, header=False, min_rows=5,
)  # fmt: skip


@pytest.mark.parametrize("ending", [".toml", ".json"])
@pytest.mark.parametrize("recipe", [FULL, Recipe(), Recipe(bins=3, rows="r", items="i", counts=2)])
def test_recipes_come_back_from_files(tmp_path, ending, recipe):
    path = tmp_path / f"recipe{ending}"
    recipe.save(path)
    assert Recipe.load(path) == recipe


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('dorp = ["id"]', "has no 'dorp'. Did you mean 'drop'"),
        ("drop = [", "is not a recipe"),
        ("bins = 'many'", "has bins = 'many'"),
        ("missing_in = 3", "has missing_in = 3"),
    ],
)
def test_wrong_recipes_are_refused(tmp_path, text, says):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(FileFormatError, match=says):
        Recipe.load(tmp_path / "r.toml")


def test_numbers_in_recipes_stand_for_texts(tmp_path):
    (tmp_path / "r.toml").write_text("missing = [99]\n[missing_in]\nage = [-1]\n")
    assert Recipe.load(tmp_path / "r.toml") == Recipe(missing=("99",), missing_in={"age": ("-1",)})
    with pytest.raises(ParameterError, match=r"ends in \.toml or \.json"):
        Recipe.load(tmp_path / "r.txt")
    with pytest.raises(FileFormatError, match="no recipe file"):
        Recipe.load(tmp_path / "none.toml")


def test_numbers_among_words_are_suspected_and_leave_the_order_of_the_scale():
    answers = ["stimme nicht zu", "teils/teils", "stimme zu"] * 20
    found = check({"frage": [*answers, "99", "-1"], "kinder": [*(["keine", "1", "2 oder mehr"] * 20), "9", "9"]})
    assert {name: set(codes) for name, codes in found.recipe.missing_in.items()} == {"frage": {"-1", "99"}}


def test_a_million_cells_are_a_million_cells():
    """Numbers of cells are shown without exponents."""
    found = check({"id": np.arange(1_000_000), "a": np.arange(1_000_000) % 2})
    assert found.columns[0].findings == ("1,000,000 different values in 1,000,000 cells.",)


def test_text_most_of_which_occurs_once_was_typed_freely():
    """Remarks are often short, and some are typed by many."""
    remarks = ["no", "nothing"] * 150 + [f"remark {i}" for i in range(60)]
    found = check({"smokes": ["no", "yes", "yes"] * 120, "remarks": remarks})
    assert [own.kind for own in found.columns] == ["answers", "free text"] and found.recipe.drop == ("remarks",)
    towns = ["Aarhus", "Odense"] * 150 + [f"town {i % 30}" for i in range(60)]
    assert check({"smokes": ["no", "yes", "yes"] * 120, "towns": towns}).columns[1].kind == "answers"
