"""A few hundred fits leave nothing behind; ``make leak`` measures ten thousand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from leak import LIMIT, growth, leaked

SCRIPT = Path(__file__).with_name("leak.py")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell")
def test_fits_leave_nothing_behind():
    env = {**os.environ, "PYTHONMALLOC": "malloc"}
    line = [sys.executable, SCRIPT, "400", "--only", "fit,sampler"]
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell")
def test_a_leak_is_seen():
    forgotten = []
    early, late = growth(lambda i: forgotten.append(np.ones(200)), 1000)
    assert leaked(early, late, 900) > LIMIT
