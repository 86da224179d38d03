"""What a search found, made ready for people: names, order, warnings in words, and one plain dict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..engine._plan import Plan
from ..runner import StopReason
from ..search import Run, trace_to_plain
from ._diagnostics import Finding
from ._names import presented
from ._tree import describe_tree

__all__ = ["describe_run", "kept_trace", "learned", "run_findings"]

MOST_NODES = 200_000
"""Traces whose trees have more nodes in all are not kept in models: the model would be the smaller part of its file."""


def learned(run: Run, *, seed: int | None = None) -> Run:
    """The same run with its model as people shall see it (see :func:`latentree.report.presented`).

    Its fit tells how the search ended, and the trace goes with the model, in its provenance.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import datasets
    >>> from latentree.search import learn
    >>> run = learned(learn(datasets.load("hiv_test"), rng=np.random.default_rng(0)), seed=0)
    >>> run.tree.names[:2], run.fit.seed, run.model.provenance["method"]
    (('V1+V4', 'V3+V2'), 0, 'swift')
    """
    model = presented(run.model)
    told = {"method": run.method, "score": run.score, "value": run.value, "seed": seed, "trace": kept_trace(run)}
    model = replace(model, provenance={**model.provenance, **{k: v for k, v in told.items() if v not in (None, [])}})
    counts = Plan.of(model, run.fit.table).evaluate(model.parameters)
    reason = StopReason.CONVERGED if run.reason.complete else run.reason
    fit = replace(run.fit, model=model, counts=counts, reason=reason, seed=seed, seconds=run.seconds)
    # plain dicts: scikit-learn's users copy and pickle what they fitted
    return replace(run, fit=fit, trace=tuple(replace(step, states=dict(step.states)) for step in run.trace))


def kept_trace(run: Run) -> list[dict[str, Any]]:
    """The steps that a model file keeps: without seconds, so that the same search gives the same file.

    Empty if they are too long; see :data:`MOST_NODES`.
    """
    if sum(len(step.states) for step in run.trace) > MOST_NODES:
        return []
    return [{k: v for k, v in step.items() if k != "seconds"} for step in trace_to_plain(run.trace)]


def describe_run(run: Run, *, statistics: bool = False) -> dict[str, Any]:
    """Everything worth telling about what a search found, as plain values that JSON can hold.

    Parameters
    ----------
    run : Run
        What :func:`learned` returned.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects.

    Returns
    -------
    dict
        What :func:`~latentree.report.describe_tree` returns, with the whole trace, and ``search``: ``method``,
        ``score`` (its name), ``value`` (higher is better), ``structure`` (whether a tree was found), ``steps``,
        ``seconds``, ``seed``, ``complete``, ``reason``, ``message``. ``warnings`` and ``notes`` are in words.
    """
    found = run_findings(run)
    return {
        **describe_tree(run.fit, trace=trace_to_plain(run.trace), statistics=statistics),
        "search": {
            "method": run.method,
            "score": run.score,
            "value": run.value,
            "structure": run.structure,
            "steps": len(run.trace),
            "seconds": run.seconds,
            "seed": run.fit.seed,
            "complete": run.reason.complete,
            "reason": run.reason.value,
            "message": run.message or run.reason.message,
        },
        "warnings": [f.text for f in found if f.loud],
        "notes": [f.text for f in found if not f.loud],
    }


def run_findings(run: Run) -> list[Finding]:
    """What a user should know about a search, warnings first."""
    return [*_unfinished(run), *_without_structure(run), *_small_states(run), *_few_rows(run)]


def _unfinished(run: Run) -> Iterator[Finding]:
    if not run.reason.complete:
        found = "this is the best tree so far" if run.structure else "no tree was found yet"
        yield Finding("unfinished", f"The search did not come to its end; {found}. {run.reason.message}", loud=True)


def _without_structure(run: Run) -> Iterator[Finding]:
    if run.reason.complete and not run.structure:
        yield Finding("no-structure", run.message, loud=True)


def _small_states(run: Run) -> Iterator[Finding]:
    model, n = run.model, max(run.fit.table.n, run.fit.table.n_patterns)
    marginals = model.marginals()
    small = [model.tree.names[z] for z in model.tree.latent if (marginals[z] * n < 1).any()]
    if small:
        names = ", ".join(f"'{name}'" for name in small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        yield Finding("small-states", f"Some states hold less than one case: those of {names}.")


def _few_rows(run: Run) -> Iterator[Finding]:
    if run.fit.n_parameters > run.fit.table.n:
        yield Finding(
            "few-rows", f"{run.fit.n_parameters:,} parameters are estimated from {run.fit.table.n:,.6g} rows."
        )
