"""What Python hands to C++ is checked there: no wrong size reaches the kernels, no run is read while it advances.

Every function and method of the compiled module is called with arguments that fit, then with each of them wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from latentree.engine import _core

F, I16, I32, I64, U64 = np.float64, np.int16, np.int32, np.int64, np.uint64
HALF = np.full(6, 0.5)  # of a latent with two states and a leaf with two: 2 + 2 * 2
WORDS = np.array([1, 2, 3, 4], U64)


def ints(*values):
    return np.array(values, I32)


def engine(weights=(1.0, 2.0, 3.0), parent=(-1, 0), states=(2, 2), columns=None, root=-1):
    own = [(1, ints(0, 1, -1), None, None, None)] if columns is None else columns
    return _core.make_engine(ints(*parent), ints(*states), own, np.array(weights, F), True, root)


def em(**changed):
    given = {"engine": engine(), "starts": HALF[None], "pseudo": None, "held": None, "accelerate": False}
    return _core.Em(**{**given, **changed})


def sampler(**changed):
    given = {
        "codes": np.array([[0, 1], [1, -1]], I16), "states": ints(2, 2), "weights": np.array([3, 1], I64),
        "delta1": 1.0, "delta2": 1.0, "log_prior": np.zeros(2), "simplex": True, "scale": 1.5, "tries": 1,
        "informed": 1.0, "small": 2.0,
    }  # fmt: skip
    return _core.Sampler(*{**given, **changed}.values())


def advanced(**changed):
    given = {
        "k": 1, "log_weights": np.array([0.0, -1.0]), "log_theta": np.full((2, 4), np.log(0.5)),
        "members": np.array([[3, 1], [0, 0]], I64), "stream": WORDS, "moves": [0, 1, 2], "n_sweeps": 3, "thin": 1,
        "with_counts": True,
    }  # fmt: skip
    return sampler().advance(*{**given, **changed}.values())


def relocations(**changed):
    two, rows = np.full((2, 2), 0.5), np.full((2, 3), 0.5)
    given = {
        "posteriors": [rows, rows], "links": [(0, 1, rows, two), (1, 0, rows, two)],
        "branches": [(0, -1, rows, two, np.full(2, 0.5), None)], "weights": np.ones(3), "passes": 2, "near": 2,
        "threads": 1,
    }  # fmt: skip
    return _core.relocations(*{**given, **changed}.values())


def links(*pairs, table=(2, 2), cavity=(2, 3)):
    return [(a, b, np.full(cavity, 0.5), np.full(table, 0.5)) for a, b in pairs]


def branch(at=0, top=-1, likelihood=(2, 3), table=(2, 2), prior=2, needed=None):
    return {"branches": [(at, top, np.full(likelihood, 0.5), np.full(table, 0.5), np.full(prior, 0.5), needed)]}


def column(node=1, ids=(0, 1, -1), likelihood=None, scale=None, logs=None):
    arrays = [None if shape is None else np.full(shape, 0.5) for shape in (likelihood, scale, logs)]
    return {"columns": [(node, ints(*ids), *arrays)]}


def soft(**changed):
    return column(**{"ids": (0, 1, 0), "likelihood": (2, 2), **changed})


def neighbours(posterior=(3, 2), values=3, likelihood=None, given=(2, 2), state=0):
    seen = None if values is None else np.full(values, state, I16)
    said = None if likelihood is None else np.full(likelihood, 0.5)
    return np.full(posterior, 0.5), (seen, said, np.full(given, 0.5))


def depending(first=0, last=2, **changed):
    posterior, one = neighbours(**changed)
    return _core.dependence(posterior, [one, one], first, last, 1)


def tripled(**changed):
    posterior, one = neighbours(**changed)
    return _core.triple_counts(posterior, one, one)


def codes(*shape):
    return np.zeros(shape, I16, order="F")


def restored(**changed):
    run = em()
    head = run.state(0)
    for place, value in changed.pop("entries", {}).items():
        head[place] = value
    run.restore([head[: changed.get("length", len(head))]] * changed.get("runs", 1), changed.get("given_up", 0))


def written(values=(0, 1, -1), text=b"abc", ends=(1, 3), rows=3, between=","):
    own = None if text is None else np.frombuffer(text, np.uint8), None if ends is None else np.array(ends, I64)
    return _core.text_rows([(ints(*values), *own)], rows, between)


FITS = {
    "text_rows": written,
    "text_rows, millionths": lambda: written((0, 1_000_000, -1), None, None),
    "distinct_rows": lambda: _core.distinct_rows(codes(4, 3), ints(2, 2, 2)),
    "alike_rows": lambda: _core.alike_rows(np.zeros((3, 2)), 1e-6),
    "use_kernels": lambda: _core.use_kernels(_core.kernels()),
    "kernels": lambda: _core.kernels(),
    "available_kernels": lambda: _core.available_kernels(),
    "make_engine": engine,
    "make_engine, soft": lambda: engine(**soft(scale=2, logs=(2, 2))),
    "Engine.best_lanes": lambda: engine().best_lanes(4),
    "Engine.evaluate": lambda: engine().evaluate(HALF[None], True, 1, 0),
    "Engine.row_log_likelihood": lambda: engine().row_log_likelihood(HALF, 1),
    "Engine.posteriors": lambda: engine().posteriors(HALF, [0, 1]),
    "Engine.root_messages": lambda: engine(root=0).root_messages(HALF),
    "relocations": relocations,
    "dependence": depending,
    "dependence, soft": lambda: depending(values=None, likelihood=(3, 2)),
    "triple_counts": tripled,
    "Em.compete": lambda: em().compete(10, 1e-8, 0.0, 4.0),
    "Em": em,
    "Em.advance": lambda: em().advance(10, 1e-8, 1.0, 1),
    "Em.keep": lambda: em().keep([0]),
    "Em.asked": lambda: em().asked(),
    "Em.answer": lambda: em().answer(np.zeros(1), HALF[None], 10, 1e-8),
    "Em.restore": restored,
    **{
        f"Em.{name}": lambda name=name: getattr(em(), name)(0)
        for name in ("state", "parameters", "counts", "trace", "log_likelihood", "evaluations", "status")
    },
    "Sampler": sampler,
    "Sampler.advance": advanced,
    "draw": lambda: _core.draw(WORDS, 2, 1.5, 0.0, 3),
}

WRONG = {
    "text_rows: too few codes": lambda: written(values=(0, 1)),
    "text_rows: a code above the texts": lambda: written(values=(0, 1, 2)),
    "text_rows: a code below -1": lambda: written(values=(0, 1, -2)),
    "text_rows: more than a million millionths": lambda: written((0, 1_000_001, 0), None, None),
    "text_rows: texts without ends": lambda: written(ends=None),
    "text_rows: ends without texts": lambda: written(text=None),
    "text_rows: an end beyond the texts": lambda: written(ends=(1, 4)),
    "text_rows: ends out of order": lambda: written(ends=(3, 1)),
    "text_rows: an end below zero": lambda: written(ends=(-1, 3)),
    "distinct_rows: one cardinality for three columns": lambda: _core.distinct_rows(codes(4, 3), ints(2)),
    "distinct_rows: more cardinalities than columns": lambda: _core.distinct_rows(codes(4, 1), ints(2, 2)),
    "distinct_rows: no states": lambda: _core.distinct_rows(codes(4, 1), ints(0)),
    "distinct_rows: code above the states": lambda: _core.distinct_rows(codes(4, 1) + I16(2), ints(2)),
    "alike_rows: no states": lambda: _core.alike_rows(np.zeros((3, 0)), 1e-6),
    "alike_rows: no step": lambda: _core.alike_rows(np.zeros((3, 2)), 0.0),
    "alike_rows: infinite": lambda: _core.alike_rows(np.full((3, 2), -np.inf), 1e-6),
    "distinct_rows: code below -1": lambda: _core.distinct_rows(codes(4, 1) - I16(2), ints(2)),
    "use_kernels: unknown": lambda: _core.use_kernels("zzz"),
    "make_engine: no nodes": lambda: engine(parent=(), states=(), columns=[]),
    "make_engine: no root": lambda: engine(parent=(0, 0)),
    "make_engine: children first": lambda: engine(parent=(-1, 1)),
    "make_engine: too few states": lambda: engine(states=(2,)),
    "make_engine: states below 1": lambda: engine(states=(2, 0)),
    "make_engine: no such node": lambda: engine(**column(node=2)),
    "make_engine: negative node": lambda: engine(**column(node=-1)),
    "make_engine: too few ids": lambda: engine(**column(ids=(0, 1))),
    "make_engine: too many ids": lambda: engine(**column(ids=(0, 1, 0, 1))),
    "make_engine: id above the states": lambda: engine(**column(ids=(0, 1, 2))),
    "make_engine: id below -1": lambda: engine(**column(ids=(0, 1, -2))),
    "make_engine: scale without likelihood": lambda: engine(**column(scale=2)),
    "make_engine: logs without likelihood": lambda: engine(**column(logs=(2, 2))),
    "make_engine: likelihood of other states": lambda: engine(**soft(likelihood=(2, 4))),
    "make_engine: likelihood without rows": lambda: engine(**soft(likelihood=(0, 2))),
    "make_engine: id above the likelihoods": lambda: engine(**soft(ids=(0, 1, 2))),
    "make_engine: missing in soft evidence": lambda: engine(**soft(ids=(0, 1, -1))),
    "make_engine: other scales": lambda: engine(**soft(scale=3)),
    "make_engine: other logs": lambda: engine(**soft(logs=(3, 2))),
    "make_engine: logs turned round": lambda: engine(**soft(likelihood=(4, 2), logs=(2, 4))),
    "make_engine: root not there": lambda: engine(root=2),
    "make_engine: root at the end of a branch": lambda: engine(root=1),
    "Engine.evaluate: other size": lambda: engine().evaluate(np.ones((1, 5)), True, 1, 0),
    "Engine.evaluate: lanes": lambda: engine().evaluate(HALF[None], True, 1, 3),
    "Engine.evaluate: too many lanes": lambda: engine().evaluate(HALF[None], True, 1, 64),
    "Engine.evaluate: negative lanes": lambda: engine().evaluate(HALF[None], True, 1, -2),
    "Engine.row_log_likelihood: other size": lambda: engine().row_log_likelihood(np.ones(7), 1),
    "Engine.posteriors: other size": lambda: engine().posteriors(np.ones(5), [0]),
    "Engine.posteriors: no such node": lambda: engine().posteriors(HALF, [2]),
    "Engine.posteriors: negative node": lambda: engine().posteriors(HALF, [-1]),
    "Engine.posteriors: twice": lambda: engine().posteriors(HALF, [0, 0]),
    "Engine.root_messages: other size": lambda: engine(root=0).root_messages(np.ones(5)),
    "dependence: other rows": lambda: depending(values=4),
    "dependence: no such neighbour": lambda: depending(last=3),
    "dependence: the end before the beginning": lambda: depending(first=2, last=1),
    "dependence: neither values nor likelihoods": lambda: depending(values=None),
    "dependence: both": lambda: depending(likelihood=(3, 2)),
    "dependence: other likelihood": lambda: depending(values=None, likelihood=(3, 3)),
    "dependence: other table": lambda: depending(given=(3, 2)),
    "dependence: a value above the states": lambda: depending(state=2),
    "dependence: a value below -1": lambda: depending(state=-2),
    "dependence: no states": lambda: depending(posterior=(3, 0), given=(0, 2)),
    "triple_counts: other rows": lambda: tripled(values=2),
    "triple_counts: a value above the states": lambda: tripled(state=5),
    "relocations: no latents": lambda: relocations(posteriors=[], links=[]),
    "relocations: other rows": lambda: relocations(weights=np.ones(4)),
    "relocations: no states": lambda: relocations(posteriors=[np.ones((0, 3))] * 2),
    "relocations: one direction": lambda: relocations(links=links((0, 1))),
    "relocations: a direction twice": lambda: relocations(links=links((0, 1), (0, 1))),
    "relocations: a loop": lambda: relocations(
        posteriors=[np.full((2, 3), 0.5)] * 4, links=links((0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)), near=99
    ),
    "relocations: to itself": lambda: relocations(links=links((0, 0), (1, 0))),
    "relocations: to nowhere": lambda: relocations(links=links((0, 2), (2, 0))),
    "relocations: other cavity": lambda: relocations(links=links((0, 1), (1, 0), cavity=(3, 3))),
    "relocations: other table": lambda: relocations(links=links((0, 1), (1, 0), table=(2, 3))),
    "relocations: branch at nowhere": lambda: relocations(**branch(at=2)),
    "relocations: top is nowhere": lambda: relocations(**branch(top=2)),
    "relocations: top is where it hangs": lambda: relocations(**branch(top=0)),
    "relocations: other likelihood": lambda: relocations(**branch(likelihood=(2, 2))),
    "relocations: other table of a branch": lambda: relocations(**branch(table=(3, 2))),
    "relocations: other prior": lambda: relocations(**branch(prior=3)),
    "relocations: other needs": lambda: relocations(**branch(needed=np.zeros(3))),
    "relocations: no passes": lambda: relocations(passes=0),
    "relocations: nothing near": lambda: relocations(near=0),
    "Em: other size": lambda: em(starts=np.ones((1, 5))),
    "Em: no starts": lambda: em(starts=np.ones((0, 6))),
    "Em: other pseudo-counts": lambda: em(pseudo=np.ones(5)),
    "Em: other held": lambda: em(held=np.ones(5, np.uint8)),
    "Em.compete: no steps": lambda: em().compete(0, 1e-8, 0.0, 4.0),
    "Em.keep: none": lambda: em().keep([]),
    "Em.keep: not there": lambda: em().keep([1]),
    "Em.keep: twice": lambda: em().keep([0, 0]),
    "Em.answer: other size": lambda: em().answer(np.zeros(1), np.ones((1, 5)), 10, 1e-8),
    "Em.answer: other number": lambda: em().answer(np.zeros(2), np.ones((1, 6)), 10, 1e-8),
    "Em.answer: more than asked": lambda: em().answer(np.zeros(2), np.ones((2, 6)), 10, 1e-8),
    "Em.restore: no runs": lambda: restored(runs=0),
    "Em.restore: short": lambda: restored(length=20),
    "Em.restore: nothing": lambda: restored(length=0),
    "Em.restore: negative passes": lambda: restored(given_up=-1),
    "Em.restore: unknown status": lambda: restored(entries={2: 9.0}),
    "Em.restore: not a number": lambda: restored(entries={1: np.nan}),
    "Em.restore: probing without a trace": lambda: restored(entries={5: 3.0}),
    "Em.restore: memory that is not there": lambda: restored(entries={7 + 24 + 2: 5.0}),
    "Sampler: other columns": lambda: sampler(states=ints(2, 2, 2)),
    "Sampler: other rows": lambda: sampler(weights=np.ones(3, I64)),
    "Sampler: no states": lambda: sampler(states=ints(2, 0)),
    "Sampler: codes out of range": lambda: sampler(states=ints(2, 1)),
    "Sampler: no copies": lambda: sampler(weights=np.array([3, 0], I64)),
    "Sampler: copies that overflow": lambda: sampler(weights=np.array([2**62, 2**62], I64)),
    "Sampler: no classes": lambda: sampler(log_prior=np.zeros(0)),
    "Sampler: an impossible number of classes": lambda: sampler(log_prior=np.array([0.0, -np.inf])),
    "Sampler: no prior": lambda: sampler(delta1=0.0),
    "Sampler: negative tries": lambda: sampler(tries=-1),
    "Sampler.advance: no classes": lambda: advanced(k=0),
    "Sampler.advance: too many classes": lambda: advanced(k=3),
    "Sampler.advance: other weights": lambda: advanced(log_weights=np.zeros(3)),
    "Sampler.advance: other probabilities": lambda: advanced(log_theta=np.zeros((2, 3))),
    "Sampler.advance: other members": lambda: advanced(members=np.zeros((2, 3), I64)),
    "Sampler.advance: lost members": lambda: advanced(members=np.zeros((2, 2), I64)),
    "Sampler.advance: members that overflow": lambda: advanced(
        k=2, members=np.array([[2**63 - 1, 1], [-(2**63) + 4, 0]], I64)
    ),
    "Sampler.advance: short stream": lambda: advanced(stream=WORDS[:3].copy()),
    "Sampler.advance: stream of zeros": lambda: advanced(stream=np.zeros(4, U64)),
    "Sampler.advance: no such move": lambda: advanced(moves=[7]),
    "Sampler.advance: negative sweeps": lambda: advanced(n_sweeps=-1),
    "Sampler.advance: thinned to nothing": lambda: advanced(thin=0),
    "draw: short stream": lambda: _core.draw(WORDS[:3].copy(), 0, 0.0, 0.0, 1),
    "draw: stream of zeros": lambda: _core.draw(np.zeros(4, U64), 0, 0.0, 0.0, 1),
    "draw: unknown kind": lambda: _core.draw(WORDS, 5, 0.0, 0.0, 1),
    "draw: negative number": lambda: _core.draw(WORDS, 0, 0.0, 0.0, -1),
    "draw: gamma of shape 0": lambda: _core.draw(WORDS, 2, 0.0, 0.0, 1),
    "draw: binomial of -1": lambda: _core.draw(WORDS, 3, -1.0, 0.5, 1),
    "draw: probability above 1": lambda: _core.draw(WORDS, 3, 1.0, 1.5, 1),
}

SIZELESS = {"kernels", "available_kernels", "Engine.best_lanes", "Em.advance", "Em.asked"}
"""What takes nothing that could have a wrong size."""

BY_INDEX = ("state", "parameters", "counts", "trace", "log_likelihood", "evaluations", "status")


@pytest.mark.parametrize("name", FITS)
def test_arguments_that_fit_are_taken(name):
    FITS[name]()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_size_is_refused(name):
    with pytest.raises(ValueError):
        WRONG[name]()


@pytest.mark.parametrize("name", BY_INDEX)
def test_a_run_that_is_not_there_is_refused(name):
    with pytest.raises(IndexError):
        getattr(em(), name)(1)


def test_no_engine_is_refused():
    with pytest.raises((TypeError, ValueError)):
        em(engine=None)


def test_every_function_of_the_module_is_called_with_a_wrong_size():
    known = set()
    for name in dir(_core):
        entry = getattr(_core, name)
        if name.startswith("_"):
            continue
        if isinstance(entry, type):
            known |= {name} if name != "Engine" else set()  # make_engine makes it
            methods = (m for m in vars(entry) if not m.startswith("_") and callable(getattr(entry, m)))
            known |= {f"{name}.{method}" for method in methods}
        else:
            known.add(name)
    assert known == {name.split(",")[0] for name in FITS}
    refused = {name.split(":")[0] for name in WRONG} | {f"Em.{name}" for name in BY_INDEX}
    assert refused | SIZELESS == known


# ---- one at a time ----------------------------------------------------------------------------------------------


def slow():
    """Runs of EM that do not end within a second."""
    rng = np.random.default_rng(0)
    n, k, leaves = 3000, 8, 30
    columns = [(1 + i, rng.integers(0, 3, n).astype(I32), None, None, None) for i in range(leaves)]
    own = _core.make_engine(ints(-1, *[0] * leaves), ints(k, *[3] * leaves), columns, np.ones(n), True, -1)
    tables = [rng.dirichlet(np.ones(k), 16)]
    tables += [rng.dirichlet(np.ones(3), (16, k)).reshape(16, -1) for _ in range(leaves)]
    return _core.Em(own, np.hstack(tables), None, None, False)


READS = {
    "asked": lambda run: run.asked(),
    "answer": lambda run: run.answer(np.zeros(1), np.zeros((1, 728)), 1, 0.0),
    "n_runs": lambda run: run.n_runs,
    "given_up": lambda run: run.given_up,
    "status": lambda run: run.status(0),
}


@pytest.mark.parametrize("name", READS)
def test_runs_are_not_touched_while_another_thread_advances_them(name):
    run = slow()
    began = threading.Event()

    def advance():
        began.set()
        run.advance(10**6, 0.0, 1.0, 1)

    worker = threading.Thread(target=advance)
    worker.start()
    began.wait()
    time.sleep(0.1)
    start = time.monotonic()
    try:
        READS[name](run)
    except ValueError:
        assert name == "answer"  # one answer for sixteen points
    waited = time.monotonic() - start
    worker.join()
    assert waited > 0.3


# ---- the instruction set ----------------------------------------------------------------------------------------

ASKS = """
import latentree as lt
try:
    lt.Table.from_codes([[0, 1]])
except lt.ParameterError as error:
    print(error)
"""


def test_an_unknown_instruction_set_is_a_clear_error_that_names_those_there_are():
    done = subprocess.run(
        [sys.executable, "-c", ASKS],
        env={**os.environ, "LATENTREE_ISA": "zzz"}, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "LATENTREE_ISA" in done.stdout and "'zzz'" in done.stdout
    assert all(repr(name) in done.stdout for name in _core.available_kernels())
