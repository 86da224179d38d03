"""A real cluster of processes on this machine: same results, and nothing is lost with a worker."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

import latentree as lt
from latentree.errors import DataError
from latentree.scale import Spread, farm, from_dask

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

pytestmark = [
    pytest.mark.xdist_group("cluster"),  # one cluster for all of them
    pytest.mark.filterwarnings("ignore:Sending large graph", "default::ResourceWarning", "default::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with distributed.LocalCluster(**options, host="127.0.0.1", silence_logs=50) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    z, p = rng.integers(0, 3, 6000), rng.random((3, 12))
    cells = np.where(rng.random((6000, 12)) < p[z], "yes", "no").astype(object)
    cells[rng.random(cells.shape) < 0.02] = None
    return pd.DataFrame(cells, columns=[f"q{i}" for i in range(12)])


@pytest.fixture(scope="module")
def tables(client, frame):
    """The same rows here and on the workers."""
    return lt.Table.from_frame(frame), lt.Table.from_chunks(dd.from_pandas(frame, npartitions=5), memory=1000)


def kill_a_worker(cluster):
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def fitted(table, **options):
    return lt.fit_classes(table, 3, rng=np.random.default_rng(1), n_init=6, tol=1e-10, **options)


def test_a_data_frame_becomes_tables_on_the_workers(tables):
    whole, spread = tables
    assert isinstance(spread, Spread) and len(spread.sizes) == 2
    assert spread.variables == whole.variables and spread.n == whole.n and spread.n_patterns == whole.n_patterns
    here, there = whole.ordered(), spread.joined().ordered()
    assert (here.codes == there.codes).all() and (here.weights == there.weights).all()


def test_few_distinct_rows_come_here(client, frame):
    small = lt.Table.from_chunks(dd.from_pandas(frame[["q0", "q1"]], npartitions=5))
    assert type(small) is lt.Table and small.n == len(frame)


def test_an_array_is_read_by_blocks_of_rows(client, frame):
    codes = (frame == "yes").to_numpy().astype(int)
    found = lt.Table.from_chunks(da.from_array(codes, chunks=(1000, 5)), memory=1000)
    assert found.joined().ordered().codes.tolist() == lt.Table.from_frame(codes).ordered().codes.tolist()
    with pytest.raises(DataError, match="rows and columns"):
        lt.Table.from_chunks(da.from_array(codes[:, 0], chunks=1000))


def test_bins_and_weights(client, frame):
    rng = np.random.default_rng(3)
    wider = frame.assign(age=rng.gamma(3.0, 10.0, len(frame)), w=rng.integers(0, 3, len(frame)))
    options = {"bins": {"age": 3}, "weights": "w", "drop": ["q0"]}
    found = from_dask(dd.from_pandas(wider, npartitions=4), memory=1000, **options).joined().ordered()
    whole = lt.Table.from_frame(wider, **options).ordered()
    assert found.variables == whole.variables
    assert (found.codes == whole.codes).all() and (found.weights == whole.weights).all()


def test_the_fit_is_that_of_one_process(tables):
    whole, spread = tables
    here, there = fitted(whole), fitted(spread)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, abs=1e-7)
    start = lt.Model.random(here.model.tree, whole.variables, np.random.default_rng(2))
    plain = {"method": "em", "max_iterations": 30, "tol": 0.0}
    here, there = (lt.estimate(start, own, **plain) for own in (whole, spread))
    np.testing.assert_allclose(there.model.parameters, here.model.parameters, atol=1e-9)
    names = ["bic", "icl", "cs", "laplace", "variational"]
    ours, theirs = lt.score.scores(there, names), lt.score.scores(here, names)
    for name in names:
        assert ours[name].value == pytest.approx(theirs[name].value, rel=1e-9), name


def test_starts_dealt_out_change_nothing(client, tables):
    whole, _ = tables
    here, dealt = fitted(whole), fitted(farm(whole))
    assert dealt.model.parameters.tolist() == here.model.parameters.tolist()
    assert dealt.trace.tolist() == here.trace.tolist()


@pytest.mark.parametrize("method", ["swift", "east", "dhc"])
def test_candidates_dealt_out_change_nothing(client, method):
    table = lt.datasets.load("hiv_test")
    here = lt.search.learn(table, method=method, rng=np.random.default_rng(0))
    elsewhere = {"n_jobs": 2, "executor": client.get_executor()}
    there = lt.search.learn(table, method=method, rng=np.random.default_rng(0), **elsewhere)
    assert there.score == here.score
    assert there.model.parameters.tolist() == here.model.parameters.tolist()


def test_a_search_elsewhere_keeps_to_the_time(client):
    table = lt.datasets.load("voting")
    budget = lt.Budget(seconds=1.5)
    run = lt.search.learn(table, rng=np.random.default_rng(0), n_jobs=2, executor=client.get_executor(), budget=budget)
    assert run.reason is lt.StopReason.TIME


def test_a_worker_killed_in_the_middle_loses_nothing(cluster, tables):
    """Its tables and plans are made anew from the data, and the fit goes on to the same numbers."""
    _, spread = tables
    quiet = fitted(spread)
    steps = []

    def count(event):
        steps.append(event)
        if len(steps) == 3:
            kill_a_worker(cluster)

    disturbed = fitted(spread, on_progress=count)
    assert len(steps) > 3
    assert disturbed.model.parameters.tolist() == quiet.model.parameters.tolist()
    assert disturbed.trace.tolist() == quiet.trace.tolist()


def test_a_search_goes_on_when_a_worker_is_killed(cluster, client):
    table = lt.datasets.load("hiv_test")
    client.wait_for_workers(2, timeout=60)
    here = lt.search.learn(table, method="east", rng=np.random.default_rng(0))
    timer = threading.Timer(0.5, kill_a_worker, [cluster])
    timer.start()
    there = lt.search.learn(
        table, method="east", rng=np.random.default_rng(0), n_jobs=2, executor=client.get_executor()
    )
    timer.join()
    assert there.score == here.score


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # said by older ones of Dask
def test_without_a_cluster_partitions_are_read_one_after_another(frame, monkeypatch):
    monkeypatch.setattr("latentree.scale._cluster._connected", lambda: None)
    found = lt.Table.from_chunks(dd.from_pandas(frame, npartitions=5))
    assert type(found) is lt.Table and found.n == len(frame)
    with pytest.raises(lt.LatentreeError, match="no cluster"):
        farm(found)


def test_rows_are_predicted_where_they_are(client, frame):
    lca = lt.LatentClass(3, random_state=0, n_init=4).fit(frame)
    there = dd.from_pandas(frame, npartitions=3).map_partitions(lca.predict, meta=np.zeros(0, dtype=int)).compute()
    assert np.asarray(there).tolist() == lca.predict(frame).tolist()
