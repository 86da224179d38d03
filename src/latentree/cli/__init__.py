"""The command line: load, call, print.

Nothing here computes anything. Every command is a module of its own, loaded when it is called, and imports what needs
NumPy only when it runs, so that help and shell completion answer at once.
"""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import application

__all__ = ["application", "main"]


def main() -> None:
    """Run the command line; the entry point ``latentree``."""
    try:
        from .app import application
        from .output import Session

        # The time limit of a command includes that to start the program, which is about the processor time so far.
        application(prog_name="latentree", obj=Session(started=time.monotonic() - time.process_time()))
    except KeyboardInterrupt:  # while the program was being loaded
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said and done


def __getattr__(name: str) -> Any:
    if name == "application":
        from .app import application

        return application
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
