"""What the study of model selection computes and keeps: see :mod:`studies.selection`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import lgamma, log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._types import FloatArray
from latentree._variables import numbered
from latentree.errors import ModelError
from latentree.estimation import Fit, em, random_starts, restart_em
from latentree.estimation._two_latents import fit_two_latents
from latentree.infer import posterior
from latentree.score import aic, bic, bice, cs, draper, icl, information
from latentree.score._aliasing import aliasing
from latentree.score._dirichlet import log_normaliser
from latentree.score._laplace import PRIORS, Hessian, laplace_at
from latentree.score._layout import layout_of
from latentree.score._mode import posterior_mode

from .parts import Parts

__all__ = ["CORRECTED", "CRITERIA", "PAIRS", "PARTS", "SIZES", "STATES", "WEIGHTS", "figure_1", "make_all"]

Generator = np.random.Generator
Pair = tuple[int, int]
Answer = dict[str, Any]

LEAVES = [2] * 8
SIZES = (50, 100, 200, 400)
WEIGHTS = (0.5, 0.8, 0.97)
STATES = tuple(range(1, 8))
PAIRS: tuple[Pair, ...] = (*((1, k) for k in STATES), (2, 2), (2, 3), (2, 4), (3, 3))
CRITERIA = ("Laplace", "Block", "Diagonal", "AIC", "BIC", "Draper", "CS (MAP)", "CS (ML)", "ICL")
CORRECTED = ("Laplace", "Block", "Diagonal", "BIC", "Draper", "CS (MAP)", "CS (ML)")
PARTS = ("weight", "bases", "coinciding", "one latent", "two latents", "icu", "icu variants", "effective dimension")
SHOWN = 4
"""Data sets of the largest size of which all scores are kept, for figures 4.8, 4.9 and 4.11."""
LOCAL_STARTS = 200


def make_all(parts: Parts, *, trials: int, seed: int) -> None:
    """Make every part that is not kept."""

    def rng(*numbers: int) -> Generator:
        return np.random.default_rng([seed, *numbers])

    own: dict[str, Any] = {"seed": seed}
    for i, weight in enumerate(WEIGHTS):
        parts.make("weight", {"weight": weight}, {"sets": 20, **own}, partial(_weight, weight, 20, rng(0, i)))
    for i in range(20):
        parts.make("bases", {"set": i}, own, partial(_bases, rng(1, i)))
        parts.make("coinciding", {"set": i}, own, partial(_coinciding, rng(2, i)))
    for trial, n in product(range(trials), SIZES):
        which, keep = {"rows": n, "trial": trial}, n == SIZES[-1] and trial < SHOWN
        parts.make("one latent", which, own, partial(_trial, _one_drawn, n, STATES, rng(3, n, trial), keep))
        parts.make("two latents", which, own, partial(_trial, _pair_drawn, n, PAIRS, rng(4, n, trial), keep))
    parts.make("icu", {}, {"starts": LOCAL_STARTS, **own}, partial(_icu, rng(5)))
    parts.make("icu variants", {}, {}, _icu_variants)
    for i in range(10):
        parts.make("effective dimension", {"set": i}, {"rows": 10_000, **own}, partial(_effective, 10_000, rng(6, i)))


# ---- fitting and scoring one structure --------------------------------------------------------------------


def _two_fits(table: Table, states: int | Pair, rng: Generator) -> tuple[Fit, Fit]:
    """Maximum likelihood, and the posterior mode in the softmax basis, each from starts of its own."""
    pair = (1, states) if isinstance(states, int) else states
    if pair[0] > 1:
        a, b = (fit_two_latents(table, pair, rng=rng, prior=p, basis="softmax", tol=1e-7) for p in (None, 1.0))
        return a, posterior_mode(b)
    model = Model.random(Tree.star(pair[1], table.cardinalities), table.variables, rng)
    n_init = 1 if pair[1] == 1 else 64
    ml, mode = (
        restart_em(model, table, rng=rng, n_init=n_init, prior=p, basis="softmax", tol=1e-9) for p in (None, 1.0)
    )
    return ml, mode


def _all_scores(ml: Fit, mode: Fit) -> dict[str, float]:
    a = information(mode, PRIORS["softmax"], "softmax")
    return {
        "Laplace": _laplace(mode, a, "full"),
        "Block": _laplace(mode, a, "block"),
        "Diagonal": _laplace(mode, a, "diagonal"),
        "AIC": aic(ml),
        "BIC": bic(ml),
        "Draper": draper(ml),
        "CS (MAP)": cs(mode, at="given"),
        "CS (ML)": cs(ml, at="given"),
        "ICL": icl(ml),
    }


def _laplace(mode: Fit, a: FloatArray, hessian: Hessian) -> float:
    try:
        return laplace_at(mode, a, basis="softmax", hessian=hessian, prior=PRIORS["softmax"])
    except ModelError:  # a saddle: not defined there, so it cannot be chosen
        return -np.inf


# ---- [Whiley1999] 4.8.4: bases --------------------------------------------------------------------------------------


def _weight(weight: float, sets: int, rng: Generator) -> Answer:
    """One unknown weight, leaves known: the error of Laplace's approximation in either basis, and a typical curve."""
    errors: dict[str, list[float]] = {"probability": [], "softmax": []}
    curves = {}
    for i in range(sets):
        truth = _with_weight(Model.random(Tree.star(2, [2] * 4), numbered([2] * 4), rng), weight)
        table = Table.from_codes(truth.sample(100, rng), truth.variables)
        for basis, own in errors.items():
            error, curve = _error(truth, table, basis)
            own.append(error)
            if i == 0:
                curves[basis] = curve
    return {"errors": errors, "curves": curves}


def _with_weight(model: Model, weight: float) -> Model:
    p = model.parameters.copy()
    p[:2] = weight, 1 - weight
    return model.with_parameters(p)


def _error(truth: Model, table: Table, basis: str) -> tuple[float, list[list[float]]]:
    """Laplace less exact, and both curves of the posterior: position, density, its approximation."""
    own = "softmax" if basis == "softmax" else "probability"
    alpha = PRIORS[own]
    prior = {"z": alpha} if own == "probability" else {"z": alpha, **{f"x{i + 1}": 1.0 for i in range(4)}}
    mode = em(truth, table, prior=prior, basis=own, held=[f"x{i + 1}" for i in range(4)], tol=1e-10)
    log_norm = log_normaliser(layout_of(mode), np.full(truth.tree.size, alpha)) / 9  # nine rows of two
    p = mode.model.table("z")[0]
    added = alpha if own == "softmax" else alpha - 1
    curvature = information(mode, alpha, own)[0, 0]  # type: ignore[arg-type]
    estimate = mode.log_likelihood + log_norm + added * np.log(p).sum() + 0.5 * log(2 * pi) - 0.5 * log(curvature)
    rows = np.stack([_with_weight(truth, w).parameters for w in (0.0, 1.0)])
    given = np.stack([_row_likelihood(truth.with_parameters(r), table) for r in rows])

    def density(w: float) -> float:
        log_p = float(table.weights @ np.log((1 - w) * given[0] + w * given[1])) - mode.log_likelihood
        return float(np.exp(log_p + log_norm + (alpha - 1) * (log(w) + log(1 - w))))

    area = quad(density, 0, 1, points=[float(p[0])], limit=200)[0]
    exact = log(area) + mode.log_likelihood
    return float(estimate - exact), _curves(density, float(p[0]), float(curvature), own, area)


def _curves(
    density: Callable[[float], float], mode: float, curvature: float, basis: str, area: float
) -> list[list[float]]:
    """The posterior of the weight and the Gaussian of Laplace's approximation, both over the exact area."""
    centre = mode if basis == "probability" else log(mode / (1 - mode))
    wide = 4 / np.sqrt(curvature)
    points = np.linspace(centre - wide, centre + wide, 81)
    w = points if basis == "probability" else 1 / (1 + np.exp(-points))
    inside = (w > 0) & (w < 1)
    slope = np.ones_like(w) if basis == "probability" else w * (1 - w)
    exact = np.array([density(float(x)) * s if ok else 0.0 for x, s, ok in zip(w, slope, inside, strict=True)])
    top = density(mode) * (1.0 if basis == "probability" else mode * (1 - mode))
    gauss = top * np.exp(-0.5 * curvature * (points - centre) ** 2)
    return [points.tolist(), (exact / area).tolist(), (gauss / area).tolist()]


def _row_likelihood(model: Model, table: Table) -> FloatArray:
    from latentree.engine._plan import Plan

    likelihood: FloatArray = np.exp(Plan.of(model, table).row_log_likelihood(model.parameters))
    return likelihood


def _bases(rng: Generator) -> Answer:
    """Both bases over the number of states, N = 50."""
    table = _one_drawn(50, rng)
    found: dict[str, list[float]] = {"probability": [], "softmax": []}
    for k in STATES:
        _, softmax = _two_fits(table, k, rng)
        model = Model.random(Tree.star(k, table.cardinalities), table.variables, rng)
        n_init = 1 if k == 1 else 64
        options: Any = {"prior": PRIORS["probability"], "basis": "probability", "tol": 1e-9}
        traditional = restart_em(model, table, rng=rng, n_init=n_init, **options)
        for mode, basis in ((traditional, "probability"), (softmax, "softmax")):
            a = information(mode, PRIORS[basis], basis)  # type: ignore[arg-type]
            found[basis].append(laplace_at(mode, a, basis=basis, hessian="full", prior=PRIORS[basis]))  # type: ignore[arg-type]
    return found


def _one_drawn(n: int, rng: Generator) -> Table:
    truth = Model.random(Tree.star(4, LEAVES), numbered(LEAVES), rng)
    return Table.from_codes(truth.sample(n, rng), truth.variables)


def _pair_drawn(n: int, rng: Generator) -> Table:
    z1, z2 = (rng.choice(3, n, p=rng.dirichlet(np.ones(3))) for _ in range(2))
    theta = rng.random((8, 3, 3))
    return Table.from_codes((rng.random((n, 8)) < theta[:, z1, z2].T).astype(np.int16), numbered(LEAVES))


# ---- [Whiley1999] 4.8.5: aliasing -----------------------------------------------------------------------------------


def _coinciding(rng: Generator) -> Answer:
    """Seven states fitted to rows of four: how many relabellings the posterior mode has, and the mode."""
    _, mode = _two_fits(_one_drawn(100, rng), 7, rng)
    ones = [mode.model.table(f"x{i}")[:, 1] for i in range(1, 9)]
    return {"relabellings": round(float(np.exp(aliasing(mode)))), "mode": [mode.model.table("z")[0], *ones]}


# ---- [Whiley1999] 4.8.7 and 4.8.8: chosen numbers of states ---------------------------------------------------------


def _trial(
    draw: Callable[[int, Generator], Table], n: int, candidates: Sequence[int | Pair], rng: Generator, keep: bool
) -> Answer:
    """What each criterion chooses: as it is, corrected for relabelling, and with ln k! though states coincide."""
    table = draw(n, rng)
    scores: list[dict[str, float]] = []
    fewer: list[dict[str, float]] = []
    for states in candidates:
        ml, mode = _two_fits(table, states, rng)
        scores.append(_all_scores(ml, mode))
        fewer.append({name: aliasing(ml if name in ("BIC", "Draper", "CS (ML)") else mode) for name in CORRECTED})
    names = [str(s) if isinstance(s, int) else f"{s[0]}{s[1]}" for s in candidates]
    every = [_all_names(s) for s in candidates]

    def best(values: Sequence[float]) -> str:
        return names[int(np.argmax(values))]

    chosen = {c: best([s[c] for s in scores]) for c in CRITERIA}
    corrected = {c: best([s[c] + f[c] for s, f in zip(scores, fewer, strict=True)]) for c in CORRECTED}
    unreduced = {c: best([s[c] + e for s, e in zip(scores, every, strict=True)]) for c in CORRECTED}
    answer: Answer = {"chosen": chosen, "corrected": corrected, "unreduced": unreduced}
    if keep:
        answer["scores"] = {c: [s[c] if np.isfinite(s[c]) else None for s in scores] for c in CRITERIA}
    return answer


def _all_names(states: int | Pair) -> float:
    """Logarithm of the number of relabellings if no states coincide."""
    if isinstance(states, int):
        return lgamma(states + 1)
    a, b = states
    return lgamma(a + 1) + lgamma(b + 1) + (log(2.0) if a == b > 1 else 0.0)


# ---- [Whiley1999] 4.10: intensive care ------------------------------------------------------------------------------


def _patients() -> tuple[Table, FloatArray, NDArray[np.bool_]]:
    """The table, its rows as patients come, and who died."""
    table, frame = datasets.load("icu"), datasets.load_frame("icu")
    return table, table.codes[table.inverse].astype(np.float64), np.asarray(frame["sta"] == "Died")


def _icu(rng: Generator) -> Answer:
    """Classes of patients, and four classifiers of who dies."""
    table, x, died = _patients()
    fits = {k: _two_fits(table, k, rng) for k in range(1, 7)}
    found = [_all_scores(*f) for f in fits.values()]
    classes = posterior(fits[2][0].model, table, ["z"])["z"].argmax(axis=1)
    if np.mean(classes == died) < 0.5:
        classes = 1 - classes
    guesses: Mapping[str, NDArray[np.bool_]] = {
        "naive Bayes": _naive_bayes(x, died, weighted=True),
        "amended naive Bayes": _naive_bayes(x, died, weighted=False),
        "logistic regression": _logistic(x, died),
        "latent classes": classes.astype(bool),
    }
    tables = {
        name: [int((died == a)[guess == b].sum()) for a, b in product((False, True), (False, True))]
        for name, guess in guesses.items()
    }
    maxima = _local_maxima(fits[2][0].model, table, died, rng)
    return {"scores": {c: [s[c] for s in found] for c in CRITERIA}, "tables": tables, "maxima": maxima}


def _local_maxima(model: Model, table: Table, died: NDArray[np.bool_], rng: Generator) -> list[list[Any]]:
    """Where EM ends from random starts: log-likelihood, how often, patients in the classes, percentage wrong."""
    found: Counter[tuple[float, int, float]] = Counter()
    for start in random_starts(model.tree, LOCAL_STARTS, rng):
        fit = em(model.with_parameters(start), table)
        classes = posterior(fit.model, table, ["z"])["z"].argmax(axis=1)
        wrong = float(np.mean(classes != died))
        larger = int(np.bincount(classes, minlength=2).max())
        found[round(fit.log_likelihood, 1), larger, round(100 * min(wrong, 1 - wrong), 1)] += 1
    return [[ll, n, [larger, 200 - larger], wrong] for (ll, larger, wrong), n in sorted(found.items(), reverse=True)]


PRINTED_A, PRINTED_B = (151, 9, 38, 2), (125, 35, 23, 17)
"""Tables 4.6a and b: lived and said so, lived and said dies, died and said lives, died and said so."""


def _icu_variants() -> Answer:
    """Naive Bayes in 3^14 variants: each variable with both factors, with that of a finding only, or left out."""
    _, x, died = _patients()
    p = [own.mean(axis=0) for own in (x[~died], x[died])]
    with np.errstate(divide="ignore"):
        ratio = [np.log(p[1]) - np.log(p[0]), np.log1p(-p[1]) - np.log1p(-p[0])]
    present = np.where(x == 1, ratio[0], 0.0)
    each = np.stack([present + np.where(x == 0, ratio[1], 0.0), present, np.zeros_like(x)])  # [3, patients, variables]
    halves = [_sums(each[:, :, :7]), _sums(each[:, :, 7:])]
    shift = log(died.mean() / (1 - died.mean()))
    counts = {"variants": len(halves[0]) * len(halves[1]), "a": 0, "b": 0, "both": 0}
    for row in halves[0]:
        odds = halves[1] + row
        a, b = (_as_printed(odds + s > 0, died, t) for s, t in ((shift, PRINTED_A), (0.0, PRINTED_B)))
        counts["a"] += int(a.sum())
        counts["b"] += int(b.sum())
        counts["both"] += int((a & b).sum())
    return counts


def _sums(each: FloatArray) -> FloatArray:
    """Sums over variables in all combinations of variants: [3^variables, patients]."""
    total = np.zeros((1, each.shape[1]))
    for i in range(each.shape[2]):
        total = (total[:, None] + each[None, :, :, i]).reshape(-1, each.shape[1])
    return total


def _as_printed(dies: NDArray[np.bool_], died: NDArray[np.bool_], printed: Sequence[int]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (dies[:, ~died].sum(axis=1) == printed[1]) & (dies[:, died].sum(axis=1) == printed[3])
    return same


def _naive_bayes(x: FloatArray, died: NDArray[np.bool_], *, weighted: bool) -> NDArray[np.bool_]:
    scores = []
    for own in (x[~died], x[died]):
        p = own.mean(axis=0)
        with np.errstate(divide="ignore"):
            each = np.where(x == 1, np.log(p), np.log1p(-p)).sum(axis=1)
        scores.append(each + (log(len(own) / len(x)) if weighted else 0.0))
    more: NDArray[np.bool_] = scores[1] > scores[0]
    return more


def _logistic(x: FloatArray, died: NDArray[np.bool_]) -> NDArray[np.bool_]:
    design = np.column_stack([np.ones(len(x)), x])
    beta = np.zeros(design.shape[1])
    for _ in range(25):  # Newton
        p = 1 / (1 + np.exp(-design @ beta))
        hessian = design.T @ (design * (p * (1 - p))[:, None])
        beta += np.linalg.solve(hessian, design.T @ (died - p))
    above: NDArray[np.bool_] = design @ beta > 0
    return above


# ---- [ZhangKocka2004] 3.1 -------------------------------------------------------------------------------------------


def figure_1() -> tuple[Tree, Tree]:
    """M1 and M2: two ternary latents with three ternary leaves each, with and without a binary latent between them.

    Examples
    --------
    >>> [tree.n_parameters for tree in figure_1()]
    [45, 44]
    """
    leaves = {f"Y{i}": 3 for i in range(1, 7)}
    below = [("X2", "Y1"), ("X2", "Y2"), ("X2", "Y3"), ("X3", "Y4"), ("X3", "Y5"), ("X3", "Y6")]
    m1 = Tree.from_edges([("X1", "X2"), ("X1", "X3"), *below], {"X1": 2, "X2": 3, "X3": 3, **leaves}, list(leaves))
    m2 = Tree.from_edges([("X2", "X3"), *below], {"X2": 3, "X3": 3, **leaves}, list(leaves))
    return m1, m2


def _effective(rows: int, rng: Generator) -> Answer:
    """Scores of M1 and M2 on data from M1."""
    trees = figure_1()
    truth = Model.random(trees[0], numbered([3] * 6), rng)
    table = Table.from_codes(truth.sample(rows, rng), truth.variables)
    fits = [
        restart_em(Model.random(tree, table.variables, rng), table, rng=rng, n_init=32, finalists=4) for tree in trees
    ]
    return {"ll": [f.log_likelihood for f in fits], "bic": [bic(f) for f in fits], "bice": [bice(f) for f in fits]}
