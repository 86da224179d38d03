"""The one contract of all searches: registered by name, options that are checked, scores compared as differences."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from structures import drawn_table

import latentree as lt
from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._trace import Step
from latentree.engine._plan import Plan
from latentree.errors import ParameterError
from latentree.method import Options, Whole, option
from latentree.runner import Budget, StopReason
from latentree.score import bic
from latentree.search import METHODS, MethodEntry, Point, SearchMethod, State, learn
from latentree.search._beliefs import Beliefs
from latentree.search._completed import CompletedData
from latentree.search._network import Graph, Network
from latentree.search._operators import moves

CLIMBING = sorted(name for name, entry in METHODS.items() if not entry.load().estimates)
"""Searches that maximise any score; the others judge by cases held out."""
QUICK = {"full": (4, 60, 0.01)}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def table() -> Table:
    return drawn_table(datasets.generator("d7"), 600, 1)


# ---- a method of one's own -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawOptions(Options):
    """Options of the search below."""

    draws: int = option(4, Whole(1), "models that are drawn")


class Draw(SearchMethod):
    """Latent class models drawn at random: the best is kept."""

    Options = DrawOptions

    def init(self, task, rng):
        """The first draw."""
        return State(self._drawn(task, rng), "draw", memory={"drawn": 1})

    def step(self, task, state, rng):
        """The next draw."""
        point, drawn = self._drawn(task, rng), state.memory["drawn"] + 1
        state = state.to("draw", finished=drawn >= self.options.draws, drawn=drawn)
        if point.score <= state.score:
            return state, None
        said = Step.of(
            point.fit.model,
            phase="draw",
            kind="draw",
            operation=f"draw {drawn}",
            score=point.score,
            log_likelihood=point.fit.log_likelihood,
        )
        return State(point, "draw", state.finished, state.memory), said

    def _drawn(self, task, rng) -> Point:
        star = Graph.star(2, task.table.cardinalities.tolist()).to_tree()
        fit = lt.estimation.em(Model.random(star, task.table.variables, rng), task.table, max_iterations=3)
        return Point(fit, task.criterion(fit))


@pytest.fixture
def mine():
    lt.search.METHODS.register("mine", MethodEntry(Draw, {"draws": 6}))
    yield "mine"
    METHODS.unregister("mine")


def test_a_method_of_ones_own_is_searched_with_stopped_and_resumed(mine, table, tmp_path):
    whole = learn(table, method=mine, rng=rng())
    assert whole.reason is StopReason.EXHAUSTED and whole.method == "mine" and whole.trace[0].kind == "start"
    file = tmp_path / "mine.json"
    part = learn(table, method=mine, rng=rng(), checkpoint=file, budget=Budget(iterations=3))
    assert part.reason is StopReason.ITERATIONS
    again = learn(table, method=mine, rng=rng(), checkpoint=file)
    assert again.model == whole.model and len(again.trace) == len(whole.trace)
    fitted = lt.LatentTree(method=mine, random_state=0, options={"draws": 2}).fit(table.codes)
    assert fitted.run_.method == "mine" and fitted.run_.trace[1].phase in ("draw", "end")
    with pytest.raises(ParameterError, match=r"must be one of .*'hidden-chow-liu', 'mine'"):
        learn(table, method="mein", rng=rng())


def test_the_names_of_methods_are_known_without_numpy():
    """What the command line's help reads."""
    code = "import sys, latentree.search as s; assert 'hshc' in s.METHODS; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_method_describes_its_options():
    for name, entry in METHODS.items():
        told = entry.load().Options.described()
        assert told and all(rule and purpose for _, _, rule, purpose in told), name


# ---- options are checked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "must"),
    [
        ("hshc", {"k": "abc"}, "a whole number of at least 1. Got 'abc'"),
        ("hshc", {"k": 0}, "a whole number of at least 1. Got 0"),
        ("hshc", {"local": (1, 2)}, "three numbers"),
        ("east", {"evaluation": 8}, "three numbers"),
        ("east", {"screening": (0, 10, 0.1)}, "three numbers"),
        ("east", {"ratio": 1}, "true or false"),
        ("east", {"kept": 0}, "a whole number of at least 1"),
        ("shc", {"full": (1, 2, -1.0)}, "three numbers"),
        ("swift", {"trials": -1}, "a whole number of at least 0"),
        ("swift", {"tol": float("nan")}, "a number of at least 0"),
        ("swift", {"root": 3}, "the name of a variable"),
    ],
)
def test_values_of_options_are_checked(method, options, must, table):
    (name,) = options
    with pytest.raises(ParameterError) as caught:
        learn(table, method=method, rng=rng(), **options)
    assert str(caught.value).startswith(f"The option '{name}' of the method '{method}' must be ")
    assert must in str(caught.value)
    assert caught.value.shown("shell").startswith(f"--set {name} must be ")


def test_presets_can_be_overridden(table):
    runs = [learn(table, method="east0", rng=rng(), ratio=ratio, **QUICK) for ratio in (True, False)]
    east = learn(table, method="east", rng=rng(), **QUICK)
    assert runs[0].model == east.model and runs[0].method == "east0"


# ---- scores are compared as differences ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", CLIMBING)
def test_adding_a_constant_to_a_score_changes_no_step(method, table):
    """A score that is no penalised likelihood is estimated by BIC, for candidates and the current model alike."""
    quick = {"trials": 2, "starts": 1} if method == "swift" else {"full": (2, 30, 0.01)}
    table = table.select(table.names[:5])

    def steps(more: float):
        run = learn(table, method=method, score=lambda fit: bic(fit) + more, rng=rng(), **quick)
        return [(s.kind, s.operation, round(s.score - more, 6)) for s in run.trace]

    plain = steps(0.0)
    assert len(plain) > 2  # it leaves the star
    assert steps(10_000.0) == plain and steps(-10_000.0) == plain


@pytest.mark.parametrize("score", ["cs", "cse"])
def test_hshc_leaves_the_star_with_scores_that_are_no_penalised_likelihood(score, table):
    run = learn(table, method="hshc", score=score, rng=rng(), **QUICK)
    assert len(run.tree.latent) > 1


def test_a_gain_that_costs_no_parameter_comes_first():
    """Regularisation can leave a new node or state with no more parameters than before: nothing to divide by."""
    graph = Graph.star(3, [2, 2, 2, 2])
    model = Model.random(graph.to_tree(), lt.Table.from_codes(np.zeros((1, 4), int), [2] * 4).variables, rng())
    network = Network.from_model(model)
    completed = CompletedData(Beliefs(network, drawn_table(model, 200, 1)), lambda g: 0.5 * g.n_parameters)
    for move in moves(graph, ("NI", "SI")):
        dearer = move.applied(graph).regularised()
        worth = completed.value(move, dearer)
        same, cheaper = graph, Graph.star(2, [2, 2, 2, 2])
        assert np.isfinite(completed.value(move, same)) and completed.value(move, same) > worth
        assert np.isfinite(completed.value(move, cheaper)) and completed.value(move, cheaper) > worth


# ---- what a run says, and what it costs ---------------------------------------------------------------------------


def test_the_old_name_of_the_score_says_the_new_one(table):
    run = learn(table, rng=rng(), budget=Budget(iterations=2))
    assert run.criterion == "bic" and isinstance(run.score, float)
    with pytest.raises(AttributeError, match=r"Run\.score"):
        _ = run.value
    with pytest.raises(AttributeError, match="no attribute 'valu'"):
        _ = run.valu


@pytest.mark.parametrize("constant", [False, True])
def test_after_a_search_at_most_two_plans_are_compiled(constant, table, monkeypatch):
    made, at_the_end = [], []
    compiled = Plan.__init__

    def counted(self, *args, **options):
        made.append(self)
        compiled(self, *args, **options)

    monkeypatch.setattr(Plan, "__init__", counted)
    if constant:
        table = Table.from_codes(np.insert(table.codes, 1, 0, axis=1), weights=table.weights)

    class Told(type(METHODS["east"].load()())):
        def step(self, task, state, rng):
            found = super().step(task, state, rng)
            at_the_end[:] = [len(made)]
            return found

    monkeypatch.setitem(METHODS._entries, "east", MethodEntry(Told))
    learn(table, method="east", prior=None, rng=rng(), **QUICK)  # a prior is chosen on parts of the data
    assert len(made) - at_the_end[0] <= 2
