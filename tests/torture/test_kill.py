"""Five kills; ``make torture`` makes fifty, of more kinds of work."""

from __future__ import annotations

import pytest
from kill import SMALL, torture


@pytest.mark.parametrize(("name", "n_kills"), [("fit", 2), ("learn", 1), ("sample", 2)])
def test_killed_and_resumed(name, n_kills, tmp_path):
    tally = torture(name, SMALL[name], n_kills, 1, tmp_path)
    assert tally.kills == n_kills
