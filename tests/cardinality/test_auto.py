"""The number of classes learned, as users meet it: the estimator and the command."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentree import LatentClass, datasets
from latentree._table import Table
from latentree.cardinality import learn_classes
from latentree.cli import application
from latentree.errors import LatentreeWarning, ModelError, ParameterError
from latentree.estimation import fit_classes
from latentree.runner import Budget, Progress
from latentree.score import bic


@pytest.fixture(scope="module")
def frame():
    return datasets.load_frame("carcinoma")


def test_the_estimator_learns_the_number_of_classes(frame, capsys):
    lca = LatentClass("auto", random_state=0, verbose=1).fit(frame)
    told = capsys.readouterr().err
    assert "[latentree] look: 2 1, objective" in told
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


def test_neither_the_order_of_rows_nor_that_of_columns_changes_it():
    frame = datasets.load_frame("voting").iloc[:, :16]
    rng = np.random.default_rng(5)
    other = frame.iloc[rng.permutation(len(frame))][rng.permutation(frame.columns)]
    one, two = (LatentClass("auto", random_state=0).fit(x) for x in (frame, other))
    np.testing.assert_array_equal(one.class_sizes_, two.class_sizes_)
    for name in frame.columns:
        np.testing.assert_array_equal(one.profiles_[name], two.profiles_[name])
    assert two.model_.tree.names[1:] == tuple(other.columns)
    assert two.score(frame[other.columns]) == pytest.approx(two.log_likelihood_ / len(frame))


def test_a_score_a_cap_a_method_and_a_start(frame):
    lenient = LatentClass("auto", random_state=0, score=lambda fit: fit.log_likelihood - 0.3 * fit.n_parameters)
    assert len(lenient.set_params(max_classes=5).fit(frame).class_sizes_) > 3
    assert LatentClass(score="aic").get_params()["score"] == "aic"
    capped = LatentClass("auto", random_state=0, max_classes=2).fit(frame)
    assert len(capped.class_sizes_) == 2
    assert capped.log_likelihood_ == pytest.approx(LatentClass(2, random_state=0).fit(frame).log_likelihood_, abs=1e-3)
    other = LatentClass("auto", random_state=0, method="SplitMerge").fit(frame)
    assert other.report()["search"]["method"] == "SplitMerge"
    better = LatentClass("auto", random_state=0, start=capped.model_).fit(frame)
    assert better.log_likelihood_ > capped.log_likelihood_
    kept = LatentClass("auto", random_state=0, start=better.model_, time_limit=0)
    with pytest.warns(LatentreeWarning, match="time limit"):
        kept.fit(frame)
    assert kept.log_likelihood_ == pytest.approx(better.log_likelihood_, abs=1e-3)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n_classes": 3, "max_classes": 4}, "'max_classes' parameter of LatentClass is for a number .* n_classes=3"),
        (
            {"n_classes": 3, "score": "aic"},
            "'score' parameter of LatentClass is for a number of classes that is learned",
        ),
        ({"n_classes": "auto", "max_classes": 0}, "'max_classes' .* at least 1 or None. Got 0"),
        ({"n_classes": "auto", "method": "Splitting"}, "'time_limit' .* given, since Splitting does not end by itself"),
        ({"n_classes": "auto", "method": "Ueda"}, "'method' .* a method that learns the number of classes"),
        ({"n_classes": "auto", "method": "screend"}, "Did you mean 'screened'"),
        ({"n_classes": "auto", "score": "bicc"}, "'score' parameter of LatentClass must be one of"),
    ],
)
def test_options_of_learning_are_checked(frame, given, text):
    with pytest.raises(ParameterError, match=text):
        LatentClass(random_state=0, **given).fit(frame)


def test_a_start_must_be_a_latent_class_model_within_the_cap(frame):
    with pytest.raises(ModelError, match="not a latent class model"):
        LatentClass("auto", start=datasets.generator("d7")).fit(frame)
    three = LatentClass(3, random_state=0).fit(frame).model_
    with pytest.raises(ModelError, match="3 classes, more than the 2 allowed"):
        LatentClass("auto", start=three, max_classes=2).fit(frame)


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


def test_the_command_takes_a_cap_a_method_and_a_start(tmp_path):
    def told(*more):
        out = CliRunner().invoke(application, ["fit", "carcinoma", "--json", *more])
        return json.loads(out.stdout) if out.exit_code == 0 else out

    model = str(tmp_path / "two.json")
    assert told("--max-classes", "2", "--out", model)["n_classes"] == 2
    better = told("--start", model, "--method", "SplitMerge")
    assert better["n_classes"] == 3
    assert better["search"]["method"] == "SplitMerge"
    for more in (["--max-classes", "2"], ["--method", "screened"], ["--start", model]):
        refused = told("--classes", "2", *more)
        assert refused.exit_code == 2
        assert f"{more[0]} is for a number of classes that is learned" in refused.stderr
    assert "--time-limit must be given" in told("--method", "Standard").stderr


def rugged(rows: int = 400) -> Table:
    """Eight classes that overlap, in ten columns: starts disagree."""
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.full(3, 0.7), size=(10, 8))
    member = rng.integers(8, size=rows)
    codes = [(rng.random(rows)[:, None] > np.cumsum(t, axis=1)[member]).sum(axis=1) for t in tables]
    return Table.from_codes(np.minimum(np.stack(codes, axis=1), 2), [3] * 10)


def test_hops_only_where_starts_disagree():
    easy = learn_classes(datasets.load("carcinoma"), rng=np.random.default_rng(0))
    assert {line.phase for line in easy.trace} == {"start", "look", "improve", "confirm"}
    hard = learn_classes(rugged(), rng=np.random.default_rng(0))
    assert "hop" in {line.phase for line in hard.trace}
    best = max(bic(fit_classes(rugged(), k, rng=np.random.default_rng(1), n_init=256)) for k in range(2, 10))
    assert hard.score >= best - 1e-3


def test_a_wide_table_takes_no_longer_than_a_plain_loop():
    """The patience knows the number of columns: passes over the data, which are what takes the time, stay few."""
    rng = np.random.default_rng(0)
    shares = rng.choice([0.2, 0.8], size=(3, 150))
    table = Table.from_codes((rng.random((300, 150)) < shares[rng.integers(3, size=300)]).astype(int))

    def seconds(work):
        began = time.process_time()
        work()
        return time.process_time() - began

    plain = seconds(lambda: [fit_classes(table, k, rng=np.random.default_rng(0)) for k in range(1, 7)])
    learned = min(seconds(lambda: learn_classes(table, rng=np.random.default_rng(0))) for _ in range(2))
    assert learned < 3 * plain


def test_one_class_is_said_so():
    """Data in which nothing depends on anything."""
    rng = np.random.default_rng(0)
    lca = LatentClass("auto", random_state=0).fit(rng.integers(0, 2, (400, 5)))
    assert lca.class_sizes_.tolist() == [1.0]
