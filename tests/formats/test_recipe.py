"""Data for a model are read as the data that it was learned from."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import latentree as lt
from latentree import Model, Tree
from latentree.errors import DataError, FileFormatError
from latentree.formats import Recipe, _json
from latentree.formats._frame import values_of

NAMES = st.lists(st.text(max_size=5), max_size=3).map(tuple)
RECIPES = st.builds(
    Recipe,
    columns=st.none() | NAMES,
    drop=NAMES,
    weights=st.none() | st.text(max_size=5),
    format=st.sampled_from([None, "csv"]),
    encoding=st.sampled_from([None, "cp1252"]),
    delimiter=st.sampled_from([None, ";"]),
    header=st.booleans(),
    decimal=st.sampled_from([".", ","]),
    missing=NAMES,
    default_missing=st.booleans(),
    bins=st.none() | st.integers(2, 5) | st.dictionaries(st.text(max_size=5), st.just((1.0, 2.5)) | st.just(3)),
    merge_rare=st.none() | st.integers(1, 30),
    keep_levels=st.booleans(),
    unseen=st.sampled_from(["error", "missing"]),
)
TEXT = "Größe;Antwort;n\n1,5;ja;2\n2,5;nein;3\n9,5;k.A.;1\n1,0;ja;1\n"
RECIPE = Recipe(encoding="cp1252", delimiter=";", decimal=",", missing=("k.A.",), weights="n", bins={"Größe": 2})


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_bytes(TEXT.encode("cp1252"))
    return path


def model_of(table):
    tree = Tree.star(2, [v.cardinality for v in table.variables])
    return Model.random(tree, table.variables, np.random.default_rng(0))


@given(RECIPES)
def test_a_recipe_comes_back_from_plain_values_and_from_a_model_file(recipe):
    assert Recipe.from_plain(recipe.to_plain()) == recipe
    model = recipe.kept_in(model_of(lt.Table.from_codes([[0], [1]])))
    again = _json.loads(_json.dumps(model))
    assert Recipe.of(again) == recipe and again.provenance == model.provenance


def test_the_schema_names_every_part_of_a_recipe():
    assert set(_json.schema()["properties"]["recipe"]["properties"]) == {f.name for f in fields(Recipe)}


def test_data_of_a_model_are_read_as_they_were_when_it_was_learned(survey, tmp_path):
    table = RECIPE.read(survey)
    assert table.n == 7 and table.names == ("Größe", "Antwort")
    RECIPE.kept_in(model_of(table)).save(tmp_path / "model.json")
    model = lt.load(tmp_path / "model.json")
    again = Recipe.of(model).read(survey, model=model)
    assert again.n == 7 and values_of(again) == values_of(table)
    assert Recipe.of(model).read(survey, model=model, weights=False).n == 4


def test_what_does_not_fit_the_recipe_is_named(survey):
    model = model_of(RECIPE.read(survey))
    survey.write_bytes("Größe;Antwort\n1,5;ja\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"weights in column 'n', which these data lack. They have 'Größe'") as told:
        RECIPE.read(survey, model=model)
    assert told.value.shown("shell").endswith("with --weights, or count every row once with --no-weights.")
    assert RECIPE.read(survey, model=model, need_weights=False).n == 1
    survey.write_bytes(b"Antwort;n\nja;1\n")
    with pytest.raises(DataError, match="The data lack 'Größe', which the model has"):
        RECIPE.read(survey, model=model)


def test_models_without_a_recipe_say_what_they_can():
    model = model_of(lt.Table.from_codes([[0], [1]]))
    assert Recipe.of(model) == Recipe()
    options = {"weights": "n", "missing": ["9", 7], "no_default_missing": True, "decimal": ",", "encoding": 5}
    old = replace(model, provenance={"options": options})
    assert Recipe.of(old) == Recipe(weights="n", missing=("9",), default_missing=False, decimal=",")
    assert Recipe.of(replace(model, provenance={"options": [1]})) == Recipe()


@pytest.mark.parametrize(
    "fault", [3, {"weights": 1}, {"missing": "NA"}, {"decimal": ";"}, {"bins": "x"}, {"header": 1}]
)
def test_damaged_recipes_are_refused(fault):
    with pytest.raises(FileFormatError, match="recipe of the data"):
        Recipe.from_plain(fault)
