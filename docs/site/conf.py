"""The site: Sphinx reads docs/, Markdown by MyST, docstrings by numpydoc's rules; see `make docs`."""

from __future__ import annotations

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


def skip_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what our classes inherit from scikit-learn: it is told there."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", skip_foreign)
