"""Our own search from several starts: what it begins with, what it looks at once more, and when it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from structures import drawn_table

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.estimation import evaluate as evaluate_model, restart_em
from latentree.runner import Budget, Clock, StopReason
from latentree.search import _swift_climb, learn
from latentree.search._beliefs import Beliefs
from latentree.search._criterion import Criterion
from latentree.search._network import Network
from latentree.search._proposals import propose
from latentree.search._swift import Swift
from latentree.search._swift_memory import FRESH, START, known_end, sure, with_home
from latentree.search._task import Point, State, Task


def searching(table):
    return Task(table, Criterion.of("bic", table), 1, Clock(Budget()))


def test_a_run_says_how_many_starts_found_it():
    run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0))
    assert run.found == len(run.ends) == 3 and run.message == "Found from 3 of 3 starts."
    assert max(run.ends) == pytest.approx(run.score, abs=0.1)
    once = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0), effort="low")
    assert len(once.ends) == 1 and "one start" in once.message
    more = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0), agree=4, starts=5)
    assert more.found == 4


def test_agreement_counts_where_ends_differ_only_when_starts_came_down_from_many_states():
    table = datasets.load("voting")
    run = learn(table, rng=np.random.default_rng(0), trials=1, agree=2, starts=9)
    assert max(run.ends) - min(run.ends) > 1 and len(run.ends) >= 5
    assert len(learn(table, rng=np.random.default_rng(0), trials=1, agree=1, starts=9).ends) == 1


def test_a_last_look_goes_on_with_the_start_that_was_best():
    table = datasets.load("voting")
    for seed in range(2):
        run = learn(table, rng=np.random.default_rng(seed), trials=1, starts=2)
        assert len(run.ends) == 2 and run.score == pytest.approx(max(run.ends), abs=0.1)


def test_starts_climb_first_and_the_best_of_them_goes_on(tmp_path):
    table = datasets.load("voting")
    options = {"trials": 1, "starts": 5}
    run = learn(table, rng=np.random.default_rng(0), prior=None, **options)
    began = [step for step in run.trace if step.kind == "start" and not step.operation.endswith("goes on")]
    went_on = [step for step in run.trace if step.operation.endswith("goes on")]
    assert len(began) == len(run.ends) == 5
    first = run.trace.index(went_on[0])
    assert all(run.trace.index(step) < first for step in began)
    assert {step.phase for step in run.trace[:first]} == {"start", "climb"}
    assert went_on[0].score == pytest.approx(max(step.score for step in run.trace[:first]), abs=0.5)
    scores = [step.score for step in went_on]
    assert scores == sorted(scores, reverse=True)
    for steps in (first - 3, first, first + 2):  # some starts wait there
        file, budget = tmp_path / f"{steps}", Budget(iterations=steps)
        learn(table, rng=np.random.default_rng(0), prior=None, checkpoint=file, budget=budget, **options)
        again = learn(table, rng=np.random.default_rng(0), prior=None, checkpoint=file, **options)
        assert again.model == run.model and again.ends == run.ends


@pytest.mark.parametrize("states", [2, 9])
def test_a_tree_that_an_earlier_start_was_perturbed_at_goes_where_that_one_went(states):
    table = datasets.load("hiv_test")
    low, high = (
        Point(evaluate_model(Model.random(Tree.star(k, table.cardinalities), table.variables, rng), table), score)
        for k, rng, score in ((states, np.random.default_rng(0), -9.0), (3, np.random.default_rng(1), -5.0))
    )
    names = [point.network.graph.fingerprint for point in (low, high)]
    state = State(high, "climb", memory={**FRESH, **START, "homes": [high], "ways": {names[0]: [-9.0, names[1]]}})
    assert known_end(state, low) is high
    assert known_end(state, replace(low, score=-8.0)) is None  # better tables for it may lead elsewhere
    worse = known_end(state, replace(low, score=-11.0))
    assert worse is (high if states == 2 else None)  # the tables of large latents may be others altogether
    assert known_end(state, high) is None


@pytest.mark.parametrize(("states", "large"), [(12, True), (8, False)])
def test_a_large_latent_is_freed_of_a_neighbour(states, large):
    # three classes, four states of another variable, and a latent whose states are the pairs of both
    rng = np.random.default_rng(0)
    classes, other = rng.integers(3, size=4000), rng.integers(4, size=4000)
    codes = [np.where(rng.random(4000) < 0.8, classes, rng.integers(3, size=4000)) for _ in range(5)]
    table = Table.from_codes(np.stack([*codes, other], axis=1), numbered([3] * 5 + [4]))
    task, search = searching(table), Swift()
    model = Model.random(Tree.star(states, table.cardinalities), table.variables, rng)
    fit = evaluate_model(model, table)
    home = Point(fit, task.criterion(fit))
    home = search._converged(task, home)
    state = State(home, "perturb", memory={**FRESH, **START, "home": home})
    end, by = search._narrowed(task, state, np.random.default_rng(0))
    if large:
        assert [p.move.kind for p in by] == ["NE"] and end.score > home.score + 10
    else:
        assert end is home and not by


def test_moves_are_tried_each_on_its_own(monkeypatch):
    table = datasets.load("hiv_test")
    task, search = searching(table), Swift()
    fit = evaluate_model(
        Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(0)), table
    )
    home = search._converged(task, Point(fit, task.criterion(fit)))
    known = {home.network.graph.fingerprint: home.score}
    seen = []

    def tried(task, home, drawn, met, rng):
        seen.append([len(drawn), dict(met)])
        better = replace(home, score=home.score + 1.0)
        return (better if len(seen) == 2 else home), drawn[-1], [("elsewhere", -1.0)]

    monkeypatch.setattr(search, "_tried", tried)
    moves = propose(task, Beliefs(home.network, table), np.random.default_rng(0), least=-np.inf)
    moves = [*moves, *moves][:10]
    assert len(moves) == 10
    end, by = search._climbed_around(task, home, moves, np.random.default_rng(0))
    assert end.score == home.score + 1.0 and by[0] is moves[7]
    assert seen == [[4, known], [4, known]]  # nothing that others have passed; and no more than until one gains
    assert search._climbed_around(task, home, moves[:1], np.random.default_rng(0)) == (home, [])


def test_a_climb_around_a_single_move_leads_to_a_tree_that_needs_two():
    # X2 belongs below the narrow latent, which then needs a third state: neither alone gains
    table = fresh_d7(21, series=992)
    names = {"a": 3, "b": 3, "c": 2} | {f"X{i + 1}": 3 for i in range(7)}
    edges = [
        ("a", "b"),
        ("a", "c"),
        ("a", "X2"),
        ("a", "X4"),
        *(("b", x) for x in ("X5", "X6", "X7")),
        ("c", "X1"),
        ("c", "X3"),
    ]
    tree = Tree.from_edges(edges, names, table.names, root="a")
    task, search = searching(table), Swift()
    fit = restart_em(tree_model(tree, table), table, rng=np.random.default_rng(0), n_init=16)
    home = Point(fit, task.criterion(fit))
    assert home.score == pytest.approx(-49_278.3, abs=0.1)
    state = State(home, "perturb", memory={**FRESH, **START, "home": home, "anew": True})
    losing = search._losing(task, state)
    end, (by,) = search._climbed_around(task, home, losing[:32], np.random.default_rng(0))
    assert end.score == pytest.approx(-49_271.0, abs=0.5) and by.gain < -10


def test_climbs_end_when_some_in_a_row_have_led_no_higher():
    fit = evaluate_model(tree_model(Tree.star(2, [2] * 4), plain_table()), plain_table())

    def enough(*scores):
        waiting = [[i, Point(fit, score)] for i, score in enumerate(scores)]
        return sure(State(waiting[0][1], "climb", memory={**FRESH, **START, "waiting": waiting}), agree=3)

    assert not enough(-10.0) and enough(-10.0, -10.2)  # two that agree
    assert not enough(-10.0, -5.0) and not enough(-10.0, -5.0, -6.0, -7.0)
    assert enough(-10.0, -5.0, -6.0, -7.0, -6.0)
    assert not enough(-10.0, -5.0, -6.0, -7.0, -4.0)  # higher again
    assert enough(-10.0, -5.0, -5.1, -7.0, -5.2)  # three agree
    assert enough(-5.0, -5.1, -7.0, -6.0)  # the third since the best was first found


@pytest.mark.parametrize("found", [1, 2])
def test_a_tree_that_too_few_starts_have_found_is_perturbed_once_more(found):
    table = datasets.load("voting")
    task, rng = searching(table), np.random.default_rng(0)
    search = Swift(Swift.Options.of({"starts": 2, "trials": 1, "agree": 2}, owner="a test"))
    low, high = (
        search._converged(
            task, Point(evaluate_model(tree_model(Tree.star(k, table.cardinalities), table), table), -np.inf)
        )
        for k in (2, 4)
    )
    name = high.network.graph.fingerprint
    ends = [low.score, *[high.score] * found]
    own = {"homes": [low, high], "ends": ends, "seen": [name]}
    state, made = search._look_again(task, State(high, "climb", memory={**FRESH, **START, **own}), rng)
    assert made is None and state.finished is (found == 2)
    if found == 1:
        assert state.memory["once_more"] == [name] and state.memory["home"] is high and state.memory["anew"]
        while not state.finished:
            state, _ = search.step(task, state, rng)
        assert len(state.memory["ends"]) == 2 and max(state.memory["ends"]) > high.score  # it is the same start


def test_a_search_that_is_broken_off_while_a_tree_is_perturbed_once_more_ends_alike(tmp_path):
    table, options = datasets.load("voting"), {"starts": 2, "trials": 2}
    run = learn(table, rng=np.random.default_rng(0), prior=None, **options)
    steps = len(run.trace)
    for last in (2, 3, 4):
        file, budget = tmp_path / f"{last}", Budget(iterations=steps - last)
        learn(table, rng=np.random.default_rng(0), prior=None, checkpoint=file, budget=budget, **options)
        again = learn(table, rng=np.random.default_rng(0), prior=None, checkpoint=file, **options)
        assert again.model == run.model and again.ends == run.ends


def test_a_climb_ends_where_others_are_known_to_have_ended():
    table = datasets.load("hiv_test")
    task, search, rng = searching(table), Swift(), np.random.default_rng(0)
    fit = evaluate_model(Model.random(Tree.star(2, table.cardinalities), table.variables, rng), table)
    point = Point(fit, task.criterion(fit))
    name = point.network.graph.fingerprint
    assert search._end(task, point, rng, {name: point.score + 0.4}) is point
    for elsewhere in ({}, {name: point.score - 10.0}, {name: point.score + 10.0}):  # the same tree, other tables
        assert search._end(task, point, rng, elsewhere).score > point.score + 10


def test_states_begin_anew_where_that_is_asked_for(monkeypatch):
    tree = Tree.from_edges(
        [("a", "b"), ("a", "c"), *((z, f"X{3 * i + j}") for i, z in enumerate("abc") for j in (1, 2, 3))],
        {"a": 9, "b": 3, "c": 2} | {f"X{i}": 3 for i in range(1, 10)},
        [f"X{i}" for i in range(1, 10)],
        root="a",
    )
    table = drawn_table(Model.random(tree, numbered([3] * 9), np.random.default_rng(0)), 200, 0)
    fit = evaluate_model(Model.random(tree, table.variables, np.random.default_rng(1)), table)
    asked = []

    def adapted(model, table, node, *, hops, **more):
        asked.append((node, hops))
        return evaluate_model(model, table)

    monkeypatch.setattr(_swift_climb, "adapt", adapted)
    task, here, rng = searching(table), Point(fit, 0.0), np.random.default_rng(0)
    for how, expected in (({}, [("a", 0)]), ({"hops": 8}, [("a", 8)]), ({"hops": 8, "least": 2}, [("a", 8), ("b", 8)])):
        asked.clear()
        assert Swift()._adapted(task, here, rng, **how) is here
        assert asked == expected


def plain_table():
    return drawn_table(tree_model(Tree.star(2, [2] * 4), None), 50, 0)


def tree_model(tree, table):
    variables = numbered([2] * tree.n_variables) if table is None else table.variables
    return Model.random(tree, variables, np.random.default_rng(0))


def test_of_each_tree_the_best_end_is_kept():
    network = Network.from_model(Model.random(Tree.star(2, [2] * 4), numbered([2] * 4), np.random.default_rng(0)))
    table = drawn_table(network.to_model(numbered([2] * 4)), 100, 0)
    fit = evaluate_model(network.to_model(table.variables), table)
    low, high = Point(fit, -2.0), Point(fit, -1.0)
    for homes in ([low], [high]):
        (kept,) = with_home(homes, high if homes == [low] else low)
        assert kept is high


def test_a_single_climb_takes_no_look():
    table = datasets.load("voting")
    run = learn(table, rng=np.random.default_rng(0), trials=0, starts=1)
    assert {step.phase for step in run.trace} == {"start", "climb", "end"}


@pytest.mark.parametrize("times", [1e-1, 1e9])
def test_weights_of_any_size_can_be_searched(times):
    table = datasets.load("hiv_test")
    heavy = Table.from_codes(table.codes, table.variables, weights=table.weights * times)
    assert len(learn(heavy, rng=np.random.default_rng(0)).ends) >= 3


def test_starts_do_not_agree_on_two_parts_whose_latents_all_have_too_few_states():
    # two states everywhere and a cut in the middle, 20 below, is where starts agreed before all latents grew at once
    table = fresh_d7(15)
    for seed in range(3):
        assert learn(table, rng=np.random.default_rng(seed)).score > -36_233.9


def test_a_state_more_is_found_though_em_creeps_up_to_what_it_gains():
    table = fresh_d7(14)  # one state more for a latent gains 3.3, but 60 steps of EM end 5 below
    for seed in (8, 11):
        assert learn(table, rng=np.random.default_rng(seed)).score > -49_501.7


def test_a_new_latent_is_found_that_completed_data_do_not_speak_for():
    # pairs of its neighbours that depend more on each other came first, and no more were tried
    assert learn(fresh_d7(30), rng=np.random.default_rng(1)).score > -56_567.8


def fresh_d7(i, *, rows=10_000, series=2026):
    """A set of ``benchmarks.fresh``: the tree of D7 with random probabilities."""
    tree, rng = datasets.generator("d7"), np.random.default_rng([series, 7, i])
    model = Model.random(tree.tree, tree.variables, rng, dominant=0.6)
    return Table.from_codes(model.sample(rows, rng), model.variables)


def test_the_greatest_effort_goes_on_until_the_time_is_up():
    run = learn(datasets.load("hiv_test"), rng=np.random.default_rng(0), effort="max", budget=Budget(seconds=2))
    assert run.reason is StopReason.TIME and len(run.ends) > 3
    assert run.score == pytest.approx(-656.62, abs=0.01)
