"""Names that people give to classes, states and latent variables: where they are shown, and that they stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from strategies import models_and_tables

import latentree as lt
from latentree import datasets, report
from latentree.errors import DataError, ModelError
from latentree.naming import latent_title, node_labels, presented


@pytest.fixture(scope="module")
def lca():
    return lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))


def test_names_are_shown_everywhere_and_stay_in_the_file(lca, tmp_path):
    named = lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))
    assert named.rename(classes=["negative", "positive", "in doubt"]) is named
    assert named.get_feature_names_out().tolist() == ["negative", "positive", "in doubt"]
    assert "in doubt" in named.summary() and "class2" not in named.summary()
    assert list(named.query("class")) == ["negative", "positive", "in doubt"]
    assert set(named.profiles_frame(errors=False)["class"]) == {"negative", "positive", "in doubt"}
    for page in (named.explore(), report.write_report(named.fit_)):
        assert "in doubt" in page.html
    named.save(tmp_path / "m.json")
    loaded = lt.load(tmp_path / "m.json")
    assert node_labels(loaded, 0) == ("negative", "positive", "in doubt")
    np.testing.assert_array_equal(loaded.query("A", {"class": "in doubt"}), loaded.query("A", {"class": 2}))
    assert np.array_equal(loaded.parameters, lca.model_.parameters)


def test_one_name_can_be_given_and_others_stay(lca):
    model = lca.model_.renamed({"class": "Reading"}, classes={"class1": "ill"})
    assert model.tree.names[0] == "Reading" and latent_title(lca.model_, 0) == "class"
    assert node_labels(model, 0) == ("class0", "ill", "class2")
    again = model.renamed(classes={2: "unsure", "ill": "sick"})
    assert node_labels(again, 0) == ("class0", "sick", "unsure")


@given(models_and_tables())
def test_names_follow_their_states_and_latents(pair):
    """Whatever rooting and order people see, a name stays with what it was given to."""
    model, _ = pair
    latents = [int(z) for z in model.tree.latent]
    names = {model.tree.names[z]: f"L{i}" for i, z in enumerate(latents)}
    given_states = {f"L{i}": [f"s{i}{k}" for k in range(int(model.tree.cardinality[z]))] for i, z in enumerate(latents)}
    shown = presented(model.renamed(names, states=given_states))
    for i, z in enumerate(latents):
        if len(latents) > 1 or f"L{i}" in shown.tree.names:
            labels = node_labels(shown, shown.tree.node(f"L{i}"))
            before = dict(zip(given_states[f"L{i}"], model.marginals()[z].tolist(), strict=True))
            np.testing.assert_allclose([before[label] for label in labels], shown.marginals()[shown.tree.node(f"L{i}")])


def test_names_that_cannot_be_are_refused(lca):
    for wrong, words in (
        ({"classes": ["a", "b"]}, "3 states"),
        ({"classes": {0: "a", 1: "a"}}, "would be called 'a'"),
        ({"classes": {0: " "}}, "at least one character"),
        ({"latents": {"class": "A"}}, "another variable"),
        ({"latents": {"A": "B"}}, "not a latent one"),
    ):
        with pytest.raises(ModelError, match=words):
            lca.model_.renamed(**wrong)
    with pytest.raises(DataError, match="no state"):
        lca.model_.renamed(classes={7: "a"})


def test_a_tree_is_renamed_with_its_run():
    counts = datasets.load_frame("hiv_test")
    weights = counts.pop("freq")
    tree = lt.LatentTree(random_state=0).fit(counts, sample_weight=weights)
    first = tree.latent_names_[0]
    tree.rename({first: "Infection"}, states={"Infection": {1: "yes"}})
    assert tree.latent_names_[0] == "Infection" and tree.get_feature_names_out()[1] == "Infection=yes"
    assert "Infection" in tree.summary()
    one = tree.predict_proba(counts, "Infection")
    np.testing.assert_array_equal(one, tree.predict_proba(counts)[:, : one.shape[1]])
