"""What a search did, step by step, in a form that files, pages and people can follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ._model import Model
from ._tree import Tree
from .errors import FileFormatError

__all__ = ["Step", "trace_from_plain", "trace_to_plain"]


@dataclass(frozen=True)
class Step:
    """One step of a search.

    Attributes
    ----------
    number : int
        0 for the model it starts from, then 1, 2, ...
    phase : str
        What the method is about: ``start``, ``expand``, ``adjust``, ``simplify``, ...
    kind : str
        The operator (``SI``, ``SD``, ``NI``, ``ND``, ``NR``), or another short word.
    operation : str
        What was done, in words. Nodes are called as they were before the step.
    score, log_likelihood, dimension
        Of the model after the step; the dimension is the number of free probabilities.
    candidates : int
        Models looked at.
    seconds : float
        Since the search began.
    edges : tuple of pairs of names
        The tree after the step, parents first.
    states : mapping of name to int
        How many states each node has.
    """

    number: int
    phase: str
    kind: str
    operation: str
    score: float
    log_likelihood: float
    dimension: int
    candidates: int
    seconds: float
    edges: tuple[tuple[str, str], ...]
    states: Mapping[str, int]

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        phase: str,
        kind: str,
        operation: str,
        score: float,
        log_likelihood: float,
        candidates: int = 1,
    ) -> Step:
        """Describe the model that a step reached; the search itself fills in number and seconds."""
        tree = model.tree
        edges = tuple((tree.names[tree.parent[v]], tree.names[v]) for v in range(1, tree.n_nodes))
        states = MappingProxyType({name: int(k) for name, k in zip(tree.names, tree.cardinality, strict=True)})
        return cls(0, phase, kind, operation, score, log_likelihood, tree.n_parameters, candidates, 0.0, edges, states)

    def tree(self, manifest: Iterable[str]) -> Tree:
        """The tree after the step; ``manifest`` are the variables' names in order."""
        return Tree.from_edges(self.edges, self.states, list(manifest), root=next(iter(self.states)))

    def to_plain(self) -> dict[str, Any]:
        """Plain values, as files hold them."""
        plain = dict(vars(self))
        return {**plain, "edges": [list(pair) for pair in self.edges], "states": dict(self.states)}

    def to_ordered(self) -> dict[str, Any]:
        """Plain values for a checkpoint, which does not keep the order of mappings: ``states`` are pairs."""
        return {**self.to_plain(), "states": [list(pair) for pair in self.states.items()]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Step:
        """Make the step again; the opposite of :meth:`to_plain` and :meth:`to_ordered`."""
        try:
            edges = tuple((str(a), str(b)) for a, b in plain["edges"])
            states = MappingProxyType({str(name): int(k) for name, k in dict(plain["states"]).items()})
            return cls(
                number=int(plain["number"]),
                phase=str(plain["phase"]),
                kind=str(plain["kind"]),
                operation=str(plain["operation"]),
                score=float(plain["score"]),
                log_likelihood=float(plain["log_likelihood"]),
                dimension=int(plain["dimension"]),
                candidates=int(plain["candidates"]),
                seconds=float(plain["seconds"]),
                edges=edges,
                states=states,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"A step of a trace is damaged: {error!r}.") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return Step.from_plain, (self.to_plain(),)  # a read-only mapping cannot be copied or sent elsewhere

    def __str__(self) -> str:
        return (
            f"{self.number:4d}  {self.phase:<9} {self.kind:<5} score {self.score:.2f}, log-likelihood "
            f"{self.log_likelihood:.2f}, {self.dimension} parameters, {self.candidates} candidates, "
            f"{self.seconds:.1f} s: {self.operation}"
        )


def trace_to_plain(trace: Iterable[Step]) -> list[dict[str, Any]]:
    """A trace as plain values, for JSON files and checkpoints."""
    return [step.to_plain() for step in trace]


def trace_from_plain(plain: Iterable[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Make a trace again; the opposite of :func:`trace_to_plain`."""
    return tuple(Step.from_plain(step) for step in plain)
