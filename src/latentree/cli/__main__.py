"""``python -m latentree.cli`` does what ``latentree`` does."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    main()
