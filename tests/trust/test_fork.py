"""A process that has used the engine with threads may fork: children work, and give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("forking.py")
FORKS = ("plain_fork", "fork_of_fork", "fork_while_threads_work", "pool_of_processes", "executor")
JOBLIB = ("loky", "threads_of_joblib")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("ways", [FORKS, JOBLIB], ids=["fork", "joblib"])
def test_children_work(ways):
    done = subprocess.run([sys.executable, SCRIPT, *ways], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
