"""What Python hands to C++ is checked there: no wrong size reaches the kernels, no run is read while it advances.

Every function and method of the compiled module is called with arguments that fit, then with each of them wrong.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

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


# two latents, 10 and 20, of two and three states: leaves 0 and 1 at the one, 2 and 3 (of three states) at the other
EDGES = ((0, 4), (1, 4), (2, 5), (3, 5), (4, 5))
STATES = (2, 2, 2, 3, 2, 3)


def edges(*pairs, states=STATES, value=None):
    return [
        (a, b, np.full((states[a], states[b]), 1 / (states[a] * states[b]) if value is None else value))
        for a, b in pairs
    ]


def beliefs(**changed):
    rows = [[0, 1, -1, 2], [1, 1, 0, 0], [0, 0, 1, 1]]
    given = {
        "n_manifest": 4, "states": ints(*STATES), "marginals": [np.full(k, 1 / k) for k in STATES],
        "edges": edges(*EDGES), "numbers": [0, 1, 2, 3, 10, 20], "codes": np.array(rows, I16, order="F"),
        "weights": np.array([1.0, 2.0, 0.0]), "width": 0.0,
    }  # fmt: skip
    return _core.Beliefs(*{**given, **changed}.values())


def coded(entry, columns=4):
    own = codes(3, columns)
    own[1, 1] = entry
    return own


SI, SD, NI, ND, NR, UN, DI, NE = range(8)
MOVES = {
    "SI": (SI, [10]), "SI, more": (SI, [10, 9]), "SI, as many": (SI, [10, 2]), "SD": (SD, [20]), "NI": (NI, [10, 0, 1]),
    "NI, fewer": (NI, [20, 2, 10, 2]), "NI, one": (NI, [20, 3, 2, 1]), "ND": (ND, [10, 20]), "NR": (NR, [0, 10, 20]),
    "NR, a branch": (NR, [10, 20, 20]), "UN": (UN, [10, 20, 6]), "UN, one": (UN, [20, 10, 1]),
    "DI": (DI, [20, 2, 3, 2, 3]), "DI, all": (DI, [20, 2, 3, 10, 2, 2]), "NE": (NE, [20, 10, 3]),
    "NE, leaf": (NE, [10, 0, 1]),
}  # fmt: skip
"""Moves that are possible there."""


def evaluated(kind=SI, nodes=(10,), starts=3, first=1, steps=4, gain=0.0, goal=-np.inf, start=0, threads=2, width=0.0):
    asked = (kind, list(nodes), starts, first, steps, gain, goal, start)
    return beliefs(width=width).evaluate([asked] * 3, 1, 0, threads)


def relocations(places=(10, 20), branches=((0, 10, None),), passes=2, near=2, threads=1, own=None):
    return (own or beliefs()).relocations(list(places), list(branches), passes, near, threads)


def chain():
    """Three latents in a row, each with two leaves of two states."""
    pairs = [(0, 6), (1, 6), (2, 7), (3, 7), (4, 8), (5, 8), (6, 7), (7, 8)]
    return beliefs(
        n_manifest=6, states=ints(*[2] * 9), marginals=[np.full(2, 0.5)] * 9, numbers=[*range(9)],
        edges=edges(*pairs, states=[2] * 9), codes=codes(3, 6),
    )  # fmt: skip


def divided(a=20, n=100.0, rate=1.0, least=-np.inf, most=3, sizes=1):
    return beliefs().divisions(a, n, rate, least, most, sizes)


def column(node=1, ids=(0, 1, -1), likelihood=None, scale=None, logs=None):
    arrays = [None if shape is None else np.full(shape, 0.5) for shape in (likelihood, scale, logs)]
    return {"columns": [(node, ints(*ids), *arrays)]}


def soft(**changed):
    return column(**{"ids": (0, 1, 0), "likelihood": (2, 2), **changed})


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
    "Beliefs": beliefs,
    "Beliefs, similar": lambda: beliefs(width=0.05),
    "Beliefs, rows of no weight": lambda: beliefs(weights=np.zeros(3)),
    "Beliefs, one row": lambda: beliefs(codes=codes(1, 4), weights=np.ones(1)),
    "Beliefs, probabilities of zero": lambda: beliefs(edges=edges(*EDGES, value=0.0)),
    "Beliefs.log_likelihood": lambda: beliefs().log_likelihood(),
    "Beliefs.total": lambda: beliefs().total(20),
    "Beliefs.posterior": lambda: beliefs().posterior(10),
    "Beliefs.without": lambda: beliefs().without(20, 10),
    "Beliefs.without, a leaf": lambda: beliefs().without(3, 20),
    "Beliefs.dependence": lambda: beliefs().dependence(10, 0, 3),
    "Beliefs.dependence, of none": lambda: beliefs().dependence(10, 3, 3),
    "Beliefs.triple": lambda: beliefs().triple(10, 20, 0),
    "Beliefs.divisions": divided,
    "Beliefs.relocations": relocations,
    "Beliefs.relocations, needed": lambda: relocations(branches=[(20, 10, np.zeros(2)), (3, 20, np.full(2, -9.0))]),
    "Beliefs.relocations, of none": lambda: relocations(branches=[]),
    "Beliefs.relocations, one place": lambda: relocations(places=[10]),
    "Beliefs.evaluate": evaluated,
    "Beliefs.evaluate, of none": lambda: beliefs().evaluate([], 0, 0, 2),
    "Beliefs.evaluate, a goal": lambda: evaluated(goal=1e9),
    "Beliefs.evaluate, an infinite goal": lambda: evaluated(goal=np.inf),
    **{
        f"Beliefs.evaluate, {name}, {start}, {width}": lambda move=move, start=start, width=width: evaluated(
            *move, start=start, width=width
        )
        for name, move in MOVES.items()
        for start in range(3)
        for width in (0.0, 0.1)
    },
    "Em.compete": lambda: em().compete(1, 10, 1e-8, 0.0, 4.0),
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

NO_MOVES = [
    (SI, [0]), (SI, [11]), (SI, [20, 2]), (SI, [10, 4096]), (SI, [10, -1]), (SD, [0]), (SD, [10, 2]),
    (NI, [10, 0]), (NI, [10, 0, 0]), (NI, [10, 0, 2]), (NI, [10, 0, 1, 0]), (NI, [10, 20, 0, 3]),
    (NI, [10, 20, 0, 4095]),
    (ND, [10, 0]), (ND, [0, 10]), (ND, [10, 10]), (ND, [10]),
    (NR, [0, 10, 1]), (NR, [0, 20, 10]), (NR, [20, 10, 20]), (NR, [0, 10, 11]), (NR, [10, 20, 10]),
    (UN, [10, 10, 2]), (UN, [10, 0, 2]), (UN, [10, 20, 0]), (UN, [10, 20, 7]), (UN, [10, 20, 2**31 - 1]),
    (DI, [20, 2, 3, 2]), (DI, [20, 2, 2, 2, 2]), (DI, [20, 2, 0, 2, 2]), (DI, [20, 2, 3, 1, 2]), (DI, [20, 2, 3, 2, 4]),
    *((kind, []) for kind in range(8)), *((kind, [10, 20, 2, 2, 2, 2]) for kind in range(8)),
    (NI, [0, 10, 2]), (UN, [0, 10, 2]), (NE, [0, 10, 2]), (DI, [10, 0, 1, 3, 2]),
    (NE, [10, 0, 0]), (NE, [10, 0, 3]), (NE, [10, 2, 1]), (NE, [10, 10, 1]),
]  # fmt: skip
"""Moves that are not."""

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
    "Beliefs: no latents": lambda: beliefs(n_manifest=6),
    "Beliefs: no leaves": lambda: beliefs(n_manifest=0, codes=codes(3, 0)),
    "Beliefs: fewer manifest nodes": lambda: beliefs(n_manifest=-1),
    "Beliefs: too few states": lambda: beliefs(states=ints(*STATES[:-1])),
    "Beliefs: no states": lambda: beliefs(states=ints(2, 2, 2, 3, 2, 0)),
    "Beliefs: too few marginals": lambda: beliefs(marginals=[np.full(2, 0.5)] * 5),
    "Beliefs: a marginal of other states": lambda: beliefs(marginals=[np.full(2, 0.5)] * 6),
    "Beliefs: a marginal that is no number": lambda: beliefs(marginals=[np.full(k, np.nan) for k in STATES]),
    "Beliefs: a negative marginal": lambda: beliefs(marginals=[np.full(k, -0.1) for k in STATES]),
    "Beliefs: a marginal above 1": lambda: beliefs(marginals=[np.full(k, 1.1) for k in STATES]),
    "Beliefs: too few edges": lambda: beliefs(edges=edges(*EDGES[:-1])),
    "Beliefs: too many edges": lambda: beliefs(edges=edges(*EDGES, (4, 5))),
    "Beliefs: an edge twice": lambda: beliefs(edges=edges(*EDGES[:-1], EDGES[0])),
    "Beliefs: in two parts": lambda: beliefs(
        n_manifest=1,
        states=ints(2, 2, 2, 2, 2),
        marginals=[np.full(2, 0.5)] * 5,
        numbers=[*range(5)],
        edges=edges((0, 1), (2, 3), (3, 4), (2, 4), states=[2] * 5),
        codes=codes(3, 1),
    ),
    "Beliefs: an edge between leaves": lambda: beliefs(edges=edges((0, 1), *EDGES[1:])),
    "Beliefs: an edge to itself": lambda: beliefs(edges=edges(*EDGES[:-1], (4, 4))),
    "Beliefs: an edge turned round": lambda: beliefs(edges=edges(*EDGES[:-1], (5, 4))),
    "Beliefs: an edge to nowhere": lambda: beliefs(edges=[*edges(*EDGES[:-1]), (4, 6, np.full((2, 3), 0.1))]),
    "Beliefs: an edge from nowhere": lambda: beliefs(edges=[*edges(*EDGES[:-1]), (-1, 4, np.full((2, 3), 0.1))]),
    "Beliefs: a leaf with two neighbours": lambda: beliefs(edges=edges(*EDGES[:-1], (0, 5))),
    "Beliefs: another table": lambda: beliefs(edges=[*edges(*EDGES[:-1]), (4, 5, np.full((3, 2), 0.1))]),
    "Beliefs: a table that is no number": lambda: beliefs(edges=edges(*EDGES, value=np.nan)),
    "Beliefs: a negative table": lambda: beliefs(edges=edges(*EDGES, value=-0.1)),
    "Beliefs: an infinite table": lambda: beliefs(edges=edges(*EDGES, value=np.inf)),
    "Beliefs: too few numbers": lambda: beliefs(numbers=[0, 1, 2, 3, 10]),
    "Beliefs: numbers out of order": lambda: beliefs(numbers=[0, 1, 2, 3, 20, 10]),
    "Beliefs: a number twice": lambda: beliefs(numbers=[0, 1, 2, 3, 10, 10]),
    "Beliefs: a negative number": lambda: beliefs(numbers=[-1, 1, 2, 3, 10, 20]),
    "Beliefs: no number left": lambda: beliefs(numbers=[0, 1, 2, 3, 10, 2**31 - 1]),
    "Beliefs: other columns": lambda: beliefs(codes=codes(3, 3)),
    "Beliefs: no rows": lambda: beliefs(codes=codes(0, 4), weights=np.ones(0)),
    "Beliefs: a code above the states": lambda: beliefs(codes=coded(2)),
    "Beliefs: a code below -1": lambda: beliefs(codes=coded(-2)),
    "Beliefs: other weights": lambda: beliefs(weights=np.ones(4)),
    "Beliefs: a weight that is no number": lambda: beliefs(weights=np.array([1.0, np.nan, 1.0])),
    "Beliefs: an infinite weight": lambda: beliefs(weights=np.array([1.0, np.inf, 1.0])),
    "Beliefs: a negative weight": lambda: beliefs(weights=np.array([1.0, -1e-9, 1.0])),
    "Beliefs: too narrow": lambda: beliefs(width=1e-9),
    "Beliefs: too wide": lambda: beliefs(width=2.0),
    "Beliefs: a negative width": lambda: beliefs(width=-0.1),
    "Beliefs: a width that is no number": lambda: beliefs(width=np.nan),
    "Beliefs.total: of a leaf": lambda: beliefs().total(0),
    "Beliefs.total: of nothing": lambda: beliefs().total(11),
    "Beliefs.total: by its place": lambda: beliefs().total(4),
    "Beliefs.posterior: of a leaf": lambda: beliefs().posterior(3),
    "Beliefs.posterior: of nothing": lambda: beliefs().posterior(-1),
    "Beliefs.without: at a leaf": lambda: beliefs().without(10, 0),
    "Beliefs.without: no neighbour": lambda: beliefs().without(0, 20),
    "Beliefs.without: itself": lambda: beliefs().without(10, 10),
    "Beliefs.without: nothing": lambda: beliefs().without(7, 10),
    "Beliefs.dependence: of a leaf": lambda: beliefs().dependence(0, 0, 1),
    "Beliefs.dependence: no such neighbour": lambda: beliefs().dependence(10, 0, 4),
    "Beliefs.dependence: the end before the beginning": lambda: beliefs().dependence(10, 2, 1),
    "Beliefs.triple: of a leaf": lambda: beliefs().triple(0, 10, 10),
    "Beliefs.triple: no neighbour": lambda: beliefs().triple(10, 0, 2),
    "Beliefs.triple: twice": lambda: beliefs().triple(10, 0, 0),
    "Beliefs.divisions: of a leaf": lambda: divided(a=0),
    "Beliefs.divisions: no number of rows": lambda: divided(n=np.nan),
    "Beliefs.divisions: rows without end": lambda: divided(n=np.inf),
    "Beliefs.divisions: a negative number of rows": lambda: divided(n=-1.0),
    "Beliefs.divisions: no rate": lambda: divided(rate=np.nan),
    "Beliefs.divisions: a negative rate": lambda: divided(rate=-1.0),
    "Beliefs.divisions: no least gain": lambda: divided(least=np.nan),
    "Beliefs.relocations: no places": lambda: relocations(places=[], branches=[]),
    "Beliefs.relocations: a leaf as place": lambda: relocations(places=[10, 0]),
    "Beliefs.relocations: a place twice": lambda: relocations(places=[10, 20, 20]),
    "Beliefs.relocations: places apart": lambda: relocations(places=[6, 8], branches=[(0, 6, None)], own=chain()),
    "Beliefs.relocations: branch at nowhere": lambda: relocations(branches=[(0, 11, None)]),
    "Beliefs.relocations: branch at no place": lambda: relocations(places=[20]),
    "Beliefs.relocations: top at no place": lambda: relocations(places=[10], branches=[(20, 10, None)]),
    "Beliefs.relocations: no branch there": lambda: relocations(branches=[(2, 10, None)]),
    "Beliefs.relocations: top is where it hangs": lambda: relocations(branches=[(10, 10, None)]),
    "Beliefs.relocations: other needs": lambda: relocations(branches=[(0, 10, np.zeros(3))]),
    "Beliefs.relocations: one pass": lambda: relocations(passes=1),
    "Beliefs.relocations: nothing near": lambda: relocations(near=0),
    "Beliefs.evaluate: no such move": lambda: evaluated(kind=8),
    "Beliefs.evaluate: a negative move": lambda: evaluated(kind=-1),
    "Beliefs.evaluate: no starts": lambda: evaluated(starts=0),
    "Beliefs.evaluate: no steps": lambda: evaluated(steps=0),
    "Beliefs.evaluate: no first steps": lambda: evaluated(first=0),
    "Beliefs.evaluate: a negative gain": lambda: evaluated(gain=-1.0),
    "Beliefs.evaluate: a gain that is no number": lambda: evaluated(gain=np.nan),
    "Beliefs.evaluate: a goal that is no number": lambda: evaluated(goal=np.nan),
    "Beliefs.evaluate: no such start": lambda: evaluated(start=3),
    **{f"Beliefs.evaluate: {own}": lambda own=own: evaluated(*own) for own in NO_MOVES},
    "Em: other size": lambda: em(starts=np.ones((1, 5))),
    "Em: no starts": lambda: em(starts=np.ones((0, 6))),
    "Em: other pseudo-counts": lambda: em(pseudo=np.ones(5)),
    "Em: other held": lambda: em(held=np.ones(5, np.uint8)),
    "Em.compete: no steps": lambda: em().compete(1, 0, 1e-8, 0.0, 4.0),
    "Em.compete: no first steps": lambda: em().compete(0, 10, 1e-8, 0.0, 4.0),
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

SIZELESS = {"kernels", "available_kernels", "Engine.best_lanes", "Em.advance", "Em.asked", "Beliefs.log_likelihood"}
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
        if name.startswith("_") or not callable(entry):
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


# ---- what several look at ---------------------------------------------------------------------------------------


def random_beliefs():
    """Two latents and four leaves, as above, with random probabilities and rows; nobody else holds the arrays."""
    rng = np.random.default_rng(0)
    joint = [(a, b, rng.dirichlet(np.ones(STATES[a] * STATES[b])).reshape(STATES[a], STATES[b])) for a, b in EDGES]
    rows = rng.integers(-1, [2, 2, 2, 3], (700, 4)).astype(I16)
    return beliefs(edges=joint, codes=np.asfortranarray(rows), weights=rng.random(700), width=0.02)


def flat(answers):
    return [np.concatenate([[told], tables]) for told, _, _, _, tables in answers]


ASKED = [(*move, 3, 1, 6, 0.0, -np.inf, 2) for move in MOVES.values()]


def test_the_arrays_are_kept_as_long_as_they_are_looked_into():
    before = flat(random_beliefs().evaluate(ASKED, 1, 0, 1))
    kept = random_beliefs()
    gc.collect()
    _ = [np.full(n, -1, I16) for n in (2_800, 1_400, 700) for _ in range(200)]  # what would be written there instead
    for own, again in zip(before, flat(kept.evaluate(ASKED, 1, 0, 1)), strict=True):
        np.testing.assert_array_equal(own, again)


def test_several_threads_may_ask_the_same_beliefs():
    whole = flat(random_beliefs().evaluate(ASKED, 1, 0, 1))
    for _ in range(5):
        shared = random_beliefs()  # nothing is known yet: all look for it at once

        def ask(i, shared=shared):
            shared.dependence(10, 0, 3)
            shared.without(20, 10)
            shared.relocations([10, 20], [(0, 10, None)], 3, 2, 2)
            return flat(shared.evaluate(ASKED, 1, 0, 1 + i % 3))

        with ThreadPoolExecutor(4) as pool:
            for answers in pool.map(ask, range(4)):
                for own, again in zip(whole, answers, strict=True):
                    np.testing.assert_array_equal(own, again)


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
