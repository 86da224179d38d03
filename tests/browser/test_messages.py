"""The page's message passing against the library's, on any model: posteriors to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from strategies import evidence, models

from latentree import datasets
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Evidence, Plan
from latentree.report._html import source

RUN = """([parent, card, theta, rows]) => {
  const messages = new LT.Messages(parent, card, Float64Array.from(theta));
  return rows.map((row) => {
    const { posteriors, logProbability } = messages.run(new Map(row));
    return [posteriors && posteriors.map((p) => Array.from(p)), String(logProbability)];
  });
}"""


@pytest.fixture(scope="module")
def blank(browser):
    page = browser.new_page()
    page.add_script_tag(content=source("messages.js"))
    yield page
    page.close()


def compare(blank, model: Model, columns: list[Evidence], n_rows: int) -> None:
    tree = model.tree
    rows = [[] for _ in range(n_rows)]
    for e in columns:
        for row, i in zip(rows, e.ids.tolist(), strict=True):
            if e.likelihood is not None:
                row.append([e.node, e.likelihood[i].tolist()])
            elif i >= 0:
                row.append([e.node, i])
    found = blank.evaluate(RUN, [tree.parent.tolist(), tree.cardinality.tolist(), model.parameters.tolist(), rows])
    plan = Plan(tree, columns, np.ones(n_rows))
    wanted = plan.posteriors(model.parameters, list(range(tree.n_nodes)))
    logs = plan.row_log_likelihood(model.parameters)
    for i, (posteriors, log_probability) in enumerate(found):
        if np.isneginf(logs[i]):
            assert posteriors is None and log_probability == "-Infinity"
            continue
        assert float(log_probability) == pytest.approx(logs[i], rel=1e-11, abs=1e-9)
        for own, theirs in zip(posteriors, wanted, strict=True):
            np.testing.assert_allclose(own, theirs[i], atol=1e-9, rtol=0)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_any_tree_zeros_and_extremes(blank, data):
    model = data.draw(models(max_nodes=9, max_states=4, extreme=True))
    columns = data.draw(evidence(model.tree, soft=True))
    plain = [Evidence(e.node, e.ids, e.likelihood) for e in columns]  # scales change no posterior
    compare(blank, model, plain, len(columns[0].ids) if columns else 1)


def test_a_thousand_leaves_that_contradict_each_other(blank):
    """Half the leaves say one thing, half the other, each of them 1e-3 against 1: products are far below any double."""
    n = 1000
    model = Model.from_tables(
        Tree.star(2, [2] * n),
        numbered([2] * n),
        {"z": [0.5, 0.5], **{f"x{i + 1}": [[0.999, 0.001], [0.001, 0.999]] for i in range(n)}},
    )
    for ones in (500, 499, 501):
        codes = np.arange(n) < ones
        compare(blank, model, [Evidence(i + 1, np.array([int(c)], dtype=np.int32)) for i, c in enumerate(codes)], 1)


def test_a_long_chain(blank):
    n = 2000
    rng = np.random.default_rng(0)
    tree = Tree(np.arange(-1, n - 1), np.full(n, 3), np.r_[0, np.full(n - 2, -1), 1])
    model = Model.random(tree, numbered([3, 3]), rng, dominant=0.99)
    compare(blank, model, [Evidence(0, np.array([0], np.int32)), Evidence(n - 1, np.array([2], np.int32))], 1)


def test_sampled_rows_of_a_generator(blank):
    model, table = datasets.generator("d18"), datasets.sample_from("d18", 50, 3)
    codes = table.codes.astype(np.int32)
    codes[::3, ::2] = -1
    nodes = model.tree.manifest
    columns = [Evidence(int(node), np.ascontiguousarray(codes[:, i])) for i, node in enumerate(nodes)]
    compare(blank, model, columns, len(codes))
