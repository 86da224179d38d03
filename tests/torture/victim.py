"""The program, with checkpoints as often as can be, and a death in the middle of writing one if that is asked for.

``python victim.py LOG STAGE NUMBER ARGUMENT...`` runs ``latentree ARGUMENT...``. Every checkpoint that is safely
written is noted in LOG with its steps. STAGE says where the process dies by SIGKILL while it writes its NUMBER-th file:
``half`` (half of the temporary file is written), ``whole`` (all of it, not yet in its place), ``placed`` (it has taken
its place) or ``never``.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from latentree import _files as files, runner
from latentree.bayes import _sampler as sampler
from latentree.checkpoint import Checkpoint
from latentree.cli import main


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(stage: str, number: int) -> None:
    """Make the writing of a file fatal."""
    written = 0
    write, replace = files._write_new, os.replace

    def writing(temporary: Path, data: bytes, *more: Any) -> None:
        nonlocal written
        written += 1
        if stage == "half" and written == number:
            temporary.write_bytes(data[: len(data) // 2])
            die()
        write(temporary, data, *more)

    def replacing(source: Any, target: Any) -> None:
        if stage == "whole" and written == number:
            die()
        replace(source, target)
        if stage == "placed" and written == number:
            die()

    files._write_new = writing  # type: ignore[assignment]
    os.replace = replacing  # type: ignore[assignment]


def note_saves(log: str) -> None:
    """Note what is safe: a checkpoint whose writing has returned must not be lost."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    save = Checkpoint.save

    def noted(self: Checkpoint, payload: Any, **more: Any) -> None:
        save(self, payload, **more)
        os.write(handle, f"{more['steps']}\n".encode())

    Checkpoint.save = noted  # type: ignore[method-assign]


if __name__ == "__main__":
    log, stage, number, *arguments = sys.argv[1:]
    runner.EVERY_SECONDS, sampler.BLOCK_SECONDS = 0.0, 0.02
    arm(stage, int(number))
    note_saves(log)
    sys.argv = ["latentree", *arguments]
    main()
