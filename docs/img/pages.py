"""Makes the pictures of pages in docs/img: a tree and classes of the votes on the explorer page, and a report.

Needs Playwright and a Chromium: ``LATENTREE_BROWSER="$(python tests/browser/install.py)" python docs/img/pages.py``.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SHOTS = {  # picture: page, width, height
    "explorer.png": ("tree.html", 1280, 800),
    "explorer-phone.png": ("tree.html", 390, 844),
    "explorer-classes.png": ("classes.html", 1280, 800),
    "report.png": ("report.html", 940, 900),
}


def latentree(*args: str) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "latentree.cli", *args], check=True, capture_output=True)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    latentree("learn", "voting", "--out", "tree.json")
    latentree("fit", "voting", "--classes", "3", "--out", "classes.json")
    latentree("explore", "tree.json", "--data", "voting", "--out", "tree.html", "--no-open")
    latentree("explore", "classes.json", "--data", "voting", "--out", "classes.html", "--no-open")
    latentree("report", "classes.json", "--data", "voting", "--out", "report.html")
    with sync_playwright() as playwright:
        path = os.environ.get("LATENTREE_BROWSER") or None
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, (page_file, width, height) in SHOTS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(Path(page_file).absolute().as_uri())
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / name)
        browser.close()
