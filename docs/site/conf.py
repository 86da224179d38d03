"""The site: Sphinx reads docs/, Markdown by MyST, docstrings by numpydoc's rules; see `make docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import latentree

sys.path.insert(0, str(Path(__file__).parent))
from reference import write_reference

write_reference()

project = "latentree"
author = copyright = "The latentree developers"
version = release = latentree.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.viewcode"]
suppress_warnings = [
    "misc.highlighting_failure",  # CSV has no colours
    "ref.python",  # "[k, states]" in a docstring is a shape, not a name that is defined twice
]

myst_heading_anchors = 4  # links like other.md#a-heading, as forges make them
nb_execution_mode = "off"  # the notebooks come executed from `make notebooks`

numpydoc_show_class_members = False  # autodoc lists them
autodoc_default_options = {"inherited-members": "BaseEstimator,Exception,str,Enum"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is meant
add_module_names = False
default_role = "literal"

html_theme = "furo"
html_title = "latentree"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_copy_source = False
html_show_sphinx = False


def skip_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what our classes inherit from scikit-learn, which documents it, and second names of options."""
    foreign = str(getattr(obj, "__module__", "")).startswith("sklearn.")
    alias = what == "class" and name == "Options"  # described where the class is
    return True if foreign or alias else None


KEYS = re.findall(
    r"^\*\*\[(\w+)\]\*\*", (Path(__file__).parents[1] / "bibliography.md").read_text("utf-8"), re.MULTILINE
)
CITED = re.compile(rf"\[({'|'.join(KEYS)})((?:, [^\]]*)?)\]")


def link_citations(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make links to the bibliography of keys such as [Zhang2004] in a docstring."""
    lines[:] = [CITED.sub(lambda key: f"[:ref:`{key[1]} <{key[1].lower()}>`{key[2]}]", line) for line in lines]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", link_citations)
    app.connect("autodoc-skip-member", skip_member)
