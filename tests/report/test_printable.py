"""Nothing from the data can steer a terminal, reorder a line or hide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from latentree import Table, Tree, Variable, fit_classes
from latentree._model import Model
from latentree.report import describe, describe_tree, to_text
from latentree.report._printable import printable

HOSTILE = "a\x1b[2Jb\x07c\u202ed\u2066e\x9bf\u2028g"


@given(st.text())
def test_what_is_printable_stays_and_nothing_else_does(text):
    shown = printable(text)
    assert shown.isprintable()
    assert text.isprintable() == (shown == text)
    assert printable(shown) == shown


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x00", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800"])
def test_control_and_direction_characters_are_shown_by_their_codes(character):
    assert printable(f"a{character}b") == "a" + character.encode("unicode_escape").decode() + "b"
    assert printable(f"a{character}b", keep=character) == f"a{character}b"


def hostile_variables(n):
    return [Variable(f"{HOSTILE}{i}", (f"{HOSTILE}no", f"{HOSTILE}yes")) for i in range(n)]


def steers(text):
    return [c for c in text if not c.isprintable() and c != "\n"]


def test_no_text_of_a_latent_class_model_holds_a_raw_control_character():
    """Names, states, statistics, warnings: whatever part of the text they stand in."""
    rng = np.random.default_rng(0)
    table = Table.from_codes(rng.integers(0, 2, (60, 4)), hostile_variables(4))
    fit = fit_classes(table, 2, rng=rng, n_init=2)
    assert not steers(to_text(describe(fit, statistics=True)))


def test_no_text_of_a_tree_holds_a_raw_control_character():
    names = [HOSTILE + "z1", HOSTILE + "z2"]
    variables = hostile_variables(4)
    leaves = [v.name for v in variables]
    edges = [(names[0], names[1]), *((names[i // 2], leaf) for i, leaf in enumerate(leaves))]
    tree = Tree.from_edges(edges, dict.fromkeys([*names, *leaves], 2), leaves)
    model = Model.random(tree, variables, np.random.default_rng(0))
    trace = [{"operation": HOSTILE, "edges": edges, "states": dict.fromkeys([*names, *leaves], 2)}]
    model = Model(model.tree, model.variables, model.parameters, {"score": HOSTILE, "method": HOSTILE})
    assert not steers(to_text(describe_tree(model, trace=trace)))
