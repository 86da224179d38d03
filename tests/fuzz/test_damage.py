"""Damaged files of every format: an error of ours or a valid result, nothing else. ``make fuzz`` runs many more."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from damage import BOMB_MEMORY, BOMBS, READERS, SEEDS, bomb, check, damaged
from hypothesis import HealthCheck, given, settings, strategies as st

import latentree

MANY = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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
    assert 0 < sum(outcomes) < 100


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


N = 50_000
HOSTILE = [
    ("csv", ",".join(f"c{i}" for i in range(N)) + ",c0\n"),
    ("csv", "," * 200_000),
    ("csv", 'a,b\n"' + "x" * 200_000),
    ("csv", "a,b\n" + '""' * 100_000),
    ("arff", "".join(f"@attribute a{i} numeric\n" for i in range(N)) + "@attribute a0 numeric\n@data\n"),
    ("arff", "@attribute a {" + ",".join(f"v{i}" for i in range(N)) + ",v0}\n@data\nv0\n"),
    ("arff", "@attribute a {x,y}\n@data\n" + " " * 200_000 + "x" + " " * 200_000 + "}\n"),
    ("arff", "@attribute a {'x',y}\n@data\n'x'" + " " * 200_000 + "y\n"),
    ("hlcm", "Name: x\nv:" + "".join(f" s{i}" for i in range(N)) + " s0\n0 1\n"),
    ("json", "[" * 200_000),
    ("json", '{"a":' * 100_000),
    ("json", "{" + ",".join(f'"k{i}":1' for i in range(N)) + f',"k{N - 1}":1}}'),
    ("bif", "".join(f"variable x{i} {{ type discrete [ 1 ] {{ a }};}}\n" for i in range(N // 4))),
    ("bif", "variable x {type discrete [ 1 ] {a};} probability (x | " + "x," * N + "x) {table 1;}"),
    ("net", "net {} node x {states = " + "(" * 200_000),
    ("xmlbif", "<BIF><NETWORK>" + "<a/>" * N + "</NETWORK></BIF>"),
    ("xdsl", "<smile " + "".join(f"a{i}='' " for i in range(N)) + "/>"),
    ("xdsl", "<smile>" + "<!--" * N + "</smile>"),
]


@pytest.mark.parametrize(("kind", "text"), HOSTILE, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(HOSTILE)])
def test_hostile_files_are_refused_at_once(kind, text, tmp_path):
    start = time.process_time()
    assert not check(kind, text.encode(), tmp_path / "some")
    assert time.process_time() - start < 10  # a hundredth of it is usual; what is quadratic takes minutes


READ_A_BOMB = """
import resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[4]),) * 2)
from latentree import Table, load
from latentree.errors import LatentreeError
path, kind = sys.argv[2:4]
try:
    load(path, format=kind) if kind == "bif" else Table.read(path, format=kind)
except LatentreeError as error:
    print("refused", error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_that_stand_for_large_ones_are_refused_in_little_memory(name, tmp_path):
    kind, content = bomb(name, noise=1_000_000 if "noise" in name else 0)
    assert len(content) < 6_000_000
    path = tmp_path / "some.gz"
    path.write_bytes(content)
    source = str(Path(latentree.__file__).parents[1])
    told = subprocess.run(
        [sys.executable, "-c", READ_A_BOMB, source, str(path), kind, str(BOMB_MEMORY)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout.splitlines()
    assert told[0].startswith("refused"), told
    assert int(told[-1]) * 1024 < BOMB_MEMORY / 2
