"""What a user should know about a fit or a search, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ._model import Model
from ._types import FloatArray
from ._variables import Variable
from .errors import amount
from .estimation._fit import Fit
from .estimation._independence import INDEPENDENT, at_independence
from .runner import StopReason
from .search import Run

__all__ = ["Finding", "degrees_of_freedom", "findings", "provenance_findings", "run_findings", "starts_at_best"]

SAME_OPTIMUM = 1e-3
"""Runs whose objectives differ by less have found the same optimum.

A run that stops at a gain of 1e-6 a step and still nears its limit at a rate of 0.999 is this far below it; different
optima are rarely this close.
"""

COINCIDE = 0.01
"""Two classes coincide when none of their probabilities differ by more: far less than data of common size can show."""

BOUNDARY = 1e-6
"""Probabilities this close to 0 or 1 are at the boundary."""

COUNTABLE = 10**15
"""Tables with more cells are not counted."""


@dataclass(frozen=True)
class Finding:
    """Something to know about a fit.

    Attributes
    ----------
    code : str
        What kind of thing it is.
    text : str
        What is the case and what can be done about it.
    loud : bool
        Whether it is a warning. Otherwise it is a note: common, and for those who look.
    """

    code: str
    text: str
    loud: bool = False


def findings(fit: Fit) -> list[Finding]:
    """Look a fitted latent class model over, warnings first.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree.estimation import fit_classes
    >>> from latentree import Table
    >>> table = Table.from_codes([[0, 0], [1, 1], [0, 1]], weights=[30, 40, 5])
    >>> print(findings(fit_classes(table, 2, rng=np.random.default_rng(0)))[0].text)
    2 classes have 5 parameters, but 4 different rows are possible, which fix at most 3. Other classes fit the data \
just as well: use fewer classes or more variables.
    """
    return list(fit.once("findings", lambda: _found(fit)))


def _found(fit: Fit) -> list[Finding]:
    by_class = (_stopped, _undetermined, _few_patterns, _independent, _empty, _coinciding, _lonely)
    found = [finding for check in (*by_class, _few_rows, _weights, _boundary) for finding in check(fit)]
    found += guessed_orders(fit.model.variables)
    return sorted(found, key=lambda finding: not finding.loud)


def degrees_of_freedom(model: Model) -> int | None:
    """Cells of the full table less one, less the free parameters; None when there are too many cells to count.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree._variables import numbered
    >>> degrees_of_freedom(Model.random(Tree.star(2, [2, 2, 2]), numbered([2, 2, 2]), np.random.default_rng(0)))
    0
    """
    cells = prod(v.cardinality for v in model.variables)
    return None if cells > COUNTABLE else cells - 1 - model.tree.n_parameters


def starts_at_best(fit: Fit) -> int:
    """How many of the independent starts that were run to the end found this optimum.

    None may have, where a search of the number of classes reached it by splitting and merging classes.
    """
    return int((fit.starts >= fit.objective - SAME_OPTIMUM).sum())


def _sizes(fit: Fit) -> FloatArray:
    sizes: FloatArray = fit.model.table(0)[0]
    return sizes


def _stopped(fit: Fit) -> Iterator[Finding]:
    yield from _not_converged(fit.reason)


def _not_converged(reason: StopReason) -> Iterator[Finding]:
    if not reason.complete:
        yield Finding("not-converged", f"The fit did not converge. {reason.message}", loud=True)


def _undetermined(fit: Fit) -> Iterator[Finding]:
    free = degrees_of_freedom(fit.model)
    if free is not None and free < 0:
        cells = prod(v.cardinality for v in fit.model.variables)
        yield Finding(
            "undetermined",
            f"{len(_sizes(fit))} classes have {fit.n_parameters:,} parameters, but {cells:,} different rows are "
            f"possible, which fix at most {cells - 1:,}. Other classes fit the data just as well: use fewer classes or "
            "more variables.",
            loud=True,
        )


def _few_patterns(fit: Fit) -> Iterator[Finding]:
    k, patterns = len(_sizes(fit)), fit.table.n_patterns
    if k > patterns:
        text = f"There are {k} classes but only {patterns} distinct rows: use fewer classes."
        yield Finding("few-patterns", text, loud=True)


def _independent(fit: Fit) -> Iterator[Finding]:
    if at_independence(fit):
        yield Finding("independent", INDEPENDENT, loud=True)


def _is_empty(fit: Fit) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    # Weights that sum to one, say, must not make every class empty.
    return _sizes(fit) * max(fit.table.n, fit.table.n_patterns) < 1


def _empty(fit: Fit) -> Iterator[Finding]:
    empty = np.flatnonzero(_is_empty(fit))
    if len(empty):
        hold = "holds less than one case" if len(empty) == 1 else "hold less than one case each"
        yield Finding("empty", f"{_classes(empty)} {hold}: use fewer classes, or a prior above 1.", loud=True)


def _coinciding(fit: Fit) -> Iterator[Finding]:
    profiles, empty = np.hstack([fit.model.table(int(v)) for v in fit.model.tree.manifest]), _is_empty(fit)
    left = [i for i in range(len(profiles)) if not empty[i]]
    while left:
        first, *others = left
        same = [j for j in others if np.abs(profiles[first] - profiles[j]).max() <= COINCIDE]
        if same:
            yield Finding(
                "coinciding",
                f"{_classes([first, *same])} are the same: none of their probabilities differ by more than "
                f"{COINCIDE:g}. Use fewer classes.",
                loud=True,
            )
        left = [j for j in others if j not in same]


def _lonely(fit: Fit) -> Iterator[Finding]:
    if len(_sizes(fit)) == 1 or not fit.reason.complete:
        return
    n = len(fit.starts)
    if n == 1:
        text = "Only one start was run to the end, so nothing shows whether a better fit exists. Use more starts."
        yield Finding("one-start", text)
    elif starts_at_best(fit) <= 1:
        some = "Only one" if starts_at_best(fit) else "None"
        yield Finding(
            "found-once",
            f"{some} of the {n} starts run to the end found the best fit; a better one may exist. Use more starts, or "
            "fewer classes.",
        )


def _few_rows(fit: Fit, advice: str = " Use fewer classes, or a prior above 1.") -> Iterator[Finding]:
    if fit.n_parameters > fit.table.n:
        text = f"{fit.n_parameters:,} parameters are estimated from {amount(fit.table.n)} rows."
        yield Finding("few-rows", f"{text}{advice}")


def _weights(fit: Fit) -> Iterator[Finding]:
    if fit.table.n < fit.table.n_patterns:
        yield Finding(
            "small-weights",
            f"The weights sum to {fit.table.n:.6g}, below the number of distinct rows. A weight means repeating a row, "
            "so this is the sample size that all statistics use. Scale the weights if it should be another.",
        )


def _boundary(fit: Fit) -> Iterator[Finding]:
    model = fit.model
    found: list[tuple[int, int, int]] = []
    of = 0
    alike: dict[tuple[int, ...], list[int]] = {}
    for node in map(int, model.tree.manifest):
        alike.setdefault(model.table(node).shape, []).append(node)
    for nodes in alike.values():  # tables of one shape, all at once
        tables = np.array([model.table(node) for node in nodes])
        seen = tables.max(axis=1, keepdims=True) > BOUNDARY  # states that no class has say nothing
        seen &= seen.sum(axis=2, keepdims=True) > 1
        at = ((tables < BOUNDARY) | (tables > 1 - BOUNDARY)) & seen
        found += [(nodes[v], int(c), int(s)) for v, c, s in np.argwhere(at)]
        of += int(seen.sum()) * tables.shape[1]
    if found:
        some = f"{len(found):,} of the {of:,} probabilities are 0 or 1"
        if len(found) == 1:
            some = f"One of the {of:,} probabilities is 0 or 1, {_probability(model, *found[0])}"
        yield Finding(
            "boundary",
            f"{some}, so some rows are impossible in some classes. That is common in small classes; a prior above "
            "1 keeps probabilities away from 0 and 1.",
        )


def _probability(model: Model, node: int, of_class: int, state: int) -> str:
    value = f"{model.table(node)[of_class, state]:.0f}"
    return f"P({model.tree.names[node]}: {model.states(node)[state]} | class{of_class}) = {value}"


MOST_NAMED = 8
"""Classes that a finding names."""


def _classes(numbers: Sequence[int] | np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> str:
    shown = [str(i) for i in numbers[:MOST_NAMED]]
    if len(numbers) > len(shown):
        shown.append(f"{len(numbers) - len(shown):,} more")
    return f"Class {shown[0]}" if len(shown) == 1 else f"Classes {', '.join(shown[:-1])} and {shown[-1]}"


# ---- searches ------------------------------------------------------------------------------------------------------


def run_findings(run: Run) -> list[Finding]:
    """What a user should know about a search, warnings first."""
    return [
        *_unfinished(run.reason, run.structure),
        *_without_structure(run),
        *_found_once(run),
        *_small_states(run),
        *_few_rows(run.fit, ""),
        *guessed_orders(run.model.variables),
    ]


def guessed_orders(variables: Sequence[Variable], most: int = 3) -> Iterator[Finding]:
    """Say of which variables the states stand in the order of a well-known scale, which nobody gave.

    Examples
    --------
    >>> print(next(guessed_orders([Variable("trust", ("low", "middle", "high"), order="guessed")])).text)
    The order of the answers is guessed from well-known scales: trust (low < middle < high). It does not affect the fit.
    """
    own = [v for v in variables if v.order == "guessed"]
    if own:
        scales: dict[tuple[Any, ...], list[str]] = {}
        for v in own:
            scales.setdefault(v.states, []).append(v.name)
        told = [
            f"{_some_names(names)} ({' < '.join(map(str, states))})" for states, names in list(scales.items())[:most]
        ]
        more = f"; and {len(scales) - most} more scales" if len(scales) > most else ""
        yield Finding(
            "guessed-order",
            f"The order of the answers is guessed from well-known scales: {'; '.join(told)}{more}. It does not "
            "affect the fit.",
        )


def _some_names(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def provenance_findings(provenance: Mapping[str, Any]) -> list[Finding]:
    """What the provenance of a model says about the fit or search that it comes from.

    Examples
    --------
    >>> print(provenance_findings({"method": "swift", "reason": "time"})[0].text[:28])
    The search was not finished;
    >>> provenance_findings({"method": "swift", "reason": "exhausted"})
    []
    """
    reason = next((own for own in StopReason if own.value == provenance.get("reason")), None)
    if reason is None:
        return []
    return list(_unfinished(reason, True) if "method" in provenance else _not_converged(reason))


def _unfinished(reason: StopReason, structure: bool) -> Iterator[Finding]:
    if not reason.complete:
        found = "this is the best tree so far" if structure else "no tree was found yet"
        yield Finding("unfinished", f"The search was not finished; {found}. {reason.message}", loud=True)


def _without_structure(run: Run) -> Iterator[Finding]:
    if run.reason.complete and not run.structure:
        yield Finding("no-structure", run.message, loud=True)


def _found_once(run: Run) -> Iterator[Finding]:
    if run.reason.complete and run.structure and run.found == 1 < len(run.ends):
        yield Finding("found-once", run.message)


def _small_states(run: Run) -> Iterator[Finding]:
    model, n = run.model, max(run.fit.table.n, run.fit.table.n_patterns)
    marginals = model.marginals()
    small = [model.tree.names[z] for z in model.tree.latent_variables if (marginals[z] * n < 1).any()]
    if small:
        names = ", ".join(f"'{name}'" for name in small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        yield Finding("small-states", f"Some states hold less than one case: those of {names}.")
