"""Find a Chromium to test with, or install one, and print where it is (nothing: Playwright's own)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def found() -> str | None:
    return os.environ.get("LATENTREE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def installed() -> str:
    """From the system's packages if that is allowed, otherwise Playwright's own download."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        for name in NAMES[:2]:
            install = ("apt-get", "install", "--yes", "--no-install-recommends", name)
            if done(*install) or (done("apt-get", "update") and done(*install)):
                return shutil.which(name) or ""
    if not done(sys.executable, "-m", "playwright", "install", "chromium-headless-shell"):
        sys.exit("No Chromium could be installed. Install one and set LATENTREE_BROWSER to where it is.")
    return ""


def done(*command: str) -> bool:
    """Run a command, with what it says on standard error; whether it went well."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, stdout=sys.stderr, env=environment).returncode == 0


if __name__ == "__main__":
    print(found() or installed())
