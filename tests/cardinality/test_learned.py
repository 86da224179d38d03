"""What a result claims: numbers of states that were looked at, what independent starts reached, whose seed it has."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from latentree import LatentClass, datasets
from latentree._registry import loaded
from latentree._table import Table
from latentree.cardinality import LEARNERS, Entry, Learner, Settings, learn, learn_classes
from latentree.errors import ParameterError
from latentree.runner import Budget, StopReason
from latentree.score import bic


@pytest.fixture(scope="module")
def carcinoma() -> Table:
    return datasets.load("carcinoma")


# ---- numbers of states that were looked at -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["screened", "SplitMerge", "Standard3", "FigueiredoJain"])
def test_every_number_of_states_that_was_scored_is_told_once(carcinoma, method):
    scored: dict[int, list[float]] = {}

    def criterion(fit):
        scored.setdefault(int(fit.model.tree.cardinality[0]), []).append(bic(fit))
        return scored[int(fit.model.tree.cardinality[0])][-1]

    found = learn(carcinoma, method=method, score=criterion, rng=np.random.default_rng(0), budget=Budget(iterations=9))
    assert [own.n_states for own in found.visited] == sorted(scored)
    for own in found.visited:
        assert own.score == max(scored[own.n_states])
        assert own.n_parameters == own.n_states * 8 - 1
        assert own.score == pytest.approx(own.log_likelihood - own.n_parameters / 2 * np.log(118))
        assert 1 <= own.models <= len(scored[own.n_states])
    assert {*(k for line in found.trace for k in line.states.values())} <= {*scored}
    best = max(found.visited, key=lambda own: own.score)
    assert (best.score, best.log_likelihood) == (found.score, found.fit.log_likelihood)


def test_a_fit_is_scored_once(carcinoma):
    seen = []
    learn(carcinoma, method="SplitMerge", score=lambda fit: seen.append(fit) or bic(fit), rng=np.random.default_rng(0))
    assert len({id(fit) for fit in seen}) == len(seen)


def test_the_time_and_the_reason_are_those_of_the_whole_search(carcinoma):
    found = learn_classes(carcinoma, rng=np.random.default_rng(0))
    assert found.reason is StopReason.EXHAUSTED
    assert found.fit.seconds == found.seconds >= found.trace[-1].seconds > 0
    assert found.steps == len(found.trace) - 1 >= 9
    assert (found.criterion, found.method) == ("bic", "screened")
    text = found.describe()
    assert text.startswith(f"Searched 1 to 6 classes by bic: {found.steps} steps, ")
    assert "No candidate improves the score further." in text
    assert f"12 of {len(found.fit.starts)} independent starts that were run to the end found this fit" in text


def test_a_search_without_time_says_that_it_looked_at_one_class(carcinoma):
    found = learn_classes(carcinoma, rng=np.random.default_rng(0), budget=Budget(seconds=0))
    assert found.describe().startswith("Searched only 1 class by bic: 0 steps, 1 model, ")
    assert "time limit" in found.describe()


# ---- starts --------------------------------------------------------------------------------------------------------


def test_only_independent_starts_count_as_starts(carcinoma):
    found = learn(carcinoma, rng=np.random.default_rng(0))
    made = [line.operation for line in found.trace]
    assert made.count("look: 3") == made.count("confirm: 3") == 1
    assert len(found.fit.starts) == 16 // 4 + 32 // 4  # a quarter of them is run to the end
    assert (np.diff(found.fit.starts) <= 0).all()
    assert found.fit.starts[0] == found.fit.objective


def test_a_given_model_is_no_start_of_ours(carcinoma):
    found = learn(carcinoma, rng=np.random.default_rng(0))
    again = learn(carcinoma, start=found.fit.model, rng=np.random.default_rng(1))
    kinds = [line.operation for line in again.trace]
    assert len(again.fit.starts) <= kinds.count("hop: anew") < len(kinds)
    assert kinds.count("hop: anew") >= 3
    assert not {"look", "confirm"} & {line.phase for line in again.trace}


def test_a_fit_found_by_no_start_says_so(carcinoma):
    found = learn(carcinoma, rng=np.random.default_rng(0))
    ends = np.array([-300.0, -301.0])
    none = replace(found, fit=replace(found.fit, starts=ends))
    assert none.describe().endswith(
        "None of 2 independent starts that were run to the end found this fit. "
        "More time or another seed may find a better one."
    )


# ---- checkpoints ---------------------------------------------------------------------------------------------------


def test_a_checkpoint_of_another_seed_is_refused(carcinoma, tmp_path):
    file = tmp_path / "state.json"
    first = learn_classes(carcinoma, rng=np.random.default_rng(0), budget=Budget(iterations=5), checkpoint=file)
    for call in (learn, learn_classes):
        with pytest.raises(ParameterError, match="other seed"):
            call(carcinoma, rng=np.random.default_rng(5), checkpoint=file)
    again = learn_classes(carcinoma, rng=np.random.default_rng(0), budget=Budget(iterations=5), checkpoint=file)
    assert again.score == first.score
    assert again.visited == first.visited


def test_time_limits_and_resuming_end_where_an_uninterrupted_search_ends(tmp_path):
    table, file = datasets.load("voting"), tmp_path / "state.json"
    whole = learn_classes(table, rng=np.random.default_rng(2))
    for seconds in (0.0, 0.02, 0.03, 0.05, None):
        found = learn_classes(table, rng=np.random.default_rng(2), budget=Budget(seconds=seconds), checkpoint=file)
    assert found.reason is StopReason.EXHAUSTED
    assert found.fit.model == whole.fit.model
    assert found.visited == whole.visited
    assert [line.operation for line in found.trace] == [line.operation for line in whole.trace]


def test_the_estimator_refuses_a_checkpoint_of_another_seed(tmp_path):
    frame, file = datasets.load_frame("carcinoma"), tmp_path / "state.json"
    LatentClass("auto", random_state=0, checkpoint=file).fit(frame)
    with pytest.raises(ParameterError, match="other seed"):
        LatentClass("auto", random_state=5, checkpoint=file).fit(frame)


def test_a_finished_checkpoint_gives_the_same_result_again(carcinoma, tmp_path):
    file = tmp_path / "state.json"
    first, again = (learn(carcinoma, rng=np.random.default_rng(0), checkpoint=file) for _ in range(2))
    assert again.fit.model == first.fit.model
    assert again.trace == first.trace
    assert again.visited == first.visited
    assert again.fit.starts.tolist() == first.fit.starts.tolist()
    assert (again.reason, again.steps) == (first.reason, first.steps)


# ---- options and the registry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("screened", {"effort": "abc"}, r"'effort'.*a number above 0. Got 'abc'"),
        ("screened", {"width": 1}, r"'width'.*a whole number of at least 2"),
        ("screened", {"widht": 4}, r"no option 'widht' of cardinality.learn with method 'screened'.*mean 'width'"),
        ("SplitMerge", {"width": 4}, r"no option 'width' of cardinality.learn with method 'SplitMerge'"),
        ("FigueiredoJain", {"n_states": 0}, r"'n_states'.*at least 1"),
        ("ElidanFriedman", {"most": 2.5}, r"'most'.*a whole number"),
        ("Ueda", {"n_states": 3, "candidates": None}, r"'candidates'.*a whole number"),
        ("SplitMerge", {"p": float("nan")}, r"'p'.*a number above 0 and below 1"),
        ("SplitMerge", {"adjust": "no"}, r"'adjust'.*true or false"),
        ("SplitMerge", {"direction": "up"}, r"'direction'.*'uniform'"),
    ],
)
def test_options_are_checked_before_anything_is_done(carcinoma, method, options, text):
    for given in ({"options": options}, options):
        with pytest.raises(ParameterError, match=text):
            learn(carcinoma, method=method, rng=np.random.default_rng(0), **given)


def test_the_registry_is_read_without_numpy():
    code = (
        "import sys; from latentree.cardinality import LEARNERS; "
        "assert LEARNERS['Ueda'].fixed and not LEARNERS['Splitting'].ends; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_entry_leads_to_a_learner_with_options():
    for entry in LEARNERS.values():
        kind = loaded(entry.reference)
        assert issubclass(kind, Learner)
        assert issubclass(kind.Options, Settings)
        assert entry.summary
        assert all(purpose for name, _, _, purpose in kind.Options.described() if name != "prior")


class Nothing(Learner):
    """A learner of one's own that finds nothing."""

    def advance(self, task, state, rng):
        return state.considering(task, "nothing", None)


def test_a_learner_of_ones_own_is_a_class_and_a_line(carcinoma, monkeypatch):
    monkeypatch.setattr(LEARNERS, "_entries", dict(LEARNERS))
    LEARNERS.register("nothing", Entry(f"{__name__}:Nothing", "doing nothing", ends=False))
    found = learn(carcinoma, method="nothing", rng=np.random.default_rng(0), budget=Budget(iterations=3))
    assert [line.operation for line in found.trace] == ["start", "nothing", "nothing", "nothing"]
    with pytest.raises(ParameterError, match="does not end by itself"):
        learn(carcinoma, method="nothing", rng=np.random.default_rng(0))


def test_names_that_are_gone_say_what_they_are_called_now():
    import latentree.cardinality as package

    with pytest.raises(AttributeError, match="it is called LearnerState now"):
        _ = package.Position
    with pytest.raises(AttributeError, match="it is called Neighbourhood now"):
        _ = package.Star
