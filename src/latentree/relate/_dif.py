"""Tests of differential item functioning, that is of covariates that act on an item beside the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from .._model import Model
from .._options import Flag, OneOf, check
from ..errors import DataError
from ..formats._columns import listed
from ._design import term_of
from ._direct import DirectEffects, adjusted
from ._mixture import Point, curvature, inverse, maximise
from ._relate import Task, prepare, solve
from ._relation import _frame

__all__ = ["ItemTests", "item_tests"]


@dataclass(frozen=True, eq=False)
class ItemTests:
    """Tests whether covariates act on items directly; see :func:`item_tests`.

    Attributes
    ----------
    rows : list of dict
        For each item and covariate: ``item``, ``covariate``, ``statistic``, ``df``, ``p``, ``p_adjusted``.
    test : str
        ``"score"`` or ``"lr"``.
    correction : str or None
        How p-values were corrected.
    """

    rows: list[dict[str, Any]]
    test: str
    correction: str | None

    def to_frame(self) -> Any:
        """Return a data frame."""
        return _frame(self.rows)

    def __repr__(self) -> str:
        found = sum(row["p_adjusted"] < 0.05 for row in self.rows)
        return f"<ItemTests: {found} of {len(self.rows)} below .05, {self.test} tests, correction {self.correction}>"


def item_tests(
    model: Model,
    data: Any,
    covariates: str | Sequence[str],
    *,
    items: Sequence[str] | None = None,
    test: Literal["score", "lr"] = "score",
    uniform: bool = True,
    correction: Literal["holm", "bh", "bonferroni"] | None = "holm",
    **options: Any,
) -> ItemTests:
    """Test whether covariates act on items directly, given the class (differential item functioning).

    Parameters
    ----------
    model : Model
        A latent class model.
    data : data frame
        Rows with items and covariates.
    covariates : str or sequence of str
        A formula: the covariates of the class, each of which is tested on each item.
    items : sequence of str, optional
        Items to test. Default: all.
    test : {"score", "lr"}
        Score test, from the model without direct effects alone, or likelihood-ratio test, which fits a model for each.
    uniform : bool
        Whether the effect is alike in all classes; otherwise each class may have its own.
    correction : {"holm", "bh", "bonferroni"} or None
        How p-values are corrected for being many.
    **options
        Those of :func:`~latentree.relate.relate` that say which rows are used.

    Returns
    -------
    ItemTests
    """
    check(
        "item_tests",
        test=(test, OneOf("score", "lr")),
        uniform=(uniform, Flag()),
        correction=(correction, OneOf("holm", "bh", "bonferroni", None)),
    )
    task = prepare(model, data, covariates, method="one-step", **options)
    names = [v.name for v in model.variables]
    unknown = [name for name in items or () if name not in names]
    if unknown:
        raise DataError("There is no item '{name}'. There are {known}.", name=unknown[0], known=listed(names))
    found = solve(task)
    assert found.estimate is not None
    rows: list[dict[str, Any]] = []
    for item in items or names:
        for covariate in task.design.levels:
            columns = [j for j, term in enumerate(task.design.terms) if term_of(term, covariate)]
            one = _score if test == "score" else _ratio
            statistic, df = one(task, found.estimate, names.index(item), columns, uniform)
            p = float(chi2.sf(statistic, df))
            rows.append({"item": item, "covariate": covariate, "statistic": statistic, "df": df, "p": p})
    for row, p in zip(rows, adjusted([row["p"] for row in rows], correction), strict=True):
        row["p_adjusted"] = float(p)
    return ItemTests(rows, test, correction)


def _parts(task: Task, found: Any, item: int, columns: list[int], uniform: bool) -> Point:
    """The model with direct effects of zero on one item."""
    sample = task.sample
    logit, items = found.parts[:2]
    data, at = items.data, slice(items.data.starts[item], items.data.starts[item] + items.data.cardinality[item])
    codes = sample.table.codes[sample.pattern, item]
    z = sample.x[:, columns]
    direct = DirectEffects.begin(codes, z, items.tables[:, at], uniform=uniform)
    rest = np.delete(np.arange(items.tables.shape[1]), np.arange(at.start, at.stop))
    others = type(items)(data.without([item]), items.tables[:, rest])
    return Point([logit, others, direct], sample.weights)


def _score(task: Task, found: Any, item: int, columns: list[int], uniform: bool) -> tuple[float, int]:
    """Rao's score test: the gradient along the direct effects, in the metric of their information given the rest."""
    point = _parts(task, found, item, columns, uniform)
    own = curvature(point)
    direct = point.parts[2]
    assert isinstance(direct, DirectEffects)
    tested = point.size - direct.size + direct.slope_columns
    free = ~point.held
    for information in (own.information, own.products):
        inner, _ = inverse(information, ~free)
        spread = inner[np.ix_(tested, tested)]
        values = np.linalg.eigvalsh(spread)
        if values.min() > 0:
            break
    slope = own.gradient[tested]
    return max(float(slope @ spread @ slope), 0.0), len(tested)


def _ratio(task: Task, found: Any, item: int, columns: list[int], uniform: bool) -> tuple[float, int]:
    """Twice the gain in log-likelihood of a model with the direct effects."""
    point = _parts(task, found, item, columns, uniform)
    best = maximise(point).point
    direct = point.parts[2]
    assert isinstance(direct, DirectEffects)
    return max(2.0 * (best.log_likelihood - found.log_likelihood), 0.0), direct.slope_columns.size
