"""The learners of numbers of states by name. Adding one is a file, and a line here."""

from __future__ import annotations

from dataclasses import dataclass

from .._registry import Registry
from ..errors import bad_parameter


@dataclass(frozen=True)
class Entry:
    """A learner, without loading it.

    Attributes
    ----------
    reference : str
        Its class, a :class:`~latentree.cardinality.Learner`, as ``module:name``.
    summary : str
        How it searches, in a few words.
    ends : bool
        Whether it ends by itself; otherwise it needs a budget.
    fixed : bool
        Whether the number of states is given, so that only the parameters are learned.
    """

    reference: str
    summary: str
    ends: bool = True
    fixed: bool = False


def _entry(reference: str, summary: str, *, ends: bool = True, fixed: bool = False) -> Entry:
    return Entry(f"latentree.cardinality.{reference}", summary, ends, fixed)


_SPLIT_MERGE = _entry("_split_merge:SplitMerge", "splitting, merging and adjusting states")
_STANDARD3 = _entry("_standard:Standard3", "random starts with one state more or less")
_FIXED = _entry("_standard:StandardFixed", "more and more random starts", ends=False, fixed=True)

DEFAULT = "screened"
"""The learner that is used unless another is named."""

LEARNERS: Registry[Entry] = Registry(
    "method",
    {
        "screened": _entry("_screened:Screened", "splitting and merging promising states, and new starts"),
        "Splitting": _entry("_split_merge:Splitting", "splitting every state once at random", ends=False),
        "Standard": _entry("_standard:Standard", "one random start with one state more", ends=False),
        "StandardFixed": _FIXED,
        "SplitMerge": _SPLIT_MERGE,
        "Standard3": _STANDARD3,
        "HLCSplitMerge": _SPLIT_MERGE,
        "HLCStandard3": _STANDARD3,
        "HLCStandardFixed": _FIXED,
        "IntroduceRemove": _entry("_introduce_remove:IntroduceRemove", "introducing, removing and adjusting states"),
        "BlekasLikas": _entry("_blekas_likas:BlekasLikas", "adding states, each begun at a part of the data"),
        "FigueiredoJain": _entry("_figueiredo_jain:FigueiredoJain", "removing states from too many"),
        "ElidanFriedman": _entry("_elidan_friedman:ElidanFriedman", "merging states that hold one row each"),
        "Ueda": _entry("_ueda:Ueda", "splitting one state and merging two others", fixed=True),
    },
)
"""Learners by name. Karciauskas' HLC algorithms are the same on a tree with several latent nodes. The last four are
baselines that [Karciauskas2005] describes (3.1.2, 3.3), for one latent node."""


def learning_methods() -> list[str]:
    """The learners that find the number of classes of a latent class model.

    Examples
    --------
    >>> learning_methods()[:3]
    ['screened', 'Splitting', 'Standard']
    """
    return [name for name, entry in LEARNERS.items() if not entry.fixed and not name.startswith("HLC")]


def require_time_limit(method: str, time_limit: float | None, owner: str) -> None:
    """Say that a learner does not end by itself."""
    if not LEARNERS.find(method, owner=owner).ends and time_limit is None:
        raise bad_parameter("time_limit", owner, f"given, since {method} does not end by itself", None)
