"""The model file: exact round trips, a schema that holds, and errors that say what is wrong."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import sys
from datetime import datetime

import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings, strategies as st

from latentree import _files as files
from latentree._model import Model
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.errors import FileFormatError, ModelError, ParameterError
from latentree.formats import _json as model_file
from latentree.formats._models import load as load_model


@pytest.fixture
def model() -> Model:
    tables = {"z": [0.25, 0.75], "x1": [[0.5, 0.5], [0.0, 1.0]], "x2": [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]}
    return Model.from_tables(Tree.star(2, [2, 3]), numbered([2, 3]), tables, provenance={"method": "by hand"})


@pytest.fixture
def document(model) -> dict:
    return json.loads(model_file.dumps(model))


def refusal(document: object) -> str:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(FileFormatError) as caught:
        model_file.loads(text)
    return str(caught.value)


def valid(value: object, rule: dict, schema: dict) -> bool:
    """Whether a value obeys a JSON schema, for the few words our schema uses."""
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

    def is_a(name: str) -> bool:
        if name in ("number", "integer"):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and (name == "number" or float(value).is_integer())
        return isinstance(value, types[name])

    known = {"$ref", "type", "const", "enum", "anyOf", "required", "properties", "additionalProperties", "items"}
    known |= {"minItems", "maxItems", "minimum", "maximum", "description", "title", "$schema", "$id", "$defs"}
    assert rule.keys() <= known
    if "$ref" in rule:
        return valid(value, schema["$defs"][rule["$ref"].removeprefix("#/$defs/")], schema)
    if "type" in rule and not any(is_a(t) for t in np.atleast_1d(rule["type"])):
        return False
    if ("const" in rule and value != rule["const"]) or ("enum" in rule and value not in rule["enum"]):
        return False
    if "anyOf" in rule and not any(valid(value, r, schema) for r in rule["anyOf"]):
        return False
    if isinstance(value, dict):
        inside = rule.get("properties", {})
        if not set(rule.get("required", ())) <= value.keys():
            return False
        if rule.get("additionalProperties") is False and not value.keys() <= inside.keys():
            return False
        return all(valid(value[k], r, schema) for k, r in inside.items() if k in value)
    if isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", math.inf):
            return False
        return all(valid(v, rule.get("items", {}), schema) for v in value)
    if is_a("number"):
        return rule.get("minimum", -math.inf) <= value <= rule.get("maximum", math.inf)
    return True


# ---- round trips ---------------------------------------------------------------------------------------------


@given(own.models(extreme=True))
def test_a_model_comes_back_exactly(model):
    text = model_file.dumps(model)
    back = model_file.loads(text)
    assert back == model
    assert back.parameters.tobytes() == model.parameters.tobytes()
    assert model_file.dumps(back) == text
    document = json.loads(text)
    assert valid(document, model_file.schema(), model_file.schema())


@given(own.trees(max_nodes=8), st.integers(0, 2**32 - 1))
def test_every_digit_of_random_probabilities_comes_back(tree, seed):
    variables = numbered(tree.cardinality[tree.manifest])
    model = Model.random(tree, variables, np.random.default_rng(seed))
    assert model_file.loads(model_file.dumps(model)).parameters.tobytes() == model.parameters.tobytes()


def test_states_keep_their_types():
    states = (1, "1", True, 1.0, 0, False, 0.0, "true", "1.0", -1.5, math.inf, -math.inf, 2**70, "", 'ä\n"\u2028')
    variable = Variable("x", states, tuple(range(len(states) - 1)))
    model = Model.random(Tree.star(2, [len(states)]), [variable], np.random.default_rng(0))
    back = model_file.loads(model_file.dumps(model)).variables[0]
    assert back == variable
    assert [type(s) for s in back.states] == [type(s) for s in states]
    assert all(type(e) is float for e in back.edges)


def test_bin_edges_may_be_infinite():
    model = Model.random(Tree.star(2, [3]), [Variable("x", (0, 1, 2), (-math.inf, 0.1))], np.random.default_rng(0))
    assert model_file.loads(model_file.dumps(model)) == model


def test_another_program_may_rewrite_the_numbers(document, model):
    # JavaScript writes 1.0 as 1, and no program need keep the order of keys.
    text = json.dumps(document, sort_keys=True).replace(" 1.0", " 1").replace(" 0.0", " 0")
    assert " 1.0" not in text
    assert model_file.loads(text) == model
    variable = Variable("x", (0.0, 1.0))
    number = Model.random(Tree.star(2, [2]), [variable], np.random.default_rng(0))
    text = model_file.dumps(number).replace('{"float": 1.0}', '{"float": 1}')
    assert model_file.loads(text) == number


def test_half_a_surrogate_pair_comes_back(tmp_path):
    model = Model.random(Tree.star(2, [2]), [Variable("x\udc80", ("a", "\ud83d"))], np.random.default_rng(0))
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == model


def test_provenance_is_kept_as_plain_json(model):
    provenance = {
        "seed": np.int64(3),
        "score": np.float64(-1.5),
        "best": -math.inf,
        "none": None,
        "when": datetime(2020, 1, 2),
        "trace": np.array([[1.0, 2.0]]),
        "flags": (True, np.bool_(False)),
        "nested": {"nan": math.nan},
    }
    back = model_file.loads(model_file.dumps(Model(model.tree, model.variables, model.parameters, provenance)))
    assert back.provenance == {
        "seed": 3,
        "score": -1.5,
        "best": "-Infinity",
        "none": None,
        "when": "2020-01-02 00:00:00",
        "trace": [[1.0, 2.0]],
        "flags": [True, False],
        "nested": {"nan": "NaN"},
    }


def test_what_json_cannot_hold_is_refused(model):
    strange = Model(model.tree, model.variables, model.parameters, {"rng": {"now": object()}})
    with pytest.raises(ModelError, match=r"provenance\['rng'\]\['now'\] is a object"):
        model_file.dumps(strange)
    with pytest.raises(ModelError, match="Variable 'x' has the state nan"):
        Variable("x", (0, math.nan))


def test_files_are_written_and_read(tmp_path, model):
    path = tmp_path / "model.json"
    model.save(path)
    assert load_model(path) == model
    assert load_model(str(path)).provenance == {"method": "by hand"}
    assert path.read_text(encoding="utf-8") == model_file.dumps(model)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # a byte order mark, as some editors add
    assert load_model(path) == model
    with pytest.raises(FileNotFoundError, match="nothing"):
        load_model(tmp_path / "nothing.json")


def test_nodes_may_come_in_any_order(document, model):
    document["nodes"].reverse()
    back = model_file.loads(json.dumps(document))
    assert back.tree == model.tree
    for name in model.tree.names:
        np.testing.assert_array_equal(back.table(name), model.table(name))


def test_unknown_keys_are_passed_over(document, model):
    document |= {"comment": "made for a test", "layout": {"z": [0, 1]}}
    document["nodes"][0]["colour"] = "red"
    document["variables"][0]["label"] = "first"
    del document["provenance"], document["written_by"]
    assert model_file.loads(json.dumps(document)) == model


def test_a_large_model_is_no_trouble():
    n = 3000
    tree = Tree([-1, *range(n - 1)], [2] * n, [-1] * (n - 1) + [0])
    model = Model.random(tree, numbered([2]), np.random.default_rng(0))
    assert model_file.loads(model_file.dumps(model)) == model


# ---- what is refused, and why --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("hello", "Not JSON: line 1, column 1"),
        ('{"format": "latentree-model",}', "Not JSON: line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("[1, 2]", "not a model file: a list instead of an object"),
        ("null", "null instead of an object"),
        ("{}", "it has no 'format'"),
        ('{"name": "x", "version": 1}', "it has no 'format'"),
        ('{"format": "latentree-checkpoint", "version": 1}', "its format is 'latentree-checkpoint'"),
        ('{"format": ["latentree-model"], "version": 1}', "its format is ['latentree-model']"),
        ('{"format": "latentree-model"}', "no 'version'"),
        ('{"format": "latentree-model", "version": "1"}', "'version' must be a whole number. Got text"),
        ('{"format": "latentree-model", "version": true}', "'version' must be a whole number"),
        ('{"format": "latentree-model", "version": 0}', "no such version"),
        ('{"format": "latentree-model", "version": 2}', "written by a newer latentree; update"),
        ('{"format": "latentree-model", "version": 1, "version": 2}', "'version' stands twice"),
        ('{"format": "latentree-model", "version": NaN}', "NaN is not JSON"),
        ('{"format": "latentree-model", "version": 1' + "0" * 5000 + "}", "Not a model file"),
    ],
)
def test_what_is_no_model_file_is_refused(text, says):
    assert says in refusal(text)


def test_a_file_cut_short_says_so(tmp_path, model):
    text = model_file.dumps(model)
    for end in range(1, len(text) - 2):
        assert "cut short" in refusal(text[:end])
    path = tmp_path / "model.json"
    path.write_text(text[: len(text) // 2])
    with pytest.raises(FileFormatError, match=r"Cannot read the model file '.*model.json': .* cut short"):
        load_model(path)


def test_binary_and_giant_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(FileFormatError, match="not UTF-8 text"):
        load_model(path)
    with open(path, "wb") as file:
        file.truncate(2_000_000)
    with pytest.raises(FileFormatError, match="larger than 1,000,000 bytes"):
        files.read_text(path, max_bytes=1_000_000)
    monkeypatch.setattr(model_file, "MAX_BYTES", 10)
    assert "longer than 10 characters" in refusal(" " * 11)


def put(document: dict, path: str, value: object) -> None:
    """Set, or with ... delete, what stands at a path like 'nodes.0.table'."""
    *way, last = [int(k) if k.isdigit() else k for k in path.split(".")]
    at = document
    for key in way:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("variables", ..., "The file has no 'variables'"),
        ("nodes", ..., "The file has no 'nodes'"),
        ("nodes", {}, "'nodes' must be a list. Got an object"),
        ("nodes", [], "Variable 'x1' has no node"),
        ("provenance", [], "'provenance' must be an object. Got a list"),
        ("variables.0", 3, "Variable 1 must be an object. Got a whole number"),
        ("variables.0.name", ..., "Variable 1 has no 'name'"),
        ("variables.0.name", 1.5, "Variable 1: 'name' must be text. Got a number"),
        ("variables.0.name", "x2", "Two variables are called 'x2'"),
        ("variables.0.name", "y", "Node 'x1' is not latent, but there is no variable of that name"),
        ("variables.0.states", ..., "Variable 'x1' has no 'states'"),
        ("variables.0.states", [], "Variable 'x1' has 0 states"),
        ("variables.0.states", [0, 0], "'x1' has the state 0 twice"),
        ("variables.0.states", [0, None], "'x1': a state cannot be null"),
        ("variables.0.states", [0, [1]], "'x1': a state cannot be a list"),
        ("variables.0.states", [0, 1.5], "'x1': the state 1.5 must be written {\"float\": 1.5}"),
        ("variables.0.states", [0, {"float": "1"}], "'x1': a number is wanted. Got text"),
        ("variables.0.states", [0, {"float": 1.0, "more": 1}], "'x1': a state cannot be an object"),
        ("variables.0.states", [0, {"float": 10**400}], "'x1': a number is too large"),
        ("variables.0.states", [0, 1, 2], "Node 'x1' has cardinality 2, but its variable 3 states"),
        ("variables.0.edges", [0.5, 1.5], "'x1' needs 1 edges in ascending order"),
        ("variables.0.edges", "0.5", "'edges' must be a list. Got text"),
        ("variables.0.edges", [True], "'x1': a number is wanted. Got true or false"),
        ("nodes.1", "x1", "Node 2 must be an object. Got text"),
        ("nodes.1.name", ..., "Node 2 has no 'name'"),
        ("nodes.1.name", "x2", "Two nodes are called 'x2'"),
        ("nodes.0.name", "x1", "Two nodes are called 'x1'"),
        ("nodes.1.parent", ..., "Node 'x1' has no 'parent'"),
        ("nodes.1.parent", 0, "Node 'x1': 'parent' must be text. Got a whole number"),
        ("nodes.1.parent", "y", "The parent of node 'x1' is 'y', which is not there"),
        ("nodes.1.parent", None, "Exactly one node must have no parent. Found 2 ('z', 'x1')"),
        ("nodes.0.parent", "x1", "Exactly one node must have no parent. Found 0 (none)"),
        ("nodes.1.parent", "x1", "Node 'x1' is its own ancestor"),
        ("nodes.1.latent", ..., "Node 'x1' has no 'latent'"),
        ("nodes.1.latent", 0, "'latent' must be true or false. Got a whole number"),
        ("nodes.1.latent", True, "Node 'x1' is marked latent, but there is a variable of that name"),
        ("nodes.0.latent", False, "Node 'z' is not latent, but there is no variable of that name"),
        ("nodes.0.cardinality", ..., "Node 'z' has no 'cardinality'"),
        ("nodes.0.cardinality", 2.0, "'cardinality' must be a whole number. Got a number"),
        ("nodes.0.cardinality", True, "'cardinality' must be a whole number. Got true or false"),
        ("nodes.0.cardinality", 0, "Node 'z' has cardinality 0"),
        ("nodes.0.cardinality", -3, "Node 'z' has cardinality -3"),
        ("nodes.0.cardinality", 10**12, "Row 1 of the table of 'z' has 2 entries, but the node has 1000000000000"),
        ("nodes.0.cardinality", 10**400, "Row 1 of the table of 'z' has 2 entries"),
        ("nodes.1.cardinality", 3, "Node 'x1' has cardinality 3, but its variable 2 states"),
        ("nodes.1.table", ..., "Node 'x1' has no 'table'"),
        ("nodes.1.table", 0.5, "'table' must be a list. Got a number"),
        ("nodes.1.table", [[0.5, 0.5]], "'x1' has 1 rows, but its parent 'z' has 2 states"),
        ("nodes.0.table", [[0.5, 0.5]] * 2, "'z' has 2 rows, but the root has 1"),
        ("nodes.1.table.1", 0.5, "Row 2 of the table of 'x1' must be a list. Got a number"),
        ("nodes.1.table.1", [1.0], "Row 2 of the table of 'x1' has 1 entries, but the node has 2 states"),
        ("nodes.1.table.1", [0.5, 0.4], "Row 2 of the table of 'x1' sums to 0.9, not 1"),
        ("nodes.0.table.0", [0.5, 0.5001], "Row 1 of the table of 'z' sums to 1.0001, not 1"),
        ("nodes.1.table.1", [1.5, -0.5], "Row 2 of the table of 'x1': a probability must lie between 0 and 1. Got 1.5"),
        ("nodes.1.table.1", [-0.5, 1.5], "must lie between 0 and 1. Got -0.5"),
        ("nodes.1.table.1", [10**400, 0], "must lie between 0 and 1"),
        ("nodes.1.table.1", ["1", 0], "Row 2 of the table of 'x1': a probability must be a number. Got text"),
        ("nodes.1.table.1", [True, 0], "a probability must be a number. Got true or false"),
        ("nodes.1.table.1", [None, 0], "a probability must be a number. Got null"),
    ],
)
def test_a_model_file_with_a_fault_says_which(document, path, value, says):
    put(document, path, value)
    assert says in refusal(document)


def test_a_circle_apart_from_the_root_is_found(document):
    document["nodes"][1]["parent"] = "x2"
    document["nodes"][2]["parent"] = "x1"
    assert "Node 'x1' is its own ancestor: the parents go round in a circle" in refusal(document)


@given(st.data())
@settings(max_examples=200)
def test_whatever_is_changed_the_answer_is_a_model_or_a_clear_error(data):
    model = Model.random(Tree.star(2, [2, 3]), numbered([2, 3]), np.random.default_rng(0))
    document = json.loads(model_file.dumps(model))
    junk = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    )
    at = document
    while True:  # walk to a random place and put junk there
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
            at = at[key]
            continue
        at[key] = data.draw(junk)
        break
    with contextlib.suppress(FileFormatError):
        model_file.loads(json.dumps(document))


@given(st.text(max_size=40))
def test_any_text_is_refused_politely(text):
    with pytest.raises(FileFormatError):
        model_file.loads(text)


# ---- writing files -------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "note.txt"
    files.write_atomically(path, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fail)
            with pytest.raises(OSError, match=r"Cannot write: No space left on device\. The disk is full; free") as e:
                files.write_atomically(path, "new")
            assert e.value.filename == str(path)
        assert path.read_text() == "old" and os.listdir(tmp_path) == ["note.txt"]


def test_an_interrupt_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "note.txt"
    files.write_atomically(path, b"old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["note.txt"]


def test_where_nothing_can_be_written_the_error_names_path_and_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The folder does not exist; create it first.*model\.json"):
        files.write_atomically(tmp_path / "no" / "such" / "model.json", "")
    with pytest.raises(IsADirectoryError, match="It is a folder; give the name of a file"):
        files.write_atomically(tmp_path, "")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="A part of the path is a file"):
        files.write_atomically(tmp_path / "file" / "model.json", "")
    with pytest.raises(OSError, match="too long; choose a shorter"):
        files.write_atomically(tmp_path / ("x" * 300), "")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are of another kind there")
def test_permissions_links_and_line_ends_are_kept(tmp_path):
    path, link = tmp_path / "note.txt", tmp_path / "link.txt"
    files.write_atomically(path, "a\r\nb\n")
    assert path.read_bytes() == b"a\r\nb\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    files.write_atomically(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3)))
def test_exact_json_brings_plain_values_back(value):
    back = files.decoded(json.loads(json.dumps(files.encoded(value), allow_nan=False)))
    assert repr(back) == repr(value)


@pytest.mark.parametrize("dtype", ["?", "i1", ">i2", "<i4", "i8", "u1", ">u8", ">f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_exact_json_brings_arrays_back(dtype, shape):
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 100, shape)).astype(dtype)
    for stored in (array, np.asfortranarray(array)):
        back = files.decoded(json.loads(json.dumps(files.encoded({"a": [stored]}))))["a"][0]
        assert back.dtype == array.dtype.newbyteorder("=") and back.shape == stored.shape and back.dtype.isnative
        np.testing.assert_array_equal(back, stored)
        assert back.size == 0 or back.flags.writeable


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"__array__": 1}, {"__float__": 1}, np.array(["a"]), np.array([None]), {1, 2}, 1j]
)
def test_exact_json_refuses_the_rest(value):
    with pytest.raises(ParameterError, match="value"):
        files.encoded(value)


@pytest.mark.parametrize(
    "stored",
    [
        {"__float__": "much"},
        {"__float__": [1]},
        {"__array__": 3},
        {"__array__": {"dtype": "|O", "shape": [1], "data": "AAAAAAAAAAA="}},
        {"__array__": {"dtype": "<f8", "shape": [2], "data": "AAAAAAAAAAA="}},
        {"__array__": {"dtype": "<f8", "shape": [-1], "data": "AAAAAAAAAAA="}},
        {"__array__": {"dtype": "<f8", "shape": [1], "data": "AAAAAAAAAA"}},
        {"__array__": {"dtype": "<f8", "shape": [1], "data": "AAAAAAA*AAA="}},
        {"__array__": {"dtype": "<f8", "shape": "x", "data": "AAAAAAAAAAA="}},
        {"__array__": {"dtype": "<f8", "shape": [1]}},
    ],
)
def test_exact_json_that_is_damaged_is_refused(stored):
    with pytest.raises(FileFormatError, match="damaged"):
        files.decoded([stored])
