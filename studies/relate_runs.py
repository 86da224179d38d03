"""Runs the simulation of :mod:`studies.relate_simulation` in parts, and keeps what is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from latentree._files import write_atomically

from .relate_designs import CONDITIONS, OTHERS, Design
from .relate_simulation import DEFAULTS, METHODS, Tally, simulate

__all__ = ["KEPT", "kept", "run"]

KEPT = Path(__file__).parent / "results" / "relate.json"
PART = 100
"""Replicates between two times of writing."""


Done = dict[str, dict[str, tuple[int, Tally]]]
"""Parts that are done and their tally, by design and method."""


def kept(path: Path = KEPT) -> Done:
    """What has been simulated."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    return {
        name: {method: (own.pop("parts"), Tally.from_plain(own)) for method, own in methods.items()}
        for name, methods in found.items()
    }


def run(
    replicates: int,
    seed: int = 0,
    path: Path = KEPT,
    designs: Sequence[Design] = CONDITIONS,
    methods: Sequence[str] = DEFAULTS,
) -> None:
    """Simulate what is still to be done, all designs in turn."""
    done = kept(path)
    for part in range(-(-replicates // PART)):
        for design in designs:
            own = done.setdefault(design.name, {})
            missing = [method for method in methods if own.get(method, (0,))[0] <= part]
            if not missing:
                continue
            for method, tally in simulate(design, part, PART, seed, missing).items():
                before = own[method][1] if method in own else Tally.empty(len(design.truth))
                own[method] = (part + 1, before + tally)
            _write(done, path)


def _write(done: Done, path: Path) -> None:
    plain = {
        name: {method: {"parts": parts, **tally.to_plain()} for method, (parts, tally) in methods.items()}
        for name, methods in done.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    # What is hardest to foresee comes first, and half of everything before the other half.
    for methods in (DEFAULTS, METHODS):
        for replicates in (1000, 2000):
            for separation in (0.8, 0.9):
                run(replicates, designs=[own for own in CONDITIONS if own.separation == separation], methods=methods)
            run(replicates, designs=OTHERS, methods=methods)
            run(replicates, designs=[own for own in CONDITIONS if own.separation == 0.7], methods=methods)
