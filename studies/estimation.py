"""Estimation algorithms compared: [Whiley1999] figures 2.4-2.28 and tables 2.1-2.5, ours beside theirs.

``python -m studies.estimation`` makes what is not kept yet (``--parts courses`` for one part) and keeps it in
``studies/results/estimation.jsonl``; ``python -m studies.estimation --table --out docs/reproduction/estimation.md``
writes the page of what is kept, and its pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latentree._types import FloatArray

from . import estimation_runs as runs
from .estimation_published import SHAPES, TABLE_2_1, TABLE_2_3, TABLE_2_4, TABLE_2_5, W_SAYS
from .estimation_runs import BETAS, CLOSE, LENGTH, METHODS, OTHERS, PROBLEMS, RATES, ROWS, STATES
from .page import filled, markdown
from .parts import Answers, Parts, deliver_pictures, part_options
from .pictures import COLOURS, Line, Panel, picture
from .results import Record, Results, run_main

__all__ = ["main", "page", "pictures"]

RESULTS = Path(__file__).parent / "results" / "estimation.jsonl"
PAGE = "estimation"
Courses = Mapping[str, Sequence[Record]]


# ---- progress: figures 2.4 to 2.28 --------------------------------------------------------------------------------


def _by_method(kept: Answers, problem: str) -> Courses:
    """Of each method its courses, one for each data set."""
    own = [r["answer"] for r in kept.all("courses", problem=problem)]
    return {label: [a[label] for a in own] for label in ("EM", *METHODS)}


def gone(course: Record, at: FloatArray | None = None) -> FloatArray:
    """Share of the way gone after each iteration, or after so many passes."""
    shares = np.array(course["share"])
    if at is None:
        return shares
    reached = np.searchsorted(course["passes"], at, side="right") - 1
    out: FloatArray = shares[np.maximum(reached, 0)]
    return out


def winners(problem: str, courses: Courses) -> str:
    """Who is ahead of EM, on average over the first iterations and passes, and who arrives first."""
    base, at, n = courses["EM"], np.arange(1.0, LENGTH + 1.0), len(courses["EM"])
    rows = []
    for label in METHODS:
        pairs = list(zip(courses[label], base, strict=True))
        step = [float(np.mean(gone(a) - gone(b))) for a, b in pairs]
        work = [float(np.mean(gone(a, at) - gone(b, at))) for a, b in pairs]
        elsewhere = sum(abs(a["limit"] - b["limit"]) > CLOSE for a, b in pairs)
        rows.append(
            [
                label,
                f"{sum(s > 1e-6 for s in step)}",
                f"{np.mean(step):+.3f}",
                f"{sum(w > 1e-6 for w in work)}",
                f"{np.mean(work):+.3f}",
                f"{_mean_ratio(pairs, 'iterations'):.2f}",
                f"{_mean_ratio(pairs, 'passes_needed'):.2f}",
                f"{elsewhere} ({sum(a['independent'] for a, _ in pairs)})",
                W_SAYS[problem].get(label, ""),
            ]
        )
    rows.sort(key=lambda row: float(row[5]))
    head = ["method", f"ahead per iteration, of {n}", "by", "ahead per pass", "by", "iterations / EM's"]
    return markdown([*head, "passes / EM's", "other limit (independence)", "W"], rows)


def _mean_ratio(pairs: Sequence[tuple[Record, Record]], what: str) -> float:
    """Geometric mean of the ratios."""
    return float(np.exp(np.mean([np.log(max(a[what], 1) / max(b[what], 1)) for a, b in pairs])))


def _progress(kept: Answers) -> str:
    parts = []
    for problem in PROBLEMS:
        courses = _by_method(kept, problem)
        parts.append(SECTION[problem].format(n=len(courses["EM"]), rows=ROWS, table=winners(problem, courses)))
    known = _by_method(kept, "proportion vector")
    ahead = {
        key: sum(float(np.mean(gone(a) - gone(b))) > 1e-6 for a, b in zip(known[label], known["EM"], strict=True))
        for key, label in (("gp", "GP-eta"), ("acg", "ACG-theta"))
    }
    return "".join(parts) + CONCLUSIONS.format(n=len(known["EM"]), arrived=_arrived(kept), **ahead)


def _arrived(kept: Answers) -> str:
    """Which methods with a learning rate need fewer iterations than EM in both problems, in words."""
    slower = []
    for label in ("EM-eta", "EG-eta", "GP-eta", "ACG-phi", "ACG-theta", "ACG-theta-chi2"):
        both = [_by_method(kept, problem) for problem in PROBLEMS]
        ratios = [_mean_ratio(list(zip(own[label], own["EM"], strict=True)), "iterations") for own in both]
        slower += [label] if max(ratios) >= 1 else []
    return "all six methods" if not slower else f"all six methods but {' and '.join(slower)}"


def _draw_progress(kept: Answers) -> dict[str, str]:
    drawn, at = {}, np.arange(1.0, LENGTH + 1.0)
    size: Any = {"columns": 3, "width": 220, "height": 130}
    for problem in PROBLEMS:
        courses, short = _by_method(kept, problem), problem.split()[0]
        steps = [_against(label, courses[label], courses["EM"]) for label in METHODS]
        passes = [_against(label, courses[label], courses["EM"], at) for label in METHODS]
        drawn[f"{short}-iterations"] = picture(steps, **size)
        drawn[f"{short}-passes"] = picture(passes, **size)
    known, unknown = (_by_method(kept, problem) for problem in PROBLEMS)
    pairs = [
        _against("2.13: GCG against EG-eta, known components", known["GCG"], known["EG-eta"]),
        _against("2.23: GCG against IEM, unknown components", unknown["GCG"], unknown["IEM"]),
    ]
    drawn["pairs"] = picture(pairs, columns=2, width=320, height=200)
    drawn["work"] = picture([_work(known, *own) for own in WORK], columns=3, width=230, height=160)
    return drawn


def _against(title: str, ours: Sequence[Record], base: Sequence[Record], at: FloatArray | None = None) -> Panel:
    """How far each run is ahead of another: thin lines, and a heavy one for the mean."""
    x = np.arange(LENGTH + 1.0) if at is None else at
    curves = [gone(a, at) - gone(b, at) for a, b in zip(ours, base, strict=True)]
    thin = [Line(list(zip(x.tolist(), c.tolist(), strict=True)), "#8fa3b5", thin=True) for c in curves]
    mean = np.mean(curves, axis=0)
    heavy = Line(list(zip(x.tolist(), mean.tolist(), strict=True)), COLOURS[1])
    zero = Line([(float(x[0]), 0.0), (float(x[-1]), 0.0)], COLOURS[8], dashed=True)
    return Panel(title, [*thin, zero, heavy], y=(-0.3, 0.3))


WORK = (("2.24", "IEM"), ("2.25", "CG"), ("2.26", "GCG"), ("2.27", "EM-eta"), ("2.28", "ACG-phi"))
"""Figures of one data set by work, and their methods. [Whiley1999] does not say which ACG is meant."""


def _work(courses: Courses, figure: str, label: str) -> Panel:
    """The share of the way gone in the first data set, by passes over the data, beside EM's."""
    marks = []
    for name, colour, shown in (("EM", COLOURS[8], "EM"), (label, COLOURS[0], "the method")):
        own = courses[name][0]
        points = [(float(p), s) for p, s in zip(own["passes"], own["share"], strict=True) if p <= LENGTH]
        marks.append(Line(points, colour, label=shown))
    return Panel(f"{figure}: {label}", marks, (1, LENGTH), (0.0, 1.02), x_label="passes over the data")


# ---- tables 2.1 to 2.4 ----------------------------------------------------------------------------------------------


def _rates(kept: Answers) -> str:
    parts = []
    for number, problem in zip(("2.1", "2.2"), PROBLEMS, strict=True):
        own = [r["answer"] for r in kept.all("rates", problem=problem)]
        rows = []
        for method in RATES:
            scale = ROWS if method.startswith("acg") else 1
            found = np.array([a[method][0] / scale for a in own if a[method] is not None])
            needed = [a[method][1] for a in own if a[method] is not None]
            mean, least, greatest, spread = TABLE_2_1[problem][method]
            cells = [f"{mean:g}", f"{least:g} to {greatest:g}", f"{spread:g}"]
            if len(found):
                cells += [
                    f"{found.mean():.3g}",
                    f"{found.min():.2g} to {found.max():.2g}",
                    f"{found.std(ddof=len(found) > 1):.2g}",
                ]
                cells += [f"{np.median(needed):.0f}"]
            else:
                cells += ["-"] * 4
            rows.append([method, *cells, f"{len(own) - len(found)}"])
        head = ["method", "W: mean", "range", "spread", "ours: mean", "range", "spread", "iterations", "none found"]
        parts.append(f"\n### Table {number}: {problem}\n\n" + markdown(head, rows))
    return RATES_TEXT.format(n=len(own), rows=ROWS, tried=runs.TRIED, most=runs.MOST, close=CLOSE) + "".join(parts)


def _flops(kept: Answers) -> str:
    parts = []
    for number, problem, table in zip(("2.3", "2.4"), PROBLEMS, (TABLE_2_3, TABLE_2_4), strict=True):
        courses, (c, n) = _by_method(kept, problem), SHAPES[problem]
        x = max(_per_iteration(courses["GCG, golden section"]) - 5.0, 0.0)  # a gradient, and four looks
        base = table["EM"](ROWS, c, n, x)
        rows = []
        for label, flops in table.items():
            told = flops(ROWS, c, n, x)
            rows.append([label, f"{told:,.0f}", f"{told / base:.2f}", f"{_per_iteration(courses[label]):.2f}"])
        rows.append(["GCG, golden section", "", "", f"{_per_iteration(courses['GCG, golden section']):.2f}"])
        head = ["method", "W: operations", "relative to EM", "ours: passes"]
        parts.append(f"\n### Table {number}: {problem}, x = {x:.1f}\n\n" + markdown(head, rows))
    return FLOPS_TEXT.format(rows=ROWS) + "".join(parts)


def _per_iteration(courses: Sequence[Record]) -> float:
    """Passes of an iteration until the limit is reached, all runs together."""
    return float(sum(c["passes_needed"] for c in courses) / sum(max(c["iterations"], 1) for c in courses))


# ---- against the default, and table 2.5 -----------------------------------------------------------------------------


def _default(kept: Answers) -> str:
    lines = []
    for label in OTHERS:
        if not kept.all("default", method=label):
            continue
        own = kept.of("default", method=label)
        ends = [str(own[name]) for name in ("higher", "lower", "independent")]
        ratios = [f"{own['passes']:.2f}", f"{own['time']:.1f}"]
        lines.append([label, *ratios, *ends, f"{own['converged']} of {own['runs']}"])
    lines.sort(key=lambda line: float(line[1]))
    head = ["method", "passes / default's", "time / default's", "ended higher", "lower", "at independence", "converged"]
    names = ", ".join(f"{name} ({k})" for name, k in runs.SETS)
    return f"""
## Against the accelerated default

{names}, and a tree of 9 leaves. Two random starts each, tolerance 1e-6, at
most {kept.size("default")["seconds"]:g} s a run on the clock. Ratios, of passes and of processor time, are geometric
means over the runs; "higher" and "lower" are ends that differ from the default's by more than 0.01 in log-likelihood,
which is a matter of hills more than of methods. The default's own row is the default twice, and shows how far times
vary. ({kept.made("default")}.)

{markdown(head, lines)}
The loop of EM and of the default is in C++, that of the others in Python: on data as small as these a pass takes a few
microseconds, and the time of the others is spent between passes. Passes are what would remain on large data.
"""


def _definiteness(kept: Answers) -> str:
    own = {r: kept.of("definiteness", states=r) for r in STATES}
    tops = {r: np.array(own[r]["top"]) for r in STATES}

    def counted(beta: float, below: float) -> list[int]:
        return [int((beta * tops[r] < below).sum()) for r in STATES]

    rows = [
        [
            f"{beta:.1f}",
            *(f"{a} / {b} / {w}" for a, b, w in zip(counted(beta, 1), counted(beta, 2), TABLE_2_5[beta], strict=True)),
        ]
        for beta in BETAS
    ]
    checked, disagree = (sum(o[what] for o in own.values()) for what in ("checked", "disagree"))
    return DEFINITENESS.format(
        sets=kept.size("definiteness")["sets"],
        table=markdown(["beta", *(f"r = {r}" for r in STATES)], rows),
        checked=f"{checked:,}",
        disagree=disagree,
        largest=f"{tops[2].max():.2f}",
    )


# ---- the page -----------------------------------------------------------------------------------------------------

HEAD = """\
# Estimation algorithms: [Whiley1999] chapter 2 again

Made by `python -m studies.estimation`, which keeps its results in `studies/results/estimation.jsonl`, and
`python -m studies.estimation --table --out docs/reproduction/estimation.md`; {made}. W in the tables is
[Whiley1999], whose data sets are not published: ours are drawn by the same recipe. All methods start from the same
random point.

Progress is the share of the way from the start to the method's own limit ([Whiley1999] 2.8.1). Figures show by how much
a method is ahead of EM: thin lines for the data sets, a red one for their mean; above zero the method is closer to its
limit. In the tables, "ahead" counts data sets in which the method is ahead on average over the first {length}
iterations or passes; "iterations / EM's" is the geometric mean of the iterations needed to come within {close:g} of the
limit, relative to EM's. A pass is one evaluation of likelihood and gradient, the unit of work; a golden-section look
counts as one too. Runs with another limit than EM's are counted and measured against their own. The learning rates,
which [Whiley1999] chose by hand for each data set, are automatic except in tables 2.1 and 2.2.
"""

SECTION = {
    "proportion vector": """
## Known components: the proportion vector ([Whiley1999] figures 2.4-2.13 and 2.24-2.28)

Four latent states, five binary leaves, N = {rows}, {n} data sets; only the weights of the states are estimated.
Progress relative to EM's by iterations (figures 2.4-2.12, and three methods more), then by passes:

![relative progress per iteration](estimation-proportion-iterations.svg)

![relative progress per pass](estimation-proportion-passes.svg)

{table}
Two methods against each other, here and with unknown components (figures 2.13 and 2.23):

![relative progress of GCG](estimation-pairs.svg)

The share of the way gone in the first data set, by work (figures 2.24-2.28). In [Whiley1999] the conjugate gradients
lose by that measure, since a golden section takes many looks; with a search that uses slopes they do not.

![progress by passes](estimation-work.svg)
""",
    "unknown components": """
## Unknown components ([Whiley1999] figures 2.14-2.23)

Two latent states, four binary leaves, N = {rows}, {n} data sets; all tables are estimated. Figure 2.23 is above.

![relative progress per iteration](estimation-unknown-iterations.svg)

![relative progress per pass](estimation-unknown-passes.svg)

{table}""",
}

RATES_TEXT = """
## Learning rates (tables 2.1 and 2.2)

[Whiley1999] chose a constant rate by hand for each of 20 data sets. Ours is the one of {tried} that arrives first at
EM's limit (within {close:g}, {most:,} iterations at most), of those with which no step loses, {n} data sets each. Rates
of Helmbold's methods are on the scale of the mean log-likelihood, those of ACG on that of the sum ({rows} rows), which
makes all but ACG-theta-chi2 comparable. "Spread" is the standard deviation, which is what the source's "standard
error" must be. "Iterations" is the median of ours; "none found" counts data sets in which no constant of ours arrives.
"""

FLOPS_TEXT = """
## Work of an iteration (tables 2.3 and 2.4)

[Whiley1999] counts floating point operations by formulas, here at N = {rows} and the two problems' sizes, as the sum of
the printed columns (the printed totals of CG and GCG leave out some terms); x, the looks of the line search beyond the
first four, is that of our runs with golden section. Ours are passes over the data an iteration, until the limit is
reached. A pass gives likelihood, gradient and EM step at once, which the formulas count apart.
"""

CONCLUSIONS = """
## Beside Whiley's conclusions

Whiley finds that conjugate gradients, plain and generalised, and incremental EM improve on EM in both problems,
Helmbold's EM-eta and EG-eta and ACG-phi on known components only, and GP-eta, ACG-theta and ACG-theta-chi2 in neither;
that the latter fail where the maximum has zeros; and that choosing the learning rates by hand is the weakness of six
methods.

- *Conjugate gradients* come out as in [Whiley1999], GCG best where the components are unknown. Whiley's golden section
  makes a step cost many passes, so that GCG loses to EM by work; a search that uses slopes makes it win by work too.
- *Automatic learning rates* (each the one that would have been best for the step before, shortened when it loses) take
  {arrived} to within 0.001 of their limit in fewer iterations than EM in both problems. By Whiley's measure,
  which of the two is ahead on the way, they do not help every method: with known components GP-eta is ahead of EM in
  {gp} of {n} data sets and ACG-theta in {acg}. Whiley: "if the problem of selecting a learning parameter can be
  successfully automated then for proportion vector problems Helmbold's techniques are to be recommended".
- *Zeros* are no obstacle any more: entries that reach the boundary rest there and return if they should.
- *Slow starts.* GP-eta and the ACG methods are often behind EM in the first iterations: their rates begin small.
- *Other limits.* With unknown components Helmbold's and the ACG methods change hills more often than EM and, what is
  worse, end at the independence model now and then: they move the weights before the components. latentree warns.
- *Incremental EM* saves iterations in both problems, as Whiley says, and some passes. It is not worth its loop.
"""

DEFINITENESS = """
## Table 2.5: is the equal-weight independence model a minimum of the free energy?

Two latent states, three leaves of r states, N = 500, parameters uniform, {sets} data sets each. Entries: ours / ours
with a derivative dropped (below) / Whiley's, the number of data sets (there of 100) in which the Hessian at (2.26) is
positive definite.

{table}
Ours counts beta * lambda_max(R) < 1, R being the correlation matrix of the whitened indicators: the largest eigenvalue
of the Hessian of A_beta, in the metric of the expected counts, is beta * lambda_max(R) - 1. The eigenvalues themselves,
from differences of gradients, were computed in {checked} of these cases and disagree in {disagree}.

Whiley's table does not come out. Since lambda_max(R) > 1 for all data that show any dependence, the point is a saddle
for all beta above 1 / lambda_max(R), for binary leaves too, where Whiley has 100 throughout; and for larger r it stays
a minimum up to higher beta than there. **Whiley's column r = 2 appears if the mixed derivative of theorem 2.6 is
dropped,** the one between parameters of different classes, whose expectation under independence is zero: what is left
of the Hessian is positive definite exactly when beta * lambda_max(R) < 2 for two classes, which holds for all of these
data (the largest lambda_max(R) of binary leaves is {largest}). Whiley's other columns do not appear in this way either.

What [Whiley1999] concludes stands: a run that starts hot enough settles at the independence model (theorem 2.3) and,
without a push, stays there while the temperature falls. `estimate(..., method="annealing")` does so and warns;
`escape=True` leaves it along the direction of greatest curvature as soon as there is one.
"""

SECTIONS: tuple[tuple[str, Any, Any], ...] = (
    ("courses", _progress, _draw_progress),
    ("rates", _rates, None),
    ("courses", _flops, None),
    ("default", _default, None),
    ("definiteness", _definiteness, None),
)


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    head = HEAD.format(made=kept.made(), length=LENGTH, close=CLOSE)
    return filled(head + "".join(text(kept) for part, text, _ in SECTIONS if kept.has(part)))


def pictures(records: Iterable[Record]) -> dict[str, str]:
    """The page's pictures by the names of their files."""
    kept = Answers(list(records))
    draws = [draw for part, _, draw in SECTIONS if draw and kept.has(part)]
    return {f"{PAGE}-{name}.svg": svg for draw in draws for name, svg in draw(kept).items()}


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = part_options("estimation", __doc__ or "", RESULTS, runs.PARTS)
    parser.add_argument("--sets", type=int, default=20, help="data sets of each problem; the source has 20")
    parser.add_argument(
        "--tables", type=int, default=100, help="data sets of each column of table 2.5, as in the source"
    )
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        size = {"n_sets": given.sets, "n_tables": given.tables, "seed": given.seed}
        runs.make_all(Parts(results, given.fresh, given.parts, any_code=given.any_code), **size)
    records = results.read()
    deliver_pictures(page(records), pictures(records), given.out)


if __name__ == "__main__":
    run_main(main)
