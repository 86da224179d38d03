"""The block of the guide "From R" runs where R and reticulate are installed; without them, its Python side does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import latentree as lt
from latentree.report import figures

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "from-r.md").read_text(encoding="utf-8")
BLOCK = re.search(r"```r\n(.*?)```", GUIDE, flags=re.DOTALL)[1]


def _has_reticulate() -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "quit(status = !requireNamespace('reticulate', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True).returncode == 0


@pytest.mark.skipif(not _has_reticulate(), reason="R with reticulate is not installed")
def test_the_block_runs(tmp_path):
    script = BLOCK.replace('use_virtualenv("latentree")', f'use_python("{sys.executable}", required = TRUE)')
    (tmp_path / "block.R").write_text(script, encoding="utf-8")
    done = subprocess.run(["Rscript", "block.R"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Latent class model: 3 classes" in done.stdout and (tmp_path / "tables.docx").exists()


def test_everything_that_the_guide_calls_is_there():
    called = set(re.findall(r"(?:lca|lt|datasets|report|figures)\$(\w+)", GUIDE))
    known = {name for thing in (lt, lt.LatentClass, lt.datasets, lt.report, figures) for name in dir(thing)}
    assert called and called <= known | {"figures"}
