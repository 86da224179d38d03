"""Models go to pgmpy and pyAgrum and come back, as files and as objects, with the same log-likelihoods.

Run by ``make interop``, which installs them; skipped where they are not there.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import latentree as lt
from latentree import infer
from latentree.formats import _bif as bif, _net as net, _xdsl as xdsl, _xmlbif as xmlbif
from latentree.formats._network import network_of

pytestmark = pytest.mark.filterwarnings("ignore")  # what other programs warn of is theirs

FORMATS = {"bif": bif, "xmlbif": xmlbif, "net": net, "xdsl": xdsl}


@pytest.fixture(scope="module")
def pgmpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pgmpy")
        return pytest.importorskip("pgmpy.readwrite")


@pytest.fixture(scope="module")
def gum():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


def plain() -> lt.Model:
    """Names that every program takes."""
    own = [
        lt.Variable("smokes", ("no", "yes")),
        lt.Variable("age", ("young", "middle", "old")),
        lt.Variable("n", (0, 1, 2)),
        lt.Variable("left", (True, False)),
    ]
    edges = [("z", "smokes"), ("z", "age"), ("z", "w"), ("w", "n"), ("w", "left")]
    return _model(own, edges, {"z": 3, "w": 2})


def odd() -> lt.Model:
    """Names that none takes as they are."""
    own = [
        lt.Variable("income in €", ("<= 1000", "> 1000"), (1000.0,)),
        lt.Variable("x", (-1, 1)),
        lt.Variable("X", ("1", 1, 1.0)),
        lt.Variable("table", ("strongly agree", "no, not", "(other)", 'say "x" & <y>')),
    ]
    edges = [("z 1", own[0].name), ("z 1", "x"), ("z 1", "%"), ("%", "X"), ("%", "table")]
    return _model(own, edges, {"z 1": 3, "%": 2})


def _model(own: list[lt.Variable], edges: list[tuple[str, str]], latents: dict[str, int]) -> lt.Model:
    names = [v.name for v in own]
    tree = lt.Tree.from_edges(edges, latents | {v.name: v.cardinality for v in own}, names)
    return lt.Model.random(tree, own, np.random.default_rng(0))


MODELS = {"plain": plain, "odd": odd}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def all_rows(model: lt.Model) -> np.ndarray:
    """Every row there is, and some with missing cells."""
    rows = np.array(list(itertools.product(*(range(v.cardinality) for v in model.variables))))
    holes = rows.copy()
    holes[np.random.default_rng(1).random(rows.shape) < 0.4] = -1
    return np.vstack([rows, holes[(holes >= 0).any(axis=1)]])


def ours(model: lt.Model, rows: np.ndarray) -> np.ndarray:
    """Log-likelihood of each row."""
    table = lt.Table.from_codes(rows, model.variables)
    return infer.log_likelihood_rows(model, table)


def written_names(model: lt.Model, own) -> list[str]:
    """Names of the manifest variables in a file."""
    nodes = network_of(model, own.DIALECT)
    return [nodes[v].name for v in model.tree.manifest]


def latent_names(model: lt.Model, own) -> list[str]:
    nodes = network_of(model, own.DIALECT)
    return [nodes[v].name for v in model.tree.latent]


# ---- what the programs say of a network ------------------------------------------------------------------------------


def by_pgmpy(network, names: list[str], rows: np.ndarray) -> np.ndarray:
    from pgmpy.inference import VariableElimination

    joint = VariableElimination(network).query(names, show_progress=False)
    order = [joint.variables.index(name) for name in names]
    table = np.transpose(joint.values, order)
    out = []
    for row in rows:
        part = table[tuple(slice(None) if c < 0 else c for c in row)]
        out.append(np.log(part.sum()))
    return np.array(out)


def by_pyagrum(gum, network, names: list[str], rows: np.ndarray) -> np.ndarray:
    engine = gum.LazyPropagation(network)
    out = []
    for row in rows:
        engine.setEvidence({name: int(c) for name, c in zip(names, row, strict=True) if c >= 0})
        out.append(np.log(engine.evidenceProbability()))
    return np.array(out)


def rounding(model: lt.Model, error: float) -> float:
    """How far log-likelihoods may be off if each probability is, by itself and by the sum of its row."""
    return 2 * model.tree.n_nodes * error / float(model.parameters.min())


def aligned(read: lt.Model, names: list[str], rows: np.ndarray) -> np.ndarray:
    """Columns in the order of a model that came back, whose variables may stand in another."""
    return rows[:, [names.index(v.name) for v in read.variables]]


# ---- pgmpy -----------------------------------------------------------------------------------------------------------

READERS = {"bif": "BIFReader", "xmlbif": "XMLBIFReader", "net": "NETReader", "xdsl": "XDSLReader"}


@pytest.mark.parametrize("kind", FORMATS)
def test_pgmpy_reads_our_files(pgmpy, model, kind, tmp_path):
    path = tmp_path / f"m.{kind}"
    model.save(path)
    network = getattr(pgmpy, READERS[kind])(str(path)).get_model()
    rows = all_rows(model)
    theirs = by_pgmpy(network, written_names(model, FORMATS[kind]), rows)
    assert theirs == pytest.approx(ours(model, rows), abs=1e-9)


@pytest.mark.parametrize("kind", FORMATS)
def test_we_read_files_of_pgmpy(pgmpy, model, kind, tmp_path):
    own = FORMATS[kind]
    model.save(tmp_path / f"m.{kind}")
    network = getattr(pgmpy, READERS[kind])(str(tmp_path / f"m.{kind}")).get_model()
    path = tmp_path / f"theirs.{kind}"
    getattr(pgmpy, READERS[kind].replace("Reader", "Writer"))(network).write(str(path))
    read = lt.load(path, latent=latent_names(model, own))
    rows = all_rows(model)
    names = written_names(model, own)
    if kind == "xmlbif":  # where pgmpy keeps properties, and so our names
        names = [v.name for v in model.variables]
    theirs = ours(read, aligned(read, names, rows))
    # In NET it writes eight digits.
    assert theirs == pytest.approx(ours(model, rows), abs=rounding(model, 5e-9) if kind == "net" else 1e-9)


def test_objects_of_pgmpy(pgmpy, model, tmp_path):
    network = model.to_pgmpy()
    assert network.check_model()
    assert set(network.latents) == {model.tree.names[v] for v in model.tree.latent}
    for v in model.variables:
        same = ["1", "1_", "1.0"] if v.name == "X" else list(v.states)  # to pgmpy, 1 and 1.0 are the same
        assert network.get_cpds(v.name).state_names[v.name] == same
    rows = all_rows(model)
    names = [v.name for v in model.variables]
    assert by_pgmpy(network, names, rows) == pytest.approx(ours(model, rows), abs=1e-9)


def test_latent_nodes_survive_pgmpy(pgmpy, tmp_path):
    model = plain()
    pgmpy.BIFWriter(model.to_pgmpy()).write(str(tmp_path / "m.bif"))
    read = lt.load(tmp_path / "m.bif")
    assert {read.tree.names[v] for v in read.tree.latent} == {"z", "w"}


# ---- pyAgrum ---------------------------------------------------------------------------------------------------------

SUFFIX = {"bif": "bif", "xmlbif": "bifxml", "net": "net", "xdsl": "xdsl"}
READ_AS = {"bif": 1e-6, "xmlbif": 1e-9, "net": 1e-6, "xdsl": 1e-9}
"""pyAgrum keeps BIF and NET in single precision."""


def names_in_pyagrum(network, model: lt.Model) -> list[str]:
    """It reads nodes in the order of the file, but calls those of XDSL by their titles."""
    return [network.variable(int(v)).name() for v in model.tree.manifest]


@pytest.mark.parametrize("kind", FORMATS)
def test_pyagrum_reads_our_files(gum, model, kind, tmp_path):
    path = tmp_path / f"m.{SUFFIX[kind]}"
    model.save(path)
    network = gum.loadBN(str(path))
    rows = all_rows(model)
    theirs = by_pyagrum(gum, network, names_in_pyagrum(network, model), rows)
    assert theirs == pytest.approx(ours(model, rows), abs=READ_AS[kind])


@pytest.mark.parametrize("kind", FORMATS)
def test_we_read_files_of_pyagrum(gum, kind, tmp_path):
    model = plain()
    path = tmp_path / f"m.{SUFFIX[kind]}"
    gum.saveBN(model.to_pyagrum(), str(path))
    read = lt.load(path, latent=["z", "w"])
    rows = all_rows(model)
    theirs = ours(read, aligned(read, [v.name for v in model.variables], rows))
    # In XML it writes six digits, which is less than single precision.
    assert theirs == pytest.approx(ours(model, rows), abs=1e-9 if kind in ("bif", "net") else rounding(model, 5e-7))


def test_objects_of_pyagrum(gum, model):
    network = model.to_pyagrum()
    rows = all_rows(model)
    theirs = by_pyagrum(gum, network, [v.name for v in model.variables], rows)
    assert theirs == pytest.approx(ours(model, rows), abs=1e-9)


# ---- networkx --------------------------------------------------------------------------------------------------------


def test_objects_of_networkx(model):
    nx = pytest.importorskip("networkx")
    graph = model.to_networkx()
    assert nx.is_arborescence(graph)
    assert {n for n, latent in graph.nodes(data="latent") if latent} == {model.tree.names[v] for v in model.tree.latent}
    for v in model.variables:
        assert graph.nodes[v.name]["states"] == v.states
        assert np.array_equal(graph.nodes[v.name]["table"], model.table(v.name))
