"""Examples in docstrings and in the README run and say the truth."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import latentree

MODULES = [m.name for m in pkgutil.walk_packages(latentree.__path__, "latentree.") if "_core" not in m.name]
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("name", ["latentree", *MODULES])
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_readme_quick_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out
