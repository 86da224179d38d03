"""A real browser. Without ``LATENTREE_BROWSER`` (``make test-browser`` sets it) nothing here is collected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from install import found

collect_ignore_glob = [] if "LATENTREE_BROWSER" in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.launch(
            executable_path=found(),
            args=["--no-sandbox"],  # which containers do not have; the pages are ours
        )
        yield own
        own.close()


class Tab:
    """A browser's tab with one page, and all it complained about or asked the network for."""

    def __init__(self, browser, folder: Path, **options) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.folder = folder
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def show(self, made, name: str = "page.html", *, wait: str | None = "LT.page && LT.page.ready"):
        """Open a page from a file, as a user does."""
        path = self.folder / name
        made.save(path)
        self.page.goto(path.as_uri())
        if wait:
            self.until(wait)
        return self.page

    def until(self, expression: str, tries: int = 200) -> None:
        for _ in range(tries):  # not wait_for_function: the page's policy forbids what that does
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never true: {expression}")

    def saved(self, click) -> bytes:
        """What a click makes the browser save."""
        with self.page.expect_download() as download:
            click()
        return Path(download.value.path()).read_bytes()


@pytest.fixture
def tab(browser, tmp_path):
    own = Tab(browser, tmp_path)
    yield own
    own.context.close()
    assert own.complaints == []
    assert [url for url in own.requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@pytest.fixture
def tabs(browser, tmp_path):
    """Tabs with options, such as dark colours."""
    made: list[Tab] = []

    def make(**options) -> Tab:
        made.append(Tab(browser, tmp_path, **options))
        return made[-1]

    yield make
    for own in made:
        own.context.close()
        assert own.complaints == []
