"""What data are simulated from: classes, and covariates that class membership may depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from .._variables import numbered
from ..errors import ModelError, ParameterError, bad_parameter
from ..naming import node_labels

__all__ = ["Population", "stated_profiles"]

Covariate = Literal["normal", "binary"]

Effect = float | Sequence[Any] | Mapping[Any, float]
"""Effects of covariates as users state them; see :func:`latentree.planning.power`."""

QUADRATURE, MOST_POINTS = 61, 4000
"""Points at which a normal covariate is averaged over, and about how many there may be for several together."""


@dataclass(frozen=True, eq=False)
class Population:
    """Classes, and how covariates shift their probabilities.

    Attributes
    ----------
    model : Model
        A latent class model; its class sizes are averages over the covariates.
    effects : float array [covariates, classes]
        What one unit of each covariate (one standard deviation if it is normal) adds to the log-odds of each class.
    covariate : {"normal", "binary"}
        Standard normal, or 0 and 1 equally often; covariates are independent.
    intercepts : float array [classes]
        Log-odds where all covariates are zero.
    """

    model: Model
    effects: FloatArray
    covariate: Covariate
    intercepts: FloatArray

    @classmethod
    def of(cls, model: Model, effect: Effect | None = None, covariate: Covariate = "normal") -> Population:
        """Choose the intercepts so that classes are as large as the model says, on average over the covariates."""
        if not model.tree.is_star or model.tree.variable[0] >= 0:
            raise ModelError("Sample sizes are planned for latent class models: this one has another structure.")
        sizes = np.asarray(model.table(0)[0])
        if effect is not None and len(sizes) < 2:
            raise ModelError("A covariate acts on class membership only if there are two classes at least.")
        if covariate not in ("normal", "binary"):
            raise bad_parameter("covariate", "power", "'normal' or 'binary'", covariate)
        effects = _effects(effect, node_labels(model, 0))
        if not len(effects):
            return cls(model, effects, covariate, np.log(sizes))
        return cls(model, effects, covariate, _intercepts(sizes, effects, *_points(covariate, len(effects))))

    @property
    def covariates(self) -> list[str]:
        """Names of the covariates."""
        n = len(self.effects)
        return ["covariate"] if n == 1 else [f"covariate {j + 1}" for j in range(n)]

    @property
    def tested(self) -> list[int]:
        """The class with the largest effect of each covariate, the last of several."""
        return [len(own) - 1 - int(np.abs(own)[::-1].argmax()) for own in self.effects]

    def contrast(self, j: int, slopes: FloatArray) -> float:
        """Slope of the class that a covariate acts on most, less the mean of the others."""
        k = self.tested[j]
        return float(slopes[k] - np.delete(slopes, k).mean())

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.intercepts)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Table, FloatArray]:
        """Draw rows: the answers to all items, and the covariates, [rows, covariates]."""
        shape = (n, max(len(self.effects), 1))
        x = rng.standard_normal(shape) if self.covariate == "normal" else rng.integers(0, 2, shape).astype(np.float64)
        x = x[:, : len(self.effects)]
        chances = _probabilities(self.intercepts, self.effects, x)
        z = (rng.random((n, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        codes = np.empty((n, len(self.model.variables)), dtype=np.int16)
        for i, v in enumerate(self.model.tree.manifest):
            ends = np.cumsum(self.model.table(int(v)), axis=1)[z, :-1]
            codes[:, i] = (rng.random((n, 1)) > ends).sum(axis=1)
        return Table.from_codes(codes, self.model.variables), x


def _effects(given: Effect | None, labels: Sequence[str]) -> FloatArray:
    """Effects of all covariates on all classes."""
    if given is None:
        return np.zeros((0, len(labels)))
    # One number for each class is one covariate; a list with anything else in it has one entry for each covariate.
    several = isinstance(given, Sequence) and not all(isinstance(own, Real) for own in given)
    return np.array([_effect(own, labels) for own in (given if several else [given])])  # type: ignore[union-attr]


def _effect(given: Any, labels: Sequence[str]) -> list[float]:
    """Effects of one covariate on all classes."""
    out = [0.0] * len(labels)
    if isinstance(given, Mapping):
        for name, value in given.items():
            out[_class(name, labels)] = value
    elif isinstance(given, Sequence) and not isinstance(given, str):
        out = list(given)
    else:
        out[-1] = given
    real = all(isinstance(own, Real) and not isinstance(own, bool) and np.isfinite(own) for own in out)
    if not real or len(out) != len(labels):
        wanted = (
            f"a number, numbers by class ({', '.join(labels)}), or one number for each of the {len(labels)} classes"
        )
        raise bad_parameter("effect", "power", wanted, given)
    return [float(own) for own in out]


def _class(name: Any, labels: Sequence[str]) -> int:
    if str(name) in labels:
        return labels.index(str(name))
    if str(name).isdigit() and int(name) < len(labels):
        return int(name)
    raise ParameterError("There is no class '{name}'. There are {known}.", name=name, known=", ".join(labels))


def _points(covariate: Covariate, n: int) -> tuple[FloatArray, FloatArray]:
    """Values of n covariates together, and their weights."""
    if covariate == "binary":
        x, w = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    else:
        x, w = np.polynomial.hermite_e.hermegauss(max(3, min(QUADRATURE, int(MOST_POINTS ** (1 / n)))))
        w = w / w.sum()
    return np.array(list(product(x, repeat=n))), np.array([np.prod(own) for own in product(w, repeat=n)])


def _probabilities(intercepts: FloatArray, effects: FloatArray, x: FloatArray) -> FloatArray:
    logits = intercepts + x @ effects
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    made: FloatArray = raised / raised.sum(axis=1, keepdims=True)
    return made


def _intercepts(sizes: FloatArray, effects: FloatArray, x: FloatArray, weights: FloatArray) -> FloatArray:
    """Log-odds by which the classes have these sizes on average, found by scaling each to its size again and again."""
    found = np.log(np.maximum(sizes, 1e-12))
    for _ in range(1000):
        average = weights @ _probabilities(found, effects, x)
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
