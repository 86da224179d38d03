"""What a search found, made ready for people: rooted, named and ordered, with its steps in the model."""

from __future__ import annotations

from dataclasses import replace

from ._model import Model
from ._table import as_table
from .estimation import Fit, evaluate
from .naming import presented_alike
from .prediction import row_quantiles
from .runner import StopReason
from .search import Run, trace_to_plain

__all__ = ["search_result"]

MOST_NODES = 200_000
"""Traces whose trees have more nodes in all are not kept in models: the model would be the smaller part of its file."""


def search_result(run: Run, *, seed: int | None = None) -> Run:
    """The same run with its model as people see it (see :func:`latentree.naming.presented`).

    Its fit says how the search ended, and so does the model, in its provenance, with the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import datasets
    >>> from latentree.search import learn
    >>> run = search_result(learn(datasets.load("hiv_test"), rng=np.random.default_rng(0)), seed=0)
    >>> run.tree.names[:2], run.fit.seed, run.model.provenance["method"]
    (('V1+V4', 'V3+V2'), 0, 'swift')
    """
    model, at_maximum = presented_alike(run.model, run.fit.model)  # so that a prior changes no name
    # Without seconds, so that the same search gives the same file.
    steps = [{k: v for k, v in step.items() if k != "seconds"} for step in trace_to_plain(run.trace)]
    short = sum(len(step.states) for step in run.trace) <= MOST_NODES
    known = {
        "method": run.method,
        "score": run.criterion,
        "value": run.score,
        "seed": seed,
        "reason": run.reason.value,
        "starts": {"made": len(run.ends), "found": run.found} if run.ends else None,
        "estimate": None if run.estimate is None else run.estimate.to_plain(),
        "row_quantiles": row_quantiles(model, as_table(run.fit.table)),
        "trace": steps if short else [],
    }
    told = {k: v for k, v in known.items() if v not in (None, [])}
    reason = StopReason.CONVERGED if run.reason.complete else run.reason

    def shown(fit: Fit, model: Model) -> Fit:
        model = replace(model, provenance={**model.provenance, **told})
        counts = evaluate(model, fit.table).counts
        return replace(fit, model=model, counts=counts, reason=reason, seed=seed, seconds=run.seconds)

    fit = shown(run.fit, at_maximum)
    estimated = None if run.estimated is None else shown(run.estimated, model)
    # plain dicts: scikit-learn's users copy and pickle what they fitted
    trace = tuple(replace(step, states=dict(step.states)) for step in run.trace)
    return replace(run, fit=fit, estimated=estimated, trace=trace)
