"""Fits that are kept in a file: stopped anywhere and gone on with, they end with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import latentree as lt
from latentree import datasets, runner
from latentree._files import write_atomically
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.engine._plan import Plan
from latentree.errors import FileFormatError, ParameterError
from latentree.estimation import em, estimate, fit_classes
from latentree.estimation._em import EmRuns
from latentree.report import compare_classes
from latentree.runner import Budget, StopReason


@pytest.fixture(scope="module")
def credit():
    return datasets.load("credit")


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(runner, "EVERY_SECONDS", 0.0)


def same(a, b):
    assert a.reason is b.reason and a.evaluations == b.evaluations and a.log_likelihood == b.log_likelihood
    for name in ("trace", "starts"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    assert np.array_equal(a.model.parameters, b.model.parameters)
    assert np.array_equal(a.counts.vector, b.counts.vector)


def in_pieces(fit, file):
    """Go on with a fit that gets almost no time, until it has ended."""
    for pieces in range(1, 10_000):
        found = fit(checkpoint=file, budget=Budget(seconds=0.0))
        if found.reason is not StopReason.TIME:
            return found, pieces
    raise AssertionError("it does not get on")


@pytest.mark.parametrize("options", [{}, {"accelerate": False, "tol": 1e-3}, {"prior": 1.5, "n_jobs": 2}])
def test_many_starts_in_pieces(credit, tmp_path, options):
    def fit(**more):
        return fit_classes(credit, 3, rng=np.random.default_rng(1), n_init=6, **options, **more)

    found, pieces = in_pieces(fit, tmp_path / "fit")
    same(found, fit())
    assert pieces > 20
    same(fit(checkpoint=tmp_path / "fit"), found)  # it is there already


@pytest.mark.parametrize("accelerate", [True, False])
def test_one_start_in_pieces(credit, tmp_path, accelerate):
    start = Model.random(Tree.star(3, credit.cardinalities), credit.variables, np.random.default_rng(0))

    def fit(**more):
        return em(start, credit, accelerate=accelerate, max_iterations=90, **more)

    found, pieces = in_pieces(fit, tmp_path / "fit")
    same(found, fit())
    assert pieces > 30
    held = estimate(start, credit, held=("z",), checkpoint=tmp_path / "other", max_iterations=5)
    assert np.array_equal(held.model.table("z"), start.table("z"))


@pytest.mark.parametrize(
    ("method", "own"), [("em", {}), ("accelerated", {}), ("partial", {"node": "z", "states": [0, 1]})]
)
def test_methods_by_name_are_kept_in_a_file(credit, tmp_path, method, own):
    start = Model.random(Tree.star(3, credit.cardinalities), credit.variables, np.random.default_rng(0))

    def fit(**more):
        return estimate(start, credit, method=method, max_iterations=30, **own, **more)

    found, pieces = in_pieces(fit, tmp_path / "fit")
    same(found, fit())
    assert pieces > 10


def test_a_comparison_in_pieces_may_ask_for_more(tmp_path):
    table, file = datasets.load("carcinoma"), tmp_path / "fits"
    alone = compare_classes(table, range(1, 5), rng=3, n_init=8)
    for _ in range(8):
        compare_classes(table, range(1, 4), rng=3, n_init=8, checkpoint=file, budget=Budget(seconds=0.0))
    assert compare_classes(table, range(1, 4), rng=3, n_init=8, checkpoint=file).best_n_classes() == 3
    more = compare_classes(table, range(1, 5), rng=3, n_init=8, checkpoint=file)
    for a, b in zip(more.fits, alone.fits, strict=True):
        same(a, b)


@pytest.mark.filterwarnings("ignore::latentree.errors.LatentreeWarning")
def test_the_estimators_go_on(tmp_path):
    rows = datasets.load_frame("carcinoma")
    whole = lt.LatentClass(3, n_init=8, random_state=0).fit(rows)
    broken = lt.LatentClass(3, n_init=8, random_state=0, checkpoint=tmp_path / "fit", time_limit=0.0).fit(rows)
    assert broken.fit_.reason is StopReason.TIME
    same(lt.LatentClass(3, n_init=8, random_state=0, checkpoint=tmp_path / "fit").fit(rows).fit_, whole.fit_)
    auto = [lt.LatentClass("auto", random_state=0, checkpoint=tmp_path / "auto").fit(rows) for _ in range(2)]
    assert np.array_equal(auto[0].model_.parameters, auto[1].model_.parameters)
    few = {"n_draws": 20, "n_burn": 10, "n_chains": 2, "random_state": 0}
    bayes = [lt.BayesianLatentClass(2, checkpoint=tmp_path / "draws", **few).fit(rows) for _ in range(2)]
    assert np.array_equal(bayes[0].draws_.theta, bayes[1].draws_.theta)


def test_other_data_settings_and_seeds_are_refused(credit, tmp_path):
    file = tmp_path / "fit"

    def fit(table=credit, k=2, seed=0, **more):
        return fit_classes(table, k, rng=np.random.default_rng(seed), n_init=4, checkpoint=file, **more)

    fit()
    for more, what in (({"seed": 1}, "starts"), ({"tol": 1e-3}, "settings"), ({"k": 3}, "model and starts")):
        with pytest.raises(ParameterError, match=f"was made with other {what}"):
            fit(**more)
    with pytest.raises(ParameterError, match="was made with other data"):
        fit(table=Table.from_codes(credit.codes[:50], credit.variables))
    fit(n_jobs=2)  # these change nothing
    with pytest.raises(FileFormatError, match="belongs to 'fit', not 'cardinality'"):
        lt.cardinality.learn(credit, rng=np.random.default_rng(0), checkpoint=file)


def test_states_that_do_not_fit_are_refused():
    table = Table.from_codes([[0, 1], [1, 0], [1, 1]])
    model = Model.random(Tree.star(2, [2, 2]), table.variables, np.random.default_rng(0))
    climb = EmRuns(Plan.of(model, table), model.parameters[None])
    climb.advance(30, 0.0, Budget().start())
    good = climb.pack()
    climb.restore(good)
    state = good["runs"][0]
    n = 4 * model.tree.size + 7  # the head and four vectors
    for bad in (
        [],
        [state[:5]],
        [state[:n]],
        [np.r_[state[:2], 7.0, state[3:]]],  # no such status
        [np.r_[state[0], np.nan, state[2:]]],
        [np.r_[state[: n + 2], 6.0, state[n + 3 :]]],  # more steps than are remembered
        [np.r_[state[: n + 2], 5.0, np.zeros(3)]],
        [np.ones((2, 2))],
        ["x"],
    ):
        with pytest.raises(FileFormatError, match="The runs in a checkpoint are damaged"):
            climb.restore({**good, "runs": bad})
    assert np.array_equal(climb.pack()["runs"][0], state)  # and nothing has changed


def test_ctrl_c_keeps_the_runs(credit, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["latentree.estimation._em"], "_SLICE", 0.0)

    def press(event):
        if event.stage == "EM" and event.done > 10:
            signal.raise_signal(signal.SIGINT)

    def fit(**more):
        return fit_classes(credit, 3, rng=np.random.default_rng(1), n_init=4, checkpoint=tmp_path / "fit", **more)

    broken = fit(on_progress=press)
    assert broken.reason is StopReason.INTERRUPTED and 10 < len(broken.trace) < 100
    same(fit(), fit_classes(credit, 3, rng=np.random.default_rng(1), n_init=4))


@pytest.mark.skipif(os.name != "posix", reason="leftovers are found on POSIX only")
def test_what_a_killed_process_left_is_removed(tmp_path):
    target, kill = tmp_path / "state", "import os, signal\nfrom latentree import _files as files\n"
    kill += "files.os.replace = lambda a, b: os.kill(os.getpid(), signal.SIGKILL)\n"
    kill += f"files.write_atomically({str(target)!r}, 'new')"
    write_atomically(target, "old")
    assert subprocess.run([sys.executable, "-c", kill]).returncode == -signal.SIGKILL
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    write_atomically(tmp_path / "another", "x")
    assert len(list(tmp_path.iterdir())) == 3  # it is none of its own
    write_atomically(target, "newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "state"]


def test_saving_takes_a_small_part_of_the_time(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "EVERY_SECONDS", 0.001)
    keeper = runner.CheckpointWriter(runner.Checkpoint(tmp_path / "state", "test"))
    keeper.save({"x": 1})
    keeper.cost = 100.0  # it took long
    time.sleep(0.01)
    assert not keeper.due
    keeper.cost = 0.0
    assert keeper.due
