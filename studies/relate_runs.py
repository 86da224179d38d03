"""Runs the simulation of :mod:`studies.relate_simulation` in parts, and keeps what is done."""

from __future__ import annotations

import json
from pathlib import Path

from latentree._files import write_atomically

from .relate_simulation import CONDITIONS, METHODS, Condition, Tally, simulate

__all__ = ["KEPT", "kept", "run"]

KEPT = Path(__file__).parent / "results" / "relate.json"
PART = 100
"""Replicates between two times of writing."""


def kept(path: Path = KEPT) -> dict[str, tuple[int, dict[str, Tally]]]:
    """Parts that are done, and the tallies of all methods, by the name of the condition."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    return {
        name: (own["parts"], {method: Tally.from_plain(plain) for method, plain in own["tallies"].items()})
        for name, own in found.items()
    }


def run(replicates: int, seed: int = 0, path: Path = KEPT) -> None:
    """Simulate what is still to be done, all conditions in turn."""
    done = kept(path)
    for part in range(-(-replicates // PART)):
        for condition in CONDITIONS:
            parts, tallies = done.get(condition.name, (0, {method: Tally.empty() for method in METHODS}))
            if part < parts:
                continue
            found = simulate(condition, part, PART, seed)
            done[condition.name] = (part + 1, {method: tallies[method] + found[method] for method in METHODS})
        _write(done, path)


def _write(done: dict[str, tuple[int, dict[str, Tally]]], path: Path) -> None:
    plain = {
        name: {"parts": parts, "tallies": {method: own.to_plain() for method, own in tallies.items()}}
        for name, (parts, tallies) in done.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(plain, indent=1) + "\n")


def of(condition: Condition) -> dict[str, Tally]:
    """The tallies of one condition."""
    return kept()[condition.name][1]


if __name__ == "__main__":
    run(2000)
