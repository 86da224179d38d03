"""What a search maximises: any score, and how a candidate is judged before its parameters are fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .._table import Table
from .._tree import Tree
from ..dimension import effective_dimension
from ..estimation import Fit
from ..score import SCORES, Penalty, Score as KnownScore
from ._network import Graph
from ._operators import Move, added_parameters, relocated

Score = str | Callable[[Fit], float]
"""The name of a score, or any function of a fit, higher being better."""


@dataclass(frozen=True)
class Criterion:
    """A score, for one table.

    Attributes
    ----------
    name : str
        What it is called.
    penalised : bool
        Whether it is the log-likelihood less a penalty of the tree. A candidate's likelihood, even a restricted one,
        then gives its score. Others are estimated by BIC, and the best few candidates are fitted and truly scored.
    rate : float
        What a parameter costs.
    """

    name: str
    penalised: bool
    _score: Callable[[Fit], float] = field(repr=False)
    _penalty: Penalty = field(repr=False)
    rate: float = field(repr=False)

    @classmethod
    def of(cls, score: Score, table: Table) -> Criterion:
        """Look a score up by its name.

        Examples
        --------
        >>> table = Table.from_codes([[0, 0, 0], [1, 1, 1]], weights=[60, 40])
        >>> round(Criterion.of("bic", table).penalty(Tree.star(2, [2, 2, 2])), 3)
        16.118
        """
        own = score if callable(score) else SCORES.find(score, owner="learn")
        known = own if isinstance(own, KnownScore) else None
        by = known if known is not None and known.penalty is not None else SCORES["bic"]
        assert by.penalty is not None
        rate = by.penalty.each(table.n, by.title)
        return cls(getattr(own, "__name__", "score"), by is known, own, by.penalty, rate)

    def dimension(self, graph: Graph | Tree) -> int:
        """What the penalty counts: free probabilities, or effective dimensions for BICe."""
        if self._penalty.dimension == "effective":
            return effective_dimension(graph.to_tree() if isinstance(graph, Graph) else graph)
        return graph.n_parameters

    def penalty(self, graph: Graph | Tree) -> float:
        """What a structure costs; for scores that are not penalised likelihoods, what BIC says."""
        return self.rate * self.dimension(graph)

    def price(self, graph: Graph, move: Move, base: float) -> float:
        """What a move adds to the penalty ``base`` of a regular graph; no look at the whole tree is needed."""
        if not self.local:
            return self.penalty(graph.after(move.applied(graph))[0]) - base
        more = added_parameters(graph, move)
        return self.rate * (graph.after(move.applied(graph))[1] if more is None else more)

    @property
    def local(self) -> bool:
        """Whether what a move costs follows from its surroundings."""
        return self._penalty.dimension != "effective"

    def prices(self, graph: Graph, z: int, a: int, places: Sequence[int], base: float) -> list[float]:
        """What it costs to hang a branch z of a latent a at each of some places."""
        known: list[int | None] = relocated(graph, z, a, places) if self.local else [None] * len(places)
        return [
            self.price(graph, Move("NR", (z, a, c)), base) if more is None else self.rate * more
            for c, more in zip(places, known, strict=True)
        ]

    def estimate(self, log_likelihood: float, graph: Graph | Tree) -> float:
        """Score of a structure that reaches this log-likelihood; BIC if that does not give the score."""
        return log_likelihood - self.penalty(graph)

    def __call__(self, fit: Fit) -> float:
        """True score of a fit."""
        return float(self._score(fit))
