"""No possessive quantifiers and no atomic groups in regular expressions: Python 3.11.2 matches them wrongly."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]

import pytest

import latentree

FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
ROOT = Path(latentree.__file__).parent


def operators(parsed):
    for operator, argument in parsed:
        yield str(operator)
        for part in argument if isinstance(argument, tuple | list) else (argument,):
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, _parser.SubPattern):
                    yield from operators(inner)


def refused(pattern, flags=0):
    return {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"} & set(operators(_parser.parse(pattern, flags)))


def literals(path):
    """Patterns that stand as plain text in a call of a function of ``re``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS
        if called and isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                verbose = any("VERBOSE" in ast.dump(arg) for arg in [*node.args[1:], *node.keywords])
                yield first.value, re.VERBOSE if verbose else 0


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_possessive_quantifier_and_no_atomic_group_in_a_call(path):
    for pattern, flags in literals(path):
        assert not refused(pattern, flags), pattern


def test_no_possessive_quantifier_and_no_atomic_group_in_a_pattern_of_a_module():
    found = 0
    for one in pkgutil.walk_packages(latentree.__path__, "latentree."):
        if one.name.startswith("latentree.formats") or one.name in ("latentree._variables", "latentree._files"):
            for value in vars(importlib.import_module(one.name)).values():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    found += 1
                    assert not refused(value.pattern, value.flags & re.VERBOSE), (one.name, value.pattern)
    assert found > 15


@pytest.mark.parametrize("pattern", ["a*+", "(?:b|a{2,3}+)", "x(?>ab)", "(?=a++)"])
def test_the_scan_finds_them(pattern):
    assert refused(pattern)
