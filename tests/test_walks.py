"""The walks of docs/walks can be gone: blocks of Python and commands run in order and print what the pages show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli.test_cli_docs import is_shown
from click.testing import CliRunner

from latentree.cli import application

WALKS = Path(__file__).parents[1] / "docs" / "walks"
PAGES = sorted(path for path in WALKS.glob("*.md") if path.name != "index.md")
NEEDS = {"clinical-table": ("openpyxl", "python_calamine")}
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore::latentree.LatentreeWarning")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_walk_can_be_gone(page, tmp_path, monkeypatch, capsys):
    for module in NEEDS.get(page.stem, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for kind, body in BLOCK.findall(page.read_text("utf-8")):
        if kind == "python":
            exec(compile(body, page.name, "exec"), names)
            printed = capsys.readouterr().out
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, expected = part.split("\n", 1)
                done = CliRunner().invoke(application, shlex.split(line)[1:], prog_name="latentree")
                assert is_shown(expected, done.output), f"{line}\n{done.output}"
            printed = "".join(path.read_text("utf-8") for path in sorted(Path().glob("*.toml")))
        else:
            assert is_shown(body, printed), printed


def test_every_walk_is_listed():
    index = (WALKS / "index.md").read_text("utf-8")
    assert all(f"({page.name})" in index for page in PAGES)
