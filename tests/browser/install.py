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
            command = ["apt-get", "install", "--yes", "--no-install-recommends", name]
            if subprocess.run(command, stdout=sys.stderr, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).returncode == 0:
                return shutil.which(name) or ""
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium-headless-shell"], stdout=sys.stderr, check=True)
    return ""


if __name__ == "__main__":
    print(found() or installed())
