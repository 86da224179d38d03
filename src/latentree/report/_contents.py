"""Types of what reports hold: plain dicts that JSON can hold, so that a misspelt key is an error of mypy."""

# Annotations are not postponed here: TypedDict reads NotRequired from them.
from typing import Any, Literal, NotRequired, TypedDict, final

__all__ = [
    "AbsoluteFit",
    "AssignmentContents",
    "ClassContents",
    "ClassReport",
    "ClassSearch",
    "ComparedFit",
    "ComparisonReport",
    "Contents",
    "CurveContents",
    "DrawnEdge",
    "DrawnNode",
    "DrawnTree",
    "EdgeContents",
    "EstimateContents",
    "FitCourse",
    "GrowthContents",
    "Judgement",
    "LatentContents",
    "LatentInData",
    "LeafContents",
    "MaximumContents",
    "NodeContents",
    "PosteriorOfNumber",
    "PosteriorReport",
    "Provenance",
    "ResidualContents",
    "ScoreContents",
    "SearchContents",
    "ShownVariable",
    "StartContents",
    "StartOfSearch",
    "StatisticsContents",
    "StepContents",
    "StepNumbers",
    "TreeContents",
    "TreeExtras",
    "TreeReport",
    "Undefined",
    "VariableContents",
]

Provenance = dict[str, Any]
"""Where a model comes from: whatever its file says, so that no key is certain."""


# ---- fit statistics ------------------------------------------------------------------------------------------------


class AbsoluteFit(TypedDict):
    """Observed and expected counts compared; see :class:`latentree.score.FitStatistics`."""

    n: float
    n_cells: int
    n_observed: int
    n_parameters: int
    degrees_of_freedom: int
    g2: float | None
    x2: float | None
    cressie_read: float | None
    freeman_tukey: float | None
    dissimilarity: float | None
    p_g2: float | None
    p_x2: float | None
    reason: str | None
    note: str | None


@final
class Undefined(TypedDict):
    """Why a statistic is not defined."""

    reason: str


@final
class ResidualContents(TypedDict):
    """Bivariate residuals; see :class:`latentree.score.BivariateResiduals`."""

    names: list[str]
    residuals: list[list[float | None]]


@final
class AssignmentContents(TypedDict):
    """How well rows can be assigned; see :class:`latentree.score.Assignment`."""

    node: str
    modal: list[float | None]
    expected: list[float | None]
    table: list[list[float | None]]
    average: list[list[float | None]]
    odds: list[float | None]
    error: float | None
    error_reduction: float | None


class ScoreContents(TypedDict):
    """A score, where it was taken, and why there is none if there is none."""

    value: float | None
    at: str
    reason: str


class StatisticsContents(TypedDict):
    """What :func:`latentree.report.statistics` collects."""

    absolute: AbsoluteFit
    residuals: ResidualContents | Undefined
    assignment: AssignmentContents | Undefined
    scores: dict[str, ScoreContents]
    effective_dimension: int
    identified: bool


# ---- a tree --------------------------------------------------------------------------------------------------------


class DrawnNode(TypedDict):
    """What a drawing needs of a node; ``parent`` is a position, None for the root."""

    name: str
    parent: int | None
    latent: bool
    cardinality: int


class NodeContents(DrawnNode):
    """A node of the tree; ``table`` is P(state | state of the parent), ``question`` what a variable is in words."""

    labels: list[str]
    question: str
    marginal: list[float]
    table: list[list[float]]


class DrawnEdge(TypedDict):
    """What a drawing needs of an edge: the position of its lower end and the mutual information in nats."""

    child: int
    information: float


class EdgeContents(DrawnEdge):
    """An edge of the tree, with the positions of both ends."""

    parent: int


class DrawnTree(TypedDict):
    """What a drawing needs of a tree."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]


class LeafContents(TypedDict):
    """A manifest variable and a latent one; ``cumulative`` is the information with all variables before it."""

    node: int
    information: float
    cumulative: float
    profile: list[list[float]]


class LatentInData(TypedDict):
    """What the data say of a latent variable; None without data."""

    counts: list[float] | None
    relative_entropy: float | None


class LatentContents(LatentInData):
    """A latent variable, with its most informative manifest variables."""

    node: int
    name: str
    sizes: list[float]
    entropy: float
    neighbours: list[int]
    information: float
    leaves: list[LeafContents]


class CurveContents(TypedDict):
    """Whether cumulative information is exact, how many rows it was found from, how many curves were cut short."""

    exact: bool
    rows: int
    short: int


class FitCourse(TypedDict):
    """How a fit went."""

    seconds: float
    seed: int | None
    converged: bool
    reason: str
    message: str
    n_iter: int


class StepNumbers(TypedDict):
    """The numbers of a step of a search; None where they are not known."""

    score: float | None
    log_likelihood: float | None
    dimension: float | None
    candidates: float | None
    seconds: float | None


class StepContents(StepNumbers):
    """A step of a search: what was done, and the tree after it, by names."""

    operation: str
    edges: list[list[str]]
    states: dict[str, int]
    phase: NotRequired[str]
    kind: NotRequired[str]


class StartOfSearch(TypedDict):
    """One of the starts of a search: its best score, and whether that is the best of all."""

    number: int
    steps: int
    score: float | None
    same: bool


class GrowthContents(TypedDict):
    """The steps that led to a tree, which start they belong to, and all starts."""

    steps: list[StepContents]
    start: int
    starts: list[StartOfSearch]


class SearchContents(TypedDict):
    """How a tree was searched; ``score`` is the name of the criterion, ``value`` that of the tree."""

    method: str
    score: str
    value: float
    structure: bool
    steps: int
    seconds: float
    seed: int | None
    complete: bool
    reason: str
    message: str


class EstimateContents(TypedDict):
    """What the probabilities of a model are; see :class:`latentree.estimation.Estimate`."""

    kind: Literal["ml", "map"]
    log_likelihood: float | None
    prior: float | None
    strength: float | None
    towards: Literal["uniform", "marginal"] | None
    chosen: str
    folds: int | None
    strengths: list[float] | None
    drift: float | None
    order_unknown: bool
    text: str


class MaximumContents(TypedDict):
    """Scores at the maximum of the likelihood."""

    log_likelihood: float | None
    aic: float | None
    bic: float | None


class Judgement(TypedDict):
    """A model judged by data; None without data, or where a score is not defined."""

    n: float | None
    n_weighted: int | None
    n_patterns: int | None
    missing: float | None
    log_likelihood: float | None
    aic: float | None
    bic: float | None
    impossible: int | None
    higher_is_better: bool


class TreeContents(Judgement):
    """A tree model, without what is to be known about how it was found.

    ``cuts`` are positions of latent nodes of one state, ``parts`` the names of the variables of each independent part,
    ``independence`` the same in sentences.
    """

    kind: Literal["latent tree"]
    n_variables: int
    n_latents: int
    n_nodes: int
    n_parameters: int
    star: bool
    nodes: list[NodeContents]
    edges: list[EdgeContents]
    latents: list[LatentContents]
    cuts: list[int]
    parts: list[list[str]]
    independence: list[str]
    curves: CurveContents
    fit: FitCourse | None
    trace: list[StepContents]
    provenance: Provenance


class TreeExtras(TypedDict, total=False):
    """What the report of a tree holds only after a search, and only if statistics were asked for.

    ``maximum`` is there if the model is one from a file, whose scores at the maximum of the likelihood are others.
    """

    search: SearchContents
    estimate: EstimateContents
    maximum: MaximumContents
    statistics: StatisticsContents


class TreeReport(TreeContents, TreeExtras):
    """The report of any tree model; see :func:`latentree.report.describe_tree`."""

    warnings: list[str]
    notes: list[str]


# ---- latent class models -------------------------------------------------------------------------------------------


class ClassContents(TypedDict):
    """A class: P(state | class) by variable and state; expected cases with data; intervals with posterior draws."""

    label: str
    size: float
    interval: NotRequired[list[float]]
    count: float | None
    profile: dict[str, dict[str, float]]
    intervals: NotRequired[dict[str, dict[str, list[float]]]]


class ShownVariable(TypedDict):
    """What a table of profiles needs of a variable.

    ``information`` is that with the class, in nats; ``question`` is what it is in words, if known.
    """

    name: str
    question: str
    labels: list[str]
    marginal: list[float]
    information: float


class VariableContents(ShownVariable):
    """A variable of a latent class model, its states as they are and as labels."""

    states: list[str | int | float | bool]


class StartContents(TypedDict):
    """Objectives of the starts run to the end, and how many are at the best, within so much."""

    objectives: list[float | None]
    at_best: int
    within: float


class ClassSearch(TypedDict):
    """How a number of classes was searched, ``text`` being the same in words."""

    criterion: str
    method: str
    steps: int
    seconds: float
    complete: bool
    reason: str
    message: str
    text: str


class ClassReport(TypedDict):
    """The report of a latent class model; see :func:`latentree.report.describe_classes`."""

    kind: Literal["latent class"]
    n: float
    n_weighted: int | None
    n_patterns: int
    n_variables: int
    n_classes: int
    missing: float
    log_likelihood: float | None
    n_parameters: int
    degrees_of_freedom: int | None
    aic: float | None
    bic: float | None
    higher_is_better: bool
    entropy: float | None
    relative_entropy: float | None
    seconds: float
    seed: int | None
    n_iter: int
    converged: bool
    reason: str
    message: str
    starts: StartContents
    classes: list[ClassContents]
    variables: list[VariableContents]
    warnings: list[str]
    notes: list[str]
    search: NotRequired[ClassSearch]
    estimate: NotRequired[EstimateContents]
    statistics: NotRequired[StatisticsContents]


class ComparedFit(TypedDict):
    """A row of a comparison, which also holds each score under its name; None where something is not known."""

    n_classes: int
    log_likelihood: float
    n_parameters: int
    relative_entropy: float | None
    smallest_class: float | None
    starts_at_best: int | None
    converged: bool | None
    identified: bool | None
    reason: str | None
    seconds: float | None
    warnings: list[str]


class ComparisonReport(TypedDict):
    """Numbers of classes compared; ``best`` is the best number by each score."""

    kind: Literal["comparison of latent class models"]
    scores: list[str]
    higher_is_better: bool
    deviance_scores: dict[str, list[float | None]]
    best: dict[str, int]
    fits: list[ComparedFit]
    skipped: list[int]
    interrupted: bool
    search: NotRequired[ClassSearch]


class PosteriorOfNumber(TypedDict):
    """How probable a number of classes is."""

    n_classes: int
    probability: float
    standard_error: float | None
    prior: float


class PosteriorReport(TypedDict):
    """The report of draws from a posterior; see :func:`latentree.report.describe_draws`."""

    kind: Literal["posterior"]
    n: float
    n_patterns: int
    n_variables: int
    missing: float
    posterior: list[PosteriorOfNumber]
    n_classes: int
    n_used: int
    level: float
    relabelled: str
    classes: list[ClassContents]
    variables: list[VariableContents]
    log_likelihood: float
    n_parameters: int
    method: str
    n_chains: int
    n_draws: int
    n_burn: int
    thin: int
    seed: int | None
    seconds: float
    reason: str
    message: str
    r_hat: float | None
    effective_draws: float | None
    acceptance: dict[str, float | None]
    warnings: list[str]
    notes: list[str]


Contents = TreeReport | ClassReport | ComparisonReport | PosteriorReport
"""Whatever can be shown as text; ``kind`` says which."""
