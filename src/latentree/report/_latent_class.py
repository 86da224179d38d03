"""A fitted latent class model as one plain dict, which text, figures and files are made from."""

from __future__ import annotations

from .._information import edge_information, mutual_information
from .._model import Model
from .._table import as_table
from .._types import FloatArray
from .._variables import Variable
from ..diagnostics import SAME_OPTIMUM, degrees_of_freedom, findings, starts_at_best
from ..engine._plan import sharing
from ..errors import ModelError
from ..estimation import Estimate, Fit
from ..naming import node_labels, state_labels
from ..score import aic, bic, entropy, relative_entropy
from ._contents import ClassContents, ClassReport, ClassSearch, VariableContents
from ._tree import estimate_contents, finite, share_missing, weighted_rows

__all__ = ["describe_classes", "profiles", "variable_contents"]


def describe_classes(
    fit: Fit, *, statistics: bool = False, search: ClassSearch | None = None, estimate: Estimate | None = None
) -> ClassReport:
    """Everything to know about a fitted latent class model, as plain values that JSON can hold.

    Parameters
    ----------
    fit : Fit
        A fit of a star-shaped tree with a latent root.
    statistics : bool, default False
        Also what :func:`latentree.report.statistics` collects, under ``statistics``.
    search : mapping, optional
        How the number of classes was searched, if it was: the ``search`` of :func:`latentree.comparison.searched`.
    estimate : Estimate, optional
        What the probabilities are.

    Returns
    -------
    dict
        ``kind``
            ``"latent class"``.
        ``n``, ``n_weighted``, ``n_patterns``, ``n_variables``, ``n_classes``, ``missing``
            Sample size (sum of the weights), rows that have a weight other than a count, or None, distinct rows,
            variables, classes, and the share of missing cells.
        ``log_likelihood``, ``n_parameters``, ``degrees_of_freedom``
            The latter is None where the full table has too many cells to count.
        ``aic``, ``bic``, ``higher_is_better``
            LL - penalty: higher is better. People are shown -2 LL + penalty; see :mod:`latentree._scale`.
        ``entropy``, ``relative_entropy``
            Entropy of the rows' classes, 0 if all are certain; relative to the highest possible, 1 if all are certain.
        ``seconds``, ``seed``, ``n_iter``, ``converged``, ``reason``, ``message``
            How the fit went.
        ``search``
            How the number of classes was searched, if it was.
        ``estimate``
            What the probabilities are, if that was given; see :class:`latentree.estimation.Estimate`.
        ``starts``
            ``objectives`` of the independent starts run to the end, best first, and how many are ``at_best``,
            ``within`` so much.
        ``classes``
            For each, largest first: ``label``, ``size`` (probability), ``count`` (expected cases) and ``profile``,
            P(state | class) by variable and state.
        ``variables``
            For each: ``name``, ``question`` (what it is in words, if known), ``states`` (as they are), ``labels`` (the
            keys of the profiles), ``marginal`` (the model's probability of each state) and ``information`` (mutual
            information with the class, in nats).
        ``warnings``, ``notes``
            In words; notes are common and mostly harmless.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import datasets
    >>> from latentree.estimation import fit_classes
    >>> report = describe_classes(fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0)))
    >>> round(report["log_likelihood"], 4), report["n_parameters"], report["degrees_of_freedom"]
    (-317.2568, 15, 112)
    >>> [round(c["size"], 3) for c in report["classes"]]
    [0.501, 0.499]
    """
    _check_star(fit.model)
    with sharing():
        contents = _contents(fit)
        if search is not None:
            contents["search"] = {**search}
        if estimate is not None:
            contents["estimate"] = estimate_contents(estimate)
        if statistics:
            from ._statistics import statistics as statistics_of  # which takes a while to load

            contents["statistics"] = statistics_of(fit)
        return contents


def _contents(fit: Fit) -> ClassReport:
    model, table = fit.model, as_table(fit.table)
    sizes = model.table(0)[0]
    found, information = findings(fit), edge_information(model)
    return {
        "kind": "latent class",
        "n": float(table.n),
        "n_weighted": weighted_rows(table),
        "n_patterns": table.n_patterns,
        "n_variables": table.n_variables,
        "n_classes": len(sizes),
        "missing": share_missing(table),
        "log_likelihood": finite(fit.log_likelihood),
        "n_parameters": fit.n_parameters,
        "degrees_of_freedom": degrees_of_freedom(model),
        "aic": finite(aic(fit)),
        "bic": finite(bic(fit)),
        "higher_is_better": True,
        "entropy": finite(entropy(fit)),
        "relative_entropy": finite(relative_entropy(fit)),
        "seconds": fit.seconds,
        "seed": fit.seed,
        "n_iter": len(fit.trace),
        "converged": fit.converged,
        "reason": fit.reason.value,
        "message": fit.reason.message,
        "starts": {
            "objectives": [finite(x) for x in fit.starts],
            "at_best": starts_at_best(fit),
            "within": SAME_OPTIMUM,
        },
        "classes": _classes(model, fit.counts.vector[: len(sizes)]),
        "variables": [
            variable_contents(v, model.table(int(node)), sizes, float(information[node]))
            for v, node in zip(model.variables, model.tree.manifest, strict=True)
        ],
        "warnings": [f.text for f in found if f.loud],
        "notes": [f.text for f in found if not f.loud],
    }


def profiles(model: Model) -> dict[str, FloatArray]:
    """P(state | class) of each variable: a row for each class, a column for each state."""
    _check_star(model)
    return {v.name: model.table(v.name) for v in model.variables}


def _check_star(model: Model) -> None:
    if not model.tree.is_star:
        raise ModelError(
            "This is not a latent class model, which has one latent node above all variables: {model!r}.", model=model
        )


def _classes(model: Model, counts: FloatArray) -> list[ClassContents]:
    labels = {v.name: state_labels(v) for v in model.variables}
    tables, names = profiles(model), node_labels(model, 0)
    return [
        {
            "label": names[i],
            "size": float(size),
            "count": float(count),
            "profile": {
                name: dict(zip(labels[name], table[i].tolist(), strict=True)) for name, table in tables.items()
            },
        }
        for i, (size, count) in enumerate(zip(model.table(0)[0], counts, strict=True))
    ]


def variable_contents(
    variable: Variable, table: FloatArray, sizes: FloatArray, information: float | None = None
) -> VariableContents:
    """Describe a variable of a latent class model, from P(state | class) and the sizes of the classes."""
    return {
        "name": variable.name,
        "question": variable.label,
        "states": list(variable.states),
        "labels": list(state_labels(variable)),
        "marginal": (sizes @ table).tolist(),
        "information": mutual_information(sizes, table) if information is None else information,
    }
