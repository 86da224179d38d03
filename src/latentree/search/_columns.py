"""The order of columns by content, which stands in :mod:`latentree._columns`."""

from __future__ import annotations

from .._columns import by_content as by_content
