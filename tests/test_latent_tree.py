"""LatentTree and LatentTreeClassifier: published scores, data of any form, names, files, scikit-learn's checks."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from parts import in_parts, rows_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import models

import latentree as lt
from latentree import LatentreeWarning, LatentTree, LatentTreeClassifier, datasets, score
from latentree._tree import Tree
from latentree.infer import log_likelihood_rows
from latentree.naming import latent_names, named, presented
from latentree.search import METHODS

CLIMBING = sorted(name for name, entry in METHODS.items() if not entry.load().estimates)
"""Searches that maximise any score; the others judge by cases held out."""
QUICK = {"trials": 0}
"""No looking ahead, where the result is not what is tested."""

# ---- scikit-learn's own checks -------------------------------------------------------------------------------------

# What feeds two columns, over which there is no tree; listed in docs/sklearn-checks.md too.
TWO_COLUMNS = dict.fromkeys(
    (
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    ),
    "feeds two columns, over which there is no tree",
)


@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
@parametrize_with_checks(
    [
        LatentTree(bins=2, unseen="missing", options=QUICK),
        LatentTreeClassifier(bins=4, unseen="missing", options=QUICK),
    ],
    expected_failed_checks=lambda estimator: TWO_COLUMNS if isinstance(estimator, LatentTree) else {},
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# ---- data ----------------------------------------------------------------------------------------------------------


def habits(n=600, seed=3):
    """Text answers about health and about politics, which hang together a little; some are missing."""
    rng = np.random.default_rng(seed)
    health = rng.random(n) < 0.4
    left = rng.random(n) < np.where(health, 0.7, 0.3)
    columns = {}
    for name, latent, words in (
        ("smokes", health, ("no", "yes")),
        ("drinks", health, ("never", "often")),
        ("runs", health, ("often", "never")),
        ("votes", left, ("red", "blue")),
        ("gives", left, ("no", "yes")),
        ("trusts", left, ("few", "many")),
    ):
        told = rng.random(n) < np.where(latent, 0.9, 0.12)
        columns[name] = np.where(told, words[1], words[0]).astype(object)
        columns[name][rng.random(n) < 0.03] = None
    return pd.DataFrame(columns)


HEALTH, POLITICS = {"smokes", "drinks", "runs"}, {"votes", "gives", "trusts"}


@pytest.fixture(scope="module")
def frame():
    return habits()


@pytest.fixture(scope="module")
def fitted(frame):
    return LatentTree(random_state=0).fit(frame)


def below(model):
    """The leaves of each latent variable."""
    tree = model.tree
    return {
        tree.names[z]: {tree.names[u] for u in tree.neighbours(int(z)) if tree.variable[u] >= 0} for z in tree.latent
    }


# ---- what is found -------------------------------------------------------------------------------------------------


def test_the_tree_behind_the_data_is_found(fitted):
    assert sorted(map(sorted, below(fitted.model_).values())) == sorted(map(sorted, (HEALTH, POLITICS)))
    assert len(fitted.latent_names_) == 2
    for name, leaves in below(fitted.model_).items():
        assert set(name.split("+")) < leaves
    assert fitted.tree_ == fitted.model_.tree and fitted.converged_ and fitted.warnings_ == []
    assert fitted.score_ == pytest.approx(score.bic(fitted.fit_))
    assert fitted.log_likelihood_ == pytest.approx(fitted.run_.fit.log_likelihood)
    assert [step.number for step in fitted.trace_] == list(range(fitted.n_iter_))
    assert fitted.trace_[-1].score == pytest.approx(fitted.score_)


def test_hiv_test_as_published():
    data = datasets.load_frame("hiv_test")
    counts = data.pop("freq")
    tree = LatentTree(prior=None, random_state=0).fit(data, sample_weight=counts)
    assert tree.score_ == pytest.approx(-656.62, abs=0.01)
    assert tree.bic(data, counts) == pytest.approx(2 * 656.62, abs=0.02)


def test_states_come_in_falling_order_of_size(fitted):
    marginals = fitted.model_.marginals()
    assert all((np.diff(marginals[z]) <= 0).all() for z in fitted.tree_.latent)


def test_a_latent_class_model_if_one_latent_is_enough():
    data = datasets.load_frame("carcinoma")
    tree = LatentTree(prior=None, random_state=0, options=QUICK).fit(data[["A", "B", "C", "D"]])
    lca = lt.LatentClass(2, random_state=0).fit(data[["A", "B", "C", "D"]])
    assert len(tree.latent_names_) == 1
    assert tree.log_likelihood_ == pytest.approx(lca.log_likelihood_, abs=1e-4)
    assert tree.get_feature_names_out().tolist() == ["class0", "class1"]
    assert np.allclose(tree.transform(data[["A", "B", "C", "D"]]), lca.transform(data[["A", "B", "C", "D"]]), atol=1e-3)
    assert "class0" in tree.summary() and list(tree.query("class")) == ["class0", "class1"]


def test_no_structure_is_said_and_not_a_crash():
    noise = np.random.default_rng(0).integers(2, size=(200, 4))
    with pytest.warns(LatentreeWarning, match="No structure found"):
        tree = LatentTree(random_state=0, options=QUICK).fit(noise)
    assert not tree.run_.structure and tree.transform(noise).shape == (200, 1)
    assert "No structure found" in tree.summary() and tree.warnings_


@pytest.mark.parametrize("method", CLIMBING)
def test_methods_by_name(method, frame):
    tree = LatentTree(method=method, random_state=0, time_limit=30).fit(
        frame.head(150)[["smokes", "drinks", "runs", "votes"]]
    )
    assert tree.run_.method == method and tree.score_ <= 0


def test_any_score(frame):
    by = {name: LatentTree(score=name, random_state=0, options=QUICK).fit(frame) for name in ("bic", "aic", "bice")}
    assert by["bice"].score_ == pytest.approx(float(score.SCORES["bice"](by["bice"].fit_)))
    assert score.aic(by["aic"].fit_) >= score.aic(by["bic"].fit_) - 1e-6


# ---- using it ------------------------------------------------------------------------------------------------------


def test_methods_agree(fitted, frame):
    p = fitted.transform(frame)
    names = fitted.get_feature_names_out().tolist()
    assert p.shape == (len(frame), len(names)) and len(set(names)) == len(names)
    hard = fitted.predict(frame)
    at = 0
    for j, z in enumerate(fitted.tree_.latent):
        k = int(fitted.tree_.cardinality[z])
        assert names[at : at + k] == [f"{fitted.tree_.names[z]}={i}" for i in range(k)]
        assert np.allclose(p[:, at : at + k].sum(axis=1), 1)
        assert (hard[:, j] == p[:, at : at + k].argmax(axis=1)).all()
        at += k
    own = fitted.estimate_.log_likelihood
    assert own <= fitted.log_likelihood_
    assert fitted.score_samples(frame).sum() == pytest.approx(own)
    assert fitted.score(frame) == pytest.approx(own / len(frame))
    less = 2 * (fitted.log_likelihood_ - own)
    assert fitted.bic(frame) == pytest.approx(less - 2 * score.bic(fitted.fit_))
    assert fitted.aic(frame) == pytest.approx(less - 2 * score.aic(fitted.fit_))
    assert (LatentTree(random_state=0).fit_predict(frame) == hard).all()


def test_score_is_a_method_and_a_parameter(frame):
    tree = LatentTree(score="aic")
    assert callable(tree.score) and tree.get_params()["score"] == "aic" and "score='aic'" in repr(tree)
    assert clone(tree).get_params() == tree.get_params()
    assert tree.set_params(score="bic").get_params()["score"] == "bic"
    grid = GridSearchCV(
        LatentTree(random_state=0, options=QUICK, unseen="missing"), {"score": ["bic", "aic"]}, cv=2
    ).fit(frame)
    assert grid.best_params_["score"] in ("bic", "aic")
    with pytest.raises(lt.ParameterError, match="'score'"):
        LatentTree(score="best").fit(frame)


def test_query(fitted):
    p = fitted.query("smokes", {"drinks": "often"})
    assert list(p) == ["no", "yes"] and p["yes"] > 0.6 and sum(p.values()) == pytest.approx(1)
    latent = next(name for name, leaves in below(fitted.model_).items() if leaves == HEALTH)
    assert list(fitted.query(latent, {"smokes": "yes"})) == [0, 1]
    assert len(fitted.query([latent, "votes"])) == 4


def test_samples_look_like_the_data(fitted, frame):
    rows, latents = fitted.sample(50, random_state=1, return_latents=True)
    assert list(rows.columns) == list(frame.columns) and latents.shape == (50, 2)
    assert rows["smokes"].isin(["no", "yes"]).all()
    assert fitted.sample(3, random_state=1).equals(fitted.sample(3, random_state=1))


def test_report_and_summary(fitted):
    report = fitted.report()
    json.dumps(report, allow_nan=False)
    assert report["kind"] == "latent tree" and report["search"]["method"] == "swift"
    assert len(report["trace"]) == len(fitted.trace_)
    text = fitted.summary()
    for name in (*fitted.latent_names_, "smokes", "BIC", "swift"):
        assert name in text
    assert fitted.report(statistics=True)["statistics"]["absolute"]["degrees_of_freedom"] > 0


def test_files_keep_names_and_trace(fitted, tmp_path):
    for name in ("a.json", "b.json"):
        fitted.save(tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    model = lt.load(tmp_path / "a.json")
    assert model == fitted.model_
    assert [model.tree.names[z] for z in model.tree.latent] == fitted.latent_names_
    steps = model.provenance["trace"]
    assert [step["operation"] for step in steps] == [step.operation for step in fitted.trace_]
    assert "seconds" not in steps[0]  # the same search, the same file
    assert fitted.explore().html.startswith("<!")


def test_same_seed_same_tree_for_any_threads(fitted, frame):
    again = LatentTree(random_state=0, n_jobs=2).fit(frame)
    assert again.model_ == fitted.model_
    assert clone(fitted).fit(frame).model_ == fitted.model_
    assert pickle.loads(pickle.dumps(fitted)).transform(frame).tolist() == fitted.transform(frame).tolist()


FORMS = {
    "polars": pl.from_pandas,
    "object array": lambda f: f.to_numpy(dtype=object),
    "categories": lambda f: f.astype("category"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_data_gives_the_same(form, fitted, frame):
    data = form(frame)
    tree = LatentTree(random_state=0).fit(data)
    assert tree.log_likelihood_ == pytest.approx(fitted.log_likelihood_, abs=1e-6)
    assert np.allclose(tree.transform(data), fitted.transform(frame), atol=1e-6)


def test_a_weight_means_repeating_the_row(frame):
    weights = np.random.default_rng(1).integers(0, 4, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)]
    a = LatentTree(random_state=0, options=QUICK).fit(frame, sample_weight=weights)
    b = LatentTree(random_state=0, options=QUICK).fit(repeated)
    assert a.model_ == b.model_ and a.score_ == b.score_


def test_unseen_values_and_missing_cells(fitted, frame):
    strange = frame.head(2).copy()
    strange.loc[0, "votes"] = "green"
    with pytest.raises(lt.DataError, match="'votes', row 0: the value 'green'"):
        fitted.transform(strange)
    blank = frame.head(1).copy()
    blank.loc[:, :] = None
    sizes = np.concatenate([fitted.model_.marginals()[z] for z in fitted.tree_.latent])
    assert np.allclose(fitted.transform(blank)[0], sizes)


def test_in_a_pipeline(frame):
    y = frame["votes"].fillna("red")
    X = frame.drop(columns="votes")
    pipe = make_pipeline(LatentTree(random_state=0, options=QUICK), LogisticRegression()).fit(X, y)
    assert pipe.score(X, y) > 0.75


# ---- limits, checkpoints, errors -----------------------------------------------------------------------------------


def test_a_time_limit_gives_the_best_so_far(frame):
    with pytest.warns(LatentreeWarning, match="was not finished"):
        tree = LatentTree(random_state=0, time_limit=0.0).fit(frame)
    assert not tree.converged_ and tree.transform(frame).shape[0] == len(frame)


def test_a_checkpoint_is_resumed(fitted, frame, tmp_path):
    path = tmp_path / "search.json"
    first = LatentTree(random_state=0, checkpoint=path).fit(frame)
    assert path.exists() and first.model_ == fitted.model_
    again = LatentTree(random_state=0, checkpoint=path).fit(frame)
    assert again.model_ == fitted.model_
    with pytest.raises(lt.ParameterError, match="another seed"):
        LatentTree(random_state=5, checkpoint=path).fit(frame)
    with pytest.raises(lt.ParameterError, match="other data"):
        LatentTree(random_state=0, checkpoint=path).fit(frame.head(100))


def test_a_start_is_improved(fitted, frame):
    tree = LatentTree(start=fitted.model_, random_state=0, options=QUICK).fit(frame)
    assert tree.score_ >= fitted.score_ - 0.01
    assert tree.trace_[0].score == pytest.approx(fitted.score_, abs=0.1)


def test_progress_is_told(frame, capsys):
    LatentTree(random_state=0, verbose=1, options=QUICK).fit(frame)
    assert "[latentree]    0  start" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", "fast"),
        ("method", 3),
        ("start", "m.json"),
        ("options", 3),
        ("n_jobs", 0),
        ("time_limit", -1),
        ("checkpoint", 3),
        ("bins", 1),
        ("unseen", "x"),
        ("random_state", "x"),
        ("verbose", -1),
    ],
)
def test_wrong_parameters_are_named(name, value, frame):
    with pytest.raises(lt.ParameterError, match=f"'{name}' parameter"):
        LatentTree(**{name: value}).fit(frame)


def test_unknown_options_are_answered_with_a_list(frame):
    with pytest.raises(lt.ParameterError, match=r"no option 'speed' of the method 'swift'\. It has .*trials"):
        LatentTree(options={"speed": 1}).fit(frame)


def test_too_few_columns(frame):
    with pytest.raises(lt.DataError, match="at least three variables"):
        LatentTree().fit(frame[["smokes", "drinks"]])
    with pytest.raises(lt.DataError, match=r"1 feature\(s\) and the target"):
        LatentTreeClassifier().fit(frame[["smokes"]], frame["votes"].fillna("red"))


@pytest.mark.parametrize(
    "method", ["transform", "predict", "score_samples", "score", "bic", "sample", "summary", "save"]
)
def test_nothing_works_before_fit(method, frame):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(LatentTree(), method)(*([] if method in ("sample", "summary") else [frame]))


# ---- names ---------------------------------------------------------------------------------------------------------


def test_names_come_from_the_leaves_explained_best():
    assert latent_names(datasets.generator("d7")) == {"Z1": "X4+X5", "Z2": "X2+X1", "Z3": "X5+X6"}
    assert latent_names(lt.Model.random(Tree.star(2, [2, 2]), lt.Table.from_codes([[0, 0], [1, 1]]).variables,
                                        np.random.default_rng(0))) == {}  # fmt: skip


def test_long_names_are_cut_between_words():
    model = datasets.generator("d7")
    long = [
        lt.Variable(f"how often do you {w} in a week", v.states)
        for w, v in zip("abcdefg", model.variables, strict=True)
    ]
    names = list(latent_names(lt.Model(model.tree, tuple(long), model.parameters)).values())
    assert all(
        part == "how often do you" or part.split()[:3] == ["how", "often", "do"] for n in names for part in n.split("+")
    )
    assert len(set(names)) == 3


def test_names_do_not_depend_on_rooting_or_old_names():
    model = datasets.generator("d18")
    names = latent_names(model)
    for z in model.tree.latent:
        assert latent_names(model.rerooted(int(z))) == names
    old = {name: f"w{i}" for i, name in enumerate(reversed(names))}
    renamed = lt.Model(model.tree.renamed(old), model.variables, model.parameters)
    assert latent_names(renamed) == {old[name]: new for name, new in names.items()}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_names_are_unique_and_change_nothing_else(data):
    model = data.draw(models())
    tree = model.tree
    names = latent_names(model)
    if not names:
        return
    assert len({*names.values(), *(v.name for v in model.variables)}) == len(names) + len(model.variables)
    root = int(data.draw(st.sampled_from(list(tree.latent))))
    assert set(latent_names(model.rerooted(root))) == set(names)
    assert named(named(model)) == named(model)
    renamed = presented(model)
    table = lt.Table.from_codes(model.sample(20, np.random.default_rng(0)), model.variables)
    assert log_likelihood_rows(renamed, table) == pytest.approx(log_likelihood_rows(model, table), abs=1e-8)


# ---- classification ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier(frame):
    labelled = frame.dropna(subset="votes")
    return LatentTreeClassifier(random_state=0).fit(labelled.drop(columns="votes"), labelled["votes"])


def test_any_column_can_be_predicted(classifier, frame):
    labelled = frame.dropna(subset="votes")
    X, y = labelled.drop(columns="votes"), labelled["votes"]
    assert classifier.classes_.tolist() == ["blue", "red"] and classifier.target_name_ == "votes"
    p = classifier.predict_proba(X)
    assert p.shape == (len(X), 2) and np.allclose(p.sum(axis=1), 1)
    assert (classifier.predict(X) == classifier.classes_[p.argmax(axis=1)]).all()
    assert classifier.score(X, y) > 0.8 > y.value_counts(normalize=True).max()
    assert classifier.n_features_in_ == 5 and classifier.feature_names_in_.tolist() == list(X.columns)


def test_probabilities_are_those_of_queries(classifier, frame):
    rows = frame.drop(columns="votes").head(5)
    p = classifier.predict_proba(rows)
    for i, row in enumerate(rows.to_dict("records")):
        asked = classifier.query("votes", {name: value for name, value in row.items() if value is not None})
        assert p[i] == pytest.approx([asked["blue"], asked["red"]], abs=1e-9)


def test_a_target_of_numbers_and_a_name_that_is_taken(frame):
    X = frame.drop(columns="votes").rename(columns={"runs": "target"})
    y = (frame["votes"] == "blue").to_numpy().astype(int) * 5
    clf = LatentTreeClassifier(random_state=0, options=QUICK).fit(X, y)
    assert clf.classes_.tolist() == [0, 5] and clf.target_name_ == "target_"
    assert set(clf.predict(X)) <= {0, 5}


def test_weights_of_a_classifier_mean_repetition(frame):
    weights = np.random.default_rng(1).integers(0, 3, len(frame))
    X, y = frame.drop(columns="votes"), frame["votes"].fillna("red")
    at = np.repeat(frame.index, weights)
    a = LatentTreeClassifier(random_state=0, options=QUICK).fit(X, y, sample_weight=weights)
    b = LatentTreeClassifier(random_state=0, options=QUICK).fit(X.loc[at], y.loc[at])
    assert a.model_ == b.model_
    assert a.score(X, y, sample_weight=weights) == pytest.approx(b.score(X.loc[at], y.loc[at]))


def test_a_missing_target_is_refused(frame):
    with pytest.raises(lt.DataError, match="the target is missing"):
        LatentTreeClassifier().fit(frame.drop(columns="votes"), frame["votes"])
    with warnings.catch_warnings(), pytest.raises(ValueError, match="y"):
        warnings.simplefilter("ignore")
        LatentTreeClassifier().fit(frame.drop(columns="votes"), None)


# ---- variables that are independent of the rest ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cut():
    """A tree of two parts and a variable that is independent of all."""
    frame = pd.DataFrame(rows_of(in_parts(), 3000))
    return LatentTree(random_state=0, options=QUICK).fit(frame), frame


def test_a_latent_of_one_state_gives_no_column(cut):
    tree, frame = cut
    assert len(tree.tree_.cuts) >= 1 and len(tree.tree_.parts) == 3
    assert len(tree.latent_names_) == 2 and not any(name.startswith("cut") for name in tree.latent_names_)
    assert tree.transform(frame).shape == tree.predict_proba(frame).shape == (3000, 4)
    assert len(tree.get_feature_names_out()) == 4
    assert tree.predict(frame).shape == (3000, 2)
    assert tree.model_.predict(frame).shape == (3000, 2) and tree.model_.predict_proba(frame).shape == (3000, 4)
    _, latents = tree.sample(5, random_state=0, return_latents=True)
    assert latents.shape == (5, 2)
    assert "Independent of all others: g." in tree.summary() and "cut1" not in tree.summary()
    assert tree.query("g", {"a": "yes"}) == pytest.approx(tree.query("g"))
    assert not tree.warnings_


def test_one_latent_variable_beside_independent_ones_is_the_class():
    model = presented(in_parts(several=False))
    table = lt.Table.from_frame(rows_of(model))
    assert model.predict(table).shape == (600,) and model.predict_proba(table).shape == (600, 2)
    (column,) = lt.naming.assignment_columns(lt.infer.posterior(model, table), model)
    assert column[0] == "class" and list(column[3]) == ["p_class0", "p_class1"]


def test_a_classifier_whose_target_is_independent():
    frame = pd.DataFrame(rows_of(in_parts(several=False), 2000))
    features, target = frame.drop(columns="g"), frame["g"]
    found = LatentTreeClassifier(random_state=0, options={**QUICK, "cuts": True}).fit(features, target)
    p = found.predict_proba(features)
    assert np.ptp(p, axis=0).max() < 1e-9 and p[0, 0] == pytest.approx((target == "no").mean(), abs=0.01)
    assert "g" in found.summary()


@pytest.mark.parametrize("ending", ["json", "bif", "xmlbif", "net", "xdsl"])
def test_a_latent_of_one_state_survives_files(ending, tmp_path):
    model = in_parts()
    model.save(tmp_path / f"m.{ending}")
    read = lt.load(tmp_path / f"m.{ending}")
    assert read.tree == model.tree and [read.tree.names[v] for v in read.tree.cuts] == ["k"]
    assert read.query("a", {"b": "yes"}) == pytest.approx(model.query("a", {"b": "yes"}))
