"""Reversible jump over the number of classes: [Whiley1999] tables 5.1-5.3, figures 5.2-5.14 and 4.6.

``python -m studies.reversible_jump`` makes what is not kept yet (``--parts sizes`` for one part) and keeps it in
``studies/results/reversible_jump.jsonl``; ``python -m studies.reversible_jump --table --out FILE`` writes the page of
what is kept, and its pictures. The source's data are not published: data of the same kind are drawn. kmax, which it
does not give, is 10 here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latentree._types import FloatArray

from . import jump_runs as runs
from .jump_runs import DELTAS, K_MAX, ROWS
from .page import filled, markdown
from .parts import Answers, Parts, deliver_pictures, part_options
from .pictures import COLOURS, Bars, Line, Panel, Points, Vertical, picture
from .results import Record, Results, run_main

__all__ = ["main", "page", "pictures"]

RESULTS = Path(__file__).parent / "results" / "reversible_jump.jsonl"
PAGE = "reversible-jump"
CLASSES = [str(k) for k in range(1, K_MAX + 1)]

SOURCE = {
    "delta2": {
        0.01: "1.1 / 4.5 / 0.0 / 0.0 / 0.9",
        0.1: "1.4 / 4.0 / 0.5 / 1.0 / 1.3",
        0.5: "2.1 / 5.1 / 3.4 / 3.3 / 3.3",
        1.0: "1.9 / 5.5 / 4.1 / 4.4 / 3.7",
        2.0: "1.4 / 5.4 / 3.1 / 6.2 / 3.3",
        5.0: "1.0 / 8.6 / 1.0 / 6.0 / 1.7",
    },
    "delta1": {
        0.01: "1.3 / 1.9 / 0.8 / 0.9 / 1.2",
        0.1: "2.1 / 4.7 / 2.3 / 2.9 / 2.8",
        0.5: "2.0 / 5.1 / 3.4 / 3.7 / 3.3",
        1.0: "1.3 / 3.5 / 3.7 / 3.3 / 2.9",
        2.0: "0.2 / 1.0 / 3.8 / 3.5 / 2.1",
        5.0: "0.0 / 0.0 / 3.2 / 3.3 / 1.7",
    },
}
"""Tables 5.1 and 5.2: percentages of births, deaths, splits, combinations accepted, and of all of them."""
SOURCE_53 = {100: (1, 7, 15, 2), 500: (0, 3, 15, 7), 1000: (0, 0, 12, 13)}
LABELS = {"weight": "ordered by weight", "celeux": "Celeux' classification", "stephens": "Stephens' relabelling"}
ESTIMATES = {
    "celeux": ("Celeux' classification", "same", "same"),
    "delta": ("Baddeley's Delta", "21 %", "3 %"),
    "predictive": ("predictive loss", "54 %", "85 %"),
    "stephens": ("Stephens' relabelling", "-", "-"),
}
"""Figures 5.13 and 5.14: how often the source's estimates are better than those of ordering by weight."""
PARAMETERS = ["size", *(f"P(x{i} = 1)" for i in range(1, 5))]


# ---- tables 5.1 and 5.2, figures 5.2 and 5.3 ---------------------------------------------------------------------


def _sensitivity(kept: Answers) -> str:
    size, parts = kept.size("priors"), []
    for number, figure, vary in (("5.1", "5.2", "delta2"), ("5.2", "5.3", "delta1")):
        rows = []
        for delta in DELTAS:
            source, simplex = (
                kept.of("priors", vary=vary, delta=delta, split=split) for split in ("source", "simplex")
            )
            rows.append(
                [f"{delta:g}", SOURCE[vary][delta], _rates(source), _rates(simplex), *_shares(source["posterior"])]
            )
        head = [vary, "source", "ours, source's split", "ours, simplex split", *CLASSES]
        parts.append(f"\n### Table {number} and figure {figure}: {vary} varies, the other is 0.5\n\n")
        parts.append(markdown(head, rows) + f"\n{_image(f'priors-{vary}', f'P(k given data) as {vary} varies')}")
    return _SENSITIVITY.format(**_told(size), made=kept.made("priors")) + "".join(parts)


def _rates(answer: Record) -> str:
    return " / ".join(f"{100 * rate:.1f}" for rate in answer["accepted"])


def _shares(posterior: Iterable[float]) -> list[str]:
    return [f"{p:.2f}" for p in posterior]


def _draw_sensitivity(kept: Answers) -> dict[str, str]:
    drawn = {}
    for vary in ("delta2", "delta1"):
        own = {d: kept.of("priors", vary=vary, delta=d, split="source")["posterior"] for d in DELTAS}
        drawn[f"priors-{vary}"] = picture([_posterior(f"{vary} = {d:g}", p) for d, p in own.items()], height=120)
    return drawn


def _posterior(title: str, posterior: Sequence[float]) -> Panel:
    return Panel(title, [Bars(posterior, marked=1 + int(np.argmax(posterior)))], y=(0, max(0.5, *posterior)))


# ---- the printed ratios on five rows ------------------------------------------------------------------------------


def _five_rows(kept: Answers) -> str:
    names = {"printed": "as printed", "right": "corrected"}
    rows = [
        [name, *(f"{p:.3f}" for p in kept.of("five rows", ratios=ratios)["posterior"])]
        for ratios, name in names.items()
    ]
    head = ["P(k given 5 rows)", "1", "2", "3", "4"]
    return _FIVE.format(**_told(kept.size("five rows")), made=kept.made("five rows")) + markdown(head, rows)


# ---- table 5.3, figures 5.4 to 5.6 -------------------------------------------------------------------------------


def _sizes(kept: Answers) -> str:
    models = _models(kept)
    rows, widths, tables = [], [], []
    for n in ROWS:
        cells = [str(n), " / ".join(map(str, SOURCE_53[n]))]
        for ratios in ("printed", "right"):
            cells.append(" / ".join(map(str, _modes(kept, n, ratios))))
        rows.append(cells)
        widths.append([str(n), *(f"{_width(kept, n, ratios):.2f}" for ratios in ("printed", "right"))])
        tables += [
            [str(n), str(i + 1), f"{own['smallest']:.2f}", *_shares(own["posterior"])]
            for i, own in ((i, kept.of("sizes", rows=n, model=i, ratios="right")) for i in models)
        ]
    head = ["rows", "source, k = 1 / 2 / 3 / 4", "ours, ratios as printed, k = 1 / 2 / 3 / 4 / 5 / 6 / more"]
    text = _SIZES.format(**_told(kept.size("sizes")), models=len(models), made=kept.made("sizes"))
    images = "".join(
        f"\nFigure {figure}, {n} rows, with the right ratios and with the printed ones:\n\n"
        + _image(f"sizes-{n}-right", f"P(k given data) of {len(models)} models, {n} rows, right ratios")
        + _image(f"sizes-{n}-printed", f"P(k given data) of {len(models)} models, {n} rows, ratios as printed")
        for figure, n in zip(("5.4", "5.5", "5.6"), ROWS, strict=True)
    )
    each = markdown(["rows", "model", "smallest class", *CLASSES], tables)
    told = markdown([*head, "ours, right ratios"], rows)
    spread = markdown(["rows", "ratios as printed", "right ratios"], widths)
    above = {ratios: sum(sum(_modes(kept, n, ratios)[4:]) for n in ROWS) for ratios in ("printed", "right")}
    found = _WIDTHS.format(of=len(ROWS) * len(models), **above)
    return text + told + found + spread + images + "\nP(k given data) with the right ratios, in numbers:\n\n" + each


def _models(kept: Answers) -> list[int]:
    """The models of which every size and both ratios are kept."""
    numbers = [r["which"]["model"] for r in kept.all("sizes")]
    return sorted({i for i in numbers if numbers.count(i) == 2 * len(ROWS)})


def _posteriors(kept: Answers, n: int, ratios: str) -> FloatArray:
    """P(k given data) of each model."""
    own = [kept.of("sizes", rows=n, model=i, ratios=ratios)["posterior"] for i in _models(kept)]
    return np.array(own)


def _modes(kept: Answers, n: int, ratios: str) -> list[int]:
    """How many models have their mode at 1, ..., 6 and more classes."""
    modes = (1 + _posteriors(kept, n, ratios).argmax(axis=1)).tolist()
    return [*(modes.count(k) for k in range(1, 7)), sum(mode > 6 for mode in modes)]


def _width(kept: Answers, n: int, ratios: str) -> float:
    """Standard deviation of k given the data, mean over the models."""
    k = np.arange(1, K_MAX + 1)
    posteriors = _posteriors(kept, n, ratios)
    away = k - (posteriors @ k)[:, None]
    return float(np.sqrt((posteriors * away**2).sum(axis=1)).mean())


def _draw_sizes(kept: Answers) -> dict[str, str]:
    drawn = {}
    for n in ROWS:
        for ratios in ("right", "printed"):
            own = zip(_models(kept), _posteriors(kept, n, ratios).tolist(), strict=True)
            panels = [_posterior(str(i + 1), posterior) for i, posterior in own]
            drawn[f"sizes-{n}-{ratios}"] = picture(panels, columns=5, width=150, height=95)
    return drawn


# ---- figures 5.7 to 5.12 -----------------------------------------------------------------------------------------


def _one_data_set(kept: Answers) -> str:
    own = kept.of("one data set")
    rows = []
    for j in range(3):
        for i, name in enumerate(PARAMETERS):
            cells = []
            for label in LABELS:
                told = own["labels"][label]
                low, high = (end[j][i] for end in told["interval"])
                cells.append(f"{told['mean'][j][i]:.2f} ({low:.2f}-{high:.2f})")
            rows.append([str(j + 1), name, f"{own['true'][j][i]:.2f}", *cells])
    k = markdown(["k", *CLASSES], [["P(k given data)", *_shares(own["posterior"])]])
    given, of = own["drawn"]
    ds, de = own["dimension"]
    size = _told(kept.size("one data set"))
    text = _ONE.format(**size, given=f"{given:,}", of=f"{of:,}", ds=ds, de=de, made=kept.made("one data set"))
    images = _image("one-classes", "P(k given data)") + "".join(
        f"\nFigure {number}, {name}:\n\n" + _image(f"one-{i}", f"posterior of {name} in the three classes")
        for i, (number, name) in enumerate(zip(("5.8", "5.9", "5.10", "5.11", "5.12"), PARAMETERS, strict=True))
    )
    head = ["class", "parameter", "true", *LABELS.values()]
    return text + k + "\n" + markdown(head, rows) + "\nFigure 5.7:\n\n" + images


def _draw_one(kept: Answers) -> dict[str, str]:
    own = kept.of("one data set")
    drawn = {"one-classes": picture([_posterior("P(k given data)", own["posterior"])])}
    for i, name in enumerate(PARAMETERS):
        panels = []
        for j in range(3):
            marks: list[Any] = []
            for label, colour in (("weight", COLOURS[0]), ("stephens", COLOURS[2])):
                counts = np.array(own["labels"][label]["histogram"][j][i])
                share = counts / counts.sum() * len(counts)
                points = [((b + 0.5) / len(counts), float(s)) for b, s in enumerate(share)]
                marks.append(Line(points, colour, label=LABELS[label]))
            by_weight = own["labels"]["weight"]
            marks.append(Vertical(by_weight["mean"][j][i], COLOURS[0], label="mean, ordered by weight"))
            marks.append(Vertical(by_weight["mode"][j][i], COLOURS[0], dashed=True, label="best draw"))
            marks.append(Vertical(own["true"][j][i], COLOURS[1], label="true value"))
            panels.append(Panel(f"class {j + 1}, {name}", marks, x=(0, 1)))
        drawn[f"one-{i}"] = picture(panels)
    return drawn


# ---- figures 5.13 and 5.14 ---------------------------------------------------------------------------------------


def _estimates(kept: Answers) -> str:
    own = [r["answer"] for r in kept.all("estimates")]
    rows = []
    for name, (title, *source) in ESTIMATES.items():
        better = [sum(a[name][what] < a["weight"][what] - 1e-12 for a in own) for what in (0, 1)]
        mean = [float(np.mean([a[name][what] for a in own])) for what in (0, 1)]
        cells = [f"{100 * count / len(own):.0f} %" for count in better]
        rows.append([title, source[0], cells[0], source[1], cells[1], f"{mean[0]:.3f}", f"{mean[1]:.4f}"])
    base = [float(np.mean([a["weight"][what] for a in own])) for what in (0, 1)]
    rows.append([LABELS["weight"], "", "", "", "", f"{base[0]:.3f}", f"{base[1]:.4f}"])
    head = ["estimate", "parameters better, source", "ours", "distribution better, source", "ours"]
    head += ["mean distance of parameters", "of distributions"]
    text = _ESTIMATES.format(**_told(kept.size("estimates")), problems=len(own), made=kept.made("estimates"))
    return text + markdown(head, rows) + "\n" + _image("estimates", "estimates against ordering by weight")


def _draw_estimates(kept: Answers) -> dict[str, str]:
    own = [r["answer"] for r in kept.all("estimates")]
    panels = []
    for figure, name in (("5.13", "delta"), ("5.14", "predictive")):
        for what, about in enumerate(("parameters", "distribution")):
            points = [(a["weight"][what], a[name][what]) for a in own]
            top = 1.04 * max(max(p) for p in points)
            marks: list[Any] = [Line([(0, 0), (top, top)], COLOURS[8]), Points(points)]
            title = f"{figure}: {ESTIMATES[name][0]}, {about}"
            axes: Any = {"x_label": "distance, ordered by weight", "y_label": "distance, this method"}
            panels.append(Panel(title, marks, (0, top), (0, top), **axes))
    return {"estimates": picture(panels, columns=2, width=300, height=250)}


# ---- figure 4.6 --------------------------------------------------------------------------------------------------


def _candidates(kept: Answers) -> str:
    rows = []
    lengths = sorted({r["which"]["sweeps"] for r in kept.all("candidate")})
    ways = [how for how in runs.CANDIDATES if kept.all("candidate", how=how)]
    for n in lengths:
        for k in range(1, 8):
            if len(kept.all("candidate", classes=k, sweeps=n)) < 2:  # not made yet
                continue
            cells = []
            for how in ways:
                found = [np.array(r["answer"]) for r in kept.all("candidate", classes=k, sweeps=n, how=how)]
                cells += [f"{f.mean():.2f} ± {f.std(ddof=1):.2f} ({np.ptp(f):.2f})" for f in found] or ["-"]
            rows.append([str(k), f"{n:,}", *cells])
    head = ["classes", "sweeps", *(f"at the {how}" for how in ways)]
    text = _CANDIDATES.format(runs=kept.size("candidate")["runs"], made=kept.made("candidate"))
    return text + markdown(head, rows) + "\n" + _image("candidate", "estimates of the candidate method")


def _draw_candidates(kept: Answers) -> dict[str, str]:
    lengths = sorted({r["which"]["sweeps"] for r in kept.all("candidate")})
    panels = []
    for n in lengths:
        marks: list[Any] = []
        for colour, shift, how in (
            (COLOURS[1], -0.12, "mode, one labelling"),
            (COLOURS[0], 0.12, "mode, all labellings"),
        ):
            own = kept.all("candidate", sweeps=n, how=how)
            points = [(r["which"]["classes"] + shift, y) for r in own for y in r["answer"]]
            marks.append(Points(points, colour, label=how))
        labels: Any = {"x_label": "classes", "y_label": "ln P(D given k)"}
        panels.append(Panel(f"{n:,} sweeps", marks, (0.5, 7.5), **labels))
    return {"candidate": picture(panels, columns=2, width=320, height=260)}


# ---- the page ----------------------------------------------------------------------------------------------------


def _told(size: Record) -> dict[str, str]:
    return {"burn": f"{size['burn']:,}", "sweeps": f"{size['sweeps']:,}"}


def _image(name: str, about: str) -> str:
    return f"![{about}]({PAGE}-{name}.svg)\n"


SECTIONS = {
    "priors": (_sensitivity, _draw_sensitivity),
    "five rows": (_five_rows, None),
    "sizes": (_sizes, _draw_sizes),
    "one data set": (_one_data_set, _draw_one),
    "estimates": (_estimates, _draw_estimates),
    "candidate": (_candidates, _draw_candidates),
}

_HEAD = """\
# Reversible jump over the number of classes ([Whiley1999] 5)

Made by `python -m studies.reversible_jump`, which keeps its results in `studies/results/reversible_jump.jsonl`, and
`python -m studies.reversible_jump --table --out docs/reproduction/reversible-jump.md`; {made}. Each section
says how long its chains are; the source's have 100,000 sweeps after 100,000 of burn-in.

The source's data sets are not published, so data of the same kind are drawn: parameters uniform, binary leaves. It does
not give kmax; here it is 10. Unless a table says otherwise, the ratios are those of
[the mathematics](../mathematics/reversible-jump.md), which pass the exact tests that the printed ones fail, and the
moves are the source's.
"""

_SENSITIVITY = """
## How priors matter (tables 5.1 and 5.2, figures 5.2 and 5.3)

200 rows of a model with 3 classes and 4 leaves; {sweeps} sweeps after {burn}. Percentages accepted: birth / death /
split / combine / all of them. The last columns are P(k given the data) with the source's split, which the pictures show
(the highest bar in red). As in the source, both parameters matter much. Acceptance differs from data set to data set;
the pattern (splits hardly ever accepted at a small delta2, births and deaths hardly ever at a large delta1) is the
source's. Births are mostly accepted several times as often as there, which would follow from the factor (k+1)/(k0+1)
that its ratio lacks. ({made}.)
"""

_FIVE = """
## What the printed ratios would draw

Five rows and three leaves, for which P(k given data) is known by summing over all partitions (the tests check the
kernel against that). {sweeps} sweeps, after {burn}, of a sampler with (5.12) to (5.15) as printed, and of the corrected
one. (5.13) makes combinations too easy by k(k-1), (5.14) makes births too hard by (k+1)/(k0+1): both lead to too few
classes. ({made}.)

"""

_SIZES = """
## Size of the data (table 5.3, figures 5.4 to 5.6)

{models} models with 4 classes and 8 leaves, the same for each size; one chain each of {sweeps} sweeps after {burn},
from one class. How often each number of classes is the most probable one, with the ratios printed in (5.12) to (5.15)
and with the right ones. ({made}.)

"""

_WIDTHS = """
**The printed ratios give the source's table, the right ones do not.** With the printed ones {printed} of {of}
posteriors have their mode above four classes, as none has in the source, and the counts are like the source's, as far
as other models of the same kind can tell. With the right ones {right} have, and posteriors are wider: with few rows and
flat priors many numbers of classes are nearly equally probable, and the mode says little. Standard deviation of k given
the data, mean over the models:

"""

_ONE = """
## One data set (figures 5.7 to 5.12)

200 rows of a model with 3 classes and 4 leaves, two classes of about the same size, all well apart; both deltas are 1;
{sweeps} sweeps after {burn}, every tenth kept. Estimates are means with 95 % intervals of the {given} of {of} draws
that have 3 classes. Ordering by weight mixes up classes of like size, which shows in two modes, in wide intervals and
in means drawn to each other, as the source found. ({made}.)

**The parameters of the source's example are not identified, whatever the labels.** A model with 3 classes and 4 binary
leaves has {ds} parameters and effective dimension {de} ([identifiability](identifiability.md)): through almost every
point goes a curve along which the likelihood is constant, so that some of the spread below, and of the distances in
figures 5.13 and 5.14, is neither label switching nor lack of rows.

"""

_ESTIMATES = """
## Point estimates (figures 5.13 and 5.14)

{problems} data sets like that, parameters drawn uniformly, 3 classes given: {sweeps} Gibbs sweeps after {burn}, 1,000
draws kept. How often an estimate is nearer the true parameters, and how often its distribution is nearer the true one,
than the mean of draws ordered by weight; and the mean of these distances. Both losses are minimised by simulated
annealing of 3,000 steps. (The source: 72 data sets, draws of reversible jump that have 3 classes. {made}.)

"""

_CANDIDATES = """
## The candidate method (figure 4.6)

50 rows of a model with 4 classes and 8 leaves; {runs} runs each. Mean ± standard deviation (range) of the estimates of
ln P(D given k). The source evaluates at the mode, one labelling, with 10,000 and with 100,000 sweeps. A run that
settles in another labelling than that one then sees hardly any density there: with 2 and 3 classes, which seldom change
places, some runs are far off; with more classes, which do, estimates spread over some units, as in the source's figure.
Averaging over all labellings, by dynamic programming over subsets of classes, takes nearly all of the spread away: the
method is usable, and its failure with few leaves was one of labels. ({made}.)

"""


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    sections = [text(kept) for part, (text, _) in SECTIONS.items() if kept.has(part)]
    return filled(_HEAD.format(made=kept.made()) + "".join(sections))


def pictures(records: Iterable[Record]) -> dict[str, str]:
    """The page's pictures by the names of their files."""
    kept = Answers(list(records))
    drawn = {
        name: svg for part, (_, draw) in SECTIONS.items() if draw and kept.has(part) for name, svg in draw(kept).items()
    }
    return {f"{PAGE}-{name}.svg": svg for name, svg in drawn.items()}


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = part_options("reversible_jump", __doc__ or "", RESULTS, runs.PARTS)
    parser.add_argument("--sweeps", type=int, default=runs.SWEEPS, help="sweeps, after as many of burn-in")
    parser.add_argument("--models", type=int, default=runs.MODELS, help="models of each size in table 5.3")
    parser.add_argument("--problems", type=int, default=runs.PROBLEMS, help="data sets in figures 5.13 and 5.14")
    parser.add_argument("--runs", type=int, default=runs.RUNS, help="runs of the candidate method")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        size = {name: getattr(given, name) for name in ("sweeps", "models", "problems", "runs", "seed")}
        runs.make_all(Parts(results, given.fresh, given.parts, any_code=given.any_code), **size)
    records = results.read()
    deliver_pictures(page(records), pictures(records), given.out)


if __name__ == "__main__":
    run_main(main)
