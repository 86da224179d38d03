"""Damaged files of every format: an error of ours or a valid result, nothing else. ``make fuzz`` runs many more."""

from __future__ import annotations

import random
import time

import pytest
from damage import READERS, SEEDS, check, damaged
from hypothesis import HealthCheck, given, settings, strategies as st

MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("kind", READERS)
def test_seeds_can_be_read(kind, tmp_path):
    for content in SEEDS[kind]:
        assert check(kind, content, tmp_path / "some")


@pytest.mark.parametrize("kind", READERS)
@MANY
@given(data=st.data())
def test_damaged_files(kind, tmp_path, data):
    content = data.draw(st.sampled_from(SEEDS[kind]))
    check(kind, damaged(content, data.draw(st.randoms(use_true_random=False))), tmp_path / "some")


@pytest.mark.parametrize("kind", READERS)
@MANY
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "replace")))
def test_any_bytes(kind, tmp_path, content):
    check(kind, content, tmp_path / "some")


@pytest.mark.parametrize("kind", READERS)
def test_some_damage_is_harmless_and_some_is_not(kind, tmp_path):
    rng = random.Random(0)
    outcomes = [check(kind, damaged(rng.choice(SEEDS[kind]), rng), tmp_path / "some") for _ in range(100)]
    assert 2 < sum(outcomes) < 98


@pytest.mark.parametrize("kind", READERS)
def test_long_runs_of_one_character_take_no_time(kind, tmp_path):
    start = time.perf_counter()
    for content in SEEDS[kind]:
        for character in b" \t\n,;:'\"{}()[]<>&%/\\*=|0a-.":
            middle = len(content) // 2
            line = content.rfind(b"\n", 0, middle) + 1
            for at in (0, line, middle):
                check(kind, content[:at] + bytes([character]) * 30_000 + content[at:], tmp_path / "some")
    assert time.perf_counter() - start < 60
