"""Sample sizes: what is simulated, what is counted, and that it can be interrupted and repeated."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import latentree as lt
from latentree import Tree
from latentree._model import Model
from latentree._variables import numbered
from latentree.errors import ModelError, ParameterError
from latentree.planning import Population, power, stated_profiles
from latentree.planning._power import _frame
from latentree.relate import relate
from latentree.runner import StopReason


def test_stated_profiles():
    model = stated_profiles([2, 1, 1], n_items=4, separation=0.9)
    np.testing.assert_allclose(model.table(0), [[0.5, 0.25, 0.25]])
    yes = np.array([model.table(f"x{i}")[:, 1] for i in range(1, 5)]).T
    np.testing.assert_allclose(yes, [[0.9] * 4, [0.9, 0.9, 0.1, 0.1], [0.1] * 4])
    given = stated_profiles([0.6, 0.4], [[0.2, 0.3, 0.4], [0.9, 0.8, 0.7]])
    np.testing.assert_allclose(given.table("x2"), [[0.7, 0.3], [0.2, 0.8]])


@pytest.mark.parametrize("kind", ["normal", "binary"])
def test_data_have_the_sizes_profiles_and_effect_that_were_asked_for(kind):
    model = stated_profiles([0.5, 0.3, 0.2], n_items=6, separation=0.8)
    population = Population.of(model, 1.2, kind)
    rng = np.random.default_rng(0)
    table, x = population.draw(200_000, rng)
    marginals = model.marginals()
    for v, variable in enumerate(model.variables):
        share = table.weights[table.codes[:, v] == 1].sum() / table.n
        assert share == pytest.approx(marginals[model.tree.node(variable.name)][1], abs=0.006)
    assert x.std() == pytest.approx(1.0 if kind == "normal" else 0.5, abs=0.01)
    # the last class answers 0 to everything most often: its rows have more of the covariate
    zeros = (table.codes[table.inverse] == 0).all(axis=1)
    assert x[zeros].mean() > x.mean() + 0.1


def test_intercepts_keep_sizes_on_average():
    from latentree.planning._population import _points, _probabilities

    population = Population.of(stated_profiles([0.6, 0.3, 0.1]), 2.0)
    x, w = _points("normal", 1)
    found = w @ _probabilities(population.intercepts, np.array([[0.0, 0.0, 2.0]]), x)
    np.testing.assert_allclose(found, [0.6, 0.3, 0.1], atol=1e-9)


def test_several_covariates_act_on_stated_classes():
    model = stated_profiles([0.5, 0.3, 0.2], separation=0.9)
    several = Population.of(model, [{"class1": 0.5}, [0.0, -0.8, 0.4], {2: 0.3}], "binary")
    assert several.effects.tolist() == [[0, 0.5, 0], [0, -0.8, 0.4], [0, 0, 0.3]]
    assert several.tested == [1, 1, 2]
    assert several.contrast(1, several.effects[1]) == pytest.approx(-1.0)
    table, x = several.draw(40_000, np.random.default_rng(0))
    sizes = lt.estimate(model, table).model.table(0)[0]
    np.testing.assert_allclose(sizes, [0.5, 0.3, 0.2], atol=0.02)
    own = relate(model, _frame(table, x, several.covariates), several.covariates, method="two-step")
    errors = np.array([row["standard_error"] for row in own.rows()]).reshape(2, 4)[:, 1:]
    assert (np.abs(own.beta[1:, 1:] - several.effects[:, 1:].T) < 4 * errors).all()


def test_power_of_several_covariates():
    study = power(
        class_sizes=2,
        separation=0.9,
        n=150,
        n_simulations=8,
        n_bootstrap=0,
        scores=[],
        effect=[{0: 1.5}, {"class1": 0}],
    )
    first, second = study.rows()
    assert (first["what"], second["what"]) == ("covariate 1", "covariate 2")
    assert first["power"] > 0.7 > second["power"] and first["estimate"] > 0.8
    assert study.to_dict()["effects"] == [[1.5, 0.0], [0.0, 0.0]] and "in truth 1.5" in study.to_text(width=1000)
    for wrong, said in (({"class7": 1.0}, "no class"), ([1.0, 2.0, 3.0], "effect"), ("abc", "effect")):
        with pytest.raises(ParameterError, match=said):
            power(class_sizes=2, n=100, effect=wrong)


def test_more_rows_find_more_and_errors_are_binomial():
    study = power(class_sizes=2, separation=0.75, n=[40, 400], n_simulations=20, n_bootstrap=0, scores=["bic"])
    few, many = study.rows()
    assert few["power"] < many["power"] == 1.0
    assert few["error"] == pytest.approx(np.sqrt(few["power"] * (1 - few["power"]) / 20))
    assert few["too_few"] + few["too_many"] + few["power"] == pytest.approx(1.0)
    assert 0.8 < many["lower"] < 1 == many["upper"]
    assert study.frame()["n"].tolist() == [40, 400]


def test_an_effect_is_found_and_none_is_not():
    sizes = {"class_sizes": 2, "separation": 0.9, "n": 300, "n_simulations": 25, "n_bootstrap": 0, "scores": []}
    (strong,) = power(effect=1.0, **sizes).rows()
    (none,) = power(effect=0.0, **sizes).rows()
    assert strong["what"] == "covariate"
    assert strong["power"] >= 0.95
    assert strong["estimate"] == pytest.approx(1.0, abs=0.25)
    assert none["power"] <= 0.2  # its level is 0.05


def test_tests_find_two_classes_whatever_the_threads():
    given = {"class_sizes": 2, "separation": 0.85, "n": [80], "n_simulations": 4, "n_bootstrap": 19, "scores": ["bic"]}
    one, two = (power(n_jobs=t, seed=3, **given) for t in (1, 2))
    assert one.simulations == two.simulations
    assert power(seed=4, **given).simulations != one.simulations
    row = next(row for row in one.rows() if row["what"] == "bootstrap test")
    assert row["power"] >= 0.5
    plain = one.to_dict()
    assert plain["complete"]
    assert plain["power"] == one.rows()
    assert "bootstrap test" in one.to_text()
    assert "<svg" not in one.to_html().html  # one size is no curve
    assert "bootstrap test" in repr(one)


def test_ctrl_c_and_time_limits_keep_what_is_done():
    def press(progress):
        if progress.done == 2:
            signal.raise_signal(signal.SIGINT)

    given = {"class_sizes": 2, "n": [50, 60], "n_bootstrap": 0, "scores": ["bic"]}
    some = power(n_simulations=500, on_progress=press, **given)
    assert some.reason is StopReason.INTERRUPTED
    assert len(some.simulations) == 4
    assert "Not all of 500" in some.to_text()
    assert some.simulations == power(n_simulations=2, **given).simulations
    assert power(n_simulations=5, time_limit=0, **given).rows() == []


def test_pictures_and_pages(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    study = power(class_sizes=2, n=[50, 100], n_simulations=2, n_bootstrap=0, scores=["bic"])
    ax = study.plot()
    assert ax.get_xlabel() == "sample size"
    assert len(ax.containers) == 1
    study.to_html(tmp_path / "power.html")
    assert "<svg" in (tmp_path / "power.html").read_text()


def test_what_cannot_be_simulated():
    tree = Model.random(Tree([-1, 0, 0, 1, 1], [2] * 5, [-1, -1, 0, 1, 2]), numbered([2] * 3), np.random.default_rng(0))
    with pytest.raises(ModelError, match="latent class models"):
        power(tree, 100)
    with pytest.raises(ParameterError, match="either a model"):
        power(n=100)
    with pytest.raises(ParameterError, match="whole numbers"):
        power(class_sizes=2, n=[1])
    with pytest.raises(ModelError, match="two classes"):
        power(class_sizes=1, n=100, effect=1.0)
    with pytest.raises(ParameterError, match="separation"):
        power(class_sizes=2, n=100, separation=0.4)
    with pytest.raises(ParameterError, match="row for each"):
        power(class_sizes=2, n=100, profiles=[[0.2, 0.3]])
    with pytest.raises(ParameterError, match="at least 19"):
        power(class_sizes=2, n=100, n_bootstrap=9)
    with pytest.raises(ParameterError, match="scores"):
        power(class_sizes=2, n=100, scores=["bicc"])
    with pytest.raises(ParameterError, match="covariate"):
        power(class_sizes=2, n=100, effect=1.0, covariate="uniform")
    assert lt.power is power
