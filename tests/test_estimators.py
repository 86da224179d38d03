from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentree as lt
from latentree import DataError, LatentClass, LatentreeWarning, ParameterError, compare, datasets, score
from latentree.formats._frame import table_from

# ---- scikit-learn's own checks -------------------------------------------------------------------------------------

# What LatentClass() without bins refuses, listed in docs/sklearn-checks.md too.
CONTINUOUS = {
    "check_positive_only_tag_during_fit": "feeds fractions: it subtracts the mean from whole numbers",
    "check_sample_weight_equivalence_on_dense_data": "feeds uniform random numbers, whatever the tags say",
}


def refused(estimator):
    return CONTINUOUS if estimator.bins is None else {}


# The checks fit tiny data, of which several findings are worth a warning.
@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
@parametrize_with_checks(
    [
        LatentClass(bins=2, unseen="missing"),
        LatentClass(bins=2, unseen="missing", n_classes=3, prior=1.1),
        LatentClass(),
    ],
    expected_failed_checks=refused,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# ---- data ----------------------------------------------------------------------------------------------------------


def answers(n=400, seed=0, n_columns=5):
    """Text answers of two kinds of people, some missing."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.4
    yes = rng.random((n, n_columns)) < np.where(kind[:, None], 0.85, 0.15)
    table = np.where(yes, "yes", "no").astype(object)
    table[rng.random(table.shape) < 0.05] = None
    return pd.DataFrame(table, columns=[f"q{i + 1}" for i in range(n_columns)])


@pytest.fixture(scope="module")
def frame():
    return answers()


@pytest.fixture(scope="module")
def fitted(frame):
    return LatentClass(2, random_state=0).fit(frame)


# ---- published figures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "bic"), [(1, -1135.32), (2, -1079.62), (3, -1086.87)])
def test_icu(n_classes, bic):
    data = datasets.load_frame("icu")[list(datasets.describe("icu").use)]
    lca = LatentClass(n_classes, n_init=64, random_state=0).fit(data)
    assert score.bic(lca.fit_) == pytest.approx(bic, abs=0.005)
    assert lca.bic(data) == pytest.approx(-2 * bic, abs=0.01)
    assert lca.warnings_ == []


@pytest.mark.parametrize(("n_classes", "log_likelihood"), [(2, -317.2568), (3, -293.7050), (4, -289.2859)])
def test_carcinoma(n_classes, log_likelihood):
    lca = LatentClass(n_classes, n_init=64, random_state=0).fit(datasets.load_frame("carcinoma"))
    assert lca.log_likelihood_ == pytest.approx(log_likelihood, abs=1e-4)


# ---- what is kept --------------------------------------------------------------------------------------------------


def test_attributes(fitted, frame):
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    assert fitted.class_sizes_.sum() == pytest.approx(1)
    assert (np.diff(fitted.class_sizes_) <= 0).all()
    assert set(fitted.profiles_) == set(frame.columns)
    assert fitted.profiles_["q1"].shape == (2, 2)
    assert fitted.model_.states("q1") == ("no", "yes")
    assert fitted.log_likelihood_ == fitted.fit_.log_likelihood
    assert fitted.converged_ and fitted.n_iter_ >= 1
    assert fitted.warnings_ == []
    assert fitted.table_.n == len(frame)
    assert fitted.fit_.seed == 0
    assert fitted.get_feature_names_out().tolist() == ["class0", "class1"]


@pytest.mark.parametrize(
    "method",
    [
        "query",
        "predict",
        "predict_proba",
        "transform",
        "score_samples",
        "score",
        "aic",
        "bic",
        "sample",
        "summary",
        "save",
    ],
)
def test_nothing_works_before_fit(method, frame):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(LatentClass(), method)(*([] if method in ("sample", "summary") else [frame]))


def test_methods_agree(fitted, frame):
    p = fitted.predict_proba(frame)
    assert np.allclose(p.sum(axis=1), 1)
    assert (fitted.predict(frame) == p.argmax(axis=1)).all()
    assert (fitted.transform(frame) == p).all()
    assert fitted.score_samples(frame).sum() == pytest.approx(fitted.log_likelihood_)
    assert fitted.score(frame) == pytest.approx(fitted.log_likelihood_ / len(frame))
    assert (LatentClass(2, random_state=0).fit_predict(frame) == fitted.predict(frame)).all()


def test_criteria_have_the_sign_of_sklearn(fitted, frame):
    d = fitted.fit_.n_parameters
    assert fitted.aic(frame) == pytest.approx(-2 * score.aic(fitted.fit_))
    assert fitted.bic(frame) == pytest.approx(-2 * score.bic(fitted.fit_))
    weights = np.full(len(frame), 3.0)
    assert fitted.bic(frame, weights) == pytest.approx(-6 * fitted.log_likelihood_ + d * np.log(1200))
    assert fitted.aic(frame, weights) == pytest.approx(-6 * fitted.log_likelihood_ + 2 * d)
    assert fitted.score(frame, sample_weight=weights) == pytest.approx(fitted.score(frame))


def test_queries_are_labelled(fitted):
    p = fitted.model_.query("q1", {"q2": "yes"})
    assert fitted.query("q1", {"q2": "yes"}) == dict(zip(("no", "yes"), p.tolist(), strict=True))
    assert list(fitted.query()) == ["class0", "class1"]
    assert list(fitted.query().values()) == pytest.approx(fitted.class_sizes_.tolist())
    joint = fitted.query(["class", "q1"], {"q3": "no"})
    assert list(joint) == [("class0", "no"), ("class0", "yes"), ("class1", "no"), ("class1", "yes")]
    assert sum(joint.values()) == pytest.approx(1)


def test_categories_with_blanks_come_back_in_samples(frame):
    blanks = frame.replace({"no": " no", "yes": "yes "})
    for data in (blanks.astype("category"), pl.from_pandas(blanks).cast(pl.Enum([" no", "yes "]))):
        lca = LatentClass(random_state=0).fit(data)
        assert lca.model_.states("q1") == ("no", "yes")
        assert set(lca.sample(50)["q1"].to_list()) == {" no", "yes "}


# ---- forms of data -------------------------------------------------------------------------------------------------


def same(a, b, X, Y):
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_, abs=1e-9)
    assert np.allclose(a.predict_proba(X), b.predict_proba(Y), atol=1e-9)


FORMS = {
    "pandas categories": lambda f: f.astype("category"),
    "polars": pl.from_pandas,
    "polars lazy": lambda f: pl.from_pandas(f).lazy(),
    "polars enum": lambda f: pl.from_pandas(f).cast(pl.Enum(["no", "yes"])),
    "pyarrow": lambda f: pl.from_pandas(f).to_arrow(),
    "object array": lambda f: f.to_numpy(dtype=object),
    "text array": lambda f: f.fillna("NA").to_numpy(dtype=str),
    "list of rows": lambda f: f.to_numpy(dtype=object).tolist(),
    "floats with nan": lambda f: f.apply(lambda c: c.map({"no": 0.0, "yes": 1.0})).to_numpy(dtype=float),
    "nullable integers": lambda f: f.apply(lambda c: c.map({"no": 0, "yes": 1})).astype("Int8"),
    "nullable truth values": lambda f: f.apply(lambda c: c.map({"no": False, "yes": True})).astype("boolean"),
    "masked array": lambda f: np.ma.masked_array((f == "yes").to_numpy(), f.isna().to_numpy()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_data_gives_the_same(form, fitted, frame):
    data = form(frame)
    lca = LatentClass(2, random_state=0).fit(data)
    same(lca, fitted, data, frame)
    assert lca.bic(data) == pytest.approx(fitted.bic(frame))


def test_integers_and_truth_values():
    codes = (answers().fillna("no") == "yes").to_numpy()
    a = LatentClass(random_state=0).fit(codes)
    b = LatentClass(random_state=0).fit(codes.astype(np.int8))
    same(a, b, codes, codes.astype(np.int8))
    assert a.model_.states("x1") == (False, True)
    assert b.model_.states("x1") == (0, 1)


def test_lists_keep_the_types_of_their_values():
    lca = LatentClass(random_state=0).fit([["a", 1, 1], ["b", 2, 2], ["a", 1, 1], ["b", 2, 2]])
    assert lca.model_.states("x1") == ("a", "b")
    assert lca.model_.states("x2") == (1, 2)


def test_frames_and_arrays_stand_for_each_other_by_position(fitted, frame):
    rows = frame.to_numpy(dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        p = fitted.predict_proba(rows)
    assert (p == fitted.predict_proba(frame)).all()
    numbered = frame.set_axis(range(5), axis=1)  # not text: no names, for scikit-learn
    lca = LatentClass(random_state=0).fit(numbered)
    assert np.allclose(lca.predict_proba(rows), p, atol=1e-9)
    assert lca.sample(3).columns.tolist() == list(range(5))


def test_columns_must_be_the_ones_fitted(fitted, frame):
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="now missing"):
        fitted.predict(frame[["q1", "q2"]])


def test_unseen_values(frame):
    strange = frame.head(3).copy()
    strange.loc[1, "q2"] = "perhaps"
    with pytest.raises(lt.DataError, match="'q2', row 1: the value 'perhaps'"):
        LatentClass(random_state=0).fit(frame).predict(strange)
    lca = LatentClass(unseen="missing", random_state=0).fit(frame)
    absent = strange.replace("perhaps", None)
    assert (lca.predict_proba(strange) == lca.predict_proba(absent)).all()


def test_a_row_without_values_gets_the_sizes(fitted, frame):
    blank = frame.head(1).copy()
    blank.loc[:, :] = None
    assert np.allclose(fitted.predict_proba(blank)[0], fitted.class_sizes_)
    assert fitted.score_samples(blank)[0] == pytest.approx(0, abs=1e-12)


def test_impossible_rows_get_an_answer_and_a_warning():
    data = [["a", "a", "a"]] * 10 + [["b", "b", "b"]] * 10
    lca = LatentClass(random_state=0).fit(data)
    p_of = {x: int(lca.predict([[x] * 3])[0]) for x in "ab"}
    lca.model_ = lca.model_.with_parameters(np.round(lca.model_.parameters, 6))  # EM ends at 1e-30 instead of 0
    assert lca.score_samples([["a", "a", "b"]]).tolist() == [-np.inf]
    with pytest.warns(LatentreeWarning, match="2 of 3 rows are impossible"):
        p = lca.predict_proba([["a", "a", "b"], ["a", "a", "a"], ["b", None, "a"]])
    assert p[:2].argmax(axis=1).tolist() == [p_of["a"], p_of["a"]]
    assert p[2] == pytest.approx([0.5, 0.5])
    assert np.isfinite(p).all()


def test_declared_categories_are_states_only_if_asked_for(frame):
    kind = pd.CategoricalDtype(["no", "perhaps", "yes"], ordered=True)
    with pytest.warns(LatentreeWarning, match="'perhaps' in column 'q1'.*left out of the model.*keep_levels=True"):
        lca = LatentClass(random_state=0).fit(frame.astype(kind))
    assert lca.model_.states("q1") == ("no", "yes")
    lca = LatentClass(random_state=0, keep_levels=True).fit(frame.astype(kind))
    assert lca.model_.states("q1") == ("no", "perhaps", "yes")
    with pytest.warns(LatentreeWarning, match="impossible"):
        lca.predict(pd.DataFrame([["perhaps"] + ["no"] * 4], columns=frame.columns).astype(kind))


def test_bins():
    rng = np.random.default_rng(0)
    z = rng.random(300) < 0.5
    data = pd.DataFrame({f"m{i}": rng.normal(3.0 * z) for i in range(4)} | {"sex": np.where(z, "f", "m")})
    with pytest.raises(lt.DataError, match="'m0' is continuous"):
        LatentClass(random_state=0).fit(data)
    lca = LatentClass(bins=2, random_state=0).fit(data)
    assert (lca.predict(data) == z).mean() in (pytest.approx(1, abs=0.1), pytest.approx(0, abs=0.1))
    by_name = LatentClass(bins={f"m{i}": 3 for i in range(4)}, random_state=0).fit(data)
    assert by_name.model_.variable("m2").cardinality == 3
    assert lca.sample(5)["m0"].isin(lca.model_.states("m0")).all()
    assert lca.sample(5)["sex"].dtype == data["sex"].dtype


# ---- weights -------------------------------------------------------------------------------------------------------


def test_a_weight_means_repeating_the_row(frame):
    weights = np.random.default_rng(1).integers(0, 4, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)]
    a = LatentClass(3, random_state=0).fit(frame, sample_weight=weights)
    b = LatentClass(3, random_state=0).fit(repeated)
    assert a.table_.codes.tolist() == b.table_.codes.tolist()
    assert a.table_.weights.tolist() == b.table_.weights.tolist()
    assert (a.model_.parameters == b.model_.parameters).all()
    assert a.fit_.trace.tolist() == b.fit_.trace.tolist()
    assert a.score(frame, sample_weight=weights) == pytest.approx(b.score(repeated))
    assert a.bic(frame, weights) == pytest.approx(b.bic(repeated))
    assert score.bic(a.fit_) == pytest.approx(score.bic(b.fit_))


def test_shuffled_repetition_too(frame):
    weights = np.random.default_rng(1).integers(0, 4, len(frame))
    repeated = frame.loc[np.random.default_rng(2).permutation(np.repeat(frame.index, weights))]
    a = LatentClass(2, random_state=0).fit(frame, sample_weight=weights)
    b = LatentClass(2, random_state=0).fit(repeated)
    same(a, b, frame, frame)


def test_forms_of_weights(frame):
    plain = LatentClass(random_state=0).fit(frame)
    for weights in (1, [1] * len(frame), pd.Series(np.ones(len(frame))), pl.Series([1.0] * len(frame))):
        same(LatentClass(random_state=0).fit(frame, sample_weight=weights), plain, frame, frame)
    with pytest.raises(ValueError, match="All sample weights are zero"):
        plain.fit(frame, sample_weight=np.zeros(len(frame)))
    with pytest.raises(ValueError, match="Row 2: the weight is -1"):
        plain.fit(frame, sample_weight=[1, 1, -1] + [1] * (len(frame) - 3))
    with pytest.raises(ValueError, match="one weight for each of the 400 rows"):
        plain.fit(frame, sample_weight=[1, 1])
    with pytest.raises(ValueError, match=r"Row 3: the weight is missing.*0 leaves the row out"):
        plain.fit(frame, sample_weight=[1, 1, 1, np.nan] + [1] * (len(frame) - 4))
    with pytest.raises(ParameterError, match=r"'sample_weight' parameter .*sample_weight=X\['w'\].*Got 'w' instead"):
        plain.fit(frame, sample_weight="w")


def test_values_seen_only_with_weight_zero_do_not_exist(frame):
    odd = frame.copy()
    odd.loc[0, "q1"] = "perhaps"
    weights = np.r_[0, np.ones(len(frame) - 1)]
    lca = LatentClass(random_state=0).fit(odd, sample_weight=weights)
    assert lca.model_.states("q1") == ("no", "yes")


def test_impossible_rows_of_weight_zero_do_not_count():
    lca = LatentClass(random_state=0).fit([["a", "a", "a"]] * 10 + [["b", "b", "b"]] * 10)
    lca.model_ = lca.model_.with_parameters(np.round(lca.model_.parameters, 6))
    rows = [["a", "a", "a"], ["a", "a", "b"]]
    assert lca.score(rows, sample_weight=[1, 0]) == pytest.approx(np.log(0.5))
    assert lca.score(rows) == -np.inf


# ---- randomness ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_change_nothing(n_jobs):
    data = datasets.load_frame("carcinoma")
    one = LatentClass(4, random_state=7).fit(data)
    other = LatentClass(4, random_state=7, n_jobs=n_jobs).fit(data)
    assert (one.model_.parameters == other.model_.parameters).all()
    assert (one.fit_.starts == other.fit_.starts).all()


def test_sources_of_randomness(frame):
    def starts(random_state):
        return LatentClass(3, n_init=4, random_state=random_state).fit(frame).fit_.starts.tolist()

    assert starts(3) == starts(np.int64(3)) == starts(np.random.default_rng(3))
    assert starts(np.random.RandomState(3)) == starts(np.random.RandomState(3))
    going_on = np.random.RandomState(3)
    assert starts(going_on) != starts(going_on)
    going_on = np.random.default_rng(3)
    assert starts(going_on) != starts(going_on)
    assert LatentClass(random_state=np.random.default_rng(3)).fit(frame).fit_.seed is None
    starts(None)
    starts(np.random.mtrand._rand)


# ---- in the company of scikit-learn --------------------------------------------------------------------------------


def test_clone_and_pickle(fitted, frame):
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "fit_")
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(frame) == fitted.predict_proba(frame)).all()
    assert again.summary() == fitted.summary()
    assert again.sample(3).equals(fitted.sample(3))


def test_pipelines(frame):
    y = np.arange(len(frame)) % 2
    features = make_column_transformer((LatentClass(2, random_state=0), ["q1", "q2", "q3"]), remainder="drop")
    piped = make_pipeline(features, LogisticRegression()).fit(frame, y)
    assert piped.predict(frame).shape == (len(frame),)
    encoded = make_pipeline(OrdinalEncoder(encoded_missing_value=-1), LatentClass(random_state=0)).fit(frame)
    assert encoded.predict_proba(frame).shape == (len(frame), 2)


def test_grid_search_chooses_the_number_of_classes(frame):
    grid = {"n_classes": [1, 2]}
    search = GridSearchCV(LatentClass(prior=1.1, n_init=8, random_state=0), grid, cv=3).fit(frame)
    assert search.best_params_ == {"n_classes": 2}
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_set_output(frame):
    table = LatentClass(random_state=0).set_output(transform="pandas").fit_transform(frame.head(50))
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == ["class0", "class1"]
    assert table.index.equals(frame.head(50).index)
    table = LatentClass(random_state=0).set_output(transform="polars").fit(frame).transform(frame)
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["class0", "class1"]


# ---- samples and files ---------------------------------------------------------------------------------------------


SAMPLED = {
    "categories": lambda f: f.astype(pd.CategoricalDtype(["yes", "no"], ordered=True)),
    "pandas text": lambda f: f,
    "nullable": lambda f: f.apply(lambda c: c.map({"no": 0, "yes": 1})).astype("Int8"),
    "floats": lambda f: f.apply(lambda c: c.map({"no": 0.0, "yes": 1.0})),
}


@pytest.mark.parametrize("form", SAMPLED.values(), ids=SAMPLED)
def test_samples_look_like_the_training_data(form, frame):
    data = form(frame)
    drawn = LatentClass(random_state=0).fit(data).sample(2000)
    assert (drawn.dtypes == data.dtypes).all()
    assert drawn.columns.equals(data.columns)
    assert (drawn["q1"].value_counts(normalize=True) - data["q1"].value_counts(normalize=True)).abs().max() < 0.06


def test_samples_of_other_forms(frame):
    polars = pl.from_pandas(frame).cast(pl.Enum(["no", "yes"]))
    assert LatentClass(random_state=0).fit(polars).sample(4).schema == polars.schema
    arrow = polars.to_arrow()
    assert LatentClass(random_state=0).fit(arrow).sample(4).column_names == arrow.column_names
    codes = (frame == "yes").to_numpy(dtype=np.int8)
    drawn, classes = LatentClass(random_state=0).fit(codes).sample(500, return_classes=True)
    assert drawn.dtype == np.int8 and drawn.shape == (500, 5)
    assert set(classes) == {0, 1}
    assert abs((classes == 0).mean() - 0.6) < 0.1
    assert LatentClass(bins=2, random_state=0).fit(np.random.default_rng(0).random((50, 3))).sample(2).dtype == object


def test_samples_are_repeatable(fitted):
    assert fitted.sample(5).equals(fitted.sample(5))
    assert not fitted.sample(50).equals(fitted.sample(50, random_state=1))
    with pytest.raises(ParameterError, match=r"The 'n_samples' parameter of sample must be .* Got 0 instead."):
        fitted.sample(0)


def test_save(fitted, frame, tmp_path):
    fitted.save(tmp_path / "model.json")
    model = lt.load(tmp_path / "model.json")
    assert model == fitted.model_
    assert model.provenance["log_likelihood"] == fitted.log_likelihood_
    assert json.loads((tmp_path / "model.json").read_text())["provenance"]["seed"] == 0


# ---- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_classes", 0),
        ("n_classes", 2.5),
        ("n_classes", True),
        ("n_classes", "two"),
        ("n_init", 0),
        ("prior", 0.5),
        ("prior", float("nan")),
        ("prior", "flat"),
        ("bins", 1),
        ("bins", [2]),
        ("unseen", "ignore"),
        ("unseen", None),
        ("tol", -1),
        ("tol", "small"),
        ("max_iter", 0),
        ("random_state", "seed"),
        ("random_state", -1),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
        ("time_limit", -1),
        ("verbose", "loud"),
    ],
)
def test_parameters_are_checked(name, value, frame):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of LatentClass must be .* Got .* instead."):
        LatentClass(**{name: value}).fit(frame)


def test_prior_of_some_variables(frame):
    lca = LatentClass(prior={"q1": 100.0}, random_state=0).fit(frame)
    assert np.abs(lca.profiles_["q1"] - 0.5).max() < np.abs(lca.profiles_["q2"] - 0.5).max()


def test_progress_goes_to_standard_error(frame, capsys):
    LatentClass(3, random_state=0, verbose=1).fit(frame)
    told = capsys.readouterr()
    assert told.out == ""
    assert "[latentree] starts" in told.err


# ---- warnings ------------------------------------------------------------------------------------------------------


def test_ordinary_use_is_quiet(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(1, 5):
            LatentClass(k, random_state=0).fit(frame).predict(frame)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"max_iter": 2}, "did not converge. The iteration limit"),
        ({"time_limit": 0}, "did not converge. The time limit"),
        ({"n_classes": 40}, "40 classes have 239 parameters, but 32 different rows are possible"),
    ],
)
def test_warnings_in_words(params, match, frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lca = LatentClass(random_state=0, **params).fit(frame)
    assert [str(w.message) for w in caught] == lca.warnings_
    assert all(w.category is LatentreeWarning and w.filename == __file__ for w in caught)
    assert any(match in text for text in lca.warnings_)
    assert " ".join(match.split()[:3]) in " ".join(lca.summary().split())


def test_summary_shows_itself(fitted):
    assert repr(fitted.summary()) == str(fitted.summary())
    assert "class1" in fitted.summary()
    assert fitted.report()["n_classes"] == 2


# ---- several numbers of classes ------------------------------------------------------------------------------------


def test_compare(frame):
    found = compare(frame, [2, 3], ["bic", "aic"], random_state=0)
    assert [row["n_classes"] for row in found.table] == [1, 2, 3]
    assert found.best_n_classes() == found.best_n_classes("bic") == 2
    assert found.best("bic") is found.fits[1]
    assert all(row["converged"] for row in found.table)
    assert found.to_frame()["bic"].idxmin() == 1
    assert found.to_frame("polars").height == 3
    json.dumps(found.to_dict())
    lca = found.best_estimator()
    alone = LatentClass(2, random_state=0).fit(frame)
    assert (lca.model_.parameters == alone.model_.parameters).all()
    assert lca.summary().splitlines()[0] == alone.summary().splitlines()[0]
    assert (lca.predict(frame) == alone.predict(frame)).all()
    assert lca.feature_names_in_.tolist() == list(frame.columns)
    assert lca.get_params() == alone.get_params()


def test_compare_takes_weights_and_one_number(frame):
    weights = np.arange(len(frame)) % 3
    found = compare(frame, 2, "aic", sample_weight=weights, random_state=0, n_jobs=2)
    assert [fit.table.n for fit in found.fits] == [weights.sum()] * 2
    assert found.scores == ("aic",)
    alone = compare(frame.loc[np.repeat(frame.index, weights)], [2], ["aic"], random_state=0)
    assert alone.table[1]["aic"] == pytest.approx(found.table[1]["aic"])


def test_compare_marks_what_did_not_converge(frame):
    with pytest.warns(LatentreeWarning, match="The fits of 2, 3 classes did not converge"):
        found = compare(frame, [2, 3], max_iter=4, random_state=0)
    assert [row["converged"] for row in found.table] == [True, False, False]
    assert "!2" in repr(found) and "! did not converge" in repr(found)
    with pytest.warns(LatentreeWarning, match="2, 3 classes were not fitted"):
        found = compare(frame, [2, 3], time_limit=0, random_state=0)
    assert found.skipped == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_classes": [0]}, "'n_classes' parameter of compare must be"),
        ({"n_classes": "3"}, "'n_classes' parameter of compare must be"),
        ({"n_classes": [2.5]}, "'n_classes' parameter of compare must be"),
        ({"scores": ["wrong"]}, "'scores' parameter of compare must be among 'aic', 'aic3', 'bic'"),
        ({"scores": "relative_entropy"}, "'scores' parameter of compare must be among"),
        ({"scores": []}, "'scores' parameter of compare must be"),
        ({"tol": -1}, "'tol' parameter of compare must be"),
    ],
)
def test_compare_checks_its_arguments(arguments, match, frame):
    with pytest.raises(ParameterError, match=match):
        compare(frame, **arguments)


def test_best_takes_only_scores_there_are(frame):
    with pytest.raises(ParameterError, match="The 'score' parameter of best must be one of 'bic'"):
        compare(frame, [1]).best("aic")


# ---- statistics --------------------------------------------------------------------------------------------------


def test_statistics_of_a_fit():
    """Figures printed by poLCA for the Stouffer-Toby data: two classes, G2 2.72 on 6 degrees of freedom."""
    lca = LatentClass(2, random_state=0, tol=1e-9).fit(datasets.load_frame("values"))
    assert lca.fit_statistics().g2 == pytest.approx(2.719922, abs=1e-5)
    assert lca.bivariate_residuals().residuals.shape == (4, 4)
    assert lca.average_posteriors().average.shape == (2, 2)
    assert lca.scores("bice")["bice"].value == pytest.approx(lca.scores("bic")["bic"].value)
    assert np.isfinite(lca.standard_errors().errors).any()
    assert np.isfinite(lca.standard_errors("bootstrap", n_replicates=5).errors).any()
    test = lca.bootstrap_lrt(n_replicates=19)
    assert test.k == 2 and test.p_value == pytest.approx(0.05)
    told = lca.report(statistics=True)["statistics"]
    assert told["absolute"]["degrees_of_freedom"] == 6 and told["identified"]
    shown = lca.summary(statistics=True)
    assert "G2 2.72, X2 2.72, 6 degrees of freedom" in shown
    assert "Largest bivariate residuals" in shown and "Effective dimension 9." in shown
    assert "G2" not in lca.summary()


def test_statistics_that_are_not_defined_say_why(frame):
    lca = LatentClass(2, random_state=0).fit(frame)  # cells are missing
    assert lca.fit_statistics().g2 is None
    assert "G2 and X2 are not defined" in lca.summary(statistics=True)


def test_comparisons_mark_what_is_not_identified():
    found = compare(datasets.load_frame("values"), [2, 3], scores=["bic", "bice"], random_state=0)
    assert [row["identified"] for row in found.table] == [True, True, False]
    assert "?3" in repr(found) and "? not identified" in repr(found)


# ---- what they are given -------------------------------------------------------------------------------------------

EVERY = [
    lambda **own: LatentClass(2, **own),
    lambda **own: lt.LatentTree(**own),
    lambda **own: lt.LatentTreeClassifier(**own),
    lambda **own: lt.BayesianLatentClass(n_draws=5, n_burn=5, n_chains=1, **own),
]


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("given", ["survey.csv", b"survey.csv", Path("survey.csv")])
def test_a_path_instead_of_data_is_answered_with_what_to_pass(make, given):
    with pytest.raises(DataError, match=r"a data frame, an array or a list of rows.*survey\.csv.*Table\.read"):
        make().fit(given, [0, 1])


def test_a_table_instead_of_data_is_answered_with_who_takes_one():
    with pytest.raises(DataError, match=r"Got a Table instead.*fit_classes and learn take a Table"):
        LatentClass(2).fit(lt.datasets.load("carcinoma"))


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("bins", [{"age": 1}, {"age": "many"}, 1, 0.5, {"age": [3, 1]}])
def test_wrong_bins_are_blamed_on_the_estimator_that_was_given_them(make, bins):
    """Users never called the function that the bins are handed on to."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.random(30), "a": rng.integers(0, 2, 30), "b": rng.integers(0, 2, 30)})
    estimator = make(bins=bins)
    with pytest.raises(
        ParameterError, match=f"The 'bins' parameter of {type(estimator).__name__}( must be|: column 'age' needs)"
    ):
        estimator.fit(frame, frame["b"])


@pytest.mark.parametrize("make", EVERY)
def test_levels_that_no_row_has_are_kept_if_that_is_asked_for(make, monkeypatch):
    """``keep_levels`` reaches the function that codes the data, and only values that it can have do."""
    asked = []
    real = table_from

    def coded(data, **options):
        asked.append(options.pop("keep_levels", False))
        return real(data, **options)

    monkeypatch.setattr("latentree.estimators._base.table_from", coded)
    frame = lt.datasets.load_frame("carcinoma")
    for keep in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lt.LatentreeWarning)
            make(keep_levels=keep, random_state=0).fit(frame.drop(columns="G"), frame["G"])
    assert asked == [False, True]
    with pytest.raises(ParameterError, match="'keep_levels' parameter"):
        make(keep_levels="yes").fit(frame, frame["G"])


def test_a_weight_beyond_floating_point_is_refused_in_words():
    with pytest.raises(lt.DataError, match="A weight is too large"):
        lt.LatentClass(2).fit([[0, 1], [1, 0]] * 4, sample_weight=[10**400] * 8)
    with pytest.raises(ParameterError, match=r"'sample_weight' parameter of fit must be one number for each row"):
        lt.LatentClass(2).fit([[0, 1], [1, 0]] * 4, sample_weight=[1j] * 8)


@pytest.mark.filterwarnings("ignore")
def test_findings_name_a_few_classes():
    """Dozens of empty classes are counted, not listed."""
    lca = lt.LatentClass(60, n_init=1, random_state=0).fit([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]] * 8)
    assert any("7 and 52 more hold less than one case each" in str(own) for own in lca.warnings_)


def test_columns_of_one_name_are_refused_by_that_name():
    frame = pd.DataFrame([["a", "b"], ["b", "a"], ["a", "a"]], columns=["q", "q"])
    with pytest.raises(DataError, match="Two columns are called 'q'"):
        LatentClass(2).fit(frame)
