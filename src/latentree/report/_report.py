"""One description of a model, a fit or a search, from which text, HTML, the explorer, JSON and notebooks are made."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._lazy import cached_property
from .._model import Model
from .._scale import shown_score
from .._table import Table
from ..diagnostics import Finding, findings, guessed_orders, provenance_findings, run_findings
from ..engine._plan import SharedPlans, sharing
from ..errors import bad_parameter
from ..estimation import Fit, evaluate
from ..search import Run, trace_to_plain
from ..search_result import search_result
from ._contents import (
    ClassReport,
    MaximumContents,
    SearchContents,
    StatisticsContents,
    TreeContents,
    TreeExtras,
    TreeReport,
)
from ._latent_class import describe_classes
from ._tree import MOST_LEAVES, Hurried, at_maximum, estimate_contents, remembered_maximum, tree_contents

if TYPE_CHECKING:
    from ._html import Page

__all__ = ["Report", "describe", "describe_run", "describe_tree"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Everything to know about a model, found once. Printing it shows it as text, a notebook as a page.

    Attributes
    ----------
    contents : dict
        Plain values that JSON can hold; :func:`describe_tree` lists them.
    model : Model
        The model.
    fit : Fit or None
        The model on data, if there are any.
    run : Run or None
        The search that found it, if it was one.
    short : bool
        Whether pages leave out statistics of the fit unless they are asked for.

    Examples
    --------
    >>> from latentree import datasets
    >>> report = Report.of(datasets.generator("d7"))
    >>> print(report.to_text().splitlines()[0])
    Latent tree model: 7 variables, 3 latent variables
    """

    contents: TreeReport
    model: Model
    fit: Fit | None
    run: Run | None = None
    _plans: SharedPlans = field(default_factory=dict)
    short: bool = False

    @classmethod
    def of(
        cls,
        thing: Model | Fit | Run | Report,
        table: Table | None = None,
        *,
        trace: Iterable[Any] | None = None,
        most_leaves: int = MOST_LEAVES,
    ) -> Report:
        """Describe a model, a fit or the result of a search.

        Parameters
        ----------
        thing : Model, Fit, Run or Report
            What to describe. A run is one that :func:`latentree.report.search_result` returned.
        table : Table, optional
            Data to judge a model by. Default: those of the fit, if it is one.
        trace : iterable, optional
            How a search grew the tree; see :func:`latentree.report.checked_trace`.
        most_leaves : int, default 12
            How many manifest variables to list for each latent one.
        """
        return thing if isinstance(thing, Report) else cls._made(thing, table, trace, {}, most_leaves)

    @classmethod
    def of_search(cls, run: Run, *, seed: int | None = None, hurried: Hurried | None = None) -> Report:
        """Describe what a search returned, its model named and ordered for people; it is the ``run`` of the report.

        ``hurried()`` tells whether there is no time left for everything; what is shorter then is said in a note.
        """
        plans: SharedPlans = {}
        with sharing(plans):
            ready = search_result(run, seed=seed)
        return cls._made(ready, None, None, plans, hurried=hurried)

    @classmethod
    def _made(
        cls,
        thing: Model | Fit | Run,
        table: Table | None,
        trace: Iterable[Any] | None,
        plans: SharedPlans,
        most_leaves: int = MOST_LEAVES,
        hurried: Hurried | None = None,
    ) -> Report:
        run = thing if isinstance(thing, Run) else None
        fit = thing if isinstance(thing, Fit) else None
        if run is not None:
            fit = run.fit if run.estimated is None else run.estimated
        model = fit.model if fit is not None else thing
        if not isinstance(model, Model):
            raise bad_parameter("thing", "describe_tree", "a Model or a Fit", thing)
        own = fit is not None and (table is None or table is fit.table)
        if run is not None and trace is None:
            trace = trace_to_plain(run.trace)
        with sharing(plans):
            judged = fit if own else None if table is None else evaluate(model, table)
            described = tree_contents(model, judged, own=own, trace=trace, most_leaves=most_leaves, hurried=hurried)
            if own and run is not None and run.estimated is not None:
                described = {**described, **at_maximum(run.fit)}
        found = [*_findings(model, fit if own else None, run), *_cut_short(described)]
        extras: TreeExtras = {} if run is None else {"search": _search(run)}
        if run is not None and run.estimate is not None:
            extras["estimate"] = estimate_contents(run.estimate)
        maximum = None if run is not None else _remembered(model, described)
        if maximum is not None:
            extras["maximum"] = maximum
            found.append(_two_estimates(maximum, described))
        contents: TreeReport = {
            **described,
            **extras,
            "warnings": [f.text for f in found if f.loud],
            "notes": [f.text for f in found if not f.loud],
        }
        return cls(contents, model, judged, run, plans)

    def sharing(self) -> AbstractContextManager[None]:
        """Return a block in which the model is not compiled for its data once more."""
        return sharing(self._plans)

    @cached_property
    def statistics(self) -> StatisticsContents | None:
        """What :func:`latentree.report.statistics` collects; None without data."""
        if self.fit is None:
            return None
        from ._statistics import statistics as statistics_of  # which takes a while to load

        # of a search, at the maximum of the likelihood, where these statistics are defined
        with sharing(self._plans):
            return statistics_of(self.fit if self.run is None else self.run.fit)

    def without_statistics(self, why: str) -> Report:
        """Return the same report, whose pages say why they have no statistics of the fit."""
        return replace(self, contents={**self.contents, "notes": [*self.contents["notes"], why]}, short=True)

    def to_dict(self, *, statistics: bool = False) -> TreeReport:
        """Return plain values that JSON can hold."""
        contents = self.contents.copy()
        more = self.statistics if statistics else None
        if more is not None:
            contents["statistics"] = more
        return contents

    def to_text(self, **options: Any) -> str:
        """Return it as plain text; see :func:`latentree.report.to_text`."""
        from ._text import to_text

        return to_text(self.contents, **options)

    def to_html(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Page:
        """Make the HTML report; see :func:`latentree.report.write_report`."""
        from ._html_report import write_report

        return write_report(self, path=path, **options)

    def explore(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Page:
        """Make the explorer page; see :func:`latentree.report.explore`."""
        from ._explorer import explore

        return explore(self, path=path, **options)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()._repr_html_()


def _findings(model: Model, fit: Fit | None, run: Run | None) -> list[Finding]:
    """What to know: of the search, of the fit, or of what the model remembers of either."""
    if run is not None:
        return run_findings(run)
    remembered = provenance_findings(model.provenance)
    if fit is not None and not remembered:
        if model.tree.is_star:
            return findings(fit)
        remembered = provenance_findings({"reason": fit.reason.value})
    return [*remembered, *guessed_orders(model.variables)]


def _remembered(model: Model, described: TreeContents) -> MaximumContents | None:
    """Scores at the maximum of the likelihood, if the data are those that a model from a file was made from."""
    own = described["log_likelihood"]
    return None if own is None else remembered_maximum(model.provenance, own)


def _two_estimates(maximum: MaximumContents, described: TreeContents) -> Finding:
    """Say why a tree has two BICs."""
    at, own = ("not defined" if of["bic"] is None else f"{shown_score(of['bic']):,.1f}" for of in (maximum, described))
    text = (
        f"The tree was chosen by its maximum of the likelihood (BIC {at}); the probabilities saved in the model are "
        f"pulled towards plainer ones, so that they fit the same data less closely (BIC {own})."
    )
    return Finding("two-estimates", text)


def _cut_short(described: TreeContents) -> list[Finding]:
    """Say which latent variables no time was left to describe in full."""
    n = described["curves"]["short"]
    if not n:
        return []
    which = "a latent variable" if n == 1 else f"{n:,} latent variables"
    text = (
        f"No time was left to describe {which} in full: only the most informative variables are listed, and the "
        "information of all is that of those listed. 'latentree report' with the saved model describes them in full."
    )
    return [Finding("cut-short", text)]


def _search(run: Run) -> SearchContents:
    return {
        "method": run.method,
        "score": run.criterion,
        "value": run.score,
        "structure": run.structure,
        "steps": len(run.trace),
        "seconds": run.seconds,
        "seed": run.fit.seed,
        "complete": run.reason.complete,
        "reason": run.reason.value,
        "message": run.message or run.reason.message,
    }


def describe(thing: Model | Fit, table: Table | None = None, **options: Any) -> ClassReport | TreeReport:
    """Everything to know about a fitted thing, as plain values that JSON can hold.

    Parameters
    ----------
    thing : Fit or Model
        What to describe. A fit of a latent class model is described class by class, everything else as a tree.
    table : Table, optional
        Data to judge a model by.
    **options
        ``statistics=True`` adds what :func:`latentree.report.statistics` collects; ``search=`` of a latent class model
        is how its number of classes was found, ``estimate=`` what its probabilities are; for trees, see
        :func:`describe_tree`.

    Returns
    -------
    dict
        What :func:`describe_classes` or :func:`describe_tree` returns; ``kind`` says which.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import datasets, fit_classes
    >>> table = datasets.load("carcinoma")
    >>> fit = fit_classes(table, 2, rng=np.random.default_rng(0))
    >>> describe(fit)["kind"], describe(fit.model, table)["kind"]
    ('latent class', 'latent tree')
    """
    if (
        isinstance(thing, Fit)
        and table is None
        and thing.model.tree.is_star
        and set(options) <= {"statistics", "search", "estimate"}
    ):
        return describe_classes(thing, **options)
    return describe_tree(thing, table, **options)


def describe_tree(
    thing: Model | Fit,
    table: Table | None = None,
    *,
    trace: Iterable[Any] | None = None,
    statistics: bool = False,
    most_leaves: int = MOST_LEAVES,
) -> TreeReport:
    """Everything to know about a tree model, as plain values that JSON can hold.

    Parameters
    ----------
    thing : Model or Fit
        Any tree model; a latent class model is a star.
    table : Table, optional
        Data to judge it by. Default: those of the fit, if it is one.
    trace : iterable, optional
        How a search grew the tree, step by step; see :func:`checked_trace`.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects, if there are data.
    most_leaves : int, default 12
        How many manifest variables to list for each latent one.

    Returns
    -------
    dict
        ``kind``
            ``"latent tree"``.
        ``n_variables``, ``n_latents``, ``n_nodes``, ``n_parameters``, ``star``
            Size of the model, and whether it is a latent class model. Latent nodes of one state, which make what is
            around them independent, are not counted as latent variables.
        ``n``, ``n_weighted``, ``n_patterns``, ``missing``, ``log_likelihood``, ``aic``, ``bic``, ``impossible``
            With data, otherwise None: sample size (sum of the weights), rows that have a weight other than a count, or
            None, distinct rows, share of missing cells, scores as LL - penalty (people are shown -2 LL + penalty), and
            how many distinct rows the model cannot produce.
        ``higher_is_better``
            True, of these scores.
        ``nodes``
            In the order of the tree, parents first: ``name``, ``parent`` (position, or None), ``latent``,
            ``cardinality``, ``labels`` of its states, ``question`` (what it is in words, if known), ``marginal`` and
            ``table``, P(state | state of the parent).
        ``edges``
            ``parent``, ``child`` (positions) and ``information``, their mutual information in nats.
        ``latents``
            For each: ``node`` (position), ``name``, ``sizes`` of its states, ``counts`` (expected cases, with data),
            ``relative_entropy`` (with data; 1 when all rows are certain), ``entropy``, ``neighbours``, ``information``
            (of all manifest variables together), and ``leaves``: the most informative manifest variables, each with
            ``node``, ``information`` alone, ``cumulative``, together with those before it, and ``profile``,
            P(its states | state of the latent).
        ``cuts``, ``parts``, ``independence``
            Positions of the latent nodes of one state, the names of the variables of each independent part, and the
            same in sentences; no cut, one part and no sentence where all variables depend on each other.
        ``curves``
            Whether cumulative information is ``exact``, how many ``rows`` it was found from, and for how many latent
            variables no time was left, so that their curves are ``short``.
        ``fit``
            How the fit went, if it is one: ``seconds``, ``seed``, ``converged``, ``reason``, ``message``, ``n_iter``.
        ``trace``
            The steps of the search; empty if there are none.
        ``provenance``
            Where the model comes from.
        ``warnings``, ``notes``
            In words, such as that the search was not finished.

    Examples
    --------
    >>> from latentree import datasets
    >>> report = describe_tree(datasets.generator("d7"))
    >>> report["n_variables"], report["n_latents"], [z["name"] for z in report["latents"]]
    (7, 3, ['Z1', 'Z2', 'Z3'])
    """
    return Report.of(thing, table, trace=trace, most_leaves=most_leaves).to_dict(statistics=statistics)


def describe_run(run: Run, *, statistics: bool = False) -> TreeReport:
    """Everything to know about what a search found, as plain values that JSON can hold.

    Parameters
    ----------
    run : Run
        What :func:`latentree.report.search_result` returned.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects.

    Returns
    -------
    dict
        What :func:`describe_tree` returns, with the whole trace, and ``search``: ``method``, ``score`` (its name),
        ``value`` (LL - penalty, higher is better), ``structure`` (whether a tree was found), ``steps``, ``seconds``,
        ``seed``, ``complete``, ``reason``, ``message``. Also ``estimate``: what the probabilities are, with ``kind``
        (``"ml"`` or ``"map"``), ``log_likelihood`` at them, ``prior``, ``strength``, ``towards``, ``chosen``, ``folds``
        and ``text``; ``log_likelihood``, ``aic`` and ``bic`` are those of maximum likelihood for the same tree.
    """
    return Report.of(run).to_dict(statistics=statistics)
