"""How often criteria and tests find the classes, and a covariate's effect, in simulated data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import betaincinv

from .. import score as criteria
from .._model import Model
from .._options import Number, Whole, check
from .._table import Table
from .._types import FloatArray, IndexArray
from ..errors import LatentreeError, LatentreeWarning, ParameterError, bad_parameter
from ..estimation import Fit, fit_classes
from ..naming import node_labels
from ..relate import relate
from ..runner import Budget, OnProgress, StopReason
from ..score._bootstrap import bootstrap_lrt, replicate
from ._population import Covariate, Effect, Population, stated_profiles

if TYPE_CHECKING:
    from ..report import Page
    from ..report._sections import Section

__all__ = ["PowerStudy", "power"]

TEST = "bootstrap test"
"""What is counted beside the criteria and covariates."""


@dataclass(frozen=True, eq=False, repr=False)
class PowerStudy:
    """What was found in simulated data; see :func:`power`. Printing it shows a table.

    Attributes
    ----------
    population : Population
        What the data were drawn from.
    simulations : tuple of dict
        One for each data set: ``simulation``, ``n``, the number of classes that each criterion and the test chose, and
        of the covariate ``p_value`` and ``estimate`` (``p_value_2``, ... of further ones); None where something failed.
    asked : int
        How many simulations were asked for, of every sample size.
    alpha : float
        Level of the tests.
    seed : int
        Where the random numbers came from.
    reason : StopReason
        Why it ended.
    """

    population: Population
    simulations: tuple[dict[str, Any], ...]
    asked: int
    alpha: float
    seed: int
    reason: StopReason

    def rows(self) -> list[dict[str, Any]]:
        """One row for each sample size and each criterion or test.

        ``power`` is the share of data sets in which the true number of classes was found, or the covariate's effect;
        ``error`` its Monte Carlo standard error, ``lower`` and ``upper`` exact 95 % bounds; ``too_few`` and
        ``too_many`` are shares of wrong numbers of classes, ``failed`` of data sets where nothing could be computed,
        which count as not found.
        """
        k, out = self.population.n_classes, []
        effects = {_key("p_value", j): (j, name) for j, name in enumerate(self.population.covariates)}
        for n in sorted({one["n"] for one in self.simulations}):
            own = [one for one in self.simulations if one["n"] == n]
            for name in (key for key in own[0] if key not in ("simulation", "n") and not key.startswith("estimate")):
                values = [one[name] for one in own]
                known = [value for value in values if value is not None]
                is_effect = name in effects
                found = sum(value <= self.alpha if is_effect else value == k for value in known)
                share = found / len(own)
                numbers: dict[str, Any] = {
                    "too_few": None if is_effect else sum(value < k for value in known) / len(own),
                    "too_many": None if is_effect else sum(value > k for value in known) / len(own),
                    "estimate": None,
                }
                if is_effect:
                    key = _key("estimate", effects[name][0])
                    estimates = [one[key] for one in own if one[key] is not None]
                    numbers["estimate"] = float(np.median(estimates)) if estimates else None
                out.append(
                    {
                        "n": n,
                        "what": effects[name][1] if is_effect else name,
                        "power": share,
                        "error": sqrt(share * (1 - share) / len(own)),
                        "lower": float(betaincinv(found, len(own) - found + 1, 0.025)) if found else 0.0,
                        "upper": float(betaincinv(found + 1, len(own) - found, 0.975)) if found < len(own) else 1.0,
                        **numbers,
                        "failed": (len(own) - len(known)) / len(own),
                        "simulations": len(own),
                    }
                )
        return out

    @property
    def section(self) -> Section:
        """The table, as reports show it."""
        from ..report._sections import Section

        population, k = self.population, self.population.n_classes
        text = [
            f"Share of simulated data sets in which {k} classes were found (criteria, and bootstrap tests one after "
            f"the other at level {self.alpha:g}), with Monte Carlo standard errors and 95 % bounds."
        ]
        labels = node_labels(population.model, 0)
        for j, name in enumerate(population.covariates):
            own, at = population.effects[j], population.tested[j]
            stated = ", ".join(f"{value:g} for {label}" for value, label in zip(own, labels, strict=True) if value)
            text.append(
                f"{name}: share in which the Wald test finds its effect, a log odds ratio of {stated or '0'}; "
                f"estimate: median over the data sets of the log odds ratio of {labels[at]} against the mean of the "
                f"others, in truth {population.contrast(j, own):g}."
            )
        if not self.reason.complete:
            text.append(f"Not all of {self.asked} simulations were done. {self.reason.message}")
        columns = {"n": "N", "what": "found by", "power": "share", "error": "s.e.", "lower": "from", "upper": "to"}
        columns |= {"too_few": "too few", "too_many": "too many", "estimate": "estimate", "failed": "failed"}
        columns["simulations"] = "data sets"
        return Section("power", "What is found", self.rows(), columns, text)

    def frame(self, backend: str = "pandas") -> Any:
        """Return :meth:`rows` as a data frame of pandas, Polars or PyArrow."""
        from ..report._sections import frame_of

        return frame_of(self.section, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        model = self.population.model
        return {
            "kind": "power study",
            "n_classes": self.population.n_classes,
            "class_sizes": model.table(0)[0].tolist(),
            "profiles": {v.name: model.table(v.name).tolist() for v in model.variables},
            "effect": self.population.effects[0, -1] if _simple(self.population) else None,
            "effects": self.population.effects.tolist(),
            "covariate": self.population.covariate if len(self.population.effects) else None,
            "alpha": self.alpha,
            "seed": self.seed,
            "asked": self.asked,
            "power": self.rows(),
            "simulations": list(self.simulations),
            "reason": self.reason.value,
            "complete": self.reason.complete,
        }

    def to_text(self, *, width: int = 100) -> str:
        """Return it as plain text."""
        from ..report._sections import sections_text

        return sections_text(self.title, [self.section], width=width)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Make it an HTML page with a table and a picture, and write it to a file if one is named."""
        from ..report._power import power_page

        return power_page(self, path)

    def plot(self, ax: Any = None) -> Any:
        """Draw power against sample size; needs Matplotlib. See :func:`latentree.report.figures.plot_power`."""
        from ..report.figures import plot_power

        return plot_power(self, ax)

    @property
    def title(self) -> str:
        """What it is about."""
        k = self.population.n_classes
        return f"Sample size: {k} class{'es' if k > 1 else ''}, {len(self.population.model.variables)} items"

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()._repr_html_()


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is done with every data set."""

    population: Population
    sizes: tuple[int, ...]
    scores: tuple[str, ...]
    max_classes: int
    n_bootstrap: int
    alpha: float
    n_init: int
    method: str | None

    def simulate(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """One data set of every size; smaller ones are not parts of larger ones."""
        out = []
        for n in self.sizes:
            own: dict[str, Any] = {"n": n}
            table, x = self.population.draw(n, rng)
            numbers = range(1, self.max_classes + 1) if self.scores or self.n_bootstrap else ()
            fits = {k: self._fitted(table, k, rng) for k in numbers}
            own |= {name: _best(fits, name) for name in self.scores}
            if self.n_bootstrap:
                own[TEST] = self._tested(table, list(fits.values()), rng)
            if len(self.population.effects):
                k = self.population.n_classes
                own |= self._effect(fits[k] if k in fits else self._fitted(table, k, rng), table, x)
            out.append(own)
        return out

    def _fitted(self, table: Table, k: int, rng: np.random.Generator) -> Fit:
        return fit_classes(table, k, rng=rng, n_init=self.n_init, finalists=max(1, self.n_init // 4))

    def _tested(self, table: Table, known: Sequence[Fit], rng: np.random.Generator) -> int | None:
        """The first number of classes that is not rejected against one more.

        A test ends as soon as too many replicates are large for it to reject, which changes no decision.
        """
        enough = max(1, floor(self.alpha * (self.n_bootstrap + 1) + 1e-9))
        for k in range(2, self.max_classes + 1):
            try:
                starts: dict[str, Any] = {"n_init": self.n_init, "finalists": max(1, self.n_init // 4), "fits": known}
                found = bootstrap_lrt(table, k, rng=rng, n_replicates=self.n_bootstrap, stop_after=enough, **starts)
            except LatentreeError:
                return None
            if found.p_value is None or found.n_exceeding >= enough:
                return k - 1
        return self.max_classes

    def _effect(self, fit: Fit, table: Table, x: FloatArray) -> dict[str, Any]:
        """p-value of each covariate, and the slope of the class that it acts on most."""
        names = self.population.covariates
        out: dict[str, Any] = {}
        for j in range(len(names)):
            out |= dict.fromkeys((_key("p_value", j), _key("estimate", j)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentreeWarning)
                found = relate(fit.model, _frame(table, x, names), names, method=self.method)
        except (LatentreeError, np.linalg.LinAlgError):
            return out
        tests = {row["term"]: row["p"] for row in found.test_rows()}
        order = _matched(self.population.model, found.model)
        for j, name in enumerate(names):
            p, slope = tests.get(name), self.population.contrast(j, found.beta[order, found.terms.index(name)])
            out[_key("p_value", j)] = float(p) if p is not None and np.isfinite(p) else None
            out[_key("estimate", j)] = slope if np.isfinite(slope) else None
        return out


def _simple(population: Population) -> bool:
    """Whether a single covariate acts on the last class alone."""
    return len(population.effects) == 1 and not population.effects[0, :-1].any()


def _key(what: str, j: int) -> str:
    """What a number of a covariate is called in the results."""
    return what if j == 0 else f"{what}_{j + 1}"


def _frame(table: Table, x: FloatArray, names: Sequence[str]) -> Any:
    import narwhals as nw

    rows = table.codes[table.inverse]
    columns: dict[str, Any] = {
        v.name: [v.states[code] for code in rows[:, i].tolist()] for i, v in enumerate(table.variables)
    }
    return nw.from_dict({**columns, **dict(zip(names, x.T, strict=True))}, backend="pandas").to_native()


def _matched(truth: Model, fitted: Model) -> IndexArray:
    """For each class of the population the class of a fit that answers as it does."""
    ours, theirs = (np.concatenate([m.table(v.name) for v in truth.variables], axis=1) for m in (truth, fitted))
    cost = np.abs(ours[:, None] - theirs[None]).sum(axis=2)
    order: IndexArray = linear_sum_assignment(cost)[1].astype(np.int64)
    return order


def _best(fits: Mapping[int, Fit], name: str) -> int | None:
    values: dict[int, float] = {}
    for k, fit in fits.items():
        try:
            values[k] = float(criteria.SCORES[name](fit))
        except LatentreeError:
            continue
    return max(values, key=lambda k: (values[k], -k)) if values else None


def power(
    model: Model | None = None,
    n: int | Sequence[int] = (200, 500, 1000),
    *,
    class_sizes: Sequence[float] | int | None = None,
    profiles: ArrayLike | None = None,
    n_items: int = 6,
    separation: float = 0.8,
    n_simulations: int = 100,
    scores: Sequence[str] = ("bic", "aic", "sabic"),
    max_classes: int | None = None,
    n_bootstrap: int = 99,
    effect: Effect | None = None,
    covariate: Covariate = "normal",
    method: str | None = None,
    alpha: float = 0.05,
    n_init: int = 16,
    seed: int = 0,
    n_jobs: int = 1,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
) -> PowerStudy:
    """Simulate how often the number of classes, and a covariate's effect, are found with n rows.

    Parameters
    ----------
    model : Model, optional
        A latent class model to draw data from, such as that of a pilot study. Otherwise classes are stated.
    n : int or sequence of int
        Sample sizes.
    class_sizes, profiles, n_items, separation
        Classes of binary items; see :func:`latentree.planning.stated_profiles`.
    n_simulations : int, default 100
        Data sets of each size. With 100, the standard error of a power of 0.8 is 0.04.
    scores : sequence of str
        Criteria that choose the number of classes, by name.
    max_classes : int, optional
        Most classes that are fitted. Default: one more than there are.
    n_bootstrap : int, default 99
        Replicates of each bootstrap test; 1, 2, ... classes are tested against one more until a test does not reject. 0
        leaves the tests out.
    effect : float, dict, or sequence, optional
        What one unit of a covariate adds to the log-odds of classes; class sizes stay as they are on average. A number
        is for the last class, a dict for classes by name or number, such as ``{"class1": 0.5}``; a sequence has a
        number for each class. A sequence of dicts or sequences is for several independent covariates. Power is that of
        the Wald test of a covariate, with the right number of classes.
    covariate : {"normal", "binary"}
        Standard normal, or 0 and 1 equally often.
    method : str, optional
        How classes are related to the covariate; see :func:`latentree.relate.relate`. Default: three-step.
    alpha : float, default 0.05
        Level of all tests.
    n_init : int, default 16
        Starts of each fit.
    seed : int, default 0
        Source of the random numbers. The answer depends on nothing else.
    n_jobs : int, default 1
        Data sets at the same time.
    time_limit : float, optional
        Seconds; what was done until then is returned, as after Ctrl-C.
    on_progress : callable, optional
        Takes a :class:`~latentree.runner.Progress` after each simulation.

    Returns
    -------
    PowerStudy

    Examples
    --------
    >>> study = power(class_sizes=2, separation=0.9, n=[50, 200], n_simulations=10, n_bootstrap=0, scores=["bic"])
    >>> study.frame()[["n", "what", "power"]].to_dict("list")
    {'n': [50, 200], 'what': ['bic', 'bic'], 'power': [1.0, 1.0]}
    """
    if (model is None) == (class_sizes is None):
        raise ParameterError("Say what to draw from: either a model, or class_sizes and what goes with them.")
    if model is None:
        assert class_sizes is not None
        model = stated_profiles(class_sizes, profiles, n_items=n_items, separation=separation)
    sizes = tuple(int(x) for x in (n if isinstance(n, Sequence) else [n]))
    if not sizes or any(not Whole(2).check(x) for x in sizes):
        raise bad_parameter("n", "power", "whole numbers of at least 2", n)
    population = Population.of(model, effect, covariate)
    most = population.n_classes + 1 if max_classes is None else max_classes
    wanted = {"n_simulations": (n_simulations, Whole(1)), "max_classes": (most, Whole(1)), "n_init": (n_init, Whole(1))}
    check("power", n_bootstrap=(n_bootstrap, Whole(0)), alpha=(alpha, Number(above=0, below=1)), **wanted)
    for name in scores:
        criteria.SCORES.find(name, owner="power", parameter="scores")
    if n_bootstrap and floor(alpha * (n_bootstrap + 1) + 1e-9) < 1:
        raise bad_parameter(
            "n_bootstrap", "power", f"at least {int(np.ceil(1 / alpha)) - 1} for this level", n_bootstrap
        )
    plan = _Plan(population, sizes, tuple(scores), int(most), int(n_bootstrap), float(alpha), int(n_init), method)
    done, reason = replicate(
        plan.simulate,
        n_simulations,
        np.random.default_rng(seed),
        stage="simulations",
        n_jobs=n_jobs,
        on_progress=on_progress,
        budget=Budget(seconds=time_limit),
    )
    found = tuple({"simulation": i, **one} for i, own in enumerate(done) for one in own)
    return PowerStudy(population, found, int(n_simulations), float(alpha), int(seed), reason)
