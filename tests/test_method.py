"""The one driver of methods: limits, Ctrl-C, and files that know their seed and are taken up to the byte."""

from __future__ import annotations

import json

import numpy as np
import pytest

from latentree.errors import ParameterError
from latentree.method import OutOfTime, Storage, drive
from latentree.runner import Budget, StopReason


class Walk:
    """A random walk of so many steps that names its states in an order of its own."""

    def __init__(self, stop_at=None, error=KeyboardInterrupt):
        self.stop_at, self.error = stop_at, error

    def init(self, task, rng):
        return {"z": 0, "a": float(rng.random())}

    def step(self, task, state, rng):
        x = float(rng.random())
        if self.stop_at == state["z"]:
            self.stop_at = None
            raise self.error
        after = {"z": state["z"] + 1, "a": state["a"] + x}
        return after, after

    def done(self, task, state):
        return StopReason.FINISHED if state["z"] >= task else None


def storage(path, **more):
    return Storage(path, "walk", {"data": 1}, pack=dict, unpack=dict, every_seconds=0.0, **more)


def driven(method, n=6, seed=0, **more):
    return drive(method, n, rng=np.random.default_rng(seed), first=lambda state: state, **more)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTime])
def test_a_run_broken_off_in_any_step_and_taken_up_is_the_run_left_alone_to_the_byte(tmp_path, error):
    alone = json.dumps(driven(Walk()).trace)
    for stop_at in range(6):
        file = tmp_path / f"{error.__name__}{stop_at}"
        broken = driven(Walk(stop_at, error), storage=storage(file))
        assert broken.state["z"] == stop_at and len(broken.trace) == stop_at + 1
        assert broken.reason is (StopReason.TIME if error is OutOfTime else StopReason.INTERRUPTED)
        resumed = driven(Walk(), storage=storage(file))
        assert json.dumps(resumed.trace) == alone and resumed.steps == 7
        assert json.dumps(driven(Walk(), storage=storage(file)).trace) == alone  # taken up after its end


def test_a_run_of_another_seed_is_refused(tmp_path):
    driven(Walk(), storage=storage(tmp_path / "walk"), budget=Budget(iterations=3))
    with pytest.raises(ParameterError, match="was made with another seed"):
        driven(Walk(), seed=1, storage=storage(tmp_path / "walk"))
    assert driven(Walk(), seed=1, storage=storage(tmp_path / "walk", resume=False)).reason is StopReason.FINISHED


def test_a_line_is_filled_in_and_handed_on_once(tmp_path):
    seen = []
    run = driven(
        Walk(),
        finish=lambda info, number, seconds: {**info, "number": number},
        on_step=lambda state, info: seen.append(info["number"]),
    )
    assert seen == [info["number"] for info in run.trace] == list(range(7))


def test_without_time_there_is_no_state():
    run = driven(Walk(), budget=Budget(seconds=0.0))
    assert run.state is None and run.trace == () and run.reason is StopReason.TIME
