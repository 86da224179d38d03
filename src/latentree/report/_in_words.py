"""What the states of a latent variable stand for, from a report: phrases and, for sparse data, top items."""

from __future__ import annotations

from ._answers import is_sparse, shown_answer, state_phrase, top_items
from ._contents import LatentContents, TreeReport

__all__ = ["answers", "items", "sparse"]


def answers(report: TreeReport, z: LatentContents) -> list[str]:
    """For each state of a latent variable, what it mostly answers to its most informative variables."""
    nodes = report["nodes"]
    return [
        state_phrase(
            [(nodes[u["node"]]["name"], nodes[u["node"]]["labels"], u["profile"][state]) for u in z["leaves"]],
            overall=[nodes[u["node"]]["marginal"] for u in z["leaves"]],
        )
        for state in range(len(z["sizes"]))
    ]


def sparse(report: TreeReport) -> bool:
    """Whether the data are like words or baskets."""
    leaves = [node for node in report["nodes"] if not node["latent"]]
    return is_sparse([node["labels"] for node in leaves], [node["marginal"] for node in leaves])


def items(
    report: TreeReport, z: LatentContents, *, like_words: bool | None = None
) -> list[list[tuple[str, float, float]]] | None:
    """For sparse data, the top items of each state: name, P(1 | state) and lift; otherwise None.

    Who asks for many latent variables looks once whether the data are :func:`sparse`, and says it as ``like_words``.
    """
    if not (sparse(report) if like_words is None else like_words):
        return None
    leaves = [(report["nodes"][u["node"]], u["profile"]) for u in z["leaves"]]
    known = [(node, shown_answer(node["labels"]), profile) for node, profile in leaves]
    own = [(node, at, profile) for node, at, profile in known if at is not None]
    names = [node["name"] for node, _, _ in own]
    overall = [node["marginal"][at] for node, at, _ in own]
    return [top_items(names, [p[state][at] for _, at, p in own], overall) for state in range(len(z["sizes"]))]
