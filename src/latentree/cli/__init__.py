"""The command line: load, call, print.

Nothing here computes anything. Every command is a module of its own, loaded when it is called, and imports what needs
NumPy only when it runs, so that help and shell completion answer at once.
"""

from __future__ import annotations

from .app import application

__all__ = ["application", "main"]


def main() -> None:
    """Run the command line; the entry point ``latentree``."""
    application(prog_name="latentree")
