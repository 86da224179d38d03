"""What the state of a machine must not change: where the tests keep things, and what they remember."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, configuration, settings

HOME = tempfile.mkdtemp(prefix="latentree-tests-")
"""What libraries keep for themselves goes here instead of the user's home, which may be read-only or missing."""

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with Ctrl-C ignored
os.environ.setdefault("MPLCONFIGDIR", os.path.join(HOME, "matplotlib"))
configuration.set_hypothesis_home_dir(os.path.join(HOME, "hypothesis"))
# The same code gives the same verdict: examples follow from the tests themselves and nothing is remembered from an
# earlier run. ``make explore`` draws new ones. No deadline: an example that is slow on a shared machine is not wrong.
settings.register_profile(
    "latentree",
    database=None,
    print_blob=True,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("latentree"), derandomize=False)
settings.load_profile("explore" if os.environ.get("LATENTREE_EXPLORE") else "latentree")


@pytest.fixture(scope="session", autouse=True)
def _leave_nothing_behind():
    yield
    import shutil

    shutil.rmtree(HOME, ignore_errors=True)
