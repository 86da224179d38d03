"""Kill a process again and again, resume it each time, and compare the end with that of one that was left alone.

What must hold after every kill: the checkpoint is not there yet or is whole; it holds at least what the last save that
returned held; an output file is not there or is whole; at most one temporary file is left. And at the end: outputs and
checkpoint are those of an uninterrupted run, to the bit, and no temporary file is left.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import latentree as lt
from latentree.checkpoint import _document

VICTIM = Path(__file__).with_name("victim.py")
STAGES = ("half", "whole", "placed")
LONGEST = 600
"""Seconds that a run may take in all; more is a hang."""

JOBS: dict[str, list[str]] = {
    "fit": ["fit", "mushroom", "--classes", "3-6", "--n-jobs", "2"],
    "classes": ["fit", "solar"],
    "learn": ["learn", "credit", "--method", "east", "--n-jobs", "2"],
    "swift": ["learn", "hiv_test"],
    "sample": [
        "sample",
        "credit",
        "--max-classes",
        "6",
        "--draws",
        "300",
        "--burn",
        "200",
        "--thin",
        "2",
        "--n-jobs",
        "2",
    ],
    "gibbs": ["sample", "carcinoma", "--classes", "3", "--draws", "2000", "--chains", "2"],
}
"""What is killed: restarts of EM, the learner of the number of classes, two searches, two samplers."""

SMALL: dict[str, list[str]] = {
    "fit": ["fit", "credit", "--classes", "2-5", "--n-jobs", "2"],
    "learn": ["learn", "hiv_test", "--method", "east", "--n-jobs", "2"],
    "sample": ["sample", "carcinoma", "--max-classes", "4", "--draws", "200", "--burn", "100", "--chains", "2"],
}
"""The same in a few seconds."""


class Broken(AssertionError):
    """A promise that was not kept."""


@dataclass(frozen=True)
class Ending:
    """All that an uninterrupted run leaves behind, without times."""

    printed: Any
    model: Any
    checkpoint: Any


@dataclass(frozen=True)
class Job:
    """A command, and the folder its files are in."""

    arguments: list[str]
    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "state.checkpoint"

    @property
    def model(self) -> Path:
        return self.folder / "model.json"

    @property
    def log(self) -> Path:
        return self.folder / "saves.log"

    @property
    def noted(self) -> list[int]:
        """Steps of each checkpoint that was safely written since the last start."""
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    def start(self, stage: str = "never", number: int = 0) -> subprocess.Popen[str]:
        self.log.unlink(missing_ok=True)
        out = "--model" if self.arguments[0] == "sample" else "--out"
        files = ["--resume", self.checkpoint, out, self.model, "--json"]
        line = [sys.executable, VICTIM, self.log, stage, number, *self.arguments, *files]
        printed = (self.folder / "printed").open("w")
        told = (self.folder / "told").open("a")
        with printed, told:
            return subprocess.Popen([str(part) for part in line], stdout=printed, stderr=told, text=True)

    def finish(self) -> Ending:
        """Let it run to the end."""
        code = self.start().wait(LONGEST)
        if code:
            raise Broken(f"exit status {code}: {(self.folder / 'told').read_text()[-2000:]}")
        if self.leftovers():
            raise Broken(f"temporary files are left: {self.leftovers()}")
        return Ending(
            timeless(json.loads((self.folder / "printed").read_text())),
            timeless(json.loads(self.model.read_text())),
            timeless(_document(self.checkpoint.read_text())),
        )

    def leftovers(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name.endswith(".tmp")]

    def check_files(self) -> int:
        """Look at what a killed process left; how many steps are safe."""
        if len(self.leftovers()) > 1:
            raise Broken(f"temporary files pile up: {self.leftovers()}")
        if self.model.exists():
            lt.load(self.model)
        safe = int(_document(self.checkpoint.read_text())["steps"]) if self.checkpoint.exists() else 0
        if self.noted and safe < self.noted[-1]:
            raise Broken(f"{self.noted[-1]} steps were saved, {safe} are left")
        return safe


def timeless(value: Any) -> Any:
    """Leave out how long things took, sentences that say so, what was told on the way, and the checksum over that."""
    if isinstance(value, Mapping):
        counted = "payload" in value or "trace" in value  # a sampler's steps are as long as the machine is slow
        gone = ("seconds", "notes", "text", *(("sha256", "steps") if counted else ()))
        return {key: timeless(item) for key, item in value.items() if key not in gone}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@dataclass
class Tally:
    """What the kills hit."""

    kills: int = 0
    writing: int = 0
    resumed: int = 0
    runs: int = 0


def torture(name: str, arguments: list[str], n_kills: int, seed: int, folder: Path) -> Tally:
    """Kill a command that many times and see it through each time; raise if a promise is broken."""
    rng = random.Random(f"{seed} {name}")
    alone = Job(arguments, folder / "alone")
    alone.folder.mkdir(parents=True)
    began = time.monotonic()
    truth = alone.finish()
    seconds = time.monotonic() - began
    saves = len(alone.noted)
    tally = Tally()
    while tally.kills < n_kills:
        job = Job(arguments, folder / f"run{tally.runs}")
        job.folder.mkdir()
        tally.runs += 1
        _kill_until_done(job, n_kills, seconds, saves, rng, tally)
        if job.finish() != truth:
            raise Broken(f"{name}: the end of {job.folder} is not that of {alone.folder}")
    return tally


def _kill_until_done(job: Job, n_kills: int, seconds: float, saves: int, rng: random.Random, tally: Tally) -> None:
    """Kill a job until it comes to its end, or often enough."""
    safe = done = 0
    while tally.kills < n_kills:
        aimed = rng.random() < 0.5
        # Near the beginning more often than not, so that a run is killed several times before its end.
        number = 1 + int(max(saves - done, 1) * rng.random() ** 3)
        process = job.start(rng.choice(STAGES) if aimed else "never", number)
        wait = LONGEST if aimed else seconds * rng.random()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait)
        process.kill()
        code = process.wait(LONGEST)
        if code not in (0, -signal.SIGKILL):
            raise Broken(f"exit status {code}: {(job.folder / 'told').read_text()[-2000:]}")
        if code == 0:
            return
        tally.kills += 1
        tally.writing += bool(job.leftovers()) or aimed
        tally.resumed += safe > 0
        now = job.check_files()
        done += len(job.noted)
        if now < safe:
            raise Broken(f"{safe} steps were safe, {now} are left")
        safe = now
