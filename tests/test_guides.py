"""The guides' Python blocks run, in order, and print what the text blocks after them show; links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from cli.test_cli_docs import is_shown
from test_architecture import ORDER

import latentree
from latentree.cardinality import DIRECTIONS
from latentree.cardinality._registry import learning_methods
from latentree.score import SCORES
from latentree.search import METHODS

DOCS = Path(__file__).parents[1] / "docs"
ELSEWHERE = {
    "latent-trees.md",  # its blocks make files that commands between them read: tests/cli/test_cli_docs.py
    "from-r.md",  # its block is of R: tests/test_from_r.py
}
PAGES = sorted(path for path in (DOCS / "guides").glob("*.md") if path.name not in ELSEWHERE)
WRITTEN = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "reference")  # which `make docs` makes
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore::latentree.LatentreeWarning")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_guide_tells_the_truth(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for registry in (SCORES, METHODS):  # guides register entries of their own
        monkeypatch.setattr(registry, "_entries", dict(registry))
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for code, shown in blocks:
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        assert not shown or is_shown(shown, printed), f"{code}\n{printed}"


def test_the_guide_names_every_learner_and_direction():
    guide = (DOCS / "guides" / "latent-class-analysis.md").read_text("utf-8")
    named = "|".join(re.findall(r"^\| (`.*?) \|", guide, flags=re.MULTILINE))
    assert all(f"`{name}`" in named for name in learning_methods())
    (line,) = re.findall(r"`--set direction=(.*?)\)", guide)
    assert set(re.findall(r"\w+", line)) - {"or"} >= set(DIRECTIONS)


@pytest.mark.parametrize("page", WRITTEN, ids=[str(page.relative_to(DOCS)) for page in WRITTEN])
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in LINK.findall(prose):
        path = page.parent / target
        made = path.parent.name == "reference"
        assert made or path.exists() or path.with_suffix(".py").exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", WRITTEN, ids=[str(page.relative_to(DOCS)) for page in WRITTEN])
def test_citations_are_links(page):
    text = page.read_text("utf-8")
    keys = re.findall(r"^\*\*\[(\w+)\]\*\*", (DOCS / "bibliography.md").read_text("utf-8"), flags=re.MULTILINE)
    for key in keys if page.name not in ("bibliography.md", "glossary.md") else []:
        assert f"[{key}]" not in text or re.search(
            rf"^\[{key}\]: \S*bibliography.md#{key.lower()}$", text, re.MULTILINE
        )


def test_the_reference_has_every_public_name(tmp_path):
    reference = runpy.run_path(str(DOCS / "site" / "reference.py"))
    pages = reference["write_reference"](tmp_path)
    assert all(reference["is_public"](page) for page in pages)
    index = (tmp_path / "index.md").read_text("utf-8")
    for name, home in latentree._HOME.items():
        page = reference["page_of"](name)
        assert f"| `lt.{name}` | " in index
        full = f"latentree.{name}" if page == "latentree" else f"latentree.{home}.{name}"
        assert re.search(rf":: {full}$", (tmp_path / f"{page}.md").read_text("utf-8"), flags=re.MULTILINE)


def test_the_architecture_lists_modules_in_their_order():
    page = (DOCS / "architecture.md").read_text("utf-8")
    listed = page.split("the same list (`ORDER`):")[1].split("The few imports")[0]
    assert re.findall(r"`(\w+)`", listed) == ORDER
