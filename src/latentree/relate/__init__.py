"""Classes related to other variables: covariates, outcomes, direct effects on items."""

from __future__ import annotations

from ._dif import ItemTests, item_tests
from ._main import relate
from ._relation import Relation

__all__ = ["ItemTests", "Relation", "item_tests", "relate"]
