"""The number of classes learned, as users meet it: the estimator and the command."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentree import LatentClass, datasets
from latentree.cardinality import learn_classes
from latentree.cli import application
from latentree.errors import LatentreeWarning, ParameterError
from latentree.runner import Budget, Progress


@pytest.fixture(scope="module")
def frame():
    return datasets.load_frame("carcinoma")


def test_the_estimator_learns_the_number_of_classes(frame, capsys):
    lca = LatentClass("auto", random_state=0, verbose=1).fit(frame)
    told = capsys.readouterr().err
    assert "[latentree] grow 1, objective" in told
    assert "classes 3" in told
    assert len(lca.class_sizes_) == 3
    assert (np.diff(lca.class_sizes_) <= 0).all()
    assert lca.converged_
    assert lca.predict_proba(frame).shape == (118, 3)
    given = LatentClass(3, random_state=0).fit(frame)
    np.testing.assert_allclose(lca.class_sizes_, given.class_sizes_, atol=1e-3)
    assert lca.log_likelihood_ == pytest.approx(given.log_likelihood_, abs=1e-3)
    starts = lca.fit_.starts
    assert 1 < (starts >= lca.log_likelihood_ - 0.01).sum() <= len(starts)


def test_threads_do_not_change_it_and_weights_are_repetitions(frame):
    one = LatentClass("auto", random_state=1).fit(frame, sample_weight=np.full(118, 2.0))
    two = LatentClass("auto", random_state=1, n_jobs=2).fit(frame, sample_weight=np.full(118, 2.0))
    np.testing.assert_array_equal(one.model_.parameters, two.model_.parameters)
    twice = LatentClass("auto", random_state=1).fit(pd.concat([frame, frame]))
    assert twice.log_likelihood_ == pytest.approx(one.log_likelihood_, abs=1e-3)


def test_no_time_gives_the_best_so_far_with_a_warning(frame):
    with pytest.warns(LatentreeWarning, match="time limit"):
        lca = LatentClass("auto", random_state=0, time_limit=0).fit(frame)
    assert len(lca.class_sizes_) == 1


def test_a_wrong_number_is_refused(frame):
    for wrong in ("many", 0, 2.5, None):
        with pytest.raises(ParameterError, match=r"'n_classes'.*or 'auto'"):
            LatentClass(wrong).fit(frame)


def test_progress_events_name_the_classes():
    events: list[Progress] = []
    learn_classes(
        datasets.load("carcinoma"), rng=np.random.default_rng(0), on_progress=events.append, budget=Budget(iterations=6)
    )
    assert events[0].stage == "start"
    assert events[-1].detail == {"classes": 3}
    assert [e.done for e in events] == list(range(len(events)))


def test_the_command_learns_it_too():
    told = CliRunner().invoke(application, ["fit", "carcinoma", "--json", "--score", "aic"])
    assert told.exit_code == 0
    report = json.loads(told.stdout)
    assert report["score"] == "aic"
    assert report["n_classes"] >= 3
    assert report["n_classes"] in [row["n_classes"] for row in report["comparison"]["fits"]]
    python = learn_classes(datasets.load("carcinoma"), rng=np.random.default_rng(0), score="aic")
    assert report["log_likelihood"] == pytest.approx(python.fit.log_likelihood, abs=1e-9)


def test_one_class_is_said_so():
    """Data in which nothing depends on anything."""
    rng = np.random.default_rng(0)
    lca = LatentClass("auto", random_state=0).fit(rng.integers(0, 2, (400, 5)))
    assert lca.class_sizes_.tolist() == [1.0]
