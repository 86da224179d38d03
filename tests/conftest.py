"""What the state of a machine must not change: where the tests keep things, and what they remember."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import configuration, settings

HOME = tempfile.mkdtemp(prefix="latentree-tests-")
"""What libraries keep for themselves goes here instead of the user's home, which may be read-only or missing."""

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with Ctrl-C ignored
os.environ.setdefault("MPLCONFIGDIR", os.path.join(HOME, "matplotlib"))
configuration.set_hypothesis_home_dir(os.path.join(HOME, "hypothesis"))
# Nothing is remembered from one run to the next, so that a run cannot pass or fail because of an earlier one.
settings.register_profile("latentree", database=None, print_blob=True)
settings.load_profile("latentree")


@pytest.fixture(scope="session", autouse=True)
def _leave_nothing_behind():
    yield
    import shutil

    shutil.rmtree(HOME, ignore_errors=True)
