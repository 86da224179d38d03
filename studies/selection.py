"""Model selection: [Whiley1999] figures 4.1-4.5, 4.8, 4.9, 4.11, tables 4.1-4.4, 4.6, and [ZhangKocka2004] 3.1.

``python -m studies.selection`` makes what is not kept yet (``--parts "one latent"`` for one part) and keeps it in
``studies/results/selection.jsonl``; ``python -m studies.selection --table --out docs/reproduction/selection.md`` writes
the page of what is kept, and its pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import beta as beta_function

from . import selection_runs as runs
from .page import filled, markdown
from .parts import Answers, Parts, deliver_pictures, part_options
from .pictures import COLOURS, Line, Panel, Tiles, picture
from .results import Record, Results, run_main
from .selection_runs import CORRECTED, CRITERIA, PAIRS, SIZES, STATES, WEIGHTS, figure_1

__all__ = ["figure_1", "main", "page", "pictures"]

RESULTS = Path(__file__).parent / "results" / "selection.jsonl"
PAGE = "selection"

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
PRINTED_46 = {
    "naive Bayes": (*runs.PRINTED_A, 23.5),
    "amended naive Bayes": (*runs.PRINTED_B, 29.0),
    "logistic regression": (157, 3, 32, 8, 17.5),
    "latent classes": (140, 20, 26, 14, 23.0),
}
Choices = dict[str, list[list[str]]]

_HEAD = """# Selecting a model: [Whiley1999] chapter 4 and [ZhangKocka2004] 3.1 again

Made by `python -m studies.selection`, which keeps its results in `studies/results/selection.jsonl`, and
`python -m studies.selection --table --out docs/reproduction/selection.md`; {made}. The sources' data sets are
not published (W in the tables is [Whiley1999]): ours are drawn by the same recipe, so that counts can be compared and
single entries cannot. Scores are log-likelihood minus penalty, or estimates of log P(D | m); higher is better.

Laplace, Block, Diagonal and CS (MAP) are taken at the posterior mode in the softmax basis (Dirichlet 1), the others at
maximum likelihood; each is found from 64 starts of its own. Figure 4.6, the candidate method, is on
[the page of reversible jump](reversible-jump.md).
"""


def _image(name: str, about: str) -> str:
    return f"![{about}]({PAGE}-{name}.svg)\n"


# ---- figures 4.1 to 4.3: no data ------------------------------------------------------------------------------------


def _densities(kept: Answers) -> str:
    return f"""
## Figures 4.1 to 4.3: densities in two bases

Figure 4.1: Beta(1.3, 1.3) in the traditional basis and in the softmax basis, a = ln(p/(1-p)), each with the Gaussian at
its mode. In the first the Gaussian leaves [0, 1]; in the second it is close.

{_image("bases", "Beta(1.3, 1.3) and its Gaussian approximations in two bases")}
Figures 4.2 and 4.3, the priors used here, over two of three probabilities: Dirichlet(1.01, 1.01, 1.01), nearly flat,
and Dirichlet(1, 1, 1) over the logarithms of two ratios, far from flat. The darker, the lower.

{_image("priors", "Dirichlet priors of three states in two bases")}"""


def _draw_densities(kept: Answers) -> dict[str, str]:
    p = np.linspace(0.004, 0.996, 100)
    a = np.linspace(-6, 6, 100)
    area, top = float(beta_function(1.3, 1.3)), 0.25
    exact = [(float(x), float((x * (1 - x)) ** 0.3 / area)) for x in p]
    soft = [(float(x), float((1 / (2 + exp(x) + exp(-x))) ** 1.3 / area)) for x in a]
    wide = np.linspace(-1, 2, 100)
    own = [(float(x), top**0.3 / area * exp(-0.5 * 2.4 * (x - 0.5) ** 2)) for x in wide]
    near = [(float(x), top**1.3 / area * exp(-0.5 * 0.65 * x**2)) for x in a]
    told = ("density", "Laplace's Gaussian")
    bases = [
        Panel("traditional: p", [Line(exact, label=told[0]), Line(own, COLOURS[1], True, told[1])], y=(0, 1.4)),
        Panel("softmax: a", [Line(soft, label=told[0]), Line(near, COLOURS[1], True, told[1])]),
    ]
    steps = np.linspace(0.5, 14.5, 15)
    flat = [(x, y, 0.01 * log(x / 15 * y / 15 * (1 - (x + y) / 15))) for x in steps for y in steps if x + y < 14.9]
    ends = np.linspace(-8, 8, 17)
    peaked = [(x, y, exp(x / 2 + y / 2) / (1 + exp(x / 2) + exp(y / 2)) ** 3) for x in ends for y in ends]
    grids = [
        Panel("4.2: Dirichlet(1.01), 15 p1 and 15 p2", [Tiles(_floats((x, y, exp(v)) for x, y, v in flat))]),
        Panel("4.3: Dirichlet(1), 2 ln(p1/p3) and 2 ln(p2/p3)", [Tiles(_floats(peaked))]),
    ]
    size: Any = {"columns": 2, "width": 300, "height": 220}
    return {"bases": picture(bases, **size), "priors": picture(grids, **size)}


def _floats(values: Iterable[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    return [(float(x), float(y), float(v)) for x, y, v in values]


# ---- figures 4.4 and 4.5 --------------------------------------------------------------------------------------------


def _weight(kept: Answers) -> str:
    sets, rows = kept.size("weight")["sets"], []
    for weight in WEIGHTS:
        errors = kept.of("weight", weight=weight)["errors"]
        rows.append([f"{weight}", *(f"{np.mean(e):+.3f} ({np.abs(e).max():.3f})" for e in errors.values())])
    return f"""
## Figure 4.4: the basis of Laplace's approximation

Two classes, four binary variables whose probabilities are known, N = 100: the only parameter is the weight of a class.
Estimate less the exact log P(D | m), which is an integral over one number; mean (and largest size) of {sets} data sets.
The prior is Dirichlet(1.01) in the traditional basis and Dirichlet(1) in the other.

{markdown(["true weight", "traditional", "softmax"], rows)}
The source's figure shows no numbers: in the middle both are good, the traditional basis perhaps better; at the edge
both are too low, the traditional one more so. The table says the same. The posterior of the first data set of each
kind, and the Gaussian that stands for it:

{_image("weight", "posterior of a weight and its Gaussian approximations in two bases")}"""


def _draw_weight(kept: Answers) -> dict[str, str]:
    panels = []
    for basis, about in (("probability", "traditional"), ("softmax", "softmax")):
        for weight in WEIGHTS:
            x, exact, gauss = kept.of("weight", weight=weight)["curves"][basis]
            marks = [
                Line(list(zip(x, exact, strict=True)), label="posterior"),
                Line(list(zip(x, gauss, strict=True)), COLOURS[1], dashed=True, label="Laplace's Gaussian"),
            ]
            panels.append(Panel(f"{about}, true weight {weight:g}", marks))
    return {"weight": picture(panels)}


def _bases(kept: Answers) -> str:
    own = [r["answer"] for r in kept.all("bases")]
    means = {b: np.mean([a[b] for a in own], axis=0) for b in ("probability", "softmax")}
    names = {"probability": "traditional", "softmax": "softmax"}
    rows = [[names[b], *(f"{x:.1f}" for x in means[b])] for b in names]
    gaps = ", ".join(f"{x:+.1f}" for x in means["softmax"] - means["probability"])
    return f"""
## Figure 4.5: Laplace in both bases

Four classes, eight binary variables, N = 50; mean of {len(own)} data sets, not corrected for relabelling.

{markdown(["states", *map(str, STATES)], rows)}
Softmax less traditional: {gaps}. Whiley's figure shows the same: alike for few states, the traditional basis lower for
many. The first six data sets:

{_image("laplace-bases", "Laplace in both bases by the number of states")}"""


def _draw_bases(kept: Answers) -> dict[str, str]:
    panels = []
    for r in kept.all("bases")[:6]:
        marks = [
            Line(list(zip(STATES, r["answer"][basis], strict=True)), colour, label=name)
            for basis, name, colour in (("probability", "traditional", COLOURS[1]), ("softmax", "softmax", COLOURS[0]))
        ]
        panels.append(Panel(f"data set {r['which']['set'] + 1}", marks, x_label="states"))
    return {"laplace-bases": picture(panels)}


# ---- [Whiley1999] 4.8.5: aliasing -----------------------------------------------------------------------------------


def _coinciding(kept: Answers) -> str:
    own = [r["answer"] for r in kept.all("coinciding")]
    found = [a for a in own if a["relabellings"] < 5040]
    text = f"""
## Table 4.1: states that coincide

Seven states fitted to N = 100 rows of a four-class model: in {len(found)} of {len(own)} data sets some states coincide
at the posterior mode (softmax basis), as in Whiley's table, whose states 2 and 5 leave 7!/2! = 2520 relabellings.
"""
    if not found:
        return text
    names = ["weight", *(f"theta_{i}" for i in range(1, 9))]
    rows = [[name, *(f"{p:.3f}" for p in row)] for name, row in zip(names, found[0]["mode"], strict=True)]
    told = f"The first of them, with {found[0]['relabellings']} relabellings:\n\n"
    return text + told + markdown(["", *map(str, STATES)], rows)


# ---- [Whiley1999] 4.8.7 and 4.8.8: chosen numbers of states ---------------------------------------------------------


def _choices(kept: Answers, part: str, kind: str, criteria: Sequence[str]) -> Choices:
    """Of each criterion and each size, what was chosen in the data sets that all sizes have."""
    trials = min(len(kept.all(part, rows=n)) for n in SIZES)
    own = {n: [r["answer"][kind] for r in kept.all(part, rows=n)[:trials]] for n in SIZES}
    return {c: [[a[c] for a in own[n]] for n in SIZES] for c in criteria}


def _one_latent(kept: Answers) -> str:
    theirs = {name: [list(part) for part in row.split()] for name, row in TABLE_4_2.items()}
    ours = _choices(kept, "one latent", "chosen", CRITERIA)
    corrected = _choices(kept, "one latent", "corrected", CORRECTED)
    return f"""
## Table 4.2, figures 4.8 and 4.9: one latent variable with four states

{len(ours["BIC"][0])} data sets of each size (W: 5). Number of states chosen among 1 to 7, and in how many data sets:
`2 x5` means two states five times. ({kept.made("one latent")}.)

{_compared(theirs, ours, corrected)}
How criteria compare, Whiley's data sets first, then ours:

{_versus(theirs, ours)}
AIC and BIC stand to Laplace as in [Whiley1999]. **CS does not reproduce:** Whiley's takes one or two states in
{_times(theirs, ("1", "2"), "CS")} of {_number(theirs, "CS")} cases and never more than BIC; ours, by the formula
printed there, takes fewer than BIC in {_against(ours, "CS (MAP)", "BIC")[0]} cases at the posterior mode and in
{_against(ours, "CS (ML)", "BIC")[0]} at maximum likelihood. **ICL does not reproduce** either: Whiley's mostly takes
more states than BIC, ours (with d as in the errata to [Whiley1999] 4.15) mostly as many or fewer. What was computed
instead is not known.

Figures 4.8 and 4.9 show all criteria on data sets with N = 400. Block and Diagonal lie on Laplace, as in the source;
BIC lies below and falls off, Draper between, AIC above. CS does not lie far below, as it does there.

{_image("one-latent", "all criteria by the number of states")}"""


def _draw_one_latent(kept: Answers) -> dict[str, str]:
    panels = []
    for r in kept.all("one latent", rows=SIZES[-1])[: runs.SHOWN]:
        scores = r["answer"]["scores"]
        low = min(v for c in ("Laplace", "BIC", "CS (ML)") for v in scores[c] if v is not None)
        marks = [
            Line([(k, np.nan if v is None else v) for k, v in zip(STATES, scores[c], strict=True)], colour, label=c)
            for c, colour in zip(CRITERIA, COLOURS, strict=True)
        ]
        top = max(v for own in scores.values() for v in own if v is not None)
        panels.append(Panel(f"data set {r['which']['trial'] + 1}", marks, y=(low - 2, top + 2), x_label="states"))
    return {"one-latent": picture(panels, columns=2, width=340, height=260)}


def _two_latents(kept: Answers) -> str:
    theirs = {name: [part.split() for part in row.split("|")] for name, row in TABLE_4_3.items()}
    ours = _choices(kept, "two latents", "chosen", CRITERIA)
    corrected = _choices(kept, "two latents", "corrected", CORRECTED)
    unreduced = _choices(kept, "two latents", "unreduced", CORRECTED)
    trials = len(ours["BIC"][0])
    return f"""
## Tables 4.3 and 4.4, figure 4.11: two independent latent variables with three states each

{trials} data sets of each size (W: 5). Chosen among {", ".join(f"({a},{b})" for a, b in PAIRS)}; `13 x2` means (1,3)
twice. ({kept.made("two latents")}.)

{_compared(theirs, ours, corrected)}
Of all {_number(ours)} choices, (3,3), which is true, is made {_times(ours, ("33",))} times (W: none of
{_number(theirs)}), two latents of any size {_times(ours, TWO)} times (W: {_times(theirs, TWO)}). CS takes (1,1) in
{_times(ours, ("11",), "CS")} of {_number(ours, "CS")} cases, Whiley's in {_times(theirs, ("11",), "CS")} of
{_number(theirs, "CS")}: that does not reproduce.

**(1,7) at N = 50.** Whiley's Laplace takes it four times in five. Ours takes it {_seven(ours)} times in {trials}, and
with relabellings counted rightly {_seven(corrected)} times. It appears if ln k! is added without the reduction for
states that coincide, which of seven states some mostly do: then {_seven(unreduced)} times in {trials}. Choices that
are at least as frequent then: {_commonest(unreduced["Laplace"][0])}. So a full ln k! explains (1,7), and not that it is
taken four times in five.

Figure 4.11, the first data set with N = 400; the lighter, the better, and a ring around the best:

{_image("two-latents", "all criteria by the numbers of states of two latents")}"""


def _seven(chosen: Choices) -> int:
    """How often Laplace takes (1,7) at N = 50."""
    return chosen["Laplace"][0].count("17")


def _commonest(chosen: Sequence[str]) -> str:
    """What is chosen more often than (1,7), with how often."""
    counts = Counter(chosen)
    more = [(what, n) for what, n in counts.most_common() if n >= counts["17"] and what != "17"]
    return ", ".join(f"({what[0]},{what[1]}) {n} times" for what, n in more) or "none"


def _draw_two_latents(kept: Answers) -> dict[str, str]:
    first = kept.all("two latents", rows=SIZES[-1])[0]["answer"]["scores"]
    panels = []
    for criterion in CRITERIA:
        tiles = [(a, b, v) for (a, b), v in zip(PAIRS, first[criterion], strict=True) if v is not None]
        best = max(tiles, key=lambda tile: tile[2])
        marks = [Tiles([(float(a), float(b), v) for a, b, v in tiles], ringed=(best[0], best[1]))]
        panels.append(Panel(criterion, marks, (0.5, 3.5), (0.5, 7.5), "states of one", "of the other"))
    return {"two-latents": picture(panels, columns=3, width=180, height=170)}


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


def _compared(theirs: Choices, ours: Choices, corrected: Choices) -> str:
    rows = []
    for name in CRITERIA:
        rows.append([name, "W", *map(_counted, theirs[name])])
        rows.append(["", "ours", *map(_counted, ours[name])])
        if name in corrected:
            rows.append(["", "ours, relabelling corrected", *map(_counted, corrected[name])])
    return markdown(["criterion", "", *(f"N = {n}" for n in SIZES)], rows)


def _counted(chosen: Sequence[str]) -> str:
    return ", ".join(f"{what} x{n}" for what, n in sorted(Counter(chosen).items()))


# ---- [Whiley1999] 4.10: intensive care ------------------------------------------------------------------------------


def _icu(kept: Answers) -> str:
    own, starts = kept.of("icu"), kept.size("icu")["starts"]
    scores = own["scores"]
    best = {name: 1 + int(np.argmax(scores[name])) for name in CRITERIA}
    theirs = {name: 5 if name == "AIC" else 1 if name.startswith("CS") else 2 for name in CRITERIA}
    rows = [[name, str(theirs[name]), str(best[name]), *(f"{v:.1f}" for v in scores[name])] for name in CRITERIA]
    lines = []
    for name, cells in own["tables"].items():
        lines.append([name, "W", *map(str, PRINTED_46[name])])
        lines.append(["", "ours", *map(str, cells), f"{100 * (cells[1] + cells[2]) / sum(cells):.1f}"])
    differ = ", ".join(
        f"{c} {best[c]} (by {scores[c][best[c] - 1] - scores[c][theirs[c] - 1]:.1f} over Whiley's {theirs[c]})"
        for c in CRITERIA
        if best[c] != theirs[c]
    )
    maxima = [[f"{ll:.1f}", str(n), f"{a} + {b}", f"{wrong:.1f}"] for ll, n, (a, b), wrong in own["maxima"]]
    head = ["method", "", "lived, said so", "lived, said dies", "died, said lives", "died, said so", "wrong %"]
    return f"""
## Intensive care ([Whiley1999] 4.10, table 4.6)

Number of classes chosen among 1 to 6 for 200 patients and 14 binary variables, and the scores.

{markdown(["criterion", "W chose", "ours", *(f"k = {k}" for k in range(1, 7))], rows)}
Who dies, by three classifiers that were trained on the outcome and by the two classes, which were not:

{markdown(head, lines)}
Logistic regression gives Whiley's table to the digit, so the data are the same. The two classes are those of the
highest likelihood (BIC {scores["BIC"][1]:.1f}) and do not follow the outcome. Whiley's 166 and 34 patients are
{"" if any(a == 166 for _, _, (a, _), _ in own["maxima"]) else "not "}among the maxima of the likelihood that {starts}
starts of EM end in:

{markdown(["log-likelihood", "starts", "patients in the classes", "wrong %"], maxima)}
Where Whiley's classes come from is not known.

Numbers of classes that differ from Whiley's: {differ}.
"""


def _icu_variants(kept: Answers) -> str:
    own = kept.of("icu variants")
    return f"""
**Whiley's two naive Bayes tables remain open.** The formula printed for them has the factors of findings that are
present, and none for those that are absent. All 3^14 = {own["variants"]:,} variants in which each of the 14 variables
has both factors, only that of a finding, or none were tried: {own["a"]:,} give table 4.6a, {own["b"]:,} give table
4.6b, and {own["both"]:,} give both.
"""


# ---- [ZhangKocka2004] 3.1 -------------------------------------------------------------------------------------------


def _effective(kept: Answers) -> str:
    own = kept.all("effective dimension")
    by_bic = sum(r["answer"]["bic"][1] > r["answer"]["bic"][0] for r in own)
    by_bice = sum(r["answer"]["bice"][0] > r["answer"]["bice"][1] for r in own)
    rows = [
        [str(r["which"]["set"] + 1), *(f"{v:.1f}" for name in ("ll", "bic", "bice") for v in r["answer"][name])]
        for r in own
    ]
    return f"""
## [ZhangKocka2004] 3.1: BIC and BICe on data from M1

{kept.size("effective dimension")["rows"]:,} rows from M1 with random parameters; ds(M1) = 45, ds(M2) = 44, de(M1) = 43,
de(M2) = 44. The source says that BIC prefers M2 and BICe M1 (one data set). Ours: BIC prefers M2 in {by_bic} of
{len(own)} data sets, BICe M1 in {by_bice}.

{markdown(["data", "LL M1", "LL M2", "BIC M1", "BIC M2", "BICe M1", "BICe M2"], rows)}"""


# ---- the page -------------------------------------------------------------------------------------------------------

SECTIONS: dict[str, tuple[Any, Any]] = {
    "weight": (_weight, _draw_weight),
    "bases": (_bases, _draw_bases),
    "coinciding": (_coinciding, None),
    "one latent": (_one_latent, _draw_one_latent),
    "two latents": (_two_latents, _draw_two_latents),
    "icu": (_icu, None),
    "icu variants": (_icu_variants, None),
    "effective dimension": (_effective, None),
}


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    kept = Answers(list(records))
    sections = [_densities, *(text for part, (text, _) in SECTIONS.items() if kept.has(part))]
    return filled(_HEAD.format(made=kept.made()) + "".join(text(kept) for text in sections))


def pictures(records: Iterable[Record]) -> dict[str, str]:
    """The page's pictures by the names of their files."""
    kept = Answers(list(records))
    draws = [_draw_densities, *(draw for part, (_, draw) in SECTIONS.items() if draw and kept.has(part))]
    return {f"{PAGE}-{name}.svg": svg for draw in draws for name, svg in draw(kept).items()}


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = part_options("selection", __doc__ or "", RESULTS, runs.PARTS)
    parser.add_argument("--trials", type=int, default=100, help="data sets for each size; the source has 5")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        runs.make_all(
            Parts(results, given.fresh, given.parts, any_code=given.any_code), trials=given.trials, seed=given.seed
        )
    records = results.read()
    deliver_pictures(page(records), pictures(records), given.out)


if __name__ == "__main__":
    run_main(main)
