"""The loop, its limits, Ctrl-C, checkpoints and seeds."""

from __future__ import annotations

import json
import math
import os
import signal
import stat
import threading
import time

import numpy as np
import pytest
import strategies as own
from hypothesis import given, strategies as st

from latentree import checkpoint as checkpoints
from latentree._files import write_atomically
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.checkpoint import Checkpoint, fingerprint
from latentree.errors import FileFormatError, ParameterError
from latentree.runner import Budget, Progress, StopReason, run, spawn, until

GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


def count(state: int) -> tuple[int, str]:
    return state + 1, f"step {state + 1}"


def at(n: int):
    return lambda state, info: StopReason.FINISHED if state >= n else None


def ctrl_c() -> None:
    """What the terminal does: the signal, then the handler, which runs before the next line."""
    signal.raise_signal(signal.SIGINT)
    time.sleep(5)  # never reached: the interrupt strikes first


# ---- budgets and clocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [-1, math.nan, "10", True])
def test_seconds_that_are_none_are_refused(seconds):
    with pytest.raises(ParameterError, match="'seconds' parameter of Budget must be a number of at least 0"):
        Budget(seconds=seconds)


@pytest.mark.parametrize("iterations", [-1, 1.5, "10", True])
def test_iterations_that_are_none_are_refused(iterations):
    with pytest.raises(ParameterError, match="'iterations' parameter of Budget must be a whole number"):
        Budget(iterations=iterations)


def test_a_clock_without_a_limit_never_expires():
    clock = Budget().start()
    assert clock.remaining == math.inf and not clock.expired
    assert clock.left() == Budget()


def test_a_clock_runs_out():
    clock = Budget(seconds=0.02).start()
    assert 0 < clock.remaining <= 0.02
    time.sleep(0.03)
    assert clock.expired and clock.remaining == 0 and clock.elapsed >= 0.02
    assert clock.left(iterations=3) == Budget(0.0, 3)


def test_reasons_have_codes_messages_and_remedies():
    for reason in StopReason:
        assert StopReason(reason.value) is reason
        assert str(reason) == reason.message and reason.message.endswith(".")
        assert reason.complete or reason.message.count(".") >= 2  # what happened, and what to do
    assert len({r.message for r in StopReason}) == len(StopReason)


def test_progress_prints_as_one_line():
    event = Progress("search", 2, None, -10.25, 61.04, {"operation": "NI"})
    assert str(event) == "search 2, objective -10.25, operation NI, 61.0 s"


# ---- the loop ------------------------------------------------------------------------------------------------


def test_it_stops_when_done():
    seen = []
    end = run(0, count, done=at(5), on_step=lambda state, info: seen.append((state, info)))
    assert (end.state, end.info, end.reason, end.steps) == (5, "step 5", StopReason.FINISHED, 5)
    assert seen == [(i, f"step {i}") for i in range(1, 6)] and 0 <= end.seconds < 60


def test_it_stops_at_the_iteration_limit_and_done_comes_first():
    assert run(0, count, budget=Budget(iterations=3)).reason is StopReason.ITERATIONS
    assert run(0, count, budget=Budget(iterations=3), done=at(3)).reason is StopReason.FINISHED
    none = run(7, count, budget=Budget(iterations=0))
    assert (none.state, none.info, none.steps) == (7, None, 0)


def test_it_stops_at_the_time_limit():
    def slow(state: int) -> tuple[int, None]:
        time.sleep(0.01)
        return state + 1, None

    end = run(0, slow, budget=Budget(seconds=0.1))
    assert end.reason is StopReason.TIME and 1 <= end.state <= 10 and 0.1 <= end.seconds < 30
    assert run(0, slow, budget=Budget(seconds=0)).steps == 0


def test_a_running_clock_is_shared():
    clock = Budget(seconds=0.0).start()
    assert run(0, count, budget=clock).reason is StopReason.TIME


# ---- Ctrl-C --------------------------------------------------------------------------------------------------


def test_ctrl_c_in_a_step_gives_the_state_before_it():
    def step(state: int) -> tuple[int, None]:
        if state == 3:
            ctrl_c()
        return state + 1, None

    end = run(0, step, done=at(10))
    assert (end.state, end.steps, end.reason) == (3, 3, StopReason.INTERRUPTED)


def test_ctrl_c_from_outside_gives_the_last_state():
    started = threading.Event()

    def press() -> None:
        started.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    def step(state: int) -> tuple[int, None]:
        started.set()
        time.sleep(0.002)
        return state + 1, None

    thread = threading.Thread(target=press)
    thread.start()
    seen = [0]
    end = run(0, step, budget=Budget(seconds=30), on_step=lambda state, _: seen.append(state))
    thread.join()
    assert end.reason is StopReason.INTERRUPTED
    assert end.state - seen[-1] in (0, 1)  # it may strike between a step and its report


def test_ctrl_c_in_a_report_keeps_the_step_reported():
    end = run(0, count, on_step=lambda state, _: ctrl_c() if state == 2 else None, done=at(10))
    assert (end.state, end.reason) == (2, StopReason.INTERRUPTED)


def test_a_second_ctrl_c_while_saving_is_raised(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "state.json", "count")

    def step(state: dict) -> tuple[dict, None]:
        if state["n"] == 2:
            ctrl_c()
        return {"n": state["n"] + 1}, None

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(checkpoints, "write_atomically", lambda *_: ctrl_c())
        run({"n": 0}, step, checkpoint=checkpoint)
    assert not checkpoint.exists()


def test_a_first_ctrl_c_while_saving_the_end_loses_nothing(tmp_path, monkeypatch):
    write, pressed = checkpoints.write_atomically, []

    def once(path, text) -> None:
        if not pressed:
            pressed.append(True)
            ctrl_c()
        write(path, text)

    monkeypatch.setattr(checkpoints, "write_atomically", once)
    checkpoint = Checkpoint(tmp_path / "state.json", "count")
    end = run({"n": 0}, lambda s: ({"n": s["n"] + 1}, None), budget=Budget(iterations=4), checkpoint=checkpoint)
    assert end.state == {"n": 4} and end.reason is StopReason.INTERRUPTED
    assert checkpoint.load().payload == {"n": 4}


def test_ctrl_c_in_a_run_within_a_run_ends_the_outer_one():
    def inner(state: int) -> tuple[int, None]:
        ctrl_c()
        return state, None

    def outer(state: int) -> tuple[int, None]:
        if state == 2:
            run(0, inner, done=at(1))
            raise AssertionError("the inner run must not swallow the interrupt")
        return state + 1, None

    end = run(0, outer, done=at(5))
    assert (end.state, end.reason) == (2, StopReason.INTERRUPTED)
    assert run(0, count, done=at(1)).reason is StopReason.FINISHED  # and all is as before


def test_an_error_in_a_step_is_raised_and_the_last_state_saved(tmp_path):
    checkpoint = Checkpoint(tmp_path / "state.json", "count")

    def step(state: dict) -> tuple[dict, None]:
        if state["n"] == 3:
            raise ZeroDivisionError("in the step")
        return {"n": state["n"] + 1}, None

    with pytest.raises(ZeroDivisionError, match="in the step"):
        run({"n": 0}, step, checkpoint=checkpoint)
    assert checkpoint.load().payload == {"n": 3} and checkpoint.load().steps == 3


# ---- checkpoints of a run ------------------------------------------------------------------------------------


def walk(rng: np.random.Generator):
    """A step that draws from the generator itself and from children of it."""

    def step(state: dict) -> tuple[dict, None]:
        drawn = rng.standard_normal(3) + [child.random() for child in spawn(rng, 3)]
        return {"x": state["x"] + drawn, "n": state["n"] + 1}, None

    return step


START = {"x": np.zeros(3), "n": 0}


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_run_resumed_ends_where_an_uninterrupted_one_does(tmp_path, kind):
    whole = run(START, walk(rng := np.random.Generator(kind(5))), rng=rng, budget=Budget(iterations=20))

    checkpoint = Checkpoint(tmp_path / "state.json", "walk")
    rng = np.random.Generator(kind(5))
    draw = walk(rng)

    def step(state: dict) -> tuple[dict, None]:
        out = draw(state)
        if state["n"] == 8:
            ctrl_c()  # after drawing: the generator has moved on, the state has not
        return out

    first = run(START, step, rng=rng, budget=Budget(iterations=20), checkpoint=checkpoint)
    assert first.reason is StopReason.INTERRUPTED and first.steps == 8

    saved = checkpoint.load()
    second = run(
        saved.payload,
        walk(saved.rng),
        rng=saved.rng,
        budget=Budget(iterations=20),
        checkpoint=checkpoint,
        resumed=saved,
    )
    assert second.steps == 20 and second.reason is StopReason.ITERATIONS and second.seconds >= saved.seconds
    assert second.state["x"].tobytes() == whole.state["x"].tobytes()
    # and in memory: the interrupt set the generator back
    third = run(first.state, walk(rng), rng=rng, budget=Budget(iterations=12))
    assert third.state["x"].tobytes() == whole.state["x"].tobytes()
    assert checkpoint.load().steps == 20


def test_checkpoints_are_written_now_and_then_and_at_the_end(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Checkpoint, "save", lambda self, payload, **more: written.append((payload["n"], more["steps"])))
    checkpoint = Checkpoint(tmp_path / "state.json", "count")

    def step(n: int) -> tuple[int, None]:
        return n + 1, None

    options = {"checkpoint": checkpoint, "pack": lambda n: {"n": n}, "budget": Budget(iterations=4)}
    run(0, step, every_seconds=1e9, **options)
    assert written == [(4, 4)]
    written.clear()
    run(0, step, every_seconds=0, **options)
    assert written == [(1, 1), (2, 2), (3, 3), (4, 4)]


# ---- checkpoint files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("used", [0, 1, 7, 1000])
def test_a_generator_goes_on_where_it_was(tmp_path, kind, used):
    rng = np.random.Generator(kind(3))
    rng.random(used)
    rng.integers(0, 10, used % 5, dtype=np.uint32)  # leaves half a draw in the buffer
    checkpoint = Checkpoint(tmp_path / "state.json", "stream")
    checkpoint.save({}, rng=rng)
    back = checkpoint.load().rng
    assert type(back.bit_generator) is kind
    for draw in (
        lambda g: g.random(100),
        lambda g: g.integers(0, 7, 33, dtype=np.uint32),
        lambda g: g.standard_normal(11),
    ):
        np.testing.assert_array_equal(draw(back), draw(rng))
    assert [g.random() for g in spawn(back, 2)] == [g.random() for g in spawn(rng, 2)]


def test_payloads_come_back_exactly(tmp_path):
    model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    payload = {
        "model": checkpoints.pack_model(model),
        "trace": [-np.inf, np.float64(0.1), 1 / 3, np.nan],
        "mask": np.array([True, False]),
        "text": "ä",
        "nothing": None,
        "counts": {"steps": np.int32(3), "large": 2**100},
    }
    checkpoint = Checkpoint(tmp_path / "state.json", "test")
    checkpoint.save(payload, steps=3, seconds=1.5)
    saved = checkpoint.load()
    assert checkpoints.unpack_model(saved.payload["model"], model.variables) == model
    assert repr(saved.payload["trace"]) == "[-inf, 0.1, 0.3333333333333333, nan]"
    assert saved.payload["mask"].tolist() == [True, False] and saved.payload["mask"].dtype == bool
    assert saved.payload["text"] == "ä" and saved.payload["nothing"] is None
    assert saved.payload["counts"] == {"steps": 3, "large": 2**100}
    assert (saved.rng, saved.steps, saved.seconds) == (None, 3, 1.5)


def test_mappings_keep_the_order_of_their_keys(tmp_path):
    """So that a resumed run writes what an uninterrupted one does, byte for byte."""
    checkpoint = Checkpoint(tmp_path / "state.json", "test")
    payload = {"states": {"z2": 2, "a": 3, "z10": 2}, "b": [{"y": 1, "x": 2}], "a": 0}
    checkpoint.save(payload)
    assert json.dumps(checkpoint.load().payload) == json.dumps(payload)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_file_that_replaces_another_is_never_open_to_more_people(tmp_path, monkeypatch, mode):
    target = tmp_path / "private"
    target.write_text("old")
    target.chmod(mode)
    seen, flush = [], os.fsync

    def looked(handle):
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".latentree-*"))
        flush(handle)

    monkeypatch.setattr(os, "fsync", looked)
    before = os.umask(0)
    try:
        write_atomically(target, "new")
        write_atomically(tmp_path / "open", "new")
    finally:
        os.umask(before)
    assert seen == [mode, 0o666]
    assert stat.S_IMODE(target.stat().st_mode) == mode and target.read_text() == "new"


def test_what_a_checkpoint_cannot_hold_is_refused_and_the_old_one_kept(tmp_path):
    checkpoint = Checkpoint(tmp_path / "state.json", "test")
    checkpoint.save({"n": 1})
    with pytest.raises(ParameterError, match=r"payload\['a'\]\[1\] is a object"):
        checkpoint.save({"a": [0, object()]})
    with pytest.raises(ParameterError, match=r"'payload' parameter of Checkpoint\.save must be a mapping"):
        checkpoint.save([1])
    with pytest.raises(ParameterError, match="'Own' cannot be saved; use one of PCG64"):
        checkpoint.save({}, rng={"bit_generator": "Own"})
    assert checkpoint.load().payload == {"n": 1} and os.listdir(tmp_path) == ["state.json"]


def test_a_state_too_large_to_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "MAX_BYTES", 1000)
    checkpoint = Checkpoint(tmp_path / "state.json", "test")
    with pytest.raises(ParameterError, match="bytes"):
        checkpoint.save({"x": np.zeros(1000)})
    assert not checkpoint.exists()


def written(tmp_path) -> tuple[Checkpoint, dict]:
    checkpoint = Checkpoint(tmp_path / "state.json", "walk", {"data": fingerprint([1, 2])})
    checkpoint.save({"x": np.arange(3.0)}, rng=np.random.default_rng(0))
    return checkpoint, json.loads((tmp_path / "state.json").read_text())


def refusal(checkpoint: Checkpoint, document: dict | str, *, sign: bool = True) -> str:
    """What loading says of a changed document; with a fitting checksum unless told."""
    if isinstance(document, dict) and sign:
        document = {k: v for k, v in document.items() if k != "sha256"}
        document["sha256"] = checkpoints._digest(document)
    with open(checkpoint.path, "w") as file:
        file.write(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(FileFormatError) as caught:
        checkpoint.load()
    assert str(caught.value).startswith(f"Cannot resume from '{checkpoint.path}': ")
    return str(caught.value)


def test_a_checkpoint_that_is_not_there_or_not_one_says_so(tmp_path):
    checkpoint, _ = written(tmp_path)
    assert "not whole JSON" in refusal(checkpoint, "")
    assert "not whole JSON" in refusal(checkpoint, "\x00\x01")
    assert "not whole JSON" in refusal(checkpoint, "[" * 100_000)
    assert "not a checkpoint" in refusal(checkpoint, "[1]")
    assert "not a checkpoint" in refusal(checkpoint, '{"format": "latentree-model"}')
    (tmp_path / "state.json").write_bytes(b"\x80\x04\x95")
    with pytest.raises(FileFormatError, match=r"Cannot resume from .*not UTF-8"):
        checkpoint.load()
    os.remove(checkpoint.path)
    assert not checkpoint.exists()
    with pytest.raises(FileNotFoundError):
        checkpoint.load()


def test_a_checkpoint_cut_short_or_with_a_changed_letter_is_refused(tmp_path):
    checkpoint, _ = written(tmp_path)
    text = (tmp_path / "state.json").read_text().rstrip()
    for end in range(0, len(text), 7):
        refusal(checkpoint, text[:end])
    for place in range(0, len(text), 5):
        other = "0" if text[place] != "0" else "1"
        refusal(checkpoint, text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("version", 2, "its format has version 2"),
        ("version", None, "its format has version None"),
        ("kind", "gibbs", "it belongs to 'gibbs', not 'walk'"),
        ("kind_version", 2, "version 2 of the state of 'walk'"),
        ("kind", 3, "its 'kind' is missing or of the wrong kind"),
        ("steps", "3", "its 'steps' is missing"),
        ("seconds", None, "its 'seconds' is missing"),
        ("seconds", 10**400, "its 'seconds' is missing"),
        ("made_from", [], "its 'made_from' is missing"),
        ("payload", [1], "its 'payload' is missing"),
        (
            "payload",
            {"x": {"__array__": {"dtype": "<f8", "shape": [1], "data": ""}}},
            "an array or number in it is damaged",
        ),
        ("generator", "PCG64", "its 'generator' is missing"),
        ("generator", {}, "state of its random generator"),
        ("generator", {"bit_generator": "os.system"}, "state of its random generator"),
        ("generator", {"bit_generator": ["PCG64"]}, "state of its random generator"),
        ("generator", {"bit_generator": "PCG64", "state": {"state": -1, "inc": 1}}, "state of its random generator"),
        ("generator", {"bit_generator": "PCG64", "state": 7}, "state of its random generator"),
    ],
)
def test_a_checkpoint_with_a_fault_says_which(tmp_path, key, value, says):
    checkpoint, document = written(tmp_path)
    assert says in refusal(checkpoint, {**document, key: value})
    assert "checksum" in refusal(checkpoint, {**document, "steps": 99}, sign=False)
    document.pop(key)
    refusal(checkpoint, document)


@pytest.mark.parametrize(("kind", "path"), [(np.random.MT19937, ("state", "pos")), (np.random.Philox, ("buffer_pos",))])
@pytest.mark.parametrize("value", [-1, 10**6, "x", None])
def test_positions_outside_a_generator_s_buffer_are_refused(tmp_path, kind, path, value):
    checkpoint = Checkpoint(tmp_path / "state.json", "walk")
    checkpoint.save({}, rng=np.random.Generator(kind(0)))
    document = json.loads((tmp_path / "state.json").read_text())
    place = document["generator"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert "state of its random generator" in refusal(checkpoint, document)


def test_other_data_or_settings_are_refused_by_name(tmp_path):
    made_from = {"data": fingerprint(np.arange(3)), "settings": fingerprint({"tol": 0.1})}
    path = tmp_path / "state.json"
    Checkpoint(path, "fit", made_from).save({"n": 1})
    assert Checkpoint(path, "fit", dict(made_from)).load().payload == {"n": 1}
    with pytest.raises(ParameterError, match=r"state.json' was made with other data\. Use the same as then"):
        Checkpoint(path, "fit", {**made_from, "data": fingerprint(np.arange(4))}).load()
    with pytest.raises(ParameterError, match="other data and settings"):
        Checkpoint(path, "fit").load()


# ---- fingerprints, seeds, models -----------------------------------------------------------------------------


def test_fingerprints_tell_apart_what_differs():
    table = Table.from_codes([[0, 1], [1, 0]], [2, 2])
    model = Model.random(Tree.star(2, [2, 2]), numbered([2, 2]), np.random.default_rng(0))
    different = [
        table,
        Table.from_codes([[0, 1], [1, 1]], [2, 2]),
        Table.from_codes([[0, 1], [1, 0]], [2, 3]),
        Table.from_codes([[0, 1], [1, 0]], [2, 2], weights=[1, 2]),
        Table.from_codes([[0, 1], [1, 0]], [2, 2], n=5),
        Table.from_codes([[0, 1], [1, 0]], [Variable("x1", (False, True)), Variable("x2", (0, 1))]),
        model,
        model.tree,
        model.rerooted("x1"),
        Variable("x", (0, 1)),
        Variable("x", (0, 1), (0.5,)),
        Variable("x", (0, 1.0)),
        StopReason.TIME,
        "time",
        1,
        1.0,
        "1",
        True,
        None,
        [],
        {},
        np.array([1, 2], dtype=np.int32),
        np.array([1, 2], dtype=np.int64),
        np.array([[1, 2]], dtype=np.int64),
        [1, 2],
    ]
    marks = [fingerprint(x) for x in different]
    assert len(set(marks)) == len(marks)
    assert fingerprint(Table.from_codes([[0, 1], [1, 0]], [2, 2])) == marks[0]
    assert fingerprint((1, 2)) == fingerprint([1, 2])
    assert fingerprint(np.array([1, 2], dtype=">i4")) == fingerprint(np.array([1, 2], dtype="<i4"))
    with pytest.raises(ParameterError, match="fingerprint is a object"):
        fingerprint(object())


def test_children_follow_from_the_stream_and_differ():
    a, b = np.random.default_rng(0), np.random.default_rng(0)
    first, again = spawn(a, 3), spawn(b, 5)
    assert [g.random() for g in first] == [g.random() for g in again[:3]]
    assert a.random() == b.random()  # however many children, the parent goes on alike
    assert len({g.random() for g in first + spawn(a, 3)}) == 6
    assert spawn(a, 0) == []


@given(own.models(), st.booleans())
def test_models_in_checkpoints_come_back(model, through_json):
    packed = checkpoints.pack_model(model)
    if through_json:
        packed = checkpoints.decoded(json.loads(json.dumps(checkpoints.encoded(packed))))
    assert checkpoints.unpack_model(packed, model.variables) == model


def test_a_damaged_model_in_a_checkpoint_is_refused():
    model = Model.random(Tree.star(2, [2]), numbered([2]), np.random.default_rng(0))
    packed = checkpoints.pack_model(model)
    for change in ({"parent": [0, 0]}, {"parameters": np.zeros(6)}, {"names": 3}):
        with pytest.raises(FileFormatError, match="model in a checkpoint is damaged"):
            checkpoints.unpack_model({**packed, **change}, model.variables)
    del packed["parent"]
    with pytest.raises(FileFormatError, match="damaged"):
        checkpoints.unpack_model(packed, model.variables)


def test_clocks_of_a_thread_run_out_when_nobody_waits_for_it():
    over = threading.Event()
    seen = []

    def task():
        clock = Budget().start()
        seen.append(clock.expired)
        over.set()
        return run(0, lambda x: (x + 1, None), budget=clock).reason

    assert until(over, task) is StopReason.TIME
    assert seen == [False] and not Budget().start().expired
