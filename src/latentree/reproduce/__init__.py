"""Published tables and figures, ours beside theirs: one module each, run by ``latentree reproduce NAME``.

A module has ``main(arguments)``, which reads its own options (``--out``, the page to write; ``--seed``; ``--data``, the
folder of data sets that do not come with latentree) and writes or prints a page.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

__all__ = ["NAMES", "reproduce"]

NAMES = {
    "estimation": "W figures 2.4-2.28 and table 2.5: estimation algorithms compared",
    "merging": "K table 5.1: merging states of over-fitted models",
    "selection": "W figures 4.4-4.5, tables 4.1-4.4, 4.6, and E 3.1: choosing the number of classes",
}
"""What can be reproduced; the module has the same name, with underscores."""


def reproduce(name: str, arguments: Sequence[str] = ()) -> None:
    """Do a published study again.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    arguments : sequence of str
        Options of that study, as on the command line; ``["--help"]`` lists them.
    """
    importlib.import_module(f".{name.replace('-', '_')}", __name__).main(arguments)
