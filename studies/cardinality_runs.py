"""Runs of the learners of [Karciauskas2005] chapters 4, 6 and 7, each with its score, states, time and trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentree import datasets
from latentree._model import Model
from latentree._table import Table
from latentree._trace import Step
from latentree._tree import Tree
from latentree._variables import Variable, numbered
from latentree.cardinality import learn
from latentree.estimation import restart_em
from latentree.infer import sample_table
from latentree.runner import Budget, Clock
from latentree.score import cs

from .cardinality_published import COMPONENTS, LARGE, PARAMETERISATIONS, REAL, SYNTHETIC, TEXTS, TREES
from .cardinality_shown import Run, score_at, significantly
from .parts import Answers, Parts

__all__ = [
    "BASELINES",
    "DETERMINISTIC",
    "LIMITS",
    "PARTS",
    "Asked",
    "drawn",
    "make_all",
    "second_condition",
    "widths_of",
]

PARTS = ("trees", "twelve", "synthetic", "real", "texts", "anytime", "coil", "misleading")
LIMITS = {"trees": 600.0, "twelve": 600.0, "synthetic": 60.0, "real": 600.0, "coil": 600.0}
"""Most processor seconds of a run; [Karciauskas2005] has none for trees, 10 hours for synthetic data, 5 for real."""
SEARCHED = 20.0
"""Processor seconds of the search for COIL's skeleton."""
MODELS = 20
"""Random models with 12 leaves beside that of table 7.3."""
LEAST = 0.5
"""Least limit of StandardFixed, which has the mean time of SplitMerge."""
SHORTEST, LONGEST = 0.25, 16.0
"""Processor seconds of Standard, Splitting and StandardFixed in chapter 4, whose end is a rule about scores.

The longest is not part of a result's size: a longer one changes only data sets on which the rule was not met.
"""
FEWER_STARTS = "Standard3, 16 starts"
"""Standard3 with a quarter of its starts (6.3.4), on all data sets."""
BASELINES: dict[str, dict[str, Any]] = {
    FEWER_STARTS: {"method": "Standard3", "n_init": 16},
    "IntroduceRemove, rows": {"method": "IntroduceRemove", "options": {"new": "rows"}},
    "FigueiredoJain": {"method": "FigueiredoJain"},
}
DETERMINISTIC: dict[str, dict[str, Any]] = {
    "IntroduceRemove": {"method": "IntroduceRemove"},
    "BlekasLikas": {"method": "BlekasLikas"},
    "ElidanFriedman": {"method": "ElidanFriedman"},
}
"""Learners beside those of table 6.13: three runs, or one where nothing is left to chance."""
K4: dict[str, Any] = {"p": 0.1, "n_splits": 1, "prior": 1.0, "basis": "softmax", "polish": None}
"""Settings of [Karciauskas2005] 4.5.2."""


@dataclass(frozen=True)
class Asked:
    """What to make.

    Attributes
    ----------
    parts : Parts
        Makes and keeps.
    seed : int
        Seed of all random numbers.
    runs, large_runs : int
        Runs of a learner on one data set; on the large real ones.
    folder : path or None
        Where data sets are that do not come with latentree; without it their parts are left out.
    sets : sequence of str
        The real and text data sets; none means all.
    """

    parts: Parts
    seed: int = 0
    runs: int = 10
    large_runs: int = 3
    folder: Path | None = None
    sets: Sequence[str] = ()

    def learner(
        self, part: str, case: Mapping[str, Any], name: str, runs: int, table: Callable[[], Table], **options: Any
    ) -> None:
        """Run a learner several times on one data set; what is kept is not made again."""
        limit = options.pop("limit", LIMITS[part])
        for number in range(runs):
            self.parts.make(
                part,
                {**case, "learner": name, "run": number},
                {"limit": LIMITS[part], "seed": self.seed},
                lambda number=number: run(table(), [self.seed, number], limit, **options),  # type: ignore[misc]
            )

    def kept(self, part: str, **which: Any) -> list[Run]:
        """The runs that are kept."""
        return [r["answer"] for r in Answers(self.parts.results.read()).all(part, **which)]

    def wanted(self, name: str) -> bool:
        """Whether a data set was asked for."""
        return not self.sets or name in self.sets


def make_all(asked: Asked) -> None:
    """Make every part that is not kept."""
    makers = (_trees, _twelve, _synthetic, _real, _texts, _anytime, _coil, _misleading)
    for part, make in zip(PARTS, makers, strict=True):
        if not asked.parts.only or part in asked.parts.only:
            make(asked)


# ---- one run --------------------------------------------------------------------------------------------------------


class ProcessorClock(Clock):
    """A clock that counts the work done, whatever else the machine does."""

    @property
    def elapsed(self) -> float:
        """Processor seconds since the start."""
        return time.process_time() - self.started


def run(table: Table, seed: Sequence[int], limit: float, *, truth: Model | None = None, **options: Any) -> Run:
    """Run a learner; with the model that the data come from, also say how far from it the result is."""
    began, steps = time.process_time(), []

    def record(step: Step) -> None:
        steps.append([round(time.process_time() - began, 3), step.score, step.operation, sum(step.states.values())])

    clock = ProcessorClock(Budget(seconds=limit if np.isfinite(limit) else None), began)
    found = learn(table, rng=np.random.default_rng(list(seed)), budget=clock, on_step=record, **options)
    answer = {
        "score": found.score,
        "log_likelihood": found.fit.log_likelihood,
        "states": found.cardinality,
        "seconds": round(time.process_time() - began, 3),
        "limit": round(limit, 3) if np.isfinite(limit) else None,
        "ended": found.reason.complete,
        "trace": list(_bends(steps)),
    }
    return answer if truth is None else {**answer, "divergence": _divergence(truth, found.fit.model)}


def _bends(steps: Sequence[list[Any]]) -> Iterator[list[Any]]:
    """The steps that improved the score or began another operation, and the last."""
    before: list[Any] = [0.0, -np.inf, "", 0]
    for i, step in enumerate(steps):
        if step[1] > before[1] or step[2] != before[2] or i == len(steps) - 1:
            yield step
        before = step


def _divergence(truth: Model, model: Model) -> float | None:
    """Kullback-Leibler divergence of a latent class model from the one that the data come from, over all patterns.

    None where it is infinite: the model has a probability of zero for a pattern that is possible.
    """
    patterns = _patterns([int(k) for k in truth.tree.cardinality[truth.tree.manifest]])
    p, q = _probabilities(truth, patterns), _probabilities(model, patterns)
    return float(p @ np.log(p / q)) if q.all() else None


def _k_learners(
    asked: Asked,
    part: str,
    case: Mapping[str, Any],
    runs: int,
    table: Callable[[], Table],
    *,
    names: tuple[str, str, str] = ("Standard3", "SplitMerge", "StandardFixed"),
    fixed: Callable[[Run], dict[str, Any]] | None = None,
    **options: Any,
) -> None:
    """The learners of a table: the third has the states of the second's best run, and the mean of its times."""
    own: dict[str, Any] = {"polish": None, **options}
    for name in names[:2]:
        asked.learner(part, case, name, runs, table, method=name, **own)
    known = asked.kept(part, **case, learner=names[1])
    if known:
        best = max(known, key=lambda own: own["score"])
        seconds = max(float(np.mean([r["seconds"] for r in known])), LEAST)
        given = fixed(best) if fixed else {"options": {"n_states": sum(best["states"].values())}}
        asked.learner(part, case, names[2], runs, table, method=names[2], **{**own, **given, "limit": seconds})


# ---- trees ([Karciauskas2005] 7.3) ----------------------------------------------------------------------------------


def _trees(asked: Asked) -> None:
    for which, sizes in TREES.items():
        truth = tree_truth(which, asked.seed)
        skeleton = truth.tree
        for rows in sizes:
            table = _once(partial(sample_table, truth, rows, np.random.default_rng([asked.seed, rows])))
            case, runs = {"model": which, "rows": rows}, min(asked.runs, 2 if which == "18" else 5)
            _k_learners(
                asked,
                "trees",
                case,
                runs,
                table,
                names=("HLCStandard3", "HLCSplitMerge", "HLCStandardFixed"),
                fixed=partial(_fixed_states, skeleton),
                skeleton=skeleton,
            )
            local: dict[str, Any] = {"method": "HLCSplitMerge", "local": True, "polish": None, "skeleton": skeleton}
            asked.learner("trees", case, "HLCSplitMerge, local", runs, table, **local)
            asked.learner("trees", case, "screened", runs, table, method="screened", skeleton=skeleton)


def _twelve(asked: Asked) -> None:
    """Other parameters of the model with 12 leaves: which numbers of states they lead to."""
    for number in range(MODELS):
        made = datasets.generator("d12")
        truth = _conditioned(made.tree, made.variables, np.random.default_rng([asked.seed, 12, number]))
        table = _once(partial(sample_table, truth, 10**4, np.random.default_rng([asked.seed, 10**4, number])))
        for name in ("HLCStandard3", "HLCSplitMerge"):
            own: dict[str, Any] = {"method": name, "polish": None, "skeleton": made.tree}
            asked.learner("twelve", {"model": number}, name, min(asked.runs, 1), table, **own)


def _fixed_states(skeleton: Tree, best: Run) -> dict[str, Any]:
    for name, k in best["states"].items():
        skeleton = skeleton.with_cardinality(name, k)
    return {"skeleton": skeleton}


def tree_truth(which: str, seed: int) -> Model:
    """A random model of figures 7.1 to 7.3: "first" uniform, the others with both conditions of 7.3.1."""
    leaves, _, second = which.partition(", ")
    made = datasets.generator(f"d{leaves}")
    rng = np.random.default_rng([seed, int(leaves), len(which)])
    if second == "first":
        return Model.random(made.tree, made.variables, rng)
    return _conditioned(made.tree, made.variables, rng)


def _conditioned(tree: Tree, variables: Sequence[Variable], rng: np.random.Generator) -> Model:
    """Tables with an element of at least 0.6 in every row, drawn again until they meet the second condition."""
    tables: dict[str, Any] = {}
    while len(tables) < tree.n_nodes:
        model = Model.random(tree, variables, rng, dominant=0.6)
        for name in tree.names:
            if name not in tables and second_condition(model.table(name)):
                tables[name] = model.table(name)
    return Model.from_tables(tree, variables, tables)


def second_condition(table: NDArray[np.float64]) -> bool:
    """Whether a parent's states do not all have their largest elements at the same state of the child (7.3.1).

    The source says it of the child's states: their largest elements do not all belong to one state of the parent. Of
    rows that sum to one that holds always, since no row can be above another everywhere. [Zhang2004] 5.1, from which
    the source takes it, has it as here.
    """
    return len(table) == 1 or len(set(table.argmax(axis=1).tolist())) > 1


# ---- synthetic data ([Karciauskas2005] 6.3.2) -----------------------------------------------------------------------


def synthetic_cases() -> list[tuple[str, int, int]]:
    """Structure, rows and number of the parameters of all lines of tables 6.1 to 6.11, those of few patterns first."""
    cases = [(structure, rows, 0) for structure, sizes in SYNTHETIC.items() for rows in sizes]
    cases += [(s, n, i) for (s, n), lines in PARAMETERISATIONS.items() for i in range(1, len(lines))]
    cases += [(f"{m}:10x2", 10**6, 9) for m in COMPONENTS]
    return sorted(cases, key=lambda case: min(np.prod(widths_of(case[0]), dtype=float), case[1]))


def _synthetic(asked: Asked) -> None:
    """K's learners on all cases, then ours, which takes longer where there are very many rows."""
    runs = min(asked.runs, 5)
    for structure, rows, number in synthetic_cases():
        case = {"structure": structure, "rows": rows, "parameters": number}
        more, table = _with_truth(structure, rows, number, asked.seed)
        _k_learners(asked, "synthetic", case, runs, table, **more)
        known, fixed = (asked.kept("synthetic", **case, learner=m) for m in ("SplitMerge", "StandardFixed"))
        if not known or not fixed:
            continue
        found, true = fixed[0]["states"]["z"], int(structure.partition(":")[0])
        if found != true and true <= rows:  # 6.3.4
            own: dict[str, Any] = {"method": "StandardFixed", "polish": None, "limit": fixed[0]["limit"], **more}
            asked.learner("synthetic", case, "StandardFixed, true", runs, table, options={"n_states": true}, **own)
    for structure, rows, number in synthetic_cases():
        case = {"structure": structure, "rows": rows, "parameters": number}
        more, table = _with_truth(structure, rows, number, asked.seed)
        asked.learner("synthetic", case, "screened", min(runs, 1), table, method="screened", **more)


def _with_truth(structure: str, rows: int, number: int, seed: int) -> tuple[dict[str, Any], Callable[[], Table]]:
    """The model that a case's data come from, if its patterns can be listed, and the data."""
    truth, table = drawn(structure, rows, number, seed)
    few = np.prod(widths_of(structure), dtype=float) <= 10**5
    return ({"truth": truth} if few else {}), table


def widths_of(structure: str) -> list[int]:
    """States of the leaves, of Karciauskas' notation.

    Examples
    --------
    >>> widths_of("10:3x2"), widths_of("10:2,3")
    ([2, 2, 2], [2, 3])
    """
    leaves = structure.partition(":")[2]
    count, _, width = leaves.partition("x")
    return [int(width)] * int(count) if width else [int(w) for w in leaves.split(",")]


def drawn(structure: str, n: int, parameters: int, seed: int) -> tuple[Model, Callable[[], Table]]:
    """A random model, and a table of it: pattern by pattern if there are few, so that its size costs nothing."""
    states, widths = int(structure.partition(":")[0]), widths_of(structure)
    rng = np.random.default_rng([seed, states, *widths, parameters])
    model = Model.random(Tree.star(states, widths), numbered(widths), rng)
    return model, _once(partial(_table, model, n, rng))


def _table(model: Model, n: int, rng: np.random.Generator) -> Table:
    widths = [int(k) for k in model.tree.cardinality[1:]]
    if np.prod(widths, dtype=float) > 10**5:
        return sample_table(model, n, rng)
    patterns = _patterns(widths)
    share = _probabilities(model, patterns)
    weights = rng.multinomial(n, share / share.sum()).astype(np.float64)
    return Table.from_codes(patterns[weights > 0], numbered(widths), weights[weights > 0])


def _patterns(widths: Sequence[int]) -> NDArray[np.int64]:
    return np.array(list(product(*map(range, widths))))


def _probabilities(model: Model, patterns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of patterns, by a latent class model."""
    joint = np.repeat(model.table(0).T, len(patterns), axis=1)
    for v in range(1, model.tree.n_nodes):
        joint *= model.table(v)[:, patterns[:, v - 1]]
    out: NDArray[np.float64] = joint.sum(axis=0)
    return out


def _once(make: Callable[[], Table]) -> Callable[[], Table]:
    """Make a table when it is first asked for."""
    made: list[Table] = []

    def table() -> Table:
        if not made:
            made.append(make())
        return made[0]

    return table


# ---- real data ([Karciauskas2005] 6.3.3) ----------------------------------------------------------------------------


def _real(asked: Asked) -> None:
    names = list(filter(asked.wanted, sorted(REAL, key=lambda name: name in LARGE)))
    tables = {name: _once(partial(datasets.load, name, data_dir=asked.folder)) for name in names}
    for name, table in tables.items():
        _k_learners(asked, "real", {"data": name}, asked.large_runs if name in LARGE else asked.runs, table)
    for name, table in tables.items():
        once, few = min(asked.runs, 1), min(asked.runs, 3)
        runs = asked.large_runs if name in LARGE else asked.runs
        asked.learner("real", {"data": name}, FEWER_STARTS, runs, table, polish=None, **BASELINES[FEWER_STARTS])
        for learner, own in ({} if name in LARGE else BASELINES).items():
            asked.learner("real", {"data": name}, learner, few, table, polish=None, **own)
        for learner, own in ({} if name in LARGE else DETERMINISTIC).items():
            asked.learner("real", {"data": name}, learner, once, table, polish=None, **own)
        asked.learner("real", {"data": name}, "screened", once if name in LARGE else few, table, method="screened")


# ---- text data ([Karciauskas2005] appendix A) -----------------------------------------------------------------------


def _texts(asked: Asked) -> None:
    """The words of the text data, and what other readings of appendix A come to."""
    from .reuters import READINGS, described

    if asked.folder is None:
        return
    size = {"seed": asked.seed}
    for reading in READINGS:
        asked.parts.make(
            "texts", {"reading": reading}, size, partial(_read, asked.folder, reading, asked.seed, described)
        )


def _read(folder: Path, reading: str, seed: int, described: Callable[[Path, str], Any]) -> dict[str, Any]:
    """A reading of appendix A: its words, and the scores that our learner comes to."""
    told, tables = described(folder, reading)
    found = {name: run(table, [seed, 0], np.inf, **OURS) for name, table in tables.items()}
    return {**told, "found": {name: [r["score"], sum(r["states"].values())] for name, r in found.items()}}


# ---- Cheeseman-Stutz scores ([Karciauskas2005] 4.5) -----------------------------------------------------------------


def _cs_as_it_stands(fit: Any) -> float:
    """The score at the posterior mode that EM has found ([Karciauskas2005] 4.5.2)."""
    return cs(fit, at="given")


OURS: dict[str, Any] = {
    **{**K4, "p": 0.001, "n_splits": 16, "polish": {}},
    **{"method": "screened", "score": _cs_as_it_stands},
}
"""Our learner with its own constants, and the score of chapter 4."""


def _anytime(asked: Asked) -> None:
    from .reuters import text_table

    for name in filter(asked.wanted, TEXTS):
        if name in datasets.names():
            load = partial(datasets.load, name)
        elif asked.folder is None:
            continue
        else:
            load = partial(text_table, name, asked.folder)
        size: dict[str, Any] = {"runs": min(asked.runs, 5), "shortest": SHORTEST, "seed": asked.seed}
        asked.parts.make("anytime", {"data": name}, size, partial(_raced, load, **size, longest=LONGEST))


def _raced(load: Callable[[], Table], *, runs: int, shortest: float, longest: float, seed: int) -> dict[str, Any]:
    """Standard until its mean score stops to increase fast; Splitting and StandardFixed for the same time; ours."""
    table = load()

    def several(learner: str, limit: float, **more: Any) -> list[Run]:
        own = {"method": learner, "score": _cs_as_it_stands, **K4, **more}
        return [run(table, [seed, number], limit, **own) for number in range(runs)]

    limit, before = shortest, 1.0
    while True:
        found = {"Standard": several("Standard", limit)}
        rate = slowing([r["trace"] for r in found["Standard"]], limit)
        if max(rate, before) < 0.1 or limit >= longest:
            break
        limit, before = 2 * limit, rate
    found["Splitting"] = several("Splitting", limit)
    if significantly(found["Splitting"], found["Standard"]):
        best = max(found["Splitting"], key=lambda own: own["score"])
        found["StandardFixed"] = several("StandardFixed", limit, options={"n_states": sum(best["states"].values())})
    found["screened"] = [run(table, [seed, 0], np.inf, **OURS)]
    slow = max(rate, before)
    return {"rows": float(table.weights.sum()), "variables": len(table.names), "limit": limit, "rate": slow, **found}


def slowing(traces: Sequence[Sequence[Sequence[Any]]], t: float) -> float:
    """How much of the middle third's gain the last third has, of the mean score (4.5.2); 0 if there was none.

    Examples
    --------
    >>> slowing([[[0.0, -10.0], [0.5, -6.0], [0.9, -5.0]]], 1.0)
    0.25
    """
    first, second, last = (float(np.mean([score_at(trace, t * u / 3) for trace in traces])) for u in (1, 2, 3))
    return 0.0 if last == second else (last - second) / (second - first) if second > first else 1.0


# ---- COIL ([Karciauskas2005] 7.3.3) ---------------------------------------------------------------------------------


def _coil(asked: Asked) -> None:
    if asked.folder is None:
        return
    table = _once(partial(datasets.load, "coil42", data_dir=asked.folder))
    size = {"limit": LIMITS["coil"], "seed": asked.seed}
    asked.parts.make("coil", {"learner": "skeleton", "run": 0}, size, lambda: _skeleton(table(), asked.seed))
    (told,) = asked.kept("coil", learner="skeleton")
    skeleton = Tree(*(np.array(told[k]) for k in ("parent", "cardinality", "variable")), tuple(told["names"]))
    _k_learners(
        asked,
        "coil",
        {},
        min(asked.runs, 2),
        table,
        names=("HLCStandard3", "HLCSplitMerge", "HLCStandardFixed"),
        fixed=partial(_fixed_states, skeleton),
        skeleton=skeleton,
    )


def _skeleton(table: Table, seed: int) -> dict[str, Any]:
    """The tree of a short search, since that of figure 7.9 is lost."""
    from latentree import search

    clock = ProcessorClock(Budget(seconds=SEARCHED), time.process_time())
    found = search.learn(table, rng=np.random.default_rng(seed), budget=clock, n_jobs=1)
    tree = found.tree
    return {
        "parent": tree.parent.tolist(),
        "cardinality": tree.cardinality.tolist(),
        "variable": tree.variable.tolist(),
        "names": list(tree.names),
        "score": found.score,
    }


# ---- Cheeseman-Stutz against likelihood ([Karciauskas2005] 6.3.1) ---------------------------------------------------


def _misleading(asked: Asked) -> None:
    size = {"data_sets": 200, "rows": 10_000, "starts": 16, "seed": asked.seed}
    for pull in ("maximum likelihood", "posterior mode"):
        asked.parts.make("misleading", {"at": pull}, size, partial(_pairs, pull, **size))


def _pairs(pull: str, *, data_sets: int, rows: int, starts: int, seed: int) -> list[list[float]]:
    """Of each random data set two fits of one structure: their log-likelihoods and Cheeseman-Stutz scores."""
    out = []
    own: dict[str, Any] = {"tol": 0.01, "max_iterations": 200, "accelerate": False, "q": 2.0, "n_init": starts}
    if pull == "posterior mode":
        own |= {"prior": 1.0, "basis": "softmax"}
    for number in range(data_sets):
        model, table = drawn("5:5x2", rows, 100 + number, seed)
        fits = [restart_em(model, table(), rng=np.random.default_rng([seed, number, i]), **own) for i in (0, 1)]
        out.append([value for fit in fits for value in (fit.log_likelihood, _cs_as_it_stands(fit))])
    return out
