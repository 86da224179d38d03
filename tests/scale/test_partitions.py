"""Fits, scores and prediction over tables in several parts: the same as over one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from strategies import models_and_tables

import latentree as lt
from latentree.errors import DataError, ParameterError
from latentree.scale import Partitions, assign, posteriors
from latentree.score._assignment import average_posteriors
from latentree.score._separation import entropy
from latentree.score._uncertainty import standard_errors

SCORES = ("aic", "bic", "bice", "awe", "laplace", "mled", "cs", "cse", "icl", "icl_bic", "variational")


def in_parts(table, n_tables, folder=None, **options):
    """The same rows in several tables."""
    return Partitions.write([(table.codes, table.weights)], folder, table.variables, n_tables=n_tables, **options)


@pytest.fixture(scope="module")
def voting():
    whole = lt.datasets.load("voting")
    return whole, in_parts(whole, 4)


@given(st.data(), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_a_fit_over_parts_is_that_of_the_whole(data, n_tables):
    model, table = data.draw(models_and_tables())
    parts = in_parts(table, n_tables)
    assert parts.n_patterns == table.n_patterns and parts.n == pytest.approx(table.n)
    options = {"accelerate": False, "max_iterations": 20, "tol": 0.0}
    whole, apart = (lt.estimation.em(model, own, **options) for own in (table, parts))
    assert apart.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-9, abs=1e-9)
    if np.isfinite(whole.log_likelihood):
        np.testing.assert_allclose(apart.counts.vector, whole.counts.vector, rtol=1e-7, atol=1e-9 * whole.counts.weight)


def test_starts_do_not_depend_on_the_parts(voting):
    """Rows are drawn in the order of a hash, which is that of the parts one after another."""
    whole, parts = voting
    tree = lt.Tree.star(3, whole.cardinalities)
    starts = (lt.estimation._classes.row_starts(tree, own, 8, np.random.default_rng(5)) for own in (whole, parts))
    np.testing.assert_allclose(*starts, rtol=1e-12)


@pytest.mark.parametrize("memory", [1e9, 0.0], ids=["kept", "compiled anew"])
def test_latent_classes_and_every_score(voting, memory):
    whole, _ = voting
    parts = in_parts(whole, 4, memory=memory)
    a, b = (lt.fit_classes(own, 2, rng=np.random.default_rng(0), n_init=8, tol=1e-10) for own in (whole, parts))
    assert b.log_likelihood == pytest.approx(a.log_likelihood, abs=1e-8)
    found, apart = (lt.score.scores(fit, SCORES) for fit in (a, b))
    for name in SCORES:
        assert apart[name].value == pytest.approx(found[name].value, rel=1e-7), name
    assert entropy(b) == pytest.approx(entropy(a), rel=1e-6)
    ours, theirs = average_posteriors(b), average_posteriors(a)
    np.testing.assert_allclose(ours.table, theirs.table, rtol=1e-5)
    assert ours.error == pytest.approx(theirs.error, rel=1e-6)
    np.testing.assert_allclose(standard_errors(b).errors, standard_errors(a).errors, rtol=1e-5)


@pytest.mark.parametrize("method", ["em", "accelerated", "gcg", "em-eta", "annealing"])
def test_methods_that_only_sum_over_rows(voting, method):
    whole, parts = voting
    start = lt.Model.random(lt.Tree.star(2, whole.cardinalities), whole.variables, np.random.default_rng(1))
    a, b = (lt.estimate(start, own, method=method, tol=1e-9) for own in (whole, parts))
    assert b.log_likelihood == pytest.approx(a.log_likelihood, abs=1e-6)


def test_a_fit_over_parts_can_be_kept_and_resumed(voting, tmp_path):
    _, parts = voting
    start = lt.Model.random(lt.Tree.star(3, parts.cardinalities), parts.variables, np.random.default_rng(4))
    whole = lt.estimate(start, parts)
    file = tmp_path / "fit.ckpt"
    stopped = lt.estimate(start, parts, checkpoint=file, budget=lt.Budget(seconds=0))
    assert not stopped.converged and file.exists()
    resumed = lt.estimate(start, parts, checkpoint=file)
    assert resumed.trace.tolist() == whole.trace.tolist()
    assert resumed.model.parameters.tolist() == whole.model.parameters.tolist()
    with pytest.raises(ParameterError, match="made with other data"):
        lt.estimate(start, voting[0].reweighted(2 * voting[0].weights), checkpoint=file)


def test_methods_that_visit_rows_say_so(voting):
    start = lt.Model.random(lt.Tree.star(2, voting[0].cardinalities), voting[0].variables, np.random.default_rng(1))
    with pytest.raises(DataError, match="distinct rows at once"):
        lt.estimate(start, voting[1], method="incremental")


# ---- rows in pieces ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame_and_model():
    frame = lt.datasets.load_frame("voting").drop(columns="party")
    table = lt.Table.from_frame(frame)
    return frame, lt.fit_classes(table, 2, rng=np.random.default_rng(0)).model


def test_posteriors_in_pieces(frame_and_model):
    frame, model = frame_and_model
    table = lt.Table.from_frame(frame, variables=model.variables)
    seen = list(posteriors(model, [frame[:100], frame[100:]]))
    assert [len(piece) for piece, _, _ in seen] == [100, 335]
    np.testing.assert_allclose(
        np.vstack([p["z"] for _, p, _ in seen]), lt.infer.posterior(model, table)["z"], atol=1e-12
    )
    np.testing.assert_allclose(
        np.concatenate([log for _, _, log in seen]), lt.infer.log_likelihood_rows(model, table), rtol=1e-12
    )


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv"])
def test_rows_are_written_as_they_are_read(frame_and_model, tmp_path, suffix):
    frame, model = frame_and_model
    frame = frame.assign(id=np.arange(len(frame)))
    for i in range(3):
        frame[i * 150 : (i + 1) * 150].to_parquet(tmp_path / f"in-{i}.parquet")
    told = []
    out = tmp_path / f"rows.{suffix}"
    assert assign(model, str(tmp_path / "in-*.parquet"), out, keep=["id"], on_progress=told.append) == len(frame)
    assert [event.done for event in told] == [150, 300, 435]
    read = pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out, sep="\t" if suffix == "tsv" else ",")
    p = lt.infer.posterior(model, lt.Table.from_frame(frame, variables=model.variables))["z"]
    assert read["id"].tolist() == list(range(len(frame)))
    assert read["class"].tolist() == p.argmax(axis=1).tolist()
    np.testing.assert_allclose(read[["p_class0", "p_class1"]], p, atol=1e-6)
    assert not list(tmp_path.glob(".latentree-*"))


def test_pieces_may_have_their_columns_in_any_order(frame_and_model, tmp_path):
    frame, model = frame_and_model
    frame = frame.assign(id=np.arange(len(frame)), note=[None if i % 2 else 0.123456789 for i in range(len(frame))])
    turned = frame[frame.columns[::-1]]
    assert assign(model, [frame[:5], frame[:0], turned[5:9]], tmp_path / "rows.csv") == 9
    read = pd.read_csv(tmp_path / "rows.csv")
    assert read["id"].tolist() == list(range(9)) and read["note"][0] == 0.123456789 and read["note"].isna()[1]
    with pytest.raises(DataError, match="no column 'id', which the first piece has"):
        assign(model, [frame[:5], frame[5:].drop(columns="id")], tmp_path / "rows.csv")
    with pytest.raises(ParameterError, match="lies in the folder that is read"):
        assign(model, tmp_path, tmp_path / "more.csv")


def test_rows_that_fail_leave_no_file(frame_and_model, tmp_path):
    frame, model = frame_and_model
    for source, error in (([frame, frame.assign(crime="maybe")], "is not a known state"), ([], "no piece")):
        with pytest.raises(DataError, match=error):
            assign(model, source, tmp_path / "rows.csv")
    with pytest.raises(DataError, match="no column 'nope'"):
        assign(model, [frame], tmp_path / "rows.csv", keep=["nope"])
    with pytest.raises(ParameterError, match=r"\.parquet, \.csv or \.tsv"):
        assign(model, [frame], tmp_path / "rows.txt")
    assert not list(tmp_path.iterdir())


# ---- what data are -----------------------------------------------------------------------------------------------


def test_partitions_are_data_and_not_a_table_that_lacks_rows(voting):
    whole, parts = voting
    assert isinstance(whole, lt.Data) and isinstance(parts, lt.Data) and not isinstance(parts, lt.Table)
    assert parts.weight == pytest.approx(whole.weight) and parts.n == pytest.approx(whole.n)
    for name in ("variables", "n_patterns", "n_variables", "names"):
        assert getattr(parts, name) == getattr(whole, name)
    assert parts.cardinalities.tolist() == whole.cardinalities.tolist()
    assert not hasattr(parts, "nothing")


@pytest.mark.parametrize("name", ["codes", "weights", "inverse", "select", "reweighted", "ordered"])
def test_what_needs_all_rows_at_once_is_told_what_to_do(voting, name):
    with pytest.raises(DataError, match=r"table\.joined\(\)"):
        getattr(voting[1], name)
