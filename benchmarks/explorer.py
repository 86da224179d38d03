"""How large the explorer page of a tree of 1,329 nodes is and how long it takes to load, beside Plotly in the same run.

    make test-browser                             # installs Playwright and a browser
    pip install plotly
    python benchmarks/explorer.py

Plotly draws the same places as points and lines, without panels or anything to ask. Times are medians of several loads
from a file, from the request to the end of the page's scripts; ratios are what counts. Without Plotly only ours is shown.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from examples import large_model
from playwright.sync_api import Page, sync_playwright

from latentree._model import Model
from latentree.report import describe_tree, explore
from latentree.report._svg import Drawing

LOADS = 7


def by_plotly(model: Model, path: Path) -> None:
    import plotly.graph_objects as go

    drawing = Drawing(describe_tree(model))
    places, up = drawing.places, drawing.arrangement.parent
    lines = [(places[v], places[up[v]]) for v in drawing.arrangement.order[1:]]
    figure = go.Figure(
        [
            go.Scatter(
                x=[c for a, b in lines for c in (a.x, b.x, None)],
                y=[c for a, b in lines for c in (a.y, b.y, None)],
                mode="lines",
            ),
            go.Scatter(
                x=[p.x for p in places.values()],
                y=[p.y for p in places.values()],
                text=[model.tree.names[v] for v in places],
                mode="markers+text",
            ),
        ]
    )
    figure.write_html(path, include_plotlyjs=True)


def load(page: Page, path: Path) -> float:
    page.goto(path.as_uri())
    return page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") / 1000


def browser_path() -> str | None:
    found = subprocess.run(
        [sys.executable, Path(__file__).parents[1] / "tests/browser/install.py"], capture_output=True, text=True
    )
    return found.stdout.strip() or None


def main() -> None:
    model = large_model()
    folder = Path(tempfile.mkdtemp())
    started = time.perf_counter()
    explore(model, path=folder / "ours.html")
    made = time.perf_counter() - started
    files = {"latentree": folder / "ours.html"}
    try:
        by_plotly(model, folder / "plotly.html")
        files["plotly"] = folder / "plotly.html"
    except ImportError:
        pass
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        times: dict[str, list[float]] = {name: [] for name in files}
        for _ in range(LOADS):  # in turn: what disturbs one disturbs the other
            for name, path in files.items():
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                times[name].append(load(page, path))
                page.close()
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(files["latentree"].as_uri())
        page.wait_for_timeout(1500)
        run = "(() => { const t = performance.now(); for (let i = 0; i < 100; i++) LT.page.model.messages.run(new Map([[500, 1]])); return (performance.now() - t) / 100; })()"
        page.evaluate(run)
        passed = page.evaluate(run)
        moved = page.evaluate(
            "(() => { const t = performance.now(); LT.page.model.assume(500, 1); return performance.now() - t; })()"
        )
        browser.close()
    sizes = {name: path.stat().st_size / 1e6 for name, path in files.items()}
    shutil.rmtree(folder)
    print(
        f"{model.tree.n_nodes:,} nodes; made in {made:.1f} s; one message passing {passed:.2f} ms, a what-if with redrawing {moved:.0f} ms"
    )
    for name, own in times.items():
        print(f"{name:10} {sizes[name]:6.2f} MB  {statistics.median(own):6.3f} s")
    if "plotly" in times:
        print(
            f"ratio: size {sizes['plotly'] / sizes['latentree']:.1f}, time {statistics.median(times['plotly']) / statistics.median(times['latentree']):.1f}"
        )


if __name__ == "__main__":
    main()
