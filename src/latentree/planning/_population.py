"""What data are simulated from: classes, and a covariate that class membership may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from .._variables import numbered
from ..errors import ModelError, ParameterError, bad_parameter

__all__ = ["Population", "stated_profiles"]

Covariate = Literal["normal", "binary"]

QUADRATURE = 61
"""Points at which a normal covariate is averaged over."""


@dataclass(frozen=True, eq=False)
class Population:
    """Classes, and how a covariate shifts their probabilities.

    Attributes
    ----------
    model : Model
        A latent class model; its class sizes are averages over the covariate.
    effect : float or None
        Log odds ratio of the last class against every other for one unit of the covariate (one standard deviation if it
        is normal); None: there is no covariate.
    covariate : {"normal", "binary"}
        Standard normal, or 0 and 1 equally often.
    intercepts : float array [classes]
        Log-odds at covariate zero.
    """

    model: Model
    effect: float | None
    covariate: Covariate
    intercepts: FloatArray

    @classmethod
    def of(cls, model: Model, effect: float | None = None, covariate: Covariate = "normal") -> Population:
        """Choose the intercepts so that classes are as large as the model says, on average over the covariate."""
        if not model.tree.is_star or model.tree.variable[0] >= 0:
            raise ModelError("Sample sizes are planned for latent class models: this one has another structure.")
        sizes = np.asarray(model.table(0)[0])
        if effect is not None and len(sizes) < 2:
            raise ModelError("A covariate acts on class membership only if there are two classes at least.")
        if covariate not in ("normal", "binary"):
            raise bad_parameter("covariate", "power", "'normal' or 'binary'", covariate)
        if effect is None:
            return cls(model, None, covariate, np.log(sizes))
        return cls(model, float(effect), covariate, _intercepts(sizes, float(effect), *_points(covariate)))

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.intercepts)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Table, FloatArray]:
        """Draw rows: the answers to all items, and the covariate, row by row."""
        x = rng.standard_normal(n) if self.covariate == "normal" else rng.integers(0, 2, n).astype(np.float64)
        chances = _probabilities(self.intercepts, self.effect or 0.0, x)
        z = (rng.random((n, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        codes = np.empty((n, len(self.model.variables)), dtype=np.int16)
        for i, v in enumerate(self.model.tree.manifest):
            ends = np.cumsum(self.model.table(int(v)), axis=1)[z, :-1]
            codes[:, i] = (rng.random((n, 1)) > ends).sum(axis=1)
        return Table.from_codes(codes, self.model.variables), x


def _points(covariate: Covariate) -> tuple[FloatArray, FloatArray]:
    """Values of the covariate and their weights."""
    if covariate == "binary":
        return np.array([0.0, 1.0]), np.array([0.5, 0.5])
    x, w = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    return x, w / w.sum()


def _probabilities(intercepts: FloatArray, effect: float, x: FloatArray) -> FloatArray:
    logits = np.tile(intercepts, (len(x), 1))
    logits[:, -1] += effect * x
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    made: FloatArray = raised / raised.sum(axis=1, keepdims=True)
    return made


def _intercepts(sizes: FloatArray, effect: float, x: FloatArray, weights: FloatArray) -> FloatArray:
    """Log-odds by which the classes have these sizes on average, found by scaling each to its size again and again."""
    found = np.log(np.maximum(sizes, 1e-12))
    for _ in range(1000):
        average = weights @ _probabilities(found, effect, x)
        found = found + np.log(np.maximum(sizes, 1e-12) / average)
        if np.abs(average - sizes).max() < 1e-12:
            break
    made: FloatArray = found - found[0]
    return made


def stated_profiles(
    class_sizes: Sequence[float] | int,
    profiles: ArrayLike | None = None,
    *,
    n_items: int = 6,
    separation: float = 0.8,
) -> Model:
    """Make a latent class model of binary items from stated numbers.

    Parameters
    ----------
    class_sizes : sequence of float or int
        Sizes of the classes, scaled to sum to one; a whole number stands for so many equal ones.
    profiles : array of float [classes, items], optional
        P(1 | class) of every item.
    n_items, separation
        Without ``profiles``: how many items, and the probability of the typical answer. The first class answers 1 to
        all with it, the last to none, and classes between to fewer and fewer: with three classes the second to the
        first half of the items. 0.7, 0.8 and 0.9 are often called low, middle and high separation.

    Examples
    --------
    >>> stated_profiles(3, n_items=4, separation=0.9).table("x4").round(1).tolist()
    [[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]]
    """
    sizes = np.full(class_sizes, 1.0 / class_sizes) if isinstance(class_sizes, int) else np.asarray(class_sizes, float)
    if sizes.ndim != 1 or len(sizes) < 1 or not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise bad_parameter("class_sizes", "power", "positive numbers", class_sizes)
    k = len(sizes)
    if profiles is None:
        if not 0.5 < separation < 1 or n_items < 1:
            raise bad_parameter("separation", "power", "above 0.5 and below 1, with one item at least", separation)
        high = [n_items if k == 1 else round(n_items * (k - 1 - c) / (k - 1)) for c in range(k)]
        chosen = np.where(np.arange(n_items) < np.array(high)[:, None], separation, 1 - separation)
    else:
        chosen = np.asarray(profiles, dtype=np.float64)
        if chosen.ndim != 2 or len(chosen) != k or not ((chosen >= 0) & (chosen <= 1)).all():
            raise ParameterError(
                "Profiles must be probabilities, a row for each of the {k} classes and a column for each item. Got "
                "{shape} numbers.",
                k=k,
                shape=" x ".join(map(str, chosen.shape)),
            )
    items: NDArray[np.float64] = np.stack([1 - chosen, chosen], axis=2)
    parameters = np.concatenate([sizes / sizes.sum(), *(items[:, j].ravel() for j in range(items.shape[1]))])
    return Model(Tree.star(k, [2] * items.shape[1]), numbered([2] * items.shape[1]), parameters)
