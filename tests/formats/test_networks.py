"""Model files of other programs: golden files of each dialect, round trips, names, errors, limits."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import models

import latentree as lt
from latentree import infer
from latentree.errors import FileFormatError, LatentreeWarning, ParameterError
from latentree.formats import (
    _bif as bif,
    _dot as dot,
    _net as net,
    _tokens as tokens,
    _xdsl as xdsl,
    _xml as xml,
    _xmlbif as xmlbif,
)
from latentree.formats._models import FORMATS, format_of

DATA = Path(__file__).parent / "data"
WRITTEN = {"bif": bif, "xmlbif": xmlbif, "net": net, "xdsl": xdsl}

STATES = {
    "flu": ("no", "yes"),
    "fever": ("none", "mild", "high"),
    "cough": ("no", "yes"),
    "reading": ("low", "high"),
}
TABLES = {
    "flu": [[0.9, 0.1]],
    "fever": [[0.85, 0.1, 0.05], [0.1, 0.3, 0.6]],
    "cough": [[0.75, 0.25], [0.2, 0.8]],
    "reading": [[1, 0], [0, 1], [0, 1]],
}
EDGES = {"flu": None, "fever": "flu", "cough": "flu", "reading": "fever"}


@pytest.fixture
def model():
    """A model with everything that another format may have no room for."""
    own = [
        lt.Variable("income in €", ("<= 1000", "> 1000"), (1000.0,)),
        lt.Variable("x", (0, 1)),
        lt.Variable("X", (True, False)),
        lt.Variable("table", ("strongly agree", "no, not at all", "(other)", 'say "x"')),
        lt.Variable("", ("1", 1, 1.0)),
        lt.Variable("a\nb", ("", " ", "s_2")),
    ]
    k = {"z": 3, "z 2": 2} | {v.name: v.cardinality for v in own}
    edges = [("z", "a\nb"), ("z", "x"), ("z", "z 2"), ("z 2", "X"), ("z 2", "table"), ("z 2", own[0].name), ("z", "")]
    tree = lt.Tree.from_edges(edges, k, [v.name for v in own])
    return lt.Model.random(tree, own, np.random.default_rng(0))


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        return function(*args, **options)


# ---- golden files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(DATA.iterdir()), ids=lambda p: p.name)
def test_every_dialect_holds_the_same_network(path):
    read = quiet(lt.load, path)
    tree = read.tree
    assert {name: tree.names[tree.parent[v]] if v else None for v, name in enumerate(tree.names)} == EDGES
    for name, table in TABLES.items():
        assert read.table(name).tolist() == table
    shown = {v.name: v.states for v in read.variables}
    assert shown == {k: v for k, v in STATES.items() if k in shown}
    # pgmpy says which nodes are latent, the others do not
    assert [tree.names[v] for v in tree.latent] == (["flu"] if path.name == "pgmpy.bif" else [])
    assert list(shown) == ["cough", "fever", "reading"] if path.name == "pgmpy.bif" else list(STATES)


def test_only_a_table_in_another_order_is_worth_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in DATA.iterdir():
            if path.name != "pgmpy.bif":
                lt.load(path)
    with pytest.warns(LatentreeWarning, match="'fever' lists its numbers in another order"):
        lt.load(DATA / "pgmpy.bif")


@pytest.mark.parametrize("path", sorted(DATA.iterdir()), ids=lambda p: p.name)
def test_latent_nodes_can_be_named(path):
    assert lt.load(DATA / "hlta.bif", latent="inner").tree.n_variables == 2
    read = quiet(lt.load, path, latent=["fever"])
    assert [read.tree.names[v] for v in read.tree.latent] == ["fever"]
    assert read.states("fever") == (0, 1, 2)
    with pytest.raises(FileFormatError, match="no node 'nobody'"):
        quiet(lt.load, path, latent=["nobody"])
    with pytest.raises(ParameterError, match="'inner'"):
        quiet(lt.load, path, latent="fever")


# ---- round trips ---------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(models(extreme=True))
def test_every_model_comes_back_as_it_was(model):
    for own in WRITTEN.values():
        assert quiet(lambda own=own: own.loads(own.dumps(model))) == model


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_files_come_back_as_they_were(tmp_path, model, kind, packed):
    path = tmp_path / f"model.{kind}{packed}"
    quiet(model.save, path)
    assert path.read_bytes().startswith(b"\x1f\x8b") == bool(packed)
    assert lt.load(path) == model
    quiet(model.save, tmp_path / "no-suffix", format=kind)
    assert lt.load(tmp_path / "no-suffix", format=kind) == model


def test_own_files_may_be_packed_and_may_have_any_name(tmp_path, model):
    for name in ("m.json", "m.json.gz", "m", "m.txt"):
        model.save(tmp_path / name)
        assert lt.load(tmp_path / name) == model
    assert json.loads((tmp_path / "m.txt").read_text())["format"] == "latentree-model"


def test_conveniences(tmp_path, model):
    for kind in (*WRITTEN, "dot"):
        path = tmp_path / f"some.{kind}"
        quiet(getattr(model, f"to_{kind}"), path)
        assert format_of(path) == kind
        assert path.read_text("utf-8") == quiet((WRITTEN | {"dot": dot})[kind].dumps, model)


def test_a_foreign_network_scores_like_ours(tmp_path):
    read = lt.load(DATA / "bnlearn.bif", latent=["flu"])
    rows = np.array(list(itertools.product(range(3), range(2), range(2))))
    table = lt.Table.from_codes(rows, read.variables)
    flu, fever, cough, reading = (np.array(TABLES[n]) for n in STATES)
    joint = np.einsum("f,fe,fc,er->ecr", flu[0], fever, cough, reading).ravel()
    assert np.exp(infer.log_likelihood_rows(read, table)) == pytest.approx(joint, abs=1e-15)


def test_states_that_are_numbers_are_numbers():
    text = "network n {} variable x {type discrete[%d] {%s};} probability (x) {table %s;}"

    def states(*own):
        return (
            bif.loads(text % (len(own), ", ".join(own), ", ".join([str(1 / len(own))] * len(own)))).variables[0].states
        )

    assert states("0", "1") == (0, 1) and type(states("0", "1")[0]) is int
    assert states("0.5", "1") == (0.5, 1.0)
    assert states("1", "1.0") == ("1", "1.0")
    assert states("007", "1") == ("007", "1")
    assert states("yes", "1") == ("yes", "1")


# ---- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITTEN)
def test_changed_names_are_said(model, kind):
    with pytest.warns(LatentreeWarning, match="cannot hold all names as they are. Changed were '.*' to "):
        WRITTEN[kind].dumps(model)
    plain = lt.datasets.generator("d7")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind != "xdsl":  # whose states must start with a letter
            WRITTEN[kind].dumps(plain)


def test_bins_keep_their_meaning_in_letters(model):
    text = quiet(bif.dumps, model)
    assert "{ le_1000, gt_1000 }" in text
    assert "variable income_in {" in text and "latentree_name = income%20in%20%E2%82%AC ;" in text


def test_names_that_differ_only_by_case_are_told_apart(model):
    text = quiet(bif.dumps, model)
    assert "variable x {" in text and "variable X {" not in text and "variable X_" in text


def test_without_our_properties_the_file_is_still_a_network(model):
    text = "\n".join(line for line in quiet(bif.dumps, model).splitlines() if "property" not in line)
    read = bif.loads(text, latent=["z", "z_2"])
    for mine, theirs in zip(range(model.tree.n_nodes), range(read.tree.n_nodes), strict=True):
        assert np.array_equal(model.table(mine), read.table(theirs))


def test_many_bad_names_do_not_take_long():
    n = 4_000
    own = [lt.Variable(chr(0x4E00 + i), ("a b", "a_b")) for i in range(n)]
    model = lt.Model.random(lt.Tree.star(2, [2] * n), own, np.random.default_rng(0))
    start = time.perf_counter()
    text = quiet(bif.dumps, model)
    assert bif.loads(text) == model
    assert time.perf_counter() - start < 30


# ---- errors --------------------------------------------------------------------------------------------------------

TWO_PARENTS = {
    "bif": "network n {} "
    + "".join(f"variable {v} {{type discrete[2] {{a, b}};}} " for v in "xyz")
    + "probability (x) {table 1 0;} probability (y) {table 1 0;} "
    "probability (z | x, y) {(a, a) 1 0; (a, b) 1 0; (b, a) 1 0; (b, b) 1 0;}",
    "net": "net {} "
    + "".join(f'node {v} {{states = ("a" "b");}} ' for v in "xyz")
    + "potential (x) {data = (1 0);} potential (y) {data = (1 0);} potential (z | x y) {data = (1 0 1 0 1 0 1 0);}",
    "xdsl": "<smile><nodes>"
    + "".join(
        f"<cpt id='{v}'><state id='a'/><state id='b'/>{p}<probabilities>{n}</probabilities></cpt>"
        for v, p, n in (("x", "", "1 0"), ("y", "", "1 0"), ("z", "<parents>x y</parents>", "1 0 1 0 1 0 1 0"))
    )
    + "</nodes></smile>",
    "xmlbif": "<BIF><NETWORK>"
    + "".join(f"<VARIABLE><NAME>{v}</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>" for v in "xyz")
    + "<DEFINITION><FOR>x</FOR><TABLE>1 0</TABLE></DEFINITION><DEFINITION><FOR>y</FOR><TABLE>1 0</TABLE></DEFINITION>"
    "<DEFINITION><FOR>z</FOR><GIVEN>x</GIVEN><GIVEN>y</GIVEN><TABLE>1 0 1 0 1 0 1 0</TABLE></DEFINITION>"
    "</NETWORK></BIF>",
}


@pytest.mark.parametrize("kind", TWO_PARENTS)
def test_a_node_with_two_parents_is_named(kind, tmp_path):
    path = tmp_path / f"net.{kind}"
    path.write_text(TWO_PARENTS[kind])
    with pytest.raises(FileFormatError, match=r"net\..*: Node 'z' has 2 parents \('x', 'y'\). Only trees can be read"):
        lt.load(path)


BIF = (DATA / "bnlearn.bif").read_text()
NET = (DATA / "hugin.net").read_text()
XMLBIF = (DATA / "javabayes.xml").read_text()
XDSL = (DATA / "genie.xdsl").read_text()

WRONG = [
    (bif, BIF, "0.9, 0.1;", "0.9, 0.1", "Line 1[67]: a number must come here"),
    (bif, BIF, "0.9, 0.1", "0.9, 0.2", "Row 1 of the table of 'flu' sums to 1.1, not 1"),
    (bif, BIF, "0.9, 0.1", "1.1, -0.1", "probability must be a number from 0 to 1. Got -0.1"),
    (bif, BIF, "0.9, 0.1", "nan, 0.1", "probability must be a number"),
    (bif, BIF, "0.9, 0.1", "0.9", "The table of 'flu' has 1 numbers; 2 are needed"),
    (bif, BIF, "0.9, 0.1", "1e400, 0", "probability must be a number"),
    (bif, BIF, "[ 3 ]", "[ 4 ]", "Line 7: the variable 'fever' lists 3 states, but says that it has 4"),
    (bif, BIF, "none, mild", "mild, mild", "'fever' has a state twice"),
    (bif, BIF, "discrete [ 3 ]", "continuous", "must be discrete. Got 'continuous'"),
    (bif, BIF, "variable cough", "variable fever", "two variables are called 'fever'"),
    (bif, BIF, "(mild) 0.0, 1.0;", "", "the table of 'reading' has 2 rows; 3 are needed"),
    (bif, BIF, "(mild)", "(none)", "two rows for 'none'"),
    (bif, BIF, "(mild)", "(hot)", "'hot' is not a state of the parent of 'reading'"),
    (bif, BIF, "(mild) 0.0, 1.0;", "(mild) 0.0, 0.5, 0.5;", "has 3 numbers; its 2 states need as many"),
    (bif, BIF, "reading | fever", "reading | fewer", "'fewer' has not been declared"),
    (bif, BIF, "probability ( flu )", "probability ( flu | reading )", "is not a state of the parent|numbers"),
    (bif, BIF, "probability ( cough | flu )", "probability ( fever | flu )", "numbers|two tables"),
    (bif, BIF, "network unknown {", "network unknown", "breaks off|must come here"),
    (bif, BIF, "network", '"', "does not end"),
    (bif, BIF, "network", "/*", "does not end"),
    (bif, BIF, BIF, "", "no nodes"),
    (bif, BIF, "  table 0.9, 0.1;", "", "has 0 rows; 1 are needed"),
    (net, NET, "node cough", "continuous node cough", "'continuous' stands here"),
    (net, NET, "node cough { states", "utility cough { states", "'utility' stands here"),
    (net, NET, "potential (cough | flu) { data = (0.75 0.25 0.2 0.8); }", "", "'cough' has no potential"),
    (net, NET, "data = (0.75 0.25 0.2 0.8);", "model_data = (0.75);", "'cough' has no data"),
    (net, NET, "data = (0.75 0.25 0.2 0.8);", "data = (0.75 0.25 0.2 x);", "a number must come here. Got 'x'"),
    (net, NET, "(cough | flu)", "(caugh | flu)", "potential for 'caugh', but no node"),
    (net, NET, "(cough | flu)", "(cough | flue)", "parent of node 'cough' is 'flue'"),
    (net, NET, "states = (no yes)", "state = (no yes)", "'cough' has no states"),
    (net, NET, "states = (no yes)", "states = (no no)", "'cough' has a state twice"),
    (xmlbif, XMLBIF, "<FOR>cough</FOR>", "<FOR>caugh</FOR>", "for 'caugh', which is not a variable"),
    (xmlbif, XMLBIF, "<FOR>cough</FOR>", "", "must have one <FOR>. Found 0"),
    (xmlbif, XMLBIF, "<FOR>cough</FOR>", "<FOR>flu</FOR>", "'flu' has two definitions"),
    (xmlbif, XMLBIF, "0.75 0.25", "0.75 x", "not a number"),
    (xmlbif, XMLBIF, "</BIF>", "", "not XML"),
    (xmlbif, XMLBIF, XMLBIF, XDSL, "This is XML, but not XMLBIF: <smile>"),
    (xdsl, XDSL, XDSL, XMLBIF, "This is XML, but not XDSL: <bif>"),
    (xdsl, XDSL, '<cpt id="cough">', '<noisymax id="cough">', "not XML|noisymax"),
    (xdsl, XDSL, "low high high", "low high hot", "must name one of its states 3 times"),
    (xdsl, XDSL, "<parents>fever</parents>", "<parents>fewer</parents>", "is 'fewer', which is not there"),
]


@pytest.mark.parametrize(("own", "text", "old", "new", "message"), WRONG)
def test_what_is_wrong_is_said_where(own, text, old, new, message):
    assert old in text
    with pytest.raises(FileFormatError, match=message):
        own.loads(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "line",
    [
        "latentree_states = i:1",
        "latentree_states = i:1 i:x",
        "latentree_states = i:1 q:2",
        "latentree_states = i:1 i:1",
        "latentree_states = t:a t:%ff",
        "latentree_name = %ff",
        "latentree_name = fever",
        "latentree_edges = 1 2 3",
        "latentree_edges = x",
        "latentree_latent = perhaps",
    ],
)
def test_damaged_properties_are_refused(line):
    with pytest.raises(FileFormatError):
        bif.loads(BIF.replace("variable cough {", f"variable cough {{ property {line} ;"))


def test_rows_that_were_rounded_are_rescaled():
    rounded = bif.loads(BIF.replace("0.85, 0.1, 0.05", "0.33333, 0.33333, 0.33333"))
    assert rounded.table("fever")[0] == pytest.approx([1 / 3] * 3, abs=1e-15)
    with pytest.warns(LatentreeWarning, match="Row 1 of the table of 'fever' sums to 0.99; such rows were rescaled"):
        assert bif.loads(BIF.replace("0.85, 0.1, 0.05", "0.33, 0.33, 0.33")).table("fever").sum() == pytest.approx(2)


def test_parts_and_circles_are_refused():
    parts = BIF.replace("( cough | flu ) {\n  (no) 0.75, 0.25;\n  (yes) 0.2, 0.8;", "( cough ) { table 1 0;")
    with pytest.raises(FileFormatError, match=r"must have no parent. Found 2 \('flu', 'cough'\)"):
        bif.loads(parts)
    circle = BIF.replace("( flu ) {\n  table 0.9, 0.1;", "( flu | cough ) {\n (no) 1 0; (yes) 1 0;")
    with pytest.raises(FileFormatError, match="Found 0"):
        bif.loads(circle)


def test_formats_that_are_not_there(tmp_path, model):
    with pytest.raises(ParameterError, match="'format' parameter of save"):
        model.save(tmp_path / "m.json", format="yaml")
    model.save(tmp_path / "m.dot")
    with pytest.raises(FileFormatError, match="files of format 'dot' are only written"):
        lt.load(tmp_path / "m.dot")
    with pytest.raises(ParameterError, match="'latent' parameter of load is for files of other programs"):
        lt.load(tmp_path / "m.json", latent=["z"])


def test_other_encodings(tmp_path):
    text = BIF.replace("mild", "mäßig")
    (tmp_path / "m.bif").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match="encoding='latin-1'"):
        lt.load(tmp_path / "m.bif")
    assert lt.load(tmp_path / "m.bif", encoding="latin-1").variable("fever").states[1] == "mäßig"
    (tmp_path / "m.xdsl").write_bytes(XDSL.replace("mild", "mäßig").encode("latin-1"))  # as its first line says
    assert lt.load(tmp_path / "m.xdsl").variable("fever").states[1] == "mäßig"
    (tmp_path / "m.xml").write_bytes(XMLBIF.replace("US-ASCII", "UTF-16").encode("utf-16"))
    assert lt.load(tmp_path / "m.xml").tree.n_nodes == 4


# ---- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [xmlbif, xdsl])
def test_entities_are_refused(own):
    laughs = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(30))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><x>&a30;</x>'
    file = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    parameter = '<!DOCTYPE x [<!ENTITY % a "<!ELEMENT x ANY>"> %a;]><x/>'
    start = time.perf_counter()
    for text in (bomb, file, parameter):
        with pytest.raises(FileFormatError, match="declares the entity 'a"):
            own.loads(text)
    with pytest.raises(FileFormatError):
        own.loads('<!DOCTYPE x SYSTEM "http://localhost:9/x.dtd"><x>&a;</x>')
    assert time.perf_counter() - start < 5


def test_xml_is_bounded(monkeypatch):
    with pytest.raises(FileFormatError, match="nested more than 50 deep"):
        xml.parse("<a>" * 100_000)
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 100)
    with pytest.raises(FileFormatError, match="more than 100 elements"):
        xml.parse("<a>" + "<b/>" * 200 + "</a>")
    with pytest.raises(FileFormatError, match="declarations"):
        xml.parse("<!DOCTYPE a [" + "".join(f'<!ATTLIST a x{i} CDATA "y">' for i in range(500)) + "]><a/>")
    monkeypatch.setattr(xml, "MAX_CHARACTERS", 100)
    with pytest.raises(FileFormatError, match="more than 100 characters"):
        xml.parse("<a>" + " " * 100 + "</a>")


def test_texts_are_bounded(monkeypatch, tmp_path):
    (tmp_path / "m.bif.gz").write_bytes(gzip.compress(BIF.encode())[:-9])
    with pytest.raises(FileFormatError, match="cannot be unpacked"):
        lt.load(tmp_path / "m.bif.gz")
    monkeypatch.setattr(tokens, "MAX_CHARACTERS", 100)
    for own in (bif, net):
        with pytest.raises(FileFormatError, match="more than 100 characters"):
            own.loads(" " * 101)
    (tmp_path / "m.bif.gz").write_bytes(gzip.compress(b" " * 10_000_000))
    with pytest.raises(FileFormatError, match="larger than 400 bytes"):
        lt.load(tmp_path / "m.bif.gz")


def test_a_small_file_cannot_ask_for_a_huge_table():
    k = 5_000
    own = ", ".join(f"s{i}" for i in range(k))
    row = ", ".join(["1"] + ["0"] * (k - 1))
    head = f"network n {{}} variable x {{type discrete[{k}] {{{own}}};}} variable y {{type discrete[{k}] {{{own}}};}}"
    text = f"{head} probability (x) {{table {row};}} probability (y | x) {{default {row};}}"
    with pytest.raises(FileFormatError, match="'y' with its 25,000,000 numbers is more than such a file can hold"):
        bif.loads(text)
    state = "".join(f"<state id='s{i}'/>" for i in range(k))
    results = " ".join(["s0"] * k)
    with pytest.raises(FileFormatError, match="25,000,000 numbers"):
        xdsl.loads(
            f"<smile><nodes><cpt id='x'>{state}<probabilities>{row.replace(',', ' ')}</probabilities></cpt>"
            f"<deterministic id='y'>{state}<parents>x</parents><resultingstates>{results}</resultingstates>"
            "</deterministic></nodes></smile>"
        )


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (bif, "network n {" + "/*" * 200_000),
        (bif, "network n {" + "/* *" * 200_000),
        (bif, '"' + "\\" * 400_001),
        (bif, "/" * 400_000),
        (bif, "a" * 400_000),
        (net, "net {" + "%" * 400_000),
        (net, "(" * 400_000),
        (net, '"' * 400_001),
        (xmlbif, "<a " + "x" * 400_000),
        (xdsl, "<a>" + "<![CDATA[" * 50_000),
    ],
)
def test_nonsense_takes_no_time(own, text):
    start = time.perf_counter()
    with pytest.raises(FileFormatError):
        own.loads(text)
    assert time.perf_counter() - start < 10


# ---- other things --------------------------------------------------------------------------------------------------


def test_dot_escapes_names(model):
    named = lt.Model(model.tree.renamed({"z": 'a"b\\'}), model.variables, model.parameters)
    assert 'label="a\\"b\\\\ (3)"' in dot.dumps(named)
    assert "\n\n" not in dot.dumps(named) and 'label="a b (3)"' in dot.dumps(named)


def test_what_is_not_installed_is_named(monkeypatch, model):
    for package in ("networkx", "pgmpy", "pyagrum"):
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(lt.LatentreeError, match=f"pip install {package}"):
            getattr(model, f"to_{package}")()


def test_every_format_has_its_module():
    for name, one in FORMATS.items():
        module = __import__(one.module, fromlist=["dumps"])
        assert callable(module.dumps) and hasattr(module, "loads") == one.is_read, name


def test_the_page_tells_the_truth(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "model-files.md", "exec"), names)
    assert capsys.readouterr().out == "[0.36 0.64]\n"
    for kind, one in FORMATS.items():
        assert f"`{one.suffixes[0]}`" in page and (kind == "json" or f"model.to_{kind}" in page)


@pytest.mark.parametrize("kind", ["decision", "utility", "Decision"])
@pytest.mark.parametrize("attribute", ["TYPE", "type"])
def test_nodes_that_are_not_left_to_chance_are_refused(model, attribute, kind):
    text = quiet(xmlbif.dumps, model).replace('TYPE="nature"', f'{attribute}="{kind}"', 1)
    with pytest.raises(FileFormatError, match=f"is a {kind.lower()} node; only networks of chance nodes are read"):
        xmlbif.loads(text)


def test_long_quoted_texts_with_escapes_cost_little_memory():
    for own in (bif, net):
        tracemalloc.start()
        with pytest.raises(FileFormatError, match="does not end"):
            own.loads('network "' + "\\a" * 1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 30_000_000
