"""The function that users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import DataError, ModelError, ParameterError, bad_parameter
from ._doubts import warn_of_misfit, warn_of_separation
from ._relate import Solution, Task, prepare, solve
from ._relation import Relation, new_model, with_measurement

__all__ = ["relate"]


def relate(
    model: Model,
    data: Any,
    covariates: str | Sequence[str] | None = None,
    outcome: str | Sequence[str] | None = None,
    **options: Any,
) -> Relation:
    """Relate the classes of a model to covariates and outcomes.

    Parameters
    ----------
    model : Model
        A fitted model; of a tree with several latent variables, ``latent`` says which one.
    data : data frame, or list of data frames
        Rows with the items of the model and the other variables. A list holds the same rows with missing covariates
        imputed in several ways; the results are pooled by Rubin's rules.
    covariates : str or sequence of str, optional
        A formula, such as ``"age + sex"`` or ``"party * age"``, or names of columns. Columns of numbers are numbers,
        text, categories and truth values become a term for each level but the first. Functions in formulas need
        formulaic: ``pip install 'latentree[formula]'``.
    outcome : str or sequence of str, optional
        Columns whose means, proportions or rates are compared between classes, adjusted for the covariates if there
        are any.
    **options
        See below.

    Other Parameters
    ----------------
    method : {"one-step", "two-step", "three-step", "bch"}, optional
        ``one-step``: items and covariates together, everything estimated again from the model on
        ([BandeenRoche1997]). ``two-step``: the items' probabilities stay as they are ([BakkKuha2018]).
        ``three-step``: assigned classes, corrected for their errors by maximum likelihood ([Vermunt2010]). ``bch``: the
        same by weights ([BolckCroonHagenaars2004]). Default: three-step for covariates, BCH for outcomes.
    latent : str, optional
        The latent variable of a tree.
    assignment : {"modal", "proportional"}
        How rows are assigned in three steps: to the most probable class, or in shares.
    information : {"observed", "opg"}
        Of one-step estimation: second derivatives, or the products of scores that poLCA uses.
    robust : bool
        Whether standard errors hold even if the model is wrong (sandwich). Those of BCH and of proportional assignment
        always do.
    clusters, strata : str or array, optional
        Columns of a survey's clusters and strata, for standard errors by linearisation; weights are then those of
        the survey. ``clusters="rows"`` makes every row a cluster.
    sample_weight : array, optional
        What each row counts for. Without clusters and strata, a weight means that the row is repeated.
    bootstrap : int, optional
        Standard errors from this many bootstrap samples, in each of which all steps are done again from the estimate
        on, so that classes keep their names, with the same prior.
    rng : numpy.random.Generator, optional
        Source of the bootstrap samples.
    reference : str or int, optional
        The reference class. Default: the first.
    missing_covariates : {"error", "drop"}
        What to do with rows that lack a covariate. Dropped rows still count for the measurement part.
    complete : bool
        Whether rows that lack an item or covariate are left out of everything, as poLCA does.
    penalty : float, optional
        Precision of a normal prior on the coefficients of covariates of standard deviation one, around their mean
        over the classes. Keeps them finite where a covariate separates classes.
    prior : float, "auto" or None
        Dirichlet parameter of the items' probabilities. With a number above 1 these are estimated again from the model
        on, as posterior mode ([GalindoGarreVermunt2006]): 2 adds one case for each answer in each class. None keeps
        those of the model. Default: ``"auto"``, in two and three steps and for outcomes a prior of half a case or more
        that follows from how well the rows determine the classes and takes the bias from small samples, if the model
        is at the maximum of the likelihood of the rows; none in one step.
    outcome_kind : str or dict, optional
        ``"continuous"``, ``"categorical"`` or ``"count"``, for all outcomes or by name. Default: text and what has two
        values is categorical, other numbers are continuous.
    direct_effects : dict, optional
        Of one-step estimation: items that covariates act on directly, as ``{"item": "sex"}``; ``"class * sex"`` lets
        the effect differ between classes.
    level : float
        Coverage of intervals.
    reading, table
        How cells are read, and the items as a table if they have been read.

    Returns
    -------
    Relation

    Examples
    --------
    >>> import latentree as lt
    >>> data = lt.datasets.load_frame("icu")
    >>> items = ["ser", "can", "crn", "inf", "cpr", "pre", "type", "fra", "po2", "ph", "pco", "bic", "cre"]
    >>> lca = lt.LatentClass(2, prior="auto", random_state=0).fit(data[items])
    >>> found = relate(lca.model_, data, outcome="sta")
    >>> found.outcome_table()[["class", "category", "estimate"]].round(2).values.tolist()
    [['class0', 'Died', 0.11], ['class0', 'Lived', 0.89], ['class1', 'Died', 0.3], ['class1', 'Lived', 0.7]]
    """
    if isinstance(data, list | tuple) and data and hasattr(data[0], "columns"):
        from ._imputation import pooled

        if options.get("bootstrap") is not None:
            raise ParameterError("Imputed data are pooled by Rubin's rules, which need no bootstrap.")
        return pooled([relate(model, own, covariates, outcome, **options) for own in data])
    task = prepare(model, data, covariates, outcome, **options)
    asked = task.options
    if asked.bootstrap is not None and not isinstance(asked.rng, np.random.Generator):
        raise bad_parameter("rng", "relate", "a numpy.random.Generator for the bootstrap", asked.rng)
    found = solve(task)
    errors = _errors(task)
    if asked.bootstrap is not None and asked.rng is not None:
        found = _bootstrapped(task, found, asked.bootstrap, asked.rng)
        errors = f"{asked.bootstrap} bootstrap samples"
    warn_of_separation(task, found)
    return _relation(task, found, errors)


def _relation(task: Task, found: Solution, errors: str) -> Relation:
    sample, own = task.sample, found.estimate
    k, n_terms = found.first.n_classes, len(task.design.terms)
    method = task.options.for_covariates if own is not None else task.options.for_outcomes
    model, size = with_measurement(task.model, found.first), (k - 1) * n_terms
    n_parameters = None if own is None else own.n_parameters
    if own is not None and method == "one-step":
        model = new_model(task, own)
        extra = sum(part.slope_columns.size for part in own.parts[2:])  # type: ignore[attr-defined]
        n_parameters = task.model.tree.n_parameters - (k - 1) + size + extra
    return Relation(
        method=method,
        errors=errors,
        classes=task.labels,
        reference=task.labels[task.reference],
        terms=task.design.terms,
        beta=np.zeros((k, n_terms)) if own is None else own.logit.beta,
        covariance=np.zeros((size, size)) if own is None else own.covariance[:size, :size],
        log_likelihood=None if own is None else own.log_likelihood,
        n=float(sample.weights.sum()),
        n_parameters=n_parameters,
        outcomes=found.outcomes,
        entropy=found.first.entropy(),
        model=model,
        level=task.options.level,
        warnings=tuple(task.warnings),
        notes=tuple(task.notes),
        task=task,
        estimate=own,
        reading=task.options.reading,
        prior=found.prior,
    )


def _errors(task: Task) -> str:
    if task.sample.sampling.complex:
        return "linearisation for clusters and strata"
    if task.options.information == "opg":
        return "robust" if task.options.robust else "products of scores"
    method = task.options.for_covariates if task.design.levels else task.options.for_outcomes
    sandwich = method == "bch" or (method == "three-step" and task.options.assignment == "proportional")
    return "robust" if task.options.robust or sandwich else "observed information"


def _bootstrapped(task: Task, found: Solution, n: int, rng: np.random.Generator) -> Solution:
    """The same estimates, with covariances over bootstrap samples."""
    if not task.model.tree.is_star:
        raise ModelError("The bootstrap refits a latent class model in every sample; this tree has several latents.")
    coefficients, outcomes = [], []
    for own in rng.spawn(n):
        try:
            again = solve(task, task.sample.drawn(own), found)
        except (DataError, np.linalg.LinAlgError):
            continue
        if again.estimate is not None:
            coefficients.append(again.estimate.logit.flat())
        outcomes.append([outcome.estimates.ravel() for outcome in again.outcomes])
    if len(outcomes) < max(2, n // 2):
        raise DataError("Only {done} of {n} bootstrap samples could be estimated.", done=len(outcomes), n=n)
    if len(outcomes) < n:
        task.warn("{lost} of {n} bootstrap samples could not be estimated.", lost=n - len(outcomes), n=n)
    estimate = found.estimate
    if estimate is not None:
        spread = _covariance(coefficients)
        warn_of_misfit(task, estimate.covariance[: len(spread), : len(spread)], spread)
        estimate = replace(estimate, covariance=spread, scores=None)
    spreads = [_covariance([own[j] for own in outcomes]) for j in range(len(found.outcomes))]
    kept = tuple(replace(own, covariance=c) for own, c in zip(found.outcomes, spreads, strict=True))
    return replace(found, estimate=estimate, outcomes=kept)


def _covariance(replicates: Sequence[FloatArray]) -> FloatArray:
    return np.atleast_2d(np.cov(np.array(replicates), rowvar=False))
