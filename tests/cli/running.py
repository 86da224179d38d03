"""The program as a process of its own, on a terminal or without one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

PROGRAM = [sys.executable, "-m", "latentree.cli"]


def program(*args: object, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=60, **more)


def on_terminal(
    *args: object, interrupt_at: bytes | None = None, with_signal: int = signal.SIGINT
) -> tuple[int, str, str]:
    """Run with a terminal as standard error, and press Ctrl-C (or worse) when some text appears there."""
    master, slave = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [*PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=slave, env=env, text=True
    ) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # how a pseudo-terminal says that the other end was closed
            while part := os.read(master, 4096):
                shown += part
                if interrupt_at is not None and interrupt_at in shown:
                    process.send_signal(with_signal)
                    interrupt_at = None
        printed = process.stdout.read() if process.stdout else ""
    os.close(master)
    return process.returncode, printed, shown.decode()
