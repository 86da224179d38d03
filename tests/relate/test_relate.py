"""Classes related to other variables: invariances, outcomes, surveys, tests of items, and what cannot be done."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from worlds import BETA, world

import latentree as lt
from latentree.formats._columns import Column
from latentree.relate import item_tests, relate
from latentree.relate._design import Reading, design_of, values_of

ITEMS = list("ABCDE")
METHODS = ("one-step", "two-step", "three-step", "bch")


@pytest.fixture(scope="module")
def data():
    """Well separated classes, so that all methods agree, with the fitted model."""
    frame, model = world(1, 1500, missing=0.03, strength=7.0)
    table = lt.Table.from_frame(frame[ITEMS], variables=model.variables)
    return frame, lt.estimate(model, table, tol=1e-10).model


def numbers(found):
    return np.array([[row["estimate"], row["standard_error"]] for row in found.rows()])


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_find_the_truth(data, method):
    frame, model = data
    found = relate(model, frame, "x", method=method)
    off = (found.beta - BETA)[1:].ravel() / np.sqrt(found.covariance.diagonal())
    assert np.abs(off).max() < 3.5
    row = found.rows()[1]
    wald = row["estimate"] / row["standard_error"]
    assert row["term"] == "x" and row["z"] == pytest.approx(wald, rel=0.05 if method == "bch" else 1e-9)
    assert row["odds_ratio"] == pytest.approx(np.exp(row["estimate"]))
    assert row["lower"] < row["estimate"] < row["upper"] and found.test_rows()[0]["df"] == 2


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions_and_order_does_not_matter(data, method):
    frame, model = data
    frame = frame.head(300)
    often = np.random.default_rng(0).integers(0, 3, len(frame))
    more = {"outcome": "y"} if method != "one-step" else {}
    weighed = relate(model, frame, "x + g", method=method, sample_weight=often, **more)
    repeated = frame.loc[frame.index.repeat(often)].sample(frac=1, random_state=1)
    again = relate(model, repeated, "x + g", method=method, **more)
    assert numbers(again) == pytest.approx(numbers(weighed), rel=1e-7)
    assert again.n == weighed.n and again.log_likelihood == pytest.approx(weighed.log_likelihood, rel=1e-12)
    if more:
        for one, two in zip(again.outcome_rows(), weighed.outcome_rows(), strict=True):
            assert one["standard_error"] == pytest.approx(two["standard_error"], rel=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_reference_and_labels_change_names_only(data, method):
    frame, model = data
    found = relate(model, frame, "x", method=method)
    other = relate(model, frame, "x", method=method, reference="class2")
    assert {row["reference"] for row in other.rows()} == {"class2"} and len(other.rows()) == 4
    assert other.beta - other.beta[0] == pytest.approx(found.beta, abs=1e-6)
    order = np.array([2, 0, 1])
    from latentree._model import reordered

    turned = model.with_parameters(reordered(model.tree, model.parameters, 0, order))
    again = relate(turned, frame, "x", method=method)
    assert again.beta - again.beta[1] == pytest.approx((found.beta - found.beta[0])[order], abs=1e-6)
    assert again.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-9)
    back = relate(turned, frame, "x", method=method, reference=1)  # the class that was first
    errors = {row["estimate"]: row["standard_error"] for row in back.rows()}
    for row in found.rows():
        near = min(errors, key=lambda e, row=row: abs(e - row["estimate"]))
        assert errors[near] == pytest.approx(row["standard_error"], rel=1e-5)


def test_a_penalty_does_not_depend_on_the_reference(data):
    frame, model = data
    one, two = (relate(model, frame, "x", method="two-step", penalty=5.0, reference=r) for r in (0, 2))
    free = relate(model, frame, "x", method="two-step")
    assert two.beta - two.beta[0] == pytest.approx(one.beta, abs=1e-6)
    assert np.ptp(one.beta[:, 1]) < np.ptp(free.beta[:, 1])


# ---- outcomes ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certain():
    """Items that leave no doubt of the class: every method must do what one does with known classes."""
    frame, model = world(2, 400, strength=40.0, sizes=(3, 3, 3, 3, 3))
    return frame, model


@pytest.mark.parametrize("method", ["bch", "two-step", "three-step"])
def test_outcomes_of_known_classes(certain, method):
    frame, model = certain
    of = {f"class{k}": own for k, own in frame.groupby("z")}
    found = relate(model, frame, outcome=["y", "visits", "g"], outcome_kind={"visits": "count"}, method=method)
    rows = found.outcome_rows()
    for row in rows:
        own = of[row["class"]]
        if row["outcome"] == "y":
            assert row["estimate"] == pytest.approx(own["y"].mean(), abs=1e-6)
            assert row["variance"] == pytest.approx(own["y"].var(ddof=0), abs=1e-6)
            assert row["standard_error"] == pytest.approx(own["y"].std(ddof=0) / np.sqrt(len(own)), rel=1e-4)
        elif row["outcome"] == "g":
            share = (own["g"] == row["category"]).mean()
            assert row["estimate"] == pytest.approx(share, abs=1e-6)
            assert row["standard_error"] == pytest.approx(np.sqrt(share * (1 - share) / len(own)), rel=1e-4)
        else:
            assert row["kind"] == "count" and row["estimate"] == pytest.approx(own["visits"].mean(), abs=1e-6)
    tests = [row for row in found.test_rows() if row["outcome"] == "y"]
    assert tests[0]["classes"] is None and tests[0]["df"] == 2 and tests[0]["p"] < 1e-10
    assert [row["classes"] for row in tests[1:]] == [["class0", "class1"], ["class0", "class2"], ["class1", "class2"]]
    a, b = of["class0"]["y"], of["class1"]["y"]
    d = (a.mean() - b.mean()) / np.sqrt((a.var(ddof=0) + b.var(ddof=0)) / 2)
    assert tests[1]["effect"] == "Cohen's d" and tests[1]["effect_size"] == pytest.approx(d, abs=1e-5)
    z = (a.mean() - b.mean()) ** 2 / (a.var(ddof=0) / len(a) + b.var(ddof=0) / len(b))
    assert tests[1]["statistic"] == pytest.approx(z, rel=1e-3)


def test_outcomes_adjusted_for_covariates(certain):
    """The mean of y given class, at the average of a covariate that acts on both."""
    frame, model = certain
    frame = frame.assign(y=frame["y"] + 1.5 * frame["x"])
    found = relate(model, frame, "x", "y")
    design = np.column_stack([frame["z"] == k for k in range(3)] + [frame["x"] - frame["x"].mean()]).astype(float)
    expected = np.linalg.lstsq(design, frame["y"].to_numpy(), rcond=None)[0]
    assert found.outcomes[0].adjusted and found.outcomes[0].estimates[:, 0] == pytest.approx(expected[:3], abs=1e-5)
    assert [row["term"] for row in found.rows()[:2]] == ["intercept", "x"]


@pytest.mark.parametrize("method", ["bch", "two-step", "three-step"])
def test_outcomes_of_uncertain_classes(method):
    frame, model = world(5, 4000, strength=4.0)
    table = lt.Table.from_frame(frame[ITEMS], variables=model.variables)
    fitted = lt.estimate(model, table, tol=1e-9).model
    found = relate(fitted, frame, outcome="y", method=method)
    off = (found.outcomes[0].estimates[:, 0] - [0, 2, 4]) / found.outcomes[0].errors[:, 0]
    assert np.abs(off).max() < 4 and found.outcomes[0].errors.max() < 0.3


# ---- standard errors -----------------------------------------------------------------------------------------------


def test_clusters_and_strata(data):
    frame, model = data
    frame = frame.head(400).assign(school=np.arange(400) // 8, region=np.arange(400) // 100)
    plain = relate(model, frame, "x", method="one-step", robust=True)
    rows = relate(model, frame, "x", method="one-step", clusters="rows")
    assert rows.covariance == pytest.approx(plain.covariance * 400 / 399, rel=1e-6)
    # Every row four times in a cluster: four times as many rows say no more than one.
    four = frame.loc[frame.index.repeat(4)].assign(row=np.repeat(np.arange(400), 4))
    clustered = relate(model, four, "x", method="one-step", clusters="row")
    assert clustered.covariance == pytest.approx(rows.covariance, rel=1e-5)
    for method in METHODS:
        found = relate(model, frame, "x", method=method, clusters="school", strata="region")
        assert 0.3 < found.covariance[1, 1] / plain.covariance[1, 1] < 3 and "linearisation" in found.errors
    scaled = relate(model, frame, "x", method="bch", clusters="school", sample_weight=np.full(400, 7.0))
    once = relate(model, frame, "x", method="bch", clusters="school")
    assert scaled.covariance == pytest.approx(once.covariance, rel=1e-6)  # the scale of survey weights has no meaning
    with pytest.raises(lt.DataError, match="strata have a single cluster"):
        relate(model, frame, "x", strata="school", clusters="region")


def test_robust_and_outer_products_agree_when_the_model_is_true(data):
    frame, model = data
    own = {name: relate(model, frame, "x", method="one-step", **more) for name, more in
           {"observed": {}, "opg": {"information": "opg"}, "robust": {"robust": True}}.items()}  # fmt: skip
    base = np.sqrt(own["observed"].covariance.diagonal())
    for name in ("opg", "robust"):
        assert np.sqrt(own[name].covariance.diagonal()) == pytest.approx(base, rel=0.1)
        assert own[name].covariance != pytest.approx(own["observed"].covariance, rel=1e-6)


@pytest.mark.parametrize("method", ["one-step", "three-step"])
def test_bootstrap(data, method):
    frame, model = data
    frame = frame.assign(x=frame["x"].round(0))

    def draw(n):
        return relate(model, frame, "x", method=method, bootstrap=n, rng=np.random.default_rng(1))

    found = draw(30)
    assert (draw(3).covariance == draw(3).covariance).all() and "30 bootstrap" in found.errors
    usual = relate(model, frame, "x", method=method)
    assert found.beta == pytest.approx(usual.beta)
    assert np.sqrt(found.covariance.diagonal()) == pytest.approx(np.sqrt(usual.covariance.diagonal()), rel=0.5)
    with pytest.raises(lt.ParameterError, match="rng"):
        relate(model, frame, "x", bootstrap=10)


def test_imputed_data_are_pooled(data):
    frame, model = data
    rng = np.random.default_rng(0)
    lost = rng.random(len(frame)) < 0.2
    imputed = [frame.assign(x=np.where(lost, rng.normal(size=len(frame)), frame["x"])) for _ in range(5)]
    single = [relate(model, own, "x", "y", method="two-step") for own in imputed]
    found = relate(model, imputed, "x", "y", method="two-step")
    estimates = np.array([own.beta[1, 1] for own in single])
    within = np.mean([own.covariance[1, 1] for own in single])
    assert found.beta[1, 1] == pytest.approx(estimates.mean())
    assert found.covariance[1, 1] == pytest.approx(within + 1.2 * estimates.var(ddof=1))
    assert "pooled over 5" in found.errors and found.rows()[1]["p"] > 0
    same = relate(model, [frame, frame], "x", method="two-step")
    assert numbers(same) == pytest.approx(numbers(relate(model, frame, "x", method="two-step")))


# ---- what is said of classes ---------------------------------------------------------------------------------------


def test_marginal_effects_and_curves(data):
    frame, model = data
    found = relate(model, frame, "x * g", method="two-step")
    assert found.terms == ("intercept", "x", "g[T.m]", "x:g[T.m]")
    effects = found.marginal_effects()
    assert list(effects["covariate"].unique()) == ["x", "g"]
    assert effects.groupby("covariate")["estimate"].sum().abs().max() < 1e-8  # probabilities sum to one
    p = lambda d: found.predict_proba(d).mean(axis=0)  # noqa: E731
    step = 1e-3
    slope = (p(frame.assign(x=frame["x"] + step)) - p(frame.assign(x=frame["x"] - step))) / (2 * step)
    assert effects[effects["covariate"] == "x"]["estimate"].to_numpy() == pytest.approx(slope, abs=1e-5)
    change = p(frame.assign(g="m")) - p(frame.assign(g="f"))
    assert effects[effects["covariate"] == "g"]["estimate"].to_numpy() == pytest.approx(change, abs=1e-9)
    # The delta method, with differences in the coefficients.
    from latentree.relate._effects import average_effects
    from latentree.relate._parts import ClassLogit

    logit, values, weights = found._known()
    rows = []
    for e in np.eye(logit.size) * 1e-5:
        ends = [
            average_effects(
                found.task.design, ClassLogit(logit.x, logit.moved(s * e).beta), values, weights, found.covariance
            )[0][2]
            for s in (1, -1)
        ]
        rows.append((ends[0] - ends[1]) / 2e-5)
    by = np.array(rows).T
    error = np.sqrt(np.einsum("ij,jk,ik->i", by, found.covariance, by))
    assert effects["standard_error"].to_numpy()[:3] == pytest.approx(error, rel=1e-4)
    curve = found.curve("x", [0.0, 1.0])
    assert curve["probability"].to_numpy()[:3] == pytest.approx(p(frame.assign(x=0.0)))
    assert found.curve("g")["g"].tolist() == ["f"] * 3 + ["m"] * 3
    both = found.predict_proba(frame, items=True)
    assert (both.argmax(axis=1) == frame["z"]).mean() > (found.predict(frame) == frame["z"]).mean() + 0.2
    pytest.importorskip("matplotlib").use("agg")
    assert found.plot("x").get_xlabel() == "x" and found.plot("g").get_ylabel() == "P(class)"


def test_estimators_relate():
    frame, _ = world(4, 400, strength=7.0)
    lca = lt.LatentClass(3, random_state=0).fit(frame[ITEMS])
    found = lca.relate(frame, "x", "y", sample_weight=np.ones(len(frame)))
    assert len(found.coefficients()) == 4 and len(found.outcome_table()) == 3 and len(found.tests()) == 5
    assert {"estimate", "standard_error", "z", "p", "lower", "upper", "odds_ratio"} <= set(found.coefficients())
    assert "Log-odds against class0" in str(found) and "Mean of y" in str(found)
    assert lca.relate(frame, "x", bootstrap=5).errors == "5 bootstrap samples"
    assert len(lca.item_tests(frame, "x").to_frame()) == 5
    assert str(found.to_dict()["coefficients"][0]["class"]) == "class1"


def test_one_step_starts_from_the_model_and_finds_a_better_one(data):
    frame, model = data
    found = relate(model, frame, "x", method="one-step")
    fixed = relate(model, frame, "x", method="two-step")
    assert found.log_likelihood > fixed.log_likelihood
    assert found.model != model and found.model.table(0)[0] == pytest.approx(found.sizes())
    assert found.n_parameters == model.tree.n_parameters + 2
    alone = relate(model, frame, method="one-step")
    table = lt.Table.from_frame(frame[ITEMS], variables=model.variables)
    assert alone.log_likelihood == pytest.approx(lt.estimate(model, table, tol=1e-10).log_likelihood, abs=1e-5)


# ---- items ---------------------------------------------------------------------------------------------------------


def test_direct_effects_are_found_and_allowed():
    frame, model = world(7, 2000, strength=5.0)
    rng = np.random.default_rng(0)
    # In item C men answer 1 more often whatever their class.
    flip = (frame["g"] == "m") & (rng.random(len(frame)) < 0.35)
    frame["C"] = np.where(flip, 1.0, frame["C"])
    score = item_tests(model, frame, "x + g")
    ratio = item_tests(model, frame, "x + g", test="lr")
    for found in (score, ratio):
        low = {(row["item"], row["covariate"]) for row in found.rows if row["p_adjusted"] < 0.01}
        assert low == {("C", "g")}
    for one, two in zip(score.rows, ratio.rows, strict=True):
        assert one["df"] == two["df"] and one["statistic"] == pytest.approx(two["statistic"], rel=0.3, abs=0.5)
    assert "1 of 10 below .05" in repr(score)
    free = relate(model, frame, "x + g", method="one-step", direct_effects={"C": "g"})
    plain = relate(model, frame, "x + g", method="one-step")
    gain = 2 * (free.log_likelihood - plain.log_likelihood)
    assert gain == pytest.approx(next(r for r in ratio.rows if r["p_adjusted"] < 0.01)["statistic"], abs=1e-4)
    row = free.direct_rows()[0]
    assert row["item"] == "C" and row["p"] < 1e-6 and free.n_parameters == plain.n_parameters + 1
    by_class = relate(model, frame, "x", method="one-step", direct_effects={"C": "class * g"})
    assert [own["class"] for own in by_class.direct_rows()] == ["class0", "class1", "class2"]


def test_score_tests_keep_their_level():
    p = []
    for seed in range(12):
        frame, model = world(seed + 100, 500, strength=5.0)
        p += [row["p"] for row in item_tests(model, frame, "x", correction=None).rows]
    assert 0.0 <= np.mean(np.array(p) < 0.05) < 0.15 and np.mean(p) == pytest.approx(0.5, abs=0.12)


# ---- reading -------------------------------------------------------------------------------------------------------


def test_formulas_with_and_without_formulaic(data):
    pytest.importorskip("formulaic")
    frame, model = data
    one = relate(model, frame, "x * g", method="two-step")
    two = relate(model, frame, "(x + g)**2", method="two-step")
    assert one.terms == two.terms and two.beta == pytest.approx(one.beta)
    new = frame.head(5)
    assert two.predict_proba(new) == pytest.approx(one.predict_proba(new))
    curved = relate(model, frame, "x + I(x**2)", method="two-step")
    assert curved.terms == ("intercept", "x", "I(x ** 2)") and len(curved.marginal_effects()) == 3
    with pytest.raises(lt.DataError, match="has no intercept"):
        relate(model, frame, "x - 1")
    with pytest.raises(lt.DataError, match="cannot be"):
        relate(model, frame, "(x + ")


def test_columns_are_numbers_or_categories():
    columns = {"n": [1.0, None, 3.0], "t": ["b", "a", "NA"], "b": [True, False, True], "wide name": [1, 2, 4]}
    frame = pd.DataFrame(columns).assign(c=pd.Categorical(["u", "v", "u"], ["v", "u", "w"]))
    design, values = design_of("n + t + b + c", frame.to_dict("series"))
    assert design.terms == ("intercept", "n", "t[T.b]", "b[T.True]", "c[T.u]")
    assert np.isnan(design.matrix(values)).any(axis=1).tolist() == [False, True, True]
    assert design_of("wide name", columns)[0].terms == ("intercept", "wide name")
    assert design_of(["wide name", "n"], columns)[0].terms == ("intercept", "wide name", "n")
    assert design_of("n * t * b", columns)[0].terms[-1] == "n:t[T.b]:b[T.True]"
    assert values_of(["1,5", "2"], "x", Reading(decimal=",")).levels == ("1,5", "2")  # typed text stays text
    with pytest.raises(lt.DataError, match="empty term"):
        design_of("n + ", columns)
    with pytest.raises(lt.DataError, match=r"no column 'm'"):
        design_of("m", columns)


def test_missing_codes_of_covariates_also_name_labelled_answers():
    """As for the items: a file that labels 9 "refused" has a covariate whose 9 can be named as missing."""
    column = Column(np.array([0, 1, 2], np.int32), ("no", "yes", "refused"), synonyms={"no": "1", "refused": "9"})
    assert values_of(column, "q", Reading(missing=("9",))).cells() == ["no", "yes", None]
    assert values_of(column, "q", Reading(missing=("refused",))).cells() == ["no", "yes", None]


def test_missing_values(data):
    frame, model = data
    gaps = frame.assign(x=np.where(np.arange(len(frame)) % 50 == 3, np.nan, frame["x"]))
    with pytest.raises(lt.DataError, match=r"30 rows lack a value of 'x': row 3, row 53, .*missing_covariates='drop'"):
        relate(model, gaps, "x")
    dropped = relate(model, gaps, "x", missing_covariates="drop", method="one-step")
    alone = relate(model, gaps.dropna(subset=["x"]), "x", method="one-step")
    assert dropped.n == alone.n == 1470 and numbers(dropped) == pytest.approx(numbers(alone), rel=1e-6)
    whole = relate(model, gaps, "x", complete=True, method="one-step")
    assert whole.n == len(gaps.dropna(subset=[*ITEMS, "x"]))


def test_what_cannot_be_related(data):
    frame, model = data
    frame = frame.head(300).assign(one=1.0, twice=2 * frame["x"], sure=(frame["z"] == 1).astype(float), mixed="a")
    bad = {
        "A": "is an item of the model",
        "one": "has the same value, 1, in all rows",
        "x + twice": r"follows from the terms before it \('x'\): they are collinear",
    }
    for formula, said in bad.items():
        with pytest.raises(lt.DataError, match=said):
            relate(model, frame, formula)
    for method in METHODS:
        with pytest.raises(lt.DataError, match=r"separates class .* grows without bound.*penalty=0\.1"):
            relate(model, frame, "sure", method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = relate(model, frame, "sure", method=method, penalty=0.1)
        assert np.isfinite(numbers(found)).all() and 1 < abs(found.beta[1, 1]) < 20
    frame.loc[frame.index[:5], "mixed"] = "7.5"
    with pytest.raises(lt.DataError, match=r"must be numbers to be continuous\. It has the value 'a'"):
        relate(model, frame, outcome="mixed", outcome_kind="continuous")
    with pytest.raises(lt.DataError, match="whole numbers of at least 0"):
        relate(model, frame, outcome="y", outcome_kind="count")
    with pytest.raises(lt.DataError, match="is an item"):
        relate(model, frame, outcome="B")
    with pytest.raises(lt.DataError, match="same value"):
        relate(model, frame, outcome="one")
    with pytest.raises(lt.ParameterError, match="nothing to relate"):
        relate(model, frame)
    with pytest.raises(lt.ParameterError, match="would be one more item"):
        relate(model, frame, outcome="y", method="one-step")
    with pytest.raises(lt.ParameterError, match=r"information='opg' is for method='one-step'"):
        relate(model, frame, "x", information="opg")
    with pytest.raises(lt.ParameterError, match="one of class0, class1, class2"):
        relate(model, frame, "x", reference="men")
    with pytest.raises(lt.DataError, match="'E'"):
        relate(model, frame.drop(columns="E"), "x")


def test_a_class_that_weighs_less_than_nothing_is_warned_of():
    frame, model = world(1, 600, strength=5.0)
    frame["own"] = np.where(frame["z"] == 0, "p", np.where(frame["z"] == 1, "q", "r"))
    with pytest.warns(lt.LatentreeWarning, match="weighs less than nothing .* method='three-step'"):
        relate(model, frame, "own", method="bch", penalty=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relate(model, frame, "own", method="three-step", penalty=0.1)


def test_text_among_numbers_is_named():
    frame, model = world(1, 300)
    frame["mixed"] = [str(value) for value in frame["y"]]
    frame.loc[7, "mixed"] = "unknown"
    for call in ({"outcome": "mixed"}, {"outcome": "mixed", "outcome_kind": "continuous"}, {"covariates": "mixed"}):
        with pytest.raises(lt.DataError, match="'unknown'"):
            relate(model, frame, **call)


def test_low_separation_is_warned_of():
    frame, model = world(3, 500, strength=2.0)
    with pytest.warns(lt.LatentreeWarning, match="separate the classes poorly"):
        found = relate(model, frame, "x", method="two-step")
    assert found.entropy < 0.5 and found.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relate(model, frame, "x", method="one-step")


def test_covariates_of_several_levels_are_tested_as_a_whole(data):
    frame, model = data
    frame = frame.assign(r=np.resize(list("abcd"), len(frame)))
    found = relate(model, frame, "r + x", method="two-step")
    whole, *parts = found.test_rows()
    assert (whole["term"], whole["df"]) == ("r", 6)
    assert [row["term"] for row in parts] == ["r[T.b]", "r[T.c]", "r[T.d]", "x"]
    at = [0 * 5 + j for j in (1, 2, 3)] + [5 + j for j in (1, 2, 3)]
    free = found.beta[1:].ravel()[at]
    assert whole["statistic"] == pytest.approx(free @ np.linalg.solve(found.covariance[np.ix_(at, at)], free))


def test_cells_and_models_that_cannot_be_used(data):
    frame, model = data
    with pytest.raises(lt.DataError, match="row 3: the value is infinite"):
        relate(model, frame.assign(x=frame["x"].where(frame.index != 3, np.inf)), "x")
    small = relate(model, frame.assign(x=frame["x"] * 1e-12), "x", method="two-step").rows()[1]
    assert small["z"] == pytest.approx(relate(model, frame, "x", method="two-step").rows()[1]["z"], rel=1e-5)
    with pytest.raises(lt.DataError, match="'g' has no value 'x'; it has 'f', 'm'"):
        relate(model, frame, "g").curve("g", ["x"])
    single = lt.LatentClass(1).fit(frame[["A", "B"]])
    with pytest.raises(lt.ModelError, match="single class"):
        single.relate(frame, "x")
    with pytest.raises(lt.ParameterError, match="no option 'metod' of relate"):
        relate(model, frame, "x", metod="bch")
