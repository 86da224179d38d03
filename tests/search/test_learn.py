"""The search as a whole: published optima, traces, resuming, threads, limits, bad input."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest

from latentree import bayes, datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.errors import DataError, FileFormatError, LatentreeWarning, ParameterError
from latentree.estimation import evaluate, fit_classes, restart_em
from latentree.method import OutOfTime
from latentree.runner import Budget, StopReason
from latentree.score import SCORES, bic
from latentree.search import METHODS, Point, State, Task, learn, trace_from_plain, trace_to_plain
from latentree.search._criterion import Criterion

CLIMBING = sorted(name for name, entry in METHODS.items() if not entry.load().estimates)
"""Searches that maximise any score; the others judge by cases held out."""
QUICK = {"full": (4, 60, 0.01)}
"""Less work than the sources do, where the result is not what is tested."""


def quick(method: str) -> dict:
    return {} if method == "swift" else QUICK


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


TREE = Tree.from_edges(
    [("y", "x1"), ("y", "x2"), ("y", "x3"), ("y", "w"), ("w", "x4"), ("w", "x5"), ("w", "x6")],
    {"y": 2, "w": 2, **{f"x{i}": 2 + i % 2 for i in range(1, 7)}},
    [f"x{i}" for i in range(1, 7)],
)


@pytest.fixture(scope="module")
def table() -> Table:
    """Six leaves that follow two latents closely, and these each other less."""
    two, three = [[0.85, 0.15], [0.2, 0.8]], [[0.7, 0.2, 0.1], [0.1, 0.25, 0.65]]
    tables = {"y": [0.6, 0.4], "w": [[0.75, 0.25], [0.25, 0.75]]}
    tables |= {f"x{i}": three if i % 2 else two for i in range(1, 7)}
    model = Model.from_tables(TREE, numbered([2 + i % 2 for i in range(1, 7)]), tables)
    return Table.from_codes(model.sample(1_000, rng(4)), model.variables)


@pytest.mark.parametrize("method", CLIMBING)
@pytest.mark.parametrize(("name", "best"), [("hiv_test", -656.62), ("house_building", -2966.75)])
def test_published_scores_are_reached(method, name, best):
    """-656.62 is the best there is; hill climbing is known to end at -2966.75 or above."""
    run = learn(datasets.load(name), method=method, rng=rng())
    assert run.score >= best - 0.01
    assert run.score == pytest.approx(bic(run.fit))
    assert run.reason is StopReason.EXHAUSTED


def climbs(trace):
    """The pieces of a trace in which the score rises: each begins anew, or with a shake."""
    pieces = [[trace[0]]]
    for step in trace[1:]:
        if step.kind == "start" or step.phase == "shake":
            pieces.append([])
        elif step.phase == "end":
            continue
        pieces[-1].append(step)
    return pieces


@pytest.mark.parametrize("method", CLIMBING)
def test_traces_rise_and_tell_the_tree(method, table):
    told = []
    run = learn(table, method=method, rng=rng(), on_step=told.append, **quick(method))
    for climb in climbs(run.trace):
        scores = [step.score for step in climb]
        assert scores == sorted(scores)
    assert max(step.score for step in run.trace) == run.score
    assert [step.number for step in run.trace] == list(range(len(run.trace)))
    assert told == [step for step in run.trace if step.phase != "end"]
    assert run.trace[0].kind == "start"
    assert max(run.trace, key=lambda step: step.score).tree(table.names) == run.tree
    assert run.tree.is_regular
    seconds = [step.seconds for step in run.trace]
    assert seconds == sorted(seconds)
    for step in run.trace:
        assert step.dimension == step.tree(table.names).n_parameters
        assert step.operation in str(step)
    again = trace_from_plain(json.loads(json.dumps(trace_to_plain(run.trace))))
    assert again == run.trace


@pytest.mark.parametrize("method", CLIMBING)
def test_threads_change_nothing(method, table):
    one, two = (learn(table, method=method, rng=rng(), n_jobs=n, **quick(method)) for n in (1, 2))
    assert one.model == two.model
    assert [s.operation for s in one.trace] == [s.operation for s in two.trace]


@pytest.mark.parametrize("method", CLIMBING)
def test_resuming_gives_what_an_uninterrupted_search_gives(method, table, tmp_path):
    whole = learn(table, method=method, rng=rng(), **quick(method))
    file = tmp_path / "search.json"
    for steps in range(1, len(whole.trace) + 2):
        budget = Budget(iterations=steps)
        part = learn(table, method=method, rng=rng(), checkpoint=file, budget=budget, **quick(method))
        if part.reason is StopReason.EXHAUSTED:
            break
        assert part.reason is StopReason.ITERATIONS
    last = learn(table, method=method, rng=rng(), checkpoint=file, **quick(method))
    assert last.model == whole.model
    assert last.score == whole.score
    assert told(last) == told(whole)


def told(run) -> str:
    """All that a trace says but for the seconds, the order of keys included."""
    return json.dumps([{k: v for k, v in step.items() if k != "seconds"} for step in trace_to_plain(run.trace)])


@pytest.mark.parametrize("broken", [{"best": {}}, {"phase": 3}, {"finished": "no"}, {"memory": []}])
def test_a_damaged_state_of_a_search_is_found_before_it_is_used(table, broken):
    model = Model.random(Tree.star(2, table.cardinalities, table.names), table.variables, rng())
    packed = State(Point(evaluate(model, table), 1.0), "climb").pack()
    assert State.unpack(packed, table).phase == "climb"
    with pytest.raises(ValueError, match="no "):
        State.unpack({**packed, **broken}, table)


def test_checkpoints_belong_to_data_settings_and_seed(table, tmp_path):
    file = tmp_path / "search.json"
    learn(table, method="east", rng=rng(), checkpoint=file, budget=Budget(iterations=1), **QUICK)
    with pytest.raises(ParameterError, match="other settings"):
        learn(table, method="east0", rng=rng(), checkpoint=file, **QUICK)
    with pytest.raises(ParameterError, match="another seed"):
        learn(table, method="east", rng=rng(5), checkpoint=file, **QUICK)
    with pytest.raises(ParameterError, match="other data"):
        learn(table.reweighted(2 * table.weights), method="east", rng=rng(), checkpoint=file, **QUICK)
    fresh = learn(table, method="east0", rng=rng(), checkpoint=file, resume=False, budget=Budget(iterations=1), **QUICK)
    assert len(fresh.trace) == 1
    file.write_text("{}")
    with pytest.raises(FileFormatError):
        learn(table, method="east0", rng=rng(), checkpoint=file, **QUICK)


@pytest.mark.parametrize("method", CLIMBING)
def test_time_limits_return_the_best_so_far(method, table):
    none = learn(table, method=method, rng=rng(), budget=Budget(seconds=0), **quick(method))
    assert none.reason is StopReason.TIME
    assert not none.structure
    assert "ended before" in none.message


def test_running_out_of_time_within_a_step_loses_the_step_alone(table, tmp_path, monkeypatch):
    whole = learn(table, method="east", rng=rng(), **QUICK)
    file = tmp_path / "search.json"
    seen, looks = [], []

    def check(self) -> None:
        if len(seen) == 3:
            looks.append(self)
        if len(looks) == 2:
            raise OutOfTime

    monkeypatch.setattr(Task, "check_time", check)
    part = learn(table, method="east", rng=rng(), checkpoint=file, on_step=seen.append, **QUICK)
    assert part.reason is StopReason.TIME
    assert len(part.trace) == 3 < len(whole.trace)
    assert part.model.tree == part.trace[-1].tree(table.names)
    monkeypatch.undo()
    assert learn(table, method="east", rng=rng(), checkpoint=file, **QUICK).model == whole.model


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_returns_the_best_so_far(table, tmp_path, n_jobs):
    whole = learn(table, method="east", rng=rng(), **QUICK)
    file = tmp_path / "search.json"
    seen = []

    def strike(step) -> None:
        seen.append(step)

    def progress(event) -> None:
        if len(seen) == 2:
            raise KeyboardInterrupt

    part = learn(
        table, method="east", rng=rng(), n_jobs=n_jobs, checkpoint=file, on_step=strike, on_progress=progress, **QUICK
    )
    assert part.reason is StopReason.INTERRUPTED
    assert part.trace == tuple(seen)
    assert part.score == seen[-1].score
    assert learn(table, method="east", rng=rng(), checkpoint=file, **QUICK).model == whole.model


def test_weights_are_repetitions(table):
    rows = np.repeat(table.codes, table.weights.astype(int), axis=0)
    one = learn(table, method="east", rng=rng(), **QUICK)
    two = learn(Table.from_codes(rows, table.variables), method="east", rng=rng(), **QUICK)
    assert two.tree == one.tree
    assert two.score == pytest.approx(one.score, abs=1e-6)


@pytest.mark.parametrize("method", CLIMBING)
def test_missing_cells_are_marginalised(method, table):
    codes = table.codes[table.inverse].astype(int)
    codes[rng(5).random(codes.shape) < 0.1] = -1
    run = learn(Table.from_codes(codes, table.variables), method=method, rng=rng(), **quick(method))
    assert run.structure
    # EAST0 takes a third state first, and then no new node pays any more: the deadlock of [ChenZhangWang] 5.3
    assert run.tree == (Tree.star(3, table.cardinalities) if method == "east0" else TREE)


@pytest.mark.parametrize("method", CLIMBING)
def test_names_change_nothing(method, table):
    """Not even those that latents would have."""
    names = ["z1", "z2", "z3", "z", "y", "w"]
    renamed = [Variable(name, v.states) for name, v in zip(names, table.variables, strict=True)]
    one = learn(table, method=method, rng=rng(), **quick(method))
    two = learn(Table.from_codes(table.codes, renamed, table.weights), method=method, rng=rng(), **quick(method))
    assert two.tree == one.tree
    assert two.score == one.score
    assert [step.kind for step in two.trace] == [step.kind for step in one.trace]


def test_the_generating_structure_is_found(table):
    run = learn(table, method="east", rng=rng())
    assert run.tree == TREE


def test_a_start_may_be_given_in_any_rooting(table):
    first = learn(table, method="east", rng=rng(), **QUICK)
    runs = [
        learn(table, method="east", rng=rng(), start=first.fit.model.rerooted(name), **QUICK)
        for name in first.tree.names
        if name.startswith("z")
    ]
    for run in runs:
        assert run.score >= first.score - 1e-9
        assert run.tree == runs[0].tree
        assert run.score == pytest.approx(runs[0].score, abs=1e-6)
    other = Model.random(Tree.star(2, [2, 2, 2]), numbered([2, 2, 2]), rng())
    with pytest.raises(ParameterError, match="must have the variables"):
        learn(table, method="east", rng=rng(), start=other)


def test_steps_and_runs_can_be_copied_and_sent(table):
    run = learn(table, method="east", rng=rng(), **QUICK)
    for made in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert made.trace == run.trace and made.score == run.score and made.model == run.model
        with pytest.raises(TypeError):
            made.trace[0].states["z1"] = 9


# ---- scores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.penalty])
def test_penalised_scores_follow_from_likelihood_and_tree(name, table):
    criterion = Criterion.of(name, table)
    assert criterion.penalised
    for k, leaves in ((2, table.cardinalities), (3, table.cardinalities)):
        model = Model.random(Tree.star(k, leaves), table.variables, rng())
        fit = evaluate(model, table)
        assert criterion.estimate(fit.log_likelihood, model.tree) == pytest.approx(criterion(fit))
        assert criterion(fit) == SCORES[name](fit)


@pytest.mark.parametrize("score", ["aic", "bice", "cs", "icl"])
def test_any_score_can_be_maximised(score, table):
    run = learn(table, method="east", score=score, rng=rng(), budget=Budget(iterations=4), **QUICK)
    assert run.criterion == score
    assert run.score == pytest.approx(SCORES[score](run.fit))
    assert [s.score for s in run.trace] == sorted(s.score for s in run.trace)


@pytest.mark.parametrize("method", ["east", "hshc", "shc"])
@pytest.mark.parametrize("name", ["hiv_test", "values"])
def test_icl_ends_at_the_star_where_no_neighbour_of_it_scores_higher(name, method):
    """Each latent that tells two variables apart costs more certainty than the likelihood gains, by the true score."""
    own = datasets.load(name)
    run = learn(own, method=method, score="icl", rng=rng())
    assert run.tree.is_star and run.tree.cardinality[0] == 2
    for a, b in combinations(own.names, 2):
        rest = [v for v in own.names if v not in (a, b)]
        states = {"z": 2, "w": 2, **dict(zip(own.names, own.cardinalities.tolist(), strict=True))}
        tree = Tree.from_edges([("z", "w"), ("w", a), ("w", b), *(("z", v) for v in rest)], states, own.names)
        fit = restart_em(Model.random(tree, own.variables, rng()), own, rng=rng(), n_init=16, finalists=4)
        assert SCORES["icl"](fit) < run.score
    assert SCORES["icl"](fit_classes(own, 3, rng=rng())) < run.score


def test_hshc_judges_candidates_by_the_score_itself():
    run = learn(datasets.load("heart"), method="hshc", score="cs", rng=rng())
    assert run.score > -2360.0  # by gains in BIC it ended at -2367.14


def test_a_function_may_be_the_score(table):
    def double(fit) -> float:
        return 2 * bic(fit)

    run = learn(table, method="east", score=double, rng=rng(), budget=Budget(iterations=3), **QUICK)
    assert run.criterion == "double"
    assert run.score == pytest.approx(2 * bic(run.fit))


# ---- bad input ---------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_explained(table):
    with pytest.raises(ParameterError, match="must be one of 'swift', 'east', 'east0'"):
        learn(table, method="best", rng=rng())
    with pytest.raises(ParameterError, match=r"no option 'strats' of the method 'east'\. It has ratio"):
        learn(table, method="east", rng=rng(), strats=3)
    with pytest.raises(ParameterError, match="'score' parameter"):
        learn(table, score="bics", rng=rng())
    with pytest.raises(ParameterError, match="n_jobs"):
        learn(table, rng=rng(), n_jobs=0)
    with pytest.raises(ParameterError, match="Generator"):
        learn(table, rng=0)
    with pytest.raises(DataError, match=r"at least three variables\. Got x1, x2"):
        learn(table.select(["x1", "x2"]), rng=rng())


@pytest.mark.parametrize("method", CLIMBING)
def test_independent_variables_have_no_structure(method):
    codes = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)])
    run = learn(Table.from_codes(codes, weights=np.full(16, 20.0)), method=method, rng=rng(), **quick(method))
    assert not run.structure
    assert run.message.startswith("No structure found")
    assert run.tree == Tree.star(1, [2, 2, 2, 2])
    assert run.fit.log_likelihood == pytest.approx(-320 * 4 * np.log(2))


def test_constant_data_have_no_structure():
    run = learn(Table.from_codes(np.zeros((20, 4), int), [2, 2, 2, 2]), rng=rng())
    assert not run.structure
    assert run.message == "No structure found: only 0 of 4 variables vary."
    assert run.fit.log_likelihood == 0.0


def test_constant_columns_are_hung_on_in_the_end(table):
    codes = table.codes[table.inverse].astype(int)
    constant = np.zeros((len(codes), 1), int)
    wide = Table.from_codes(np.hstack([codes[:, :2], constant, codes[:, 2:]]), [3, 2, 1, *([3, 2] * 2)])
    narrow = learn(Table.from_codes(codes, [3, 2] * 3), method="east", rng=rng(), **QUICK)
    run = learn(wide, method="east", rng=rng(), **QUICK)
    assert run.model.variables == wide.variables
    assert run.score == pytest.approx(narrow.score)
    assert run.fit.log_likelihood == pytest.approx(narrow.fit.log_likelihood)


@pytest.mark.parametrize("root", ["x1", "x3", "z1"])
def test_a_start_may_have_columns_that_never_vary(table, root):
    """What was learned from data with such columns is a start for them, whatever node it hangs on."""
    codes = np.insert(table.codes[table.inverse].astype(int), [0, 2], 0, axis=1)
    wide = Table.from_codes(codes, [2, 3, 2, 1, *([3, 2] * 2)])
    first = learn(wide, method="east", rng=rng(), **QUICK)
    again = learn(wide, method="east", rng=rng(), start=first.fit.model.rerooted(root), **QUICK)
    assert again.model.variables == wide.variables
    assert again.score >= first.score - 1e-6
    assert again.trace[0].log_likelihood == pytest.approx(first.fit.log_likelihood, abs=1e-6)
    assert not set(again.trace[0].states) & {"x1", "x4"}  # they are set aside, and hung on in the end
    assert again.tree == first.tree


def test_latents_that_only_columns_without_variation_hang_on_are_left_out_of_a_start(table):
    codes = np.insert(table.codes[table.inverse].astype(int), [6, 6], 0, axis=1)
    wide = Table.from_codes(codes, [3, 2] * 3 + [2, 2])
    names = [f"x{i}" for i in range(1, 7)]
    edges = [("a", name) for name in names] + [("a", "b"), ("b", "x7"), ("b", "x8")]
    states = {"a": 2, "b": 2} | dict(zip(wide.names, wide.cardinalities.tolist(), strict=True))
    start = Model.random(Tree.from_edges(edges, states, list(wide.names), root="b"), wide.variables, rng())
    run = learn(wide, method="east", rng=rng(), start=start, budget=Budget(iterations=1), **QUICK)
    assert set(run.trace[0].states) == {"z1", *names}
    assert run.model.variables == wide.variables


def test_many_variables_are_warned_about():
    codes = rng().integers(0, 2, (30, 10_000))
    wide = Table.from_codes(codes)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = learn(wide, method="east", rng=rng(), budget=Budget(iterations=1), full=(1, 2, 0.1))
    (warning,) = [w for w in told if w.category is LatentreeWarning]
    assert "10,000 variables" in str(warning.message)
    assert len(run.trace) == 1


def test_keywords_of_earlier_versions_are_answered_with_their_new_names():
    with pytest.raises(ParameterError, match="'threads' of learn is called 'n_jobs' now"):
        learn(datasets.load("hiv_test"), rng=np.random.default_rng(0), threads=2)
    with pytest.raises(ParameterError, match="'threads' of sample is called 'n_jobs' now"):
        bayes.sample(datasets.load("hiv_test"), None, rng=np.random.default_rng(0), threads=2)
