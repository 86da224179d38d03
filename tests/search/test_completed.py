"""Formulas (3), (6), (9) and (10) of Z on completed data that are really made."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import oracle
import pytest
from hypothesis import given, strategies as st
from structures import models_and_tables

from latentree.engine._plan import evidence_of
from latentree.search._beliefs import Beliefs
from latentree.search._completed import CompletedData
from latentree.search._network import Graph, Network
from latentree.search._operators import moves


class Made:
    """The completed data: expected counts of all nodes at once, an axis for each."""

    def __init__(self, model, table):
        tree = model.tree
        evidence = evidence_of(model, table)
        _, self.number = Graph.from_tree(tree)
        self.counts = np.zeros(tree.cardinality)
        for row, weight in enumerate(table.weights):
            p, _ = oracle.row_joint(tree, model.parameters, evidence, row)
            self.counts += weight * p / p.sum()
        self.model = oracle.joint(tree, model.parameters)

    def of(self, *nodes: int) -> np.ndarray:
        return self._summed(self.counts, nodes)

    def in_model(self, *nodes: int) -> np.ndarray:
        return self._summed(self.model, nodes)

    def _summed(self, p: np.ndarray, nodes: tuple[int, ...]) -> np.ndarray:
        at = [self.number.index(v) for v in nodes]
        kept = sorted(at)
        return p.sum(axis=tuple(i for i in range(p.ndim) if i not in at)).transpose([kept.index(i) for i in at])


def logs(counts: np.ndarray, ratio: np.ndarray) -> float:
    return float((counts[counts > 0] * np.log(ratio[counts > 0])).sum())


@given(models_and_tables(max_leaves=5), st.data())
def test_values_are_those_of_the_formulas(case, data):
    model, table = case
    network = Network.from_model(model)
    graph = network.graph
    possible = moves(graph, ("NI", "SI", "NR", "ND"), reach=1)
    if not possible:
        return
    move = data.draw(st.sampled_from(possible))
    after = move.applied(graph).regularised()
    wider = after.n_parameters - graph.n_parameters
    if move.kind in ("NI", "SI") and wider <= 0:
        return
    made = Made(model, table)
    completed = CompletedData(Beliefs(network, table), lambda g: 0.5 * g.n_parameters * np.log(table.n))
    with np.errstate(divide="ignore", invalid="ignore"):  # what was never counted is left out
        expected = {"NI": _ni, "SI": _si, "NR": _nr, "ND": _nd}[move.kind](move.nodes, made, graph)
    if move.kind in ("NI", "SI"):
        expected /= wider
    else:
        expected -= 0.5 * wider * np.log(table.n)
    assert completed.value(move, after) == pytest.approx(expected, rel=1e-7, abs=1e-8)


def _ni(nodes, made: Made, graph: Graph) -> float:
    a, b, c = nodes
    abc = made.of(a, b, c)
    given = abc / made.of(a)[:, None, None]
    b_given, c_given = made.of(a, b) / made.of(a)[:, None], made.of(a, c) / made.of(a)[:, None]
    return logs(abc, given / (b_given[:, :, None] * c_given[:, None, :]))


def _si(nodes, made: Made, graph: Graph) -> float:
    near = graph.neighbours[nodes[0]]
    n = made.counts.sum()
    total = sum(logs(made.of(b, c), made.of(b, c) / n / made.in_model(b, c)) for b, c in permutations(near, 2))
    return 2 * total / (len(near) - 1)


def _nr(nodes, made: Made, graph: Graph) -> float:
    b, a, c = nodes
    abc = made.of(a, b, c)
    given_c = made.of(b, c) / made.of(c)
    given_a = made.in_model(a, b) / made.in_model(a)[:, None]
    return logs(abc, np.broadcast_to(given_c[None] / given_a[:, :, None], abc.shape))


def _nd(nodes, made: Made, graph: Graph) -> float:
    b, a = nodes
    total = -logs(made.of(a, b), made.in_model(a, b) / made.in_model(a)[:, None])
    for c in graph.neighbours[b]:
        if c != a:
            total += logs(made.of(a, c), made.of(a, c) / made.of(a)[:, None])
            total -= logs(made.of(b, c), made.in_model(b, c) / made.in_model(b)[:, None])
    return total
