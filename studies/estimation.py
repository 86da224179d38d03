"""Estimation algorithms compared: [Whiley1999] figures 2.4-2.28 and table 2.5, ours beside theirs.

``python -m studies.estimation --out docs/reproduction/estimation.md`` writes the page and its figures.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from latentree import datasets
from latentree._files import write_atomically
from latentree._model import FloatArray, Model, random_parameters
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.errors import LatentreeWarning
from latentree.estimation import Fit, at_independence, estimate
from latentree.estimation._annealing import AnnealedSurface, curvature
from latentree.runner import Budget

from .page import deliver, markdown, options

__all__ = ["equal_weight_independence", "indicator_correlations", "run"]

Say = Callable[[str], None]
Options = dict[str, Any]

METHODS: dict[str, tuple[str, Options]] = {
    "IEM": ("incremental", {"n_blocks": 10**6}),
    "GCG": ("gcg", {}),
    "CG": ("cg", {}),
    "EM-eta": ("em-eta", {}),
    "EG-eta": ("eg-eta", {}),
    "GP-eta": ("gp-eta", {}),
    "ACG-phi": ("acg-phi", {}),
    "ACG-theta": ("acg-theta", {}),
    "ACG-theta-chi2": ("acg-theta-chi2", {}),
    "GCG, golden section": ("gcg", {"line_search": "golden"}),
    "preferential IEM": ("preferential", {"n_blocks": 10**6}),
    "accelerated": ("accelerated", {}),
}
"""What is compared with EM: Whiley's nine, Whiley's own line search, and two more."""

OTHERS: dict[str, tuple[str, Options]] = {
    "EM": ("em", {}),
    **{label: own for label, own in METHODS.items() if "IEM" not in label},
    "IEM, 16 blocks": ("incremental", {}),
    "preferential IEM, 16 blocks": ("preferential", {}),
    "sparse": ("sparse", {}),
    "winner-take-all": ("winner-take-all", {}),
    "Nowlan": ("nowlan", {}),
    "one-step-late": ("one-step-late", {}),
}
"""What is compared with the default on real data."""

W_SAYS = {
    "proportion vector": {
        "IEM": "ahead in all 20",
        "GCG": "ahead in all 20, best",
        "CG": "ahead in all 20, second",
        "EM-eta": "ahead in all 20",
        "EG-eta": "ahead in all 20, best of the simple ones",
        "GP-eta": "poor; fails at the boundary (2 of 20)",
        "ACG-phi": "ahead on average, behind in 4",
        "ACG-theta": "poor; fails at the boundary",
        "ACG-theta-chi2": "behind even without the boundary",
        "GCG, golden section": "costs far more than EM a step",
    },
    "unknown components": {
        "IEM": "ahead",
        "GCG": "ahead, best",
        "CG": "ahead",
        "EM-eta": "like EM",
        "EG-eta": "like EM",
        "GP-eta": "much slower",
        "ACG-phi": "like EM",
        "ACG-theta": "much slower",
        "ACG-theta-chi2": "much slower",
    },
}

TABLE_2_5 = {  # [Whiley1999]: how often of 100 the Hessian is positive definite; leaves of 2, 3, 4, 5, 6 states
    0.1: (100, 100, 100, 100, 100),
    0.2: (100, 100, 100, 100, 100),
    0.3: (100, 97, 100, 100, 100),
    0.4: (100, 83, 93, 100, 97),
    0.5: (100, 3, 0, 0, 22),
    0.6: (100, 0, 0, 0, 0),
    0.7: (100, 0, 0, 0, 0),
    0.8: (100, 0, 0, 0, 0),
    0.9: (100, 0, 0, 0, 0),
}

LENGTH = 40
"""Iterations, and passes, that the curves show."""
CLOSE = 1e-3
"""A run has arrived when its log-likelihood is this close to its limit."""


# ---- [Whiley1999] 2.8: the two problems -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A start, data, and what is known."""

    model: Model
    table: Table
    held: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    """One run: log-likelihood and passes after each iteration, where it ended, and after how long."""

    log_likelihood: FloatArray
    passes: FloatArray
    limit: float
    iterations_needed: int
    passes_needed: int
    independent: bool


def proportion_vector(rng: np.random.Generator, n: int = 100) -> Problem:
    """[Whiley1999] 2.8.1: four latent states, five binary leaves, components known."""
    tree, variables = Tree.star(4, [2] * 5), numbered([2] * 5)
    truth = Model.random(tree, variables, rng)
    table = Table.from_codes(truth.sample(n, rng), variables)
    start = truth.parameters.copy()
    start[:4] = rng.dirichlet(np.ones(4))
    return Problem(truth.with_parameters(start), table, table.names)


def unknown_components(rng: np.random.Generator, n: int = 100) -> Problem:
    """[Whiley1999] 2.8.2: two latent states, four binary leaves, nothing known. The size of the data is not given."""
    tree, variables = Tree.star(2, [2] * 4), numbered([2] * 4)
    truth = Model.random(tree, variables, rng)
    table = Table.from_codes(truth.sample(n, rng), variables)
    return Problem(Model(tree, variables, random_parameters(tree, rng)), table, ())


PROBLEMS: Mapping[str, Callable[[np.random.Generator], Problem]] = {
    "proportion vector": proportion_vector,
    "unknown components": unknown_components,
}


def fitted(problem: Problem, method: str, plan: Plan | None = None, **more: Any) -> Fit:
    """Fit without words about independence: the page counts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        return estimate(problem.model, problem.table, method=method, held=problem.held, plan=plan, **more)


def course(problem: Problem, method: str, own: Options, length: int = LENGTH) -> Course:
    """Follow a method step by step: being deterministic, it is run again for every number of iterations."""
    plan = Plan.of(problem.model, problem.table)
    end = fitted(problem, method, plan, tol=1e-8, max_iterations=20_000, **own)
    values, passes = [plan.log_likelihood(problem.model.parameters)], [1.0]
    last = len(end.trace) - 1
    looks = int(method in ("incremental", "preferential"))  # a last pass, which only tells the log-likelihood

    def after(t: int) -> Fit:
        return end if t >= last else fitted(problem, method, plan, tol=0.0, max_iterations=t, **own)

    for t in range(1, length + 1):
        fit = after(t)
        values.append(fit.log_likelihood)
        passes.append(float(fit.evaluations - looks))
    near = max(int(np.argmax(end.trace >= end.log_likelihood - CLOSE)), 1)
    needed = after(near).evaluations - looks
    return Course(np.array(values), np.array(passes), end.log_likelihood, near, needed, at_independence(end))


def share(run: Course, at: FloatArray | None = None) -> FloatArray:
    """Share of the way gone after each iteration, or after so many passes ([Whiley1999] 2.8.1)."""
    way = max(run.limit - run.log_likelihood[0], 1e-300)
    gone: FloatArray = np.clip((run.log_likelihood - run.log_likelihood[0]) / way, 0.0, 1.0)
    if at is None:
        return gone
    reached = np.searchsorted(run.passes, at, side="right") - 1
    out: FloatArray = gone[np.maximum(reached, 0)]
    return out


def compare(n_sets: int, seed: int, say: Say) -> dict[str, dict[str, list[Course]]]:
    """Run everything on every data set."""
    out: dict[str, dict[str, list[Course]]] = {}
    for number, (name, make) in enumerate(PROBLEMS.items()):
        rng = np.random.default_rng([seed, number])
        problems = [make(rng) for _ in range(n_sets)]
        out[name] = {"EM": [course(p, "em", {}) for p in problems]}
        for label, (method, own) in METHODS.items():
            out[name][label] = [course(p, method, own) for p in problems]
            say(f"{name}: {label}")
    return out


def figures(courses: Mapping[str, list[Course]]) -> dict[str, str]:
    """Relative progress against EM per iteration and per pass, as SVG."""
    from latentree.report.figures import plot_progress, to_svg

    base = courses["EM"]
    at = np.arange(1.0, LENGTH + 1.0)
    by_iteration = {
        label: [share(a) - share(b) for a, b in zip(courses[label], base, strict=True)] for label in METHODS
    }
    by_pass = {
        label: [share(a, at) - share(b, at) for a, b in zip(courses[label], base, strict=True)] for label in METHODS
    }
    return {
        "iterations": to_svg(plot_progress(by_iteration, label="iteration")),
        "passes": to_svg(plot_progress(by_pass, x=at, label="passes over the data")),
    }


def winners(name: str, courses: Mapping[str, list[Course]]) -> str:
    """Who is ahead of EM, on average over the first iterations and passes, and who arrives first."""
    base, at, n = courses["EM"], np.arange(1.0, LENGTH + 1.0), len(courses["EM"])
    rows = []
    for label in METHODS:
        runs = courses[label]
        pairs = list(zip(runs, base, strict=True))
        step = [float(np.mean(share(a) - share(b))) for a, b in pairs]
        work = [float(np.mean(share(a, at) - share(b, at))) for a, b in pairs]
        elsewhere = sum(abs(a.limit - b.limit) > CLOSE for a, b in pairs)
        rows.append(
            [
                label,
                f"{sum(s > 1e-6 for s in step)}",
                f"{np.mean(step):+.3f}",
                f"{sum(w > 1e-6 for w in work)}",
                f"{np.mean(work):+.3f}",
                f"{_mean_ratio([a.iterations_needed for a in runs], [b.iterations_needed for b in base]):.2f}",
                f"{_mean_ratio([a.passes_needed for a in runs], [b.passes_needed for b in base]):.2f}",
                f"{elsewhere} ({sum(a.independent for a in runs)})",
                W_SAYS[name].get(label, ""),
            ]
        )
    rows.sort(key=lambda row: float(row[5]))
    head = [
        "method",
        f"ahead per iteration, of {n}",
        "by",
        "ahead per pass",
        "by",
        "iterations / EM's",
        "passes / EM's",
        "other limit (independence)",
        "W",
    ]
    return markdown(head, rows)


def _mean_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Geometric mean of the ratios."""
    return float(np.exp(np.mean(np.log(np.maximum(ours, 1)) - np.log(np.maximum(theirs, 1)))))


# ---- against the default, on real data ----------------------------------------------------------------------------


SETS = (("carcinoma", 2), ("hiv_test", 2), ("lsat", 2), ("house_building", 3), ("voting", 3))
SECONDS = 4.0


def real_problems(seed: int) -> list[tuple[str, Problem]]:
    """Bundled data sets and a tree of two layers, two starts each."""
    out = []
    for name, k in SETS:
        table = datasets.load(name)
        tree = Tree.star(k, table.cardinalities)
        for i in range(2):
            rng = np.random.default_rng([seed, k, i])
            model = Model(tree, table.variables, random_parameters(tree, rng))
            out.append((f"{name} ({k})", Problem(model, table, ())))
    leaves = [f"x{i}{j}" for i in range(3) for j in range(3)]
    edges = [("r", f"z{i}") for i in range(3)] + [(f"z{x[1]}", x) for x in leaves]
    states = {"r": 2, **{f"z{i}": 3 for i in range(3)}, **dict.fromkeys(leaves, 3)}
    tree = Tree.from_edges(edges, states, leaves)
    for i in range(2):
        rng = np.random.default_rng([seed, 99, i])
        truth = Model.random(tree, numbered([3] * 9), rng, 0.6)
        codes = truth.sample(1000, rng)
        codes[rng.random(codes.shape) < 0.05] = -1
        table = Table.from_codes(codes, truth.variables)
        out.append(("tree of 9 leaves", Problem(Model(tree, table.variables, random_parameters(tree, rng)), table, ())))
    return out


def against_default(seed: int, say: Say) -> str:
    """Passes, time and the end of every method, compared with the accelerated default."""
    problems = real_problems(seed)
    base: list[Fit] = []
    rows: dict[str, list[list[float]]] = {}
    for label, (method, own) in {"accelerated": OTHERS["accelerated"], **OTHERS}.items():
        for i, (_, problem) in enumerate(problems):
            fit = fitted(problem, method, tol=1e-6, max_iterations=20_000, budget=Budget(seconds=SECONDS), **own)
            if len(base) == i:
                base.append(fit)
            first = base[i]
            rows.setdefault(label, []).append(
                [
                    fit.evaluations / first.evaluations,
                    fit.seconds / first.seconds,
                    fit.log_likelihood - first.log_likelihood,
                    float(fit.reason.complete),
                    float(at_independence(fit)),
                ]
            )
        say(f"real data: {label}")
    lines = []
    for label, cells in rows.items():
        c = np.array(cells)
        lines.append(
            [
                label,
                f"{np.exp(np.log(c[:, 0]).mean()):.2f}",
                f"{np.exp(np.log(c[:, 1]).mean()):.1f}",
                f"{int((c[:, 2] > 0.01).sum())}",
                f"{int((c[:, 2] < -0.01).sum())}",
                f"{int(c[:, 4].sum())}",
                f"{int(c[:, 3].sum())} of {len(c)}",
            ]
        )
    lines.sort(key=lambda line: float(line[1]))
    head = ["method", "passes / default's", "time / default's", "ended higher", "lower", "at independence", "converged"]
    names = ", ".join(dict.fromkeys(name for name, _ in problems))
    return f"""
## Against the accelerated default

{names}.
Two random starts each, tolerance 1e-6, at most {SECONDS:g} s a run. Ratios are geometric means over the {len(problems)}
runs, measured in one run of this command; "higher" and "lower" are ends that differ from the default's by more than
0.01 in log-likelihood, which is a matter of hills more than of methods.

{markdown(head, lines)}
The loop of EM and of the default is in C++, that of the others in Python: on data as small as these a pass takes a few
microseconds, and the time of the others is spent between passes. Passes are what would remain on large data.
"""


# ---- [Whiley1999] 2.11: the independence model ----------------------------------------------------------------------


def equal_weight_independence(table: Table, n_states: int) -> Model:
    """The point (2.26): classes of equal weight that all answer as everybody does."""
    parts = [np.full((1, n_states), 1.0 / n_states)]
    for column, r in zip(table.codes.T, table.cardinalities, strict=True):
        share_of = np.bincount(column, weights=table.weights, minlength=int(r)) / table.weights.sum()
        parts.append(np.repeat(share_of[None], n_states, axis=0))
    tree = Tree.star(n_states, table.cardinalities)
    return Model(tree, table.variables, np.concatenate([part.ravel() for part in parts]))


def indicator_correlations(table: Table) -> FloatArray:
    """R: correlations between the whitened indicators of complete columns.

    Within a column the identity; between columns a and b the standardised residuals of their cross-table,
    (p_ij - p_i p_j) / sqrt(p_i p_j), in a basis without the constant.
    """
    w = table.weights / table.weights.sum()
    blocks, frames = [], []
    for column, r in zip(table.codes.T, table.cardinalities, strict=True):
        shown = np.eye(int(r))[column]
        p = w @ shown
        seen = p > 0
        root = np.sqrt(p[seen])
        blocks.append((shown[:, seen] - p[seen]) / root)
        start = np.column_stack([root, np.eye(len(root))[:, :-1]])
        frames.append(np.linalg.qr(start)[0][:, 1:])
    sizes = [f.shape[1] for f in frames]
    at = np.concatenate([[0], np.cumsum(sizes)])
    out = np.eye(int(at[-1]))
    for a, b in combinations(range(len(blocks)), 2):
        cross = frames[a].T @ ((blocks[a] * w[:, None]).T @ blocks[b]) @ frames[b]
        out[at[a] : at[a + 1], at[b] : at[b + 1]] = cross
        out[at[b] : at[b + 1], at[a] : at[a + 1]] = cross.T
    return out


def definiteness(n_sets: int, seed: int, say: Say) -> str:
    """Table 2.5, by the criterion and by the curvature itself."""
    betas = list(TABLE_2_5)
    counts = np.zeros((len(betas), 5), dtype=int)
    disagree = checked = 0
    for column, r in enumerate(range(2, 7)):
        rng = np.random.default_rng([seed, 25, r])
        for _ in range(n_sets):
            truth = Model.random(Tree.star(2, [r] * 3), numbered([r] * 3), rng)
            table = Table.from_codes(truth.sample(500, rng), truth.variables)
            top = float(np.linalg.eigvalsh(indicator_correlations(table))[-1])
            model = equal_weight_independence(table, 2)
            plan = Plan.of(model, table)
            for row, beta in enumerate(betas):
                definite = beta * top < 1.0
                counts[row, column] += definite
                if abs(beta * top - 1.0) > 1e-4 and row % 2 == 0:
                    at = AnnealedSurface(plan, model.parameters, beta).at(model.parameters)
                    checked += 1
                    disagree += (curvature(at)[0][-1] < 0) != definite
        say(f"table 2.5: leaves of {r} states")
    rows = [
        [f"{beta:.1f}", *(f"{ours} / {theirs}" for ours, theirs in zip(counts[i], TABLE_2_5[beta], strict=True))]
        for i, beta in enumerate(betas)
    ]
    return f"""
## Table 2.5: is the equal-weight independence model a minimum of the free energy?

Two latent states, three leaves of r states, N = 500, parameters uniform, {n_sets} data sets each. Entries: ours /
Whiley's, the number of data sets (there of 100) in which the Hessian at (2.26) is positive definite.

{markdown(["beta", *(f"r = {r}" for r in range(2, 7))], rows)}
Ours counts beta * lambda_max(R) < 1, R being the correlation matrix of the whitened indicators: the largest eigenvalue
of the Hessian of A_beta, in the metric of the expected counts, is beta * lambda_max(R) - 1. The eigenvalues themselves,
from differences of gradients, were computed in {checked:,} of these cases and disagree in {disagree}.

Whiley's table does not come out. Since lambda_max(R) > 1 for all data that show any dependence, the point is a saddle
for all beta above 1 / lambda_max(R), for binary leaves too, where Whiley has 100 throughout; and for larger r it stays
a minimum up to higher beta than there. What [Whiley1999] concludes stands: a run that starts hot enough settles at the
independence model (theorem 2.3) and, without a push, stays there while the temperature falls. `estimate(...,
method="annealing")` does so and warns; `escape=True` leaves it along the direction of greatest curvature as soon as
there is one.
"""


# ---- the page -----------------------------------------------------------------------------------------------------


def run(*, n_sets: int = 20, seed: int = 0, say: Say = lambda text: None) -> tuple[str, dict[str, str]]:
    """Do the study; the page, and its figures by name."""
    began = time.perf_counter()
    courses = compare(n_sets, seed, say)
    pictures: dict[str, str] = {}
    parts = []
    for name, own in courses.items():
        short = name.split()[0]
        for kind, svg in figures(own).items():
            pictures[f"estimation-{short}-{kind}.svg"] = svg
        parts.append(SECTION[name].format(table=winners(name, own), short=short))
    page = HEAD.format(n_sets=n_sets, seed=seed, close=CLOSE, length=LENGTH) + "".join(parts)
    page += CONCLUSIONS + against_default(seed, say) + definiteness(100 if n_sets >= 20 else 5 * n_sets, seed, say)
    say(f"{time.perf_counter() - began:.0f} s")
    return page, pictures


HEAD = """\
# Estimation algorithms: [Whiley1999] chapter 2 again

Made by `python -m studies.estimation --out docs/reproduction/estimation.md` ({n_sets} data sets of each problem,
seed {seed}). W in the tables is [Whiley1999], whose data sets are not published: ours are drawn by the same recipe. All
methods start from the same random point.

Progress is the share of the way from the start to the method's own limit ([Whiley1999] 2.8.1). Figures show by how much
a method is ahead of EM: thin lines for the data sets, a heavy one for their mean; above zero the method is closer to
its limit. In the tables, "ahead" counts data sets in which the method is ahead on average over the first {length}
iterations or passes; "iterations / EM's" is the geometric mean of the iterations needed to come within {close:g} of the
limit, relative to EM's. A pass is one evaluation of likelihood and gradient, the unit of work; a golden-section look
counts as one too. Runs with another limit than EM's are counted and measured against their own. The learning rates,
which [Whiley1999] chose by hand for each data set, are automatic here.
"""

SECTION = {
    "proportion vector": """
## Known components: the proportion vector (as in [Whiley1999] figures 2.4-2.12)

Four latent states, five binary leaves, N = 100; only the weights of the states are estimated.

![relative progress per iteration](estimation-{short}-iterations.svg)

![relative progress per pass](estimation-{short}-passes.svg)

{table}""",
    "unknown components": """
## Unknown components (as in [Whiley1999] figures 2.14-2.22)

Two latent states, four binary leaves, N = 100; all tables are estimated.

![relative progress per iteration](estimation-{short}-iterations.svg)

![relative progress per pass](estimation-{short}-passes.svg)

{table}""",
}

CONCLUSIONS = """
## Beside Whiley's conclusions

Whiley finds that conjugate gradients, plain and generalised, and incremental EM improve on EM in both problems,
Helmbold's EM-eta and EG-eta and ACG-phi on known components only, and GP-eta, ACG-theta and ACG-theta-chi2 in neither;
that the latter fail where the maximum has zeros; and that choosing the learning rates by hand is the weakness of six
methods.

- *Conjugate gradients* come out as in [Whiley1999], GCG best where the components are unknown. Whiley's golden section
  makes a step cost many passes, so that GCG loses to EM by work; a search that uses slopes makes it win by work too.
- *Automatic learning rates* (each the one that would have been best for the step before, shortened when it loses) take
  all six methods to within 0.001 of their limit in fewer iterations than EM in both problems. By Whiley's measure,
  which of the two is ahead on the way, they do not help every method: with known components GP-eta is ahead of EM in
  fewer than half of the data sets and ACG-theta in a fifth; constants chosen by hand were not measured here. Whiley:
  "if the problem of selecting a learning parameter can be successfully automated then for proportion vector problems
  Helmbold's techniques are to be recommended". EM-eta and EG-eta do need the fewest passes there.
- *Zeros* are no obstacle any more: entries that reach the boundary rest there and return if they should.
- *Slow starts.* GP-eta and the ACG methods are behind EM in the first iterations: their rates begin small.
- *Other limits.* With unknown components Helmbold's and the ACG methods change hills more often than EM and, what is
  worse, end at the independence model now and then: they move the weights before the components. latentree warns.
- *Incremental EM* saves iterations in both problems, as Whiley says, and some passes. It is not worth its loop.
"""


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = options("estimation", __doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of each problem; the source has 20")
    given = parser.parse_args(arguments)
    say = print if given.out else (lambda text: None)
    page, pictures = run(n_sets=given.sets, seed=given.seed, say=say)
    deliver(page, given.out)
    if given.out is not None:
        for name, svg in pictures.items():
            write_atomically(Path(given.out).parent / name, svg)


if __name__ == "__main__":
    main(sys.argv[1:])
