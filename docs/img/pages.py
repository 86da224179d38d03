"""Makes the pictures of pages and figures in docs/img from bundled data: votes, and for a large tree hearing tests.

Needs Playwright, a Chromium and Matplotlib, and takes a minute or two:
``LATENTREE_BROWSER="$(python tests/browser/install.py)" python docs/img/pages.py``. Names of pictures make only these.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent.absolute()
SHOTS = {  # picture: page, width, height, what is done first
    "explorer.png": ("tree.html", 1280, 800, ""),
    "explorer-phone.png": ("tree.html", 390, 844, ""),
    "explorer-classes.png": ("classes.html", 1280, 800, ""),
    "explorer-large.png": ("large.html", 1280, 800, "radial"),
    "report.png": ("report.html", 940, 900, ""),
}
FIGURE = "profiles.png"


def latentree(*args: str) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "latentree.cli", *args], check=True, capture_output=True)


def pages(wanted: set[str]) -> None:
    """Make the models and pages that the pictures need."""
    if wanted & {"explorer.png", "explorer-phone.png"}:
        latentree("learn", "voting", "--out", "tree.json")
        latentree("explore", "tree.json", "--data", "voting", "--out", "tree.html", "--no-open")
    if wanted & {"explorer-classes.png", "report.png"}:
        latentree("fit", "voting", "--classes", "3", "--out", "classes.json")
        latentree("explore", "classes.json", "--data", "voting", "--out", "classes.html", "--no-open")
        latentree("report", "classes.json", "--data", "voting", "--out", "report.html")
    if "explorer-large.png" in wanted:
        latentree("learn", "audiology", "--set", "effort=low", "--out", "large.json")
        latentree("explore", "large.json", "--data", "audiology", "--out", "large.html", "--no-open")


def shot(browser: object, name: str) -> None:
    """Photograph a page."""
    page_file, width, height, style = SHOTS[name]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(Path(page_file).absolute().as_uri())
    page.wait_for_timeout(500)
    if style:
        page.select_option("#style", style)
        page.click("#unfold")
        page.wait_for_timeout(200)
    page.screenshot(path=HERE / name)


def figure() -> None:
    """Draw class profiles for print, at the resolution of a screen."""
    import matplotlib as mpl
    import numpy as np

    import latentree as lt
    from latentree.report.figures import plot_profile_lines

    mpl.use("Agg")
    fit = lt.fit_classes(lt.datasets.load("voting"), 3, rng=np.random.default_rng(0))
    axes = plot_profile_lines(fit)
    axes.figure.savefig(HERE / FIGURE, dpi=110, bbox_inches="tight")


wanted = set(sys.argv[1:]) or {*SHOTS, FIGURE}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pages(wanted)
    if FIGURE in wanted:
        figure()
    with sync_playwright() as playwright:
        path = os.environ.get("LATENTREE_BROWSER") or None
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in SHOTS:
            if name in wanted:
                shot(browser, name)
        browser.close()
