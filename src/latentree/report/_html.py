"""Whole HTML pages in one file: no network, no foreign script, nothing from the data that the browser would obey."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import webbrowser
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ._svg import shown

__all__ = ["Page", "page", "source"]

ICON = "data:,"
"""No icon: browsers would ask for one over the network."""


class Page:
    """An HTML page in one file.

    Notebooks show it in a frame of its own. It works from a file, without a network.

    Attributes
    ----------
    html : str
        All of it.
    """

    def __init__(self, html: str, *, height: int = 720) -> None:
        self.html = html
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        write_atomically(path, self.html)

    def open(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write it, to a temporary file if none is given, and show it in the browser; returns the file."""
        if path is None:
            path = Path(tempfile.mkdtemp(prefix="latentree-")) / "explorer.html"
        self.save(path)
        target = Path(path).resolve()
        webbrowser.open(target.as_uri())
        return target

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{self.height}" style="border:1px solid #8884;border-radius:6px" title="latentree" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page: {len(self.html) / 1e6:.2f} MB; .save(path) writes it, .open() shows it in the browser>"


def page(
    title: str, body: str, *, styles: Sequence[str], scripts: Sequence[str] = (), data: Any = None, height: int = 720
) -> Page:
    """Put a page together, of a body in which all text is escaped already.

    Styles and scripts are files of ``latentree/report/page``. The content-security policy allows these, by their
    hashes, and nothing else: no other script or style, whoever wrote it, and no request to anywhere. The scripts read
    the data as JSON in ``#page-data``.

    Examples
    --------
    >>> made = page("<b>", "<p>hello</p>", styles=["base.css"])
    >>> "<title>&lt;b&gt;</title>" in made.html
    True
    """
    style = "".join(source(name) for name in styles)
    script = "".join(source(name) for name in scripts)
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script) if scripts else chr(39) + 'none' + chr(39)}",
            f"style-src {_hash(style)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    block = f'<script type="application/json" id="page-data">{_json(data)}</script>' if data is not None else ""
    run = f"<script>{script}</script>" if scripts else ""
    return Page(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="{ICON}">\n'
        f"<title>{shown(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n{block}{run}\n</body>\n</html>\n",
        height=height,
    )


def source(name: str) -> str:
    """The text of a file of ``latentree/report/page``."""
    return resources.files(__package__).joinpath("page", name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _json(data: Any) -> str:
    """JSON without a character that could end the element it stands in."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
