"""Mutual information and information curves against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import joint, marginal
from strategies import models

from latentree import datasets
from latentree._information import InformationCurves, edge_information, entropy_of
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered


def told(p: np.ndarray) -> float:
    """Mutual information of the first axis and all others, from the definition."""
    flat = p.reshape(len(p), -1)
    a, b = flat.sum(axis=1), flat.sum(axis=0)
    return sum(x * np.log(x / (a[i] * b[j])) for (i, j), x in np.ndenumerate(flat) if x > 0)


def own_part(tree, z):
    """Manifest nodes that are reached without passing a latent node of one state."""
    seen = [z]
    for v in seen:
        seen += [u for u in tree.neighbours(v) if u not in seen and u not in tree.cuts]
    return [v for v in seen if tree.variable[v] >= 0]


@settings(max_examples=60)
@given(models(max_nodes=6))
def test_curves_are_what_enumeration_gives(model):
    tree, p = model.tree, joint(model.tree, model.parameters)
    manifest = [int(v) for v in tree.manifest]
    curves = InformationCurves(model)
    assert curves.exact
    for z in map(int, tree.latent):
        curve = curves.of(z)
        assert sorted(curve.leaves) == sorted(own_part(tree, z))
        assert list(curve.alone) == sorted(curve.alone, reverse=True)
        for i, leaf in enumerate(curve.leaves):
            first = list(curve.leaves[: i + 1])
            assert curve.alone[i] == pytest.approx(told(marginal(tree, p, [z, leaf])), abs=1e-9)
            assert curve.together[i] == pytest.approx(told(marginal(tree, p, [z, *first])), abs=1e-9)
            pair = marginal(tree, p, [z, leaf])
            np.testing.assert_allclose(pair.sum(axis=1)[:, None] * curve.profiles[i], pair, atol=1e-12)
        assert curve.total == pytest.approx(told(marginal(tree, p, [z, *manifest])), abs=1e-9)


@settings(max_examples=40)
@given(models(max_nodes=6))
def test_edges_are_what_enumeration_gives(model):
    tree, p = model.tree, joint(model.tree, model.parameters)
    found = edge_information(model)
    assert found[0] == 0
    for v in range(1, tree.n_nodes):
        assert found[v] == pytest.approx(told(marginal(tree, p, [int(tree.parent[v]), v])), abs=1e-9)


def test_the_root_changes_nothing():
    model = datasets.generator("d7")
    other = model.rerooted("Z3")
    for name in ("Z1", "Z2", "Z3"):
        a, b = (InformationCurves(m).of(m.tree.node(name)) for m in (model, other))
        np.testing.assert_allclose(a.alone, b.alone, atol=1e-12)
        np.testing.assert_allclose(a.together, b.together, atol=1e-12)


def test_long_curves_are_drawn_and_never_fall():
    """18 ternary leaves cannot be enumerated: totals come from drawn rows, near what many more rows give."""
    model = datasets.generator("d18")
    curves = InformationCurves(model, most=18)
    assert not curves.exact
    for z in map(int, model.tree.latent):
        curve = curves.of(z)
        assert (np.diff(curve.together) >= 0).all()
        assert curve.together[0] == pytest.approx(curve.alone[0], abs=1e-12)
        assert curve.together[-1] <= curve.total <= entropy_of(model.marginals()[z])


def test_drawn_totals_agree_with_enumerated_ones(monkeypatch):
    model = datasets.generator("d7")
    exact = InformationCurves(model)
    monkeypatch.setattr("latentree._information.MOST_PATTERNS", 500)
    drawn = InformationCurves(model)
    assert exact.exact and not drawn.exact
    for z in map(int, model.tree.latent):
        # 500 rows: entropies of at most ln 3 have standard errors below ln 3 / 2 / sqrt(500) = 0.025.
        assert drawn.of(z).total == pytest.approx(exact.of(z).total, abs=0.1)


def test_a_latent_that_sees_nothing():
    lonely = Model.random(Tree([-1, 0, 0], [2, 2, 3], [-1, -1, -1]), (), np.random.default_rng(0))
    curve = InformationCurves(lonely).of(0)
    assert curve.leaves == () and curve.total == 0
    single = Model.random(Tree.star(1, [2, 2]), numbered([2, 2]), np.random.default_rng(0))
    assert InformationCurves(single).of(0).together == (0.0, 0.0)
