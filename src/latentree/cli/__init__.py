"""The command line: load, call, print.

Nothing here computes anything. Every command is a module of its own, loaded when it is called, and imports what needs
NumPy only when it runs, so that help and shell completion answer at once.
"""

from __future__ import annotations

import time

from .app import application
from .output import Session

__all__ = ["application", "main"]


def main() -> None:
    """Run the command line; the entry point ``latentree``."""
    # The time limit of a command includes that to start the program, which is about the processor time so far.
    application(prog_name="latentree", obj=Session(started=time.monotonic() - time.process_time()))
