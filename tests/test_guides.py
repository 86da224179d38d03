"""The guides' Python blocks run, in order, and print what the text blocks after them show; links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from cli.test_cli_docs import is_shown

import latentree
from latentree.score import SCORES

DOCS = Path(__file__).parents[1] / "docs"
ELSEWHERE = {"latent-trees.md"}  # its blocks make files that commands between them read: tests/cli/test_cli_docs.py
PAGES = sorted(path for path in (DOCS / "guides").glob("*.md") if path.name not in ELSEWHERE)
WRITTEN = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "reference")  # which `make docs` makes
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore::latentree.LatentreeWarning")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_guide_tells_the_truth(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(SCORES, "_entries", dict(SCORES))  # one guide registers scores of its own
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for code, shown in blocks:
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        assert not shown or is_shown(shown, printed), f"{code}\n{printed}"


@pytest.mark.parametrize("page", WRITTEN, ids=[str(page.relative_to(DOCS)) for page in WRITTEN])
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in LINK.findall(prose):
        path = page.parent / target
        made = path.parent.name == "reference"
        assert made or path.exists() or path.with_suffix(".py").exists(), f"{page.name}: {target}"


def test_the_reference_has_every_public_name(tmp_path):
    runpy.run_path(str(DOCS / "site" / "reference.py"))["write_reference"](tmp_path)
    index = (tmp_path / "index.md").read_text("utf-8")
    for name, home in latentree._HOME.items():
        assert f"| `lt.{name}` | " in index
        assert f"latentree.{home}\n" in (tmp_path / f"{home}.md").read_text("utf-8")
        assert name in __import__(f"latentree.{home}", fromlist=["*"]).__all__
