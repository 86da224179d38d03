"""Which number of classes do rows held out choose, and what does the choice cost? Simulated tables, BIC beside.

``python -m studies.calibration`` simulates and fits what is not kept yet (``--tables 0-49`` for a part) and keeps it in
``studies/results/calibration.jsonl``; ``python -m studies.calibration --table --out docs/reproduction/calibration.md``
writes the page of what is kept.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

import latentree as lt
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.estimation._smoothing import smoothed_classes
from latentree.infer import log_likelihood_rows, sample_table

from .page import deliver, markdown
from .results import Results, code_version, numbers, run_main, say

__all__ = ["main", "page", "simulated"]

RESULTS = Path(__file__).parent / "results" / "calibration.jsonl"
SEPARATIONS = (0.6, 0.7, 0.85)
"""How probable the answer is that a class gives most, of three."""
TABLES, ROWS, FRESH, VARIABLES = 200, 1000, 5000, 8
MOST = 6
"""Numbers of classes that are compared: 1 to this."""
Record = Mapping[str, Any]


def simulated(separation: float, number: int) -> tuple[int, Table, Table]:
    """How many classes (2 to 4, in turn), a table of theirs, and fresh rows.

    A class has sizes drawn around equal ones, and an answer that it gives most to each of the questions, drawn at
    random; the two other answers are equally probable.

    Examples
    --------
    >>> classes, table, fresh = simulated(0.7, 1)
    >>> classes, table.n, fresh.n
    (3, 1000.0, 5000.0)
    """
    rng = np.random.default_rng([round(100 * separation), number])
    k = 2 + number % 3
    main = rng.integers(3, size=(VARIABLES, k))
    tables = np.full((VARIABLES, k, 3), (1 - separation) / 2)
    np.put_along_axis(tables, main[:, :, None], separation, axis=2)
    tree = Tree.star(k, [3] * VARIABLES)
    model = Model(tree, numbered([3] * VARIABLES), np.r_[rng.dirichlet(np.full(k, 10.0)), tables.ravel()])
    return k, sample_table(model, ROWS, rng), sample_table(model, FRESH, rng)


def measured(separation: float, number: int) -> dict[str, Any]:
    """Choices by cross-validation and by BIC, and the log loss of fresh rows under each number of classes."""
    k, table, fresh = simulated(separation, number)
    fits = [lt.fit_classes(table, j, rng=np.random.default_rng(j), n_init=16) for j in range(1, MOST + 1)]
    known = [lt.score.cross_validated(fit) for fit in fits]
    top = max(known, key=lambda own: own.value)
    near = [own is top or top.difference(own)[0] <= top.difference(own)[1] for own in known]
    rows = [log_likelihood_rows(smoothed_classes(fit)[0].model, fresh) for fit in fits]
    return {
        "separation": separation,
        "table": number,
        **code_version(),
        "classes": k,
        "cv": 1 + near.index(True),
        "cv_top": 1 + known.index(top),
        "bic": 1 + int(np.argmax([lt.score.bic(fit) for fit in fits])),
        "loss": [float(-own.mean()) for own in rows],
        "error": [float(own.std(ddof=1) / math.sqrt(len(own))) for own in rows],
    }


# ---- the page -------------------------------------------------------------------------------------------------------

_HEAD = f"""# The number of classes by rows held out

Of each of three separations {TABLES} tables of {ROWS:,} rows are simulated: {VARIABLES} questions with three answers;
two, three or four classes in turn, each of which gives one answer with the probability that the table names and the two
others alike. Models of 1 to {MOST} classes are fitted, and one is chosen: by five-fold cross-validation with the
one-standard-error rule (`--score cv`), by its maximum alone, or by BIC. *Log loss* is the mean of -log P(row) over
{FRESH:,} fresh rows under the chosen model, its prior chosen on its own rows; *best choice* is the number of classes
with the least loss on the fresh rows, which nobody can know. The standard error is that of one table's loss under the
best choice, and *within* counts tables whose loss is above the best choice's by no more.

Made by `python -m studies.calibration` (results are kept in `studies/results/calibration.jsonl`) and
`python -m studies.calibration --table --out docs/reproduction/calibration.md`"""

CHOICES = {"cv": "cross-validation", "cv_top": "its maximum", "bic": "BIC"}


def page(records: Iterable[Record]) -> str:
    """Write the page of kept results; every figure on it is theirs."""
    last = list({(r["separation"], r["table"]): r for r in records}.values())
    code = ", ".join(sorted({f"{r['date']} ({r['commit']})" for r in last}))
    groups = {f"{s:g}": [r for r in last if r["separation"] == s] for s in SEPARATIONS} | {"all": last}
    groups = {name: own for name, own in groups.items() if own}
    found = [
        [name, f"{len(own)}", *(f"{sum(r[c] == r['classes'] for r in own)}" for c in CHOICES), f"{_sign_test(own):.2g}"]
        for name, own in groups.items()
    ]
    losses = [
        [
            name,
            *(f"{np.mean([_loss(r, c) for r in own]):.4f}" for c in (*CHOICES, "best")),
            f"{np.mean([r['error'][_best(r)] for r in own]):.4f}",
            f"{np.mean([_loss(r, 'cv') - _loss(r, 'best') for r in own]):.4f}",
            f"{sum(_within(r, 'cv') for r in own)} of {len(own)}",
            f"{sum(_within(r, 'bic') for r in own)} of {len(own)}",
        ]
        for name, own in groups.items()
    ]
    head = ["separation", "tables", *(f"right by {label}" for label in CHOICES.values()), "p"]
    costs = ["separation", *CHOICES.values(), "best choice", "standard error", "cross-validation above best"]
    costs += ["within, cross-validation", "within, BIC"]
    return f"""{_HEAD}; code of {code}.

## How often the generating number is chosen

*p* is that of the sign test of cross-validation against BIC, on the tables in which one of them is right.

{markdown(head, found)}
## What the choice costs

{markdown(costs, losses)}"""


def _best(record: Record) -> int:
    return int(np.argmin(record["loss"]))


def _loss(record: Record, choice: str) -> float:
    return float(record["loss"][_best(record) if choice == "best" else record[choice] - 1])


def _within(record: Record, choice: str) -> bool:
    return _loss(record, choice) - _loss(record, "best") <= record["error"][_best(record)]


def _sign_test(own: Sequence[Record]) -> float:
    """Two-sided sign test of the tables in which one choice is right and the other is not."""
    right = [(r["cv"] == r["classes"], r["bic"] == r["classes"]) for r in own]
    one, other = sum(a and not b for a, b in right), sum(b and not a for a, b in right)
    return float(binomtest(one, one + other).pvalue) if one + other else 1.0


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.calibration", description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=numbers, default=list(range(TABLES)), help=f"default 0-{TABLES - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help=f"default {RESULTS.name}")
    parser.add_argument("--table", action="store_true", help="fit nothing, only write the page of what is kept")
    parser.add_argument("--out", metavar="FILE", help="where to write the page; without it, the page is printed")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if not given.table:
        code = code_version()["code"]
        done = {(r["separation"], r["table"]) for r in results.read() if r["code"] == code}
        for number in given.tables:
            for separation in SEPARATIONS:
                if (separation, number) not in done:
                    results.add(measured(separation, number))
            say(f"table {number}")
    deliver(page(results.read()), given.out)


if __name__ == "__main__":
    run_main(main)
