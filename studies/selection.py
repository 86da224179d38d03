"""Model selection: [Whiley1999] figures 4.4-4.5, tables 4.1-4.4 and 4.6, and [ZhangKocka2004] 3.1, ours beside theirs.

``python -m studies.selection --out docs/reproduction/selection.md`` writes the page.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
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

from .page import deliver, markdown, options

__all__ = ["figure_1", "run"]

Generator = np.random.Generator
Pair = tuple[int, int]
FloatArray = NDArray[np.float64]

LEAVES = [2] * 8
SIZES = (50, 100, 200, 400)
CRITERIA = ("Laplace", "Block", "Diagonal", "AIC", "BIC", "Draper", "CS (MAP)", "CS (ML)", "ICL")
CORRECTED = ("Laplace", "Block", "Diagonal", "BIC", "Draper", "CS (MAP)", "CS (ML)")

# What [Whiley1999] prints: five trials for each of the four sizes.
TABLE_4_2 = {
    "Laplace": "22222 33323 43234 24434",
    "Block": "22222 33323 43233 24434",
    "Diagonal": "22222 33323 43233 24434",
    "AIC": "24222 33323 55433 35434",
    "BIC": "22222 23222 32223 23333",
    "Draper": "24222 33323 33323 24434",
    "CS (MAP)": "11111 22222 21122 23233",
    "CS (ML)": "11111 22221 12112 23232",
    "ICL": "34222 32234 33434 42264",
}
TABLE_4_3 = {
    "Laplace": "17 17 17 23 17|22 12 22 23 12|13 12 13 23 22|13 23 23 12 22",
    "Block": "17 12 13 13 12|22 12 13 22 12|13 12 13 14 22|13 23 23 12 13",
    "Diagonal": "13 12 13 13 12|22 12 13 22 12|13 12 13 14 22|13 23 23 12 13",
    "AIC": "23 12 15 13 13|23 22 23 22 13|24 13 24 24 22|23 23 24 12 23",
    "BIC": "12 12 12 12 12|12 11 12 12 12|13 12 12 12 13|12 13 14 12 13",
    "Draper": "23 12 15 13 13|22 12 13 12 12|13 12 13 13 22|12 15 23 12 13",
    "CS (MAP)": "11 11 11 11 11|11 11 11 11 11|11 12 11 11 11|11 12 12 12 12",
    "CS (ML)": "11 11 11 11 11|11 11 11 11 11|11 12 11 11 11|11 12 12 12 12",
    "ICL": "12 12 12 12 12|12 11 12 12 12|11 12 11 12 12|11 13 11 12 12",
}
TWO = ("22", "23", "24", "33")
PAIRS: tuple[Pair, ...] = (*((1, k) for k in range(1, 8)), (2, 2), (2, 3), (2, 4), (3, 3))


def run(*, trials: int = 10, seed: int = 0, say: Callable[[str], None] = lambda text: None) -> str:
    """Do everything again and return it as a page.

    Parameters
    ----------
    trials : int
        Data sets for each size in tables 4.2-4.4; the source has 5.
    seed : int
        What all data and starts come from.
    say : callable
        Told what was done, and when.
    """
    began = time.perf_counter()
    parts = [HEAD.format(trials=trials, seed=seed)]
    sections: tuple[Callable[[Generator], str], ...] = (
        figure_4_4,
        figure_4_5,
        table_4_1,
        lambda rng: table_4_2(rng, trials),
        lambda rng: table_4_3(rng, trials),
        icu,
        effective_dimensions,
    )
    for i, section in enumerate(sections):
        parts.append(section(np.random.default_rng([seed, i])))
        say(f"{i + 1} of {len(sections)} after {time.perf_counter() - began:.0f} s")
    return "\n".join(parts)


HEAD = """# Selecting a model: [Whiley1999] chapter 4 and [ZhangKocka2004] 3.1 again

Made by `python -m studies.selection --trials {trials} --seed {seed}` ({trials} data sets for each size). The
sources' data sets are not published (W in the tables is [Whiley1999]): ours are drawn by the same recipe, so that
counts can be compared and single entries cannot. Scores are log-likelihood minus penalty, or estimates of log P(D | m);
higher is better.

Laplace, Block, Diagonal and CS (MAP) are taken at the posterior mode in the softmax basis (Dirichlet 1), the others at
maximum likelihood; each is found from 64 starts of its own.
"""


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


def _chosen(table: Table, candidates: Sequence[int | Pair], rng: Generator) -> tuple[dict[str, str], dict[str, str]]:
    """What each criterion chooses, as it is and corrected for relabelling."""
    plain: dict[str, list[float]] = {c: [] for c in CRITERIA}
    corrected: dict[str, list[float]] = {c: [] for c in CORRECTED}
    for states in candidates:
        ml, mode = _two_fits(table, states, rng)
        for name, value in _all_scores(ml, mode).items():
            plain[name].append(value)
            if name in CORRECTED:
                at = ml if name in ("BIC", "Draper", "CS (ML)") else mode
                corrected[name].append(value + aliasing(at))
    names = [str(s) if isinstance(s, int) else f"{s[0]}{s[1]}" for s in candidates]
    return _best(plain, names), _best(corrected, names)


def _best(scores: dict[str, list[float]], names: Sequence[str]) -> dict[str, str]:
    return {criterion: names[int(np.argmax(values))] for criterion, values in scores.items()}


# ---- [Whiley1999] 4.8.4: bases --------------------------------------------------------------------------------------


def figure_4_4(rng: Generator) -> str:
    """One unknown weight, leaves known: the error of Laplace's approximation in either basis."""
    rows = []
    for weight in (0.5, 0.8, 0.97):
        errors: dict[str, list[float]] = {"probability": [], "softmax": []}
        for _ in range(20):
            truth = _with_weight(Model.random(Tree.star(2, [2] * 4), numbered([2] * 4), rng), weight)
            table = Table.from_codes(truth.sample(100, rng), truth.variables)
            for basis in errors:
                errors[basis].append(_error(truth, table, basis))
        rows.append([f"{weight}", *(f"{np.mean(e):+.3f} ({np.abs(e).max():.3f})" for e in errors.values())])
    text = """
## Figure 4.4: the basis of Laplace's approximation

Two classes, four binary variables whose probabilities are known, N = 100: the only parameter is the weight of a class.
Estimate less the exact log P(D | m), which is an integral over one number; mean (and largest size) of 20 data sets. The
prior is Dirichlet(1.01) in the traditional basis and Dirichlet(1) in the other.

"""
    return (
        text
        + markdown(["true weight", "traditional", "softmax"], rows)
        + """
The source's figure shows no numbers: in the middle both are good, the traditional basis perhaps better; at the edge
both are too low, the traditional one more so. The table says the same.
"""
    )


def _with_weight(model: Model, weight: float) -> Model:
    p = model.parameters.copy()
    p[:2] = weight, 1 - weight
    return model.with_parameters(p)


def _error(truth: Model, table: Table, basis: str) -> float:
    own = "softmax" if basis == "softmax" else "probability"
    alpha = PRIORS[own]
    prior = {"z": alpha} if own == "probability" else {"z": alpha, **{f"x{i + 1}": 1.0 for i in range(4)}}
    mode = em(truth, table, prior=prior, basis=own, held=[f"x{i + 1}" for i in range(4)], tol=1e-10)  # type: ignore[arg-type]
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

    exact = log(quad(density, 0, 1, points=[float(p[0])], limit=200)[0]) + mode.log_likelihood
    return float(estimate - exact)


def _row_likelihood(model: Model, table: Table) -> FloatArray:
    from latentree.engine._plan import Plan

    likelihood: FloatArray = np.exp(Plan.of(model, table).row_log_likelihood(model.parameters))
    return likelihood


def figure_4_5(rng: Generator) -> str:
    """Both bases over the number of states."""
    sums = np.zeros((2, 7))
    for _ in range(5):
        table = _drawn(Tree.star(4, LEAVES), 50, rng)
        for k in range(1, 8):
            _, softmax = _two_fits(table, k, rng)
            model = Model.random(Tree.star(k, table.cardinalities), table.variables, rng)
            n_init = 1 if k == 1 else 64
            traditional = restart_em(
                model, table, rng=rng, n_init=n_init, prior=PRIORS["probability"], basis="probability", tol=1e-9
            )
            for i, (mode, basis) in enumerate(((traditional, "probability"), (softmax, "softmax"))):
                a = information(mode, PRIORS[basis], basis)  # type: ignore[arg-type]
                sums[i, k - 1] += laplace_at(mode, a, basis=basis, hessian="full", prior=PRIORS[basis])  # type: ignore[arg-type]
    rows = [[name, *(f"{x / 5:.1f}" for x in row)] for name, row in zip(("traditional", "softmax"), sums, strict=True)]
    text = """
## Figure 4.5: Laplace in both bases

Four classes, eight binary variables, N = 50; mean of 5 data sets, not corrected for relabelling.

"""
    gaps = ", ".join(f"{x:+.1f}" for x in (sums[1] - sums[0]) / 5)
    return (
        text
        + markdown(["states", *map(str, range(1, 8))], rows)
        + f"""
Softmax less traditional: {gaps}. Whiley's figure shows the same: alike for few states, the traditional basis lower for
many.
"""
    )


def _drawn(tree: Tree, n: int, rng: Generator) -> Table:
    truth = Model.random(tree, numbered(LEAVES), rng)
    return Table.from_codes(truth.sample(n, rng), truth.variables)


# ---- [Whiley1999] 4.8.5: aliasing -----------------------------------------------------------------------------------


def table_4_1(rng: Generator) -> str:
    """States that coincide at the posterior mode."""
    n_sets, shown, coinciding = 20, None, 0
    for _ in range(n_sets):
        table = _drawn(Tree.star(4, LEAVES), 100, rng)
        _, mode = _two_fits(table, 7, rng)
        if aliasing(mode) < np.log(5040) - 1e-6:
            coinciding += 1
            shown = shown or mode
    text = f"""
## Table 4.1: states that coincide

Seven states fitted to N = 100 rows of a four-class model: in {coinciding} of {n_sets} data sets some states coincide
at the posterior mode (softmax basis), as in Whiley's table, whose states 2 and 5 leave 7!/2! = 2520 relabellings.
"""
    if shown is None:
        return text
    head = ["", *map(str, range(1, 8))]
    rows = [["weight", *(f"{p:.3f}" for p in shown.model.table("z")[0])]]
    rows += [[f"theta_{i}", *(f"{p:.3f}" for p in shown.model.table(f"x{i}")[:, 1])] for i in range(1, 9)]
    left = round(float(np.exp(aliasing(shown))))
    return text + f"The first of them, with {left} relabellings:\n\n" + markdown(head, rows)


# ---- [Whiley1999] 4.8.7 and 4.8.8: chosen numbers of states ---------------------------------------------------------


def table_4_2(rng: Generator, trials: int) -> str:
    """One latent."""
    theirs = {name: [list(part) for part in row.split()] for name, row in TABLE_4_2.items()}
    ours = _trials(lambda n: _drawn(Tree.star(4, LEAVES), n, rng), range(1, 8), trials, rng)
    text = """
## Table 4.2: one latent variable with four states

Number of states chosen among 1 to 7, and in how many data sets: `2 x5` means two states five times.

"""
    return (
        text
        + _compared(theirs, ours)
        + f"""
How criteria compare, Whiley's data sets first, then ours:

{_versus(theirs, ours[0])}
AIC and BIC stand to Laplace as in [Whiley1999]. **CS does not reproduce:** Whiley's takes one or two states in
{_times(theirs, ("1", "2"), "CS")} of {_number(theirs, "CS")} cases and never more than BIC; ours, by the formula
printed there, takes fewer than BIC in {_against(ours[0], "CS (MAP)", "BIC")[0]} cases at the posterior mode and in
{_against(ours[0], "CS (ML)", "BIC")[0]} at maximum likelihood. **ICL does not reproduce** either: Whiley's mostly takes
more states than BIC, ours (with d as in the errata to [Whiley1999] 4.15) mostly as many or fewer. What was computed
instead is not known.
"""
    )


def table_4_3(rng: Generator, trials: int) -> str:
    """Two latents."""
    theirs = {name: [part.split() for part in row.split("|")] for name, row in TABLE_4_3.items()}
    ours = _trials(lambda n: _pair_drawn(n, rng), PAIRS, trials, rng)
    text = f"""
## Tables 4.3 and 4.4: two independent latent variables with three states each

Chosen among {", ".join(f"({a},{b})" for a, b in PAIRS)}; `13 x2` means (1,3) twice.

"""
    return (
        text
        + _compared(theirs, ours)
        + f"""
Of all {_number(ours[0])} choices, (3,3), which is true, is made {_times(ours[0], ("33",))} times (W: none of
{_number(theirs)}), two latents of any size {_times(ours[0], TWO)} times (W: {_times(theirs, TWO)}). CS takes (1,1) in
{_times(ours[0], ("11",), "CS")} of {_number(ours[0], "CS")} cases, Whiley's in {_times(theirs, ("11",), "CS")} of
{_number(theirs, "CS")}: that does not reproduce. Nor does Whiley's Laplace at N = 50, which takes (1,7) four times in
five; ours takes it {ours[0]["Laplace"][0].count("17")} times in {trials}. Two explanations were tried and fail: the
Hessian is not singular there (its smallest eigenvalue was 0.003 in 110 fits to ten other such data sets), and counting
all relabellings though states coincide gives (1,7) once in those ten. The reason is not known.
"""
    )


def _pair_drawn(n: int, rng: Generator) -> Table:
    z1, z2 = (rng.choice(3, n, p=rng.dirichlet(np.ones(3))) for _ in range(2))
    theta = rng.random((8, 3, 3))
    return Table.from_codes((rng.random((n, 8)) < theta[:, z1, z2].T).astype(np.int16), numbered(LEAVES))


Choices = dict[str, list[list[str]]]


def _trials(
    draw: Callable[[int], Table], candidates: Iterable[int | Pair], trials: int, rng: Generator
) -> tuple[Choices, Choices]:
    candidates = list(candidates)
    plain: Choices = {c: [] for c in CRITERIA}
    corrected: Choices = {c: [] for c in CORRECTED}
    for n in SIZES:
        found = [_chosen(draw(n), candidates, rng) for _ in range(trials)]
        for side, into in enumerate((plain, corrected)):
            for criterion, lists in into.items():
                lists.append([f[side][criterion] for f in found])
    return plain, corrected


def _versus(theirs: Choices, ours: Choices) -> str:
    pairs = (("AIC", "Laplace"), ("BIC", "Laplace"), ("CS (MAP)", "BIC"), ("CS (ML)", "BIC"), ("ICL", "BIC"))
    rows = [[a, b, *_against(theirs, a, b), *_against(ours, a, b)] for a, b in pairs]
    return markdown(["", "against", "W: fewer", "as many", "more", "ours: fewer", "as many", "more"], rows)


def _against(chosen: Choices, name: str, other: str) -> list[str]:
    """How often one criterion takes fewer states than another, as many, and more."""
    pairs = [(a, b) for x, y in zip(chosen[name], chosen[other], strict=True) for a, b in zip(x, y, strict=True)]
    fewer, same = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
    return [str(fewer), str(same), str(len(pairs) - fewer - same)]


def _times(chosen: Choices, what: Sequence[str], criteria: str = "") -> int:
    return sum(c in what for name, lists in chosen.items() if criteria in name for own in lists for c in own)


def _number(chosen: Choices, criteria: str = "") -> int:
    return sum(len(own) for name, lists in chosen.items() if criteria in name for own in lists)


def _compared(theirs: Choices, ours: tuple[Choices, Choices]) -> str:
    rows = []
    for name in CRITERIA:
        rows.append([name, "W", *map(_counted, theirs[name])])
        rows.append(["", "ours", *map(_counted, ours[0][name])])
        if name in ours[1]:
            rows.append(["", "ours, relabelling corrected", *map(_counted, ours[1][name])])
    return markdown(["criterion", "", *(f"N = {n}" for n in SIZES)], rows)


def _counted(chosen: Sequence[str]) -> str:
    return ", ".join(f"{what} x{n}" for what, n in sorted(Counter(chosen).items()))


# ---- [Whiley1999] 4.10: intensive care ------------------------------------------------------------------------------


def icu(rng: Generator) -> str:
    """Classes of patients, and four classifiers of who dies."""
    table, frame = datasets.load("icu"), datasets.load_frame("icu")
    died = np.asarray(frame["sta"] == "Died")
    fits = {k: _two_fits(table, k, rng) for k in range(1, 7)}
    found = {k: _all_scores(*f) for k, f in fits.items()}
    best = {name: max(found, key=lambda k, name=name: found[k][name]) for name in CRITERIA}  # type: ignore[misc]
    theirs = {name: "5" if name == "AIC" else "1" if name.startswith("CS") else "2" for name in CRITERIA}
    rows = [[name, theirs[name], str(best[name]), *(f"{found[k][name]:.1f}" for k in found)] for name in CRITERIA]
    x = table.codes[table.inverse].astype(np.float64)
    classes = posterior(fits[2][0].model, table, ["z"])["z"].argmax(axis=1)
    if np.mean(classes == died) < 0.5:
        classes = 1 - classes
    ours = {
        "naive Bayes": _naive_bayes(x, died, weighted=True),
        "amended naive Bayes": _naive_bayes(x, died, weighted=False),
        "logistic regression": _logistic(x, died),
        "latent classes": classes.astype(bool),
    }
    printed = {
        "naive Bayes": (151, 9, 38, 2, 23.5),
        "amended naive Bayes": (125, 35, 23, 17, 29.0),
        "logistic regression": (157, 3, 32, 8, 17.5),
        "latent classes": (140, 20, 26, 14, 23.0),
    }
    lines = []
    for name, guess in ours.items():
        cells = [int((died == a)[guess == b].sum()) for a, b in product((False, True), (False, True))]
        lines.append([name, "W", *map(str, printed[name])])
        lines.append(["", "ours", *map(str, cells), f"{100 * np.mean(guess != died):.1f}"])
    others = [name for name in CRITERIA if str(best[name]) != theirs[name]]
    gains = {name: found[best[name]][name] - found[int(theirs[name])][name] for name in others}
    differ = ", ".join(f"{name} {best[name]} (by {gains[name]:.1f} over Whiley's {theirs[name]})" for name in others)
    maxima = _local_maxima(fits[2][0].model, table, died, rng)
    head = ["method", "", "lived, said so", "lived, said dies", "died, said lives", "died, said so", "wrong %"]
    return f"""
## Intensive care ([Whiley1999] 4.10, table 4.6)

Number of classes chosen among 1 to 6 for 200 patients and 14 binary variables, and the scores.

{markdown(["criterion", "W chose", "ours", *(f"k = {k}" for k in found)], rows)}
Who dies, by three classifiers that were trained on the outcome and by the two classes, which were not:

{markdown(head, lines)}
Logistic regression gives Whiley's table to the digit, so the data are the same. Whiley's two naive Bayes tables do not
reproduce, with the factors of absent findings (above) or, as Whiley's formula can be read, without them. The two
classes are those of the highest likelihood (BIC {found[2]["BIC"]:.1f}) and do not follow the outcome. Whiley's 166 and
34 patients are not among the maxima of the likelihood that {N_LOCAL} starts of EM end in, nor were they among those of
the posterior in either basis (300 starts):

{markdown(["log-likelihood", "starts", "patients in the classes", "wrong %"], maxima)}
Those near Whiley's 23.0 % are rare and far below the best. Where Whiley's classes come from is not known.

Numbers of classes that differ from Whiley's: {differ}.
"""


N_LOCAL = 200


def _local_maxima(model: Model, table: Table, died: NDArray[np.bool_], rng: Generator) -> list[list[str]]:
    found: Counter[tuple[float, str, str]] = Counter()
    for start in random_starts(model.tree, N_LOCAL, rng):
        fit = em(model.with_parameters(start), table)
        classes = posterior(fit.model, table, ["z"])["z"].argmax(axis=1)
        wrong = float(np.mean(classes != died))
        sizes = sorted(np.bincount(classes, minlength=2).tolist(), reverse=True)
        found[round(fit.log_likelihood, 1), f"{sizes[0]} + {sizes[1]}", f"{100 * min(wrong, 1 - wrong):.1f}"] += 1
    return [[f"{ll:.1f}", str(n), sizes, wrong] for (ll, sizes, wrong), n in sorted(found.items(), reverse=True)]


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


def effective_dimensions(rng: Generator) -> str:
    """BIC prefers M2, BICe M1, on data from M1."""
    m1, m2 = figure_1()
    variables = Table.from_codes(np.zeros((1, 6), np.int16), [3] * 6).variables
    rows, by_bic, by_bice, n_sets = [], 0, 0, 10
    for i in range(n_sets):
        truth = Model.random(m1, variables, rng)
        table = Table.from_codes(truth.sample(10_000, rng), truth.variables)
        first, second = (
            restart_em(Model.random(tree, table.variables, rng), table, rng=rng, n_init=32, finalists=4)
            for tree in (m1, m2)
        )
        by_bic += bic(second) > bic(first)
        by_bice += bice(first) > bice(second)
        cells = (f(fit) for f in (lambda fit: fit.log_likelihood, bic, bice) for fit in (first, second))
        rows.append([str(i + 1), *(f"{c:.1f}" for c in cells)])
    return f"""
## [ZhangKocka2004] 3.1: BIC and BICe on data from M1

10,000 rows from M1 with random parameters; ds(M1) = 45, ds(M2) = 44, de(M1) = 43, de(M2) = 44. The source says that BIC
prefers M2 and BICe M1 (one data set). Ours: BIC prefers M2 in {by_bic} of {n_sets} data sets, BICe M1 in {by_bice}.

{markdown(["data", "LL M1", "LL M2", "BIC M1", "BIC M2", "BICe M1", "BICe M2"], rows)}"""


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = options("selection", __doc__)
    parser.add_argument("--trials", type=int, default=10, help="data sets for each size; the source has 5")
    given = parser.parse_args(arguments)
    say = print if given.out else (lambda text: None)
    deliver(run(trials=given.trials, seed=given.seed, say=say), given.out)


if __name__ == "__main__":
    main(sys.argv[1:])
