"""The registry of scores: what is known of each, and scores of one's own."""

from __future__ import annotations

import ast
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import latentree as lt
from latentree import score
from latentree.score import SCORES, Penalty, Score


@pytest.fixture
def own(monkeypatch):
    """Two scores of one's own, known while a test runs."""
    monkeypatch.setattr(SCORES, "_entries", dict(SCORES))
    hannan_quinn = Score("hq", "Hannan-Quinn", penalty=Penalty(lambda n: math.log(math.log(n)), above=3.0))
    plain = Score("ll_twice", "Twice the log-likelihood", lambda fit: 2 * fit.log_likelihood - 10 * fit.n_parameters)
    for entry in (hannan_quinn, plain):
        SCORES.register(entry.name, entry)
    return hannan_quinn, plain


@pytest.fixture(scope="module")
def carcinoma():
    return lt.fit_classes(lt.datasets.load("carcinoma"), 2, rng=np.random.default_rng(0))


def test_a_score_of_ones_own_is_known_everywhere(own, carcinoma):
    d, n = carcinoma.n_parameters, carcinoma.table.n
    value = carcinoma.log_likelihood - d * math.log(math.log(n))
    assert lt.scores(carcinoma, "hq")["hq"].value == pytest.approx(value)
    assert {"hq", "ll_twice"} <= set(lt.scores(carcinoma))
    found = lt.compare(lt.datasets.load_frame("carcinoma"), [2, 3], scores=["hq", "ll_twice"], random_state=0)
    assert [row["hq"] for row in found.table if row["n_classes"] == 2] == [pytest.approx(value, abs=1e-3)]


@pytest.mark.parametrize("name", ["hq", "ll_twice"])
@pytest.mark.parametrize("learn", [lt.learn, lt.learn_classes])
def test_searches_maximise_a_score_of_ones_own(own, learn, name):
    table = lt.datasets.load("hiv_test")
    run = learn(table, score=name, rng=np.random.default_rng(0), budget=lt.Budget(iterations=3))
    alone = lt.fit_classes(table, 1, rng=np.random.default_rng(0))
    assert SCORES[name](run.fit) > SCORES[name](alone) + 10


def test_penalised_scores_are_the_likelihood_less_a_rate_for_each_dimension(carcinoma):
    for name, entry in SCORES.items():
        if entry.penalty is not None:
            d = lt.effective_dimension(carcinoma.model.tree)
            assert entry.penalty.dimension == "effective" or d == carcinoma.n_parameters
            value = carcinoma.log_likelihood - d * entry.penalty.rate(carcinoma.table.n)
            assert entry(carcinoma) == getattr(score, name)(carcinoma) == pytest.approx(value)


def test_entries_can_be_sent_to_other_processes_and_keep_their_name():
    for name, entry in SCORES.items():
        assert pickle.loads(pickle.dumps(entry)) == entry
        assert entry.__name__ == entry.__qualname__ == entry.name == name


def test_an_entry_given_itself_is_the_score_of_that_name():
    table = lt.datasets.load("hiv_test")
    a, b = (lt.learn(table, score=s, rng=np.random.default_rng(0)) for s in ("aic", SCORES["aic"]))
    assert a.model == b.model


def test_a_name_that_is_not_there_is_answered_with_the_likeliest():
    table = lt.datasets.load("hiv_test")
    with pytest.raises(lt.ParameterError, match=r"'score' parameter of learn .* Did you mean 'bic'\?"):
        lt.learn(table, score="bicc", rng=np.random.default_rng(0))
    assert not hasattr(score, "bicc")


def test_the_registry_is_read_without_numpy():
    code = "import sys, latentree.score._registry; print([m for m in sys.modules if m.partition('.')[0] == 'numpy'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_see_the_names_that_there_are():
    stub = ast.parse(Path(score.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    names = {a.asname for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert names == set(score.__all__) == set(dir(score))
    for name in names:
        assert getattr(score, name) is not None
