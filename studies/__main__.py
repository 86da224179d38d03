"""``python -m studies``: which studies there are."""

from __future__ import annotations

from . import STUDIES

for name, about in STUDIES.items():
    print(f"python -m studies.{name:<16} {about}")
