"""The guides' Python blocks run, page by page and in order, and print what the text block after them shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.test_cli_docs import is_shown

GUIDES = Path(__file__).parents[1] / "docs" / "guides"
ELSEWHERE = {"latent-trees.md"}  # its blocks make files that commands between them read: tests/cli/test_cli_docs.py
PAGES = sorted(path for path in GUIDES.glob("*.md") if path.name not in ELSEWHERE)
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("default::latentree.LatentreeWarning")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_guide_tells_the_truth(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for code, shown in blocks:
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        assert not shown or is_shown(shown, printed), f"{code}\n{printed}"
