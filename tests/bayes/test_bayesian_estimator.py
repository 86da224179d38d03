"""BayesianLatentClass: data of any form, what it keeps, and scikit-learn's checks; pictures of draws."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentree as lt
from latentree import BayesianLatentClass, DataError, LatentreeWarning, ParameterError
from latentree.report import describe_draws, to_text

SMALL = {"n_draws": 60, "n_burn": 60, "thin": 2, "n_chains": 2, "random_state": 0}
FRACTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "feeds weights with fractions, which are rounded at random",
}


@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
@parametrize_with_checks(
    [
        BayesianLatentClass(
            max_classes=2, bins=2, unseen="missing", n_draws=8, n_burn=4, thin=1, n_chains=1, random_state=0
        )
    ],
    expected_failed_checks=lambda estimator: FRACTIONS,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def ratings() -> pd.DataFrame:
    return lt.datasets.load_frame("carcinoma")


@pytest.fixture(scope="module")
def fitted(ratings) -> BayesianLatentClass:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)  # so few draws may be worth one
        return BayesianLatentClass(max_classes=5, **SMALL).fit(ratings)


def test_what_it_keeps(fitted, ratings):
    assert fitted.n_classes_ == 3 and fitted.n_classes_posterior_.sum() == pytest.approx(1)
    assert fitted.class_sizes_.sum() == pytest.approx(1) and (np.diff(fitted.class_sizes_) <= 0).all()
    assert (fitted.class_sizes_interval_[0] < fitted.class_sizes_interval_[1]).all()
    assert list(fitted.profiles_) == list("ABCDEFG")
    assert fitted.profiles_["A"].shape == (3, 2) and fitted.profiles_interval_["A"].shape == (2, 3, 2)
    p = fitted.predict_proba(ratings)
    assert p.shape == (118, 3) and p.sum(axis=1) == pytest.approx(np.ones(118))
    assert fitted.predict(ratings).tolist() == p.argmax(axis=1).tolist()
    assert fitted.transform(ratings) == pytest.approx(p)
    assert fitted.score(ratings) == pytest.approx(fitted.score_samples(ratings).mean())
    assert fitted.get_feature_names_out().tolist() == ["class0", "class1", "class2"]
    alike = fitted.similarity()
    assert alike.shape == (118, 118) and alike[0, 0] > 0.5
    drawn = fitted.sample(5, random_state=1)
    assert list(drawn.columns) == list(ratings.columns) and len(drawn) == 5


def test_the_best_draw_is_about_as_good_as_maximum_likelihood(fitted, ratings):
    best = lt.LatentClass(3, random_state=0).fit(ratings).log_likelihood_
    assert best - 25 < fitted.draws_.log_likelihood.max() <= best + 1e-9 or fitted.draws_.k.max() > 3


def test_weights_repeat_rows(ratings):
    counts = ratings.value_counts(sort=False).reset_index()
    once = clone(BayesianLatentClass(n_classes=2, **SMALL))
    weighted = once.fit(counts.drop(columns="count"), sample_weight=counts["count"])
    repeated = counts.loc[counts.index.repeat(counts["count"])].drop(columns="count")
    whole = BayesianLatentClass(n_classes=2, **SMALL).fit(repeated)
    assert weighted.draws_.theta.tolist() == whole.draws_.theta.tolist()


def test_summary_and_report(fitted):
    text = fitted.summary()
    assert "posterior" in text and "class2" in text and "(" in text
    assert max(map(len, text.splitlines())) <= 80
    assert fitted.report()["n_classes"] == 3
    narrow = fitted.summary(width=50, max_variables=2)
    assert max(map(len, narrow.splitlines())) <= 50 and "5 more are not" in " ".join(narrow.split())


def test_files(fitted, tmp_path):
    fitted.save(tmp_path / "draws.nc")
    back = lt.bayes.load(tmp_path / "draws.nc")
    assert to_text(describe_draws(back, seed=0)).splitlines()[2:12] == fitted.summary().splitlines()[2:12]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_classes": 0}, "'max_classes'.*at least 1"),
        ({"n_classes": 0}, "'n_classes'"),
        ({"delta1": 0}, "'delta1'.*above 0"),
        ({"delta2": -2.0}, "'delta2'.*above 0"),
        ({"prior_classes": [1, 2]}, "1 to 8 classes"),
        ({"method": "gibbs"}, "reversible_jump"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"n_draws": 0}, "'n_draws'"),
    ],
)
def test_wrong_parameters_are_explained(given, told, ratings):
    with pytest.raises(ParameterError, match=told):
        BayesianLatentClass(**given).fit(ratings)


def test_fewer_rows_than_classes(ratings):
    with pytest.raises(DataError, match="5 rows for 8 classes"):
        BayesianLatentClass().fit([["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"], ["a", "x"]])


def test_warnings_in_words(ratings):
    with pytest.warns(LatentreeWarning, match="most probable"):
        BayesianLatentClass(max_classes=2, **SMALL).fit(ratings)


def test_pictures(fitted, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from latentree.report._sampled_figures import plot_n_classes, plot_profile_intervals, plot_trace, save_plots

    ax = plot_n_classes(fitted.draws_)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(fitted.n_classes_posterior_.tolist())
    plt.close(ax.figure)
    figure, ax = plt.subplots()
    assert plot_trace(fitted.draws_, ax, what="log_likelihood") is ax
    assert len(ax.lines) == 2 and ax.lines[0].get_ydata().tolist() == fitted.draws_.log_likelihood[0].tolist()
    plt.close(figure)
    ax = plot_profile_intervals(fitted.class_draws_)
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"{name} = 2" for name in "ABCDEFG"]
    plt.close(ax.figure)
    assert set(save_plots(fitted.draws_, tmp_path)) == {p.name for p in tmp_path.iterdir()}
