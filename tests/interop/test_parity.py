"""Independent programs compute the same log-likelihoods for the same models.

Run by ``make interop``. (Published figures of poLCA are golden tests; pgmpy and pyAgrum see random trees here, and
models that go through files in ``test_programs``.)
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_programs import all_rows, by_pgmpy, by_pyagrum, ours

import latentree as lt
from latentree._tree import Tree

pytestmark = pytest.mark.filterwarnings("ignore")


def quietly(module: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(module)


def random_model(seed: int) -> lt.Model:
    """A random tree with a few latent nodes, also at its ends, and four observed ones, also inside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    parent = [-1, *(int(rng.integers(0, v)) for v in range(1, n))]
    shown = rng.permutation(n)[:4]
    variable = np.full(n, -1)
    variable[shown] = np.arange(4)
    tree = Tree(parent, rng.integers(2, 4, n), variable)
    own = [lt.Variable(f"v{i}", tuple("abc"[: tree.cardinality[node]])) for i, node in enumerate(tree.manifest)]
    return lt.Model.random(tree, own, rng)


@pytest.mark.parametrize("seed", range(8))
def test_pgmpy_agrees(seed):
    quietly("pgmpy.models")
    model = random_model(seed)
    rows = all_rows(model)
    theirs = by_pgmpy(model.to_pgmpy(), [v.name for v in model.variables], rows)
    assert theirs == pytest.approx(ours(model, rows), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_pyagrum_agrees(seed):
    gum = quietly("pyagrum")
    model = random_model(seed)
    rows = all_rows(model)
    theirs = by_pyagrum(gum, model.to_pyagrum(), [v.name for v in model.variables], rows)
    assert theirs == pytest.approx(ours(model, rows), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_pyagrum_computes_the_same_posteriors(seed):
    gum = quietly("pyagrum")
    model = random_model(seed)
    engine = gum.LazyPropagation(model.to_pyagrum())
    given = {v.name: v.states[0] for v in model.variables[:2]}
    engine.setEvidence({name: str(state) for name, state in given.items()})
    for name in model.tree.names:
        if name not in given:
            assert engine.posterior(name).toarray() == pytest.approx(model.query(name, given), abs=1e-12)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_stepmix_agrees(n_classes, missing):
    """The classes that StepMix finds, as a model of ours, have the log-likelihood that StepMix says."""
    stepmix = quietly("stepmix")
    rng = np.random.default_rng(n_classes)
    k, m = 3, 5
    rows = rng.integers(0, k, (300, m))
    cells = rows.astype(float)
    if missing:
        cells[rng.random(cells.shape) < 0.15] = np.nan
    kind = "categorical_nan" if missing else "categorical"
    peer = stepmix.StepMix(n_components=n_classes, measurement=kind, random_state=0, n_init=1, progress_bar=0).fit(
        cells
    )
    found = peer.get_parameters()
    answers = np.asarray(found["measurement"]["pis"]).reshape(n_classes, m, k)
    tree = lt.Tree.star(n_classes, [k] * m)
    own = [lt.Variable(f"x{i + 1}", (0, 1, 2)) for i in range(m)]
    tables = {"z": found["weights"]} | {f"x{i + 1}": answers[:, i] for i in range(m)}
    model = lt.Model.from_tables(tree, own, tables)
    codes = np.where(np.isnan(cells), -1, cells).astype(int)
    assert peer.score(cells) * len(cells) == pytest.approx(float(ours(model, codes).sum()), rel=1e-9)
