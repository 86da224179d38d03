"""How a tree grew: the steps that led to it, out of all that a search did, under the names that it has in the end.

A search may start several times and keep the best of the trees it ends at. The steps of the other starts did not lead
to that tree and are told apart from those that did. While it searches, latent variables have working names that change
from step to step; here each is called as the latent variable of the final tree that it became, and those that did not
last are called ``latent A``, ``latent B``, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

from ._contents import GrowthContents, NodeContents, StartOfSearch, StepContents

__all__ = ["growth", "said"]

SAME_SCORE = 0.05
"""Starts whose scores differ by no more have come to the same end."""

Branches = dict[str, frozenset[int]]
"""For each latent variable, the manifest variables of each of its branches: all their marks, by exclusive or."""

MARK = 61
"""Bits of the mark of a manifest variable, drawn at random: sets of variables with one mark are all but impossible."""


def growth(steps: Sequence[StepContents], nodes: Sequence[NodeContents]) -> GrowthContents:
    """The path that led to the final tree, and what became of the other starts.

    Parameters
    ----------
    steps : sequence of dict
        All steps, as :func:`latentree.report.checked_trace` gives them.
    nodes : sequence of dict
        The nodes of the final tree, as :func:`latentree.report.describe_tree` gives them.

    Returns
    -------
    dict
        ``steps``, the path; ``start``, which start it belongs to (from 1); and ``starts``, where each of them ended.
    """
    if not steps:
        return {"steps": [], "start": 1, "starts": []}
    random = Random(0)
    marks = {n["name"]: random.getrandbits(MARK) for n in nodes if not n["latent"]}
    edges = [[nodes[n["parent"]]["name"], n["name"]] for n in nodes if n["parent"] is not None]
    final = _branches({"edges": edges, "states": {n["name"]: n["cardinality"] for n in nodes}}, marks)
    ending = [steps[-1]] if len(steps) > 1 and steps[-1].get("phase") == "end" else []
    starts = _starts(steps[: len(steps) - len(ending)])
    scores = [max((s["score"] for s in own if s["score"] is not None), default=None) for own in starts]
    found = [[_branches(step, marks) for step in own] for own in starts]
    at, n = _leading(starts, found, set(final.values()))
    best = max((x for x in scores if x is not None), default=None)
    told: list[StartOfSearch] = [
        {
            "number": i + 1,
            "steps": len(own),
            "score": score,
            "same": best is not None and score is not None and score > best - SAME_SCORE,
        }
        for i, (own, score) in enumerate(zip(starts, scores, strict=True))
    ]
    branches = [*found[at][: n + 1], *(_branches(step, marks) for step in ending)]
    path = _renamed([*starts[at][: n + 1], *ending], branches, final, {*marks.values()})
    return {"steps": path, "start": at + 1, "starts": told}


def said(step: StepContents) -> str:
    """What a step did; one that lost something first and gained more afterwards says so."""
    if step.get("phase") != "perturb" or step.get("kind") == "EM":
        return step["operation"]
    return f"a change that loses at first, and what then gained: {step['operation']}"


def _starts(steps: Sequence[StepContents]) -> list[list[StepContents]]:
    """The steps of each start."""
    found: list[list[StepContents]] = [[]]
    for step in steps:
        if step.get("kind") == "start" and found[-1]:
            found.append([])
        found[-1].append(step)
    return found


def _leading(
    starts: Sequence[Sequence[StepContents]], branches: Sequence[Sequence[Branches]], final: set[frozenset[int]]
) -> tuple[int, int]:
    """The start that reached the final tree, and the step that did; otherwise that of the best score."""

    def score(at: tuple[int, int]) -> float:
        value = starts[at[0]][at[1]]["score"]
        return float("-inf") if value is None else value

    every = [(i, j) for i, own in enumerate(starts) for j in range(len(own))]
    reached = [(i, j) for i, j in every if set(branches[i][j].values()) == final]
    return max(reached or every, key=score)


def _branches(tree: Mapping[str, Any], marks: Mapping[str, int]) -> Branches:
    """The branches around each latent variable, which tell it apart whatever it is called."""
    edges = _downwards(tree)
    below = {name: marks.get(name, 0) for name in tree["states"]}
    for a, b in reversed(edges):
        below[a] ^= below[b]
    whole = below[edges[0][0]] if edges else 0
    parts: dict[str, list[int]] = {name: [] for name in tree["states"] if name not in marks}
    for a, b in edges:
        if a in parts:
            parts[a].append(below[b])
        if b in parts:
            parts[b].append(whole ^ below[b])
    return {name: frozenset(filter(None, own)) for name, own in parts.items()}


def _downwards(tree: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """The edges of a tree away from some node, those nearer to it first. They mostly are so already."""
    edges: Sequence[Sequence[str]] = tree["edges"]
    seen = {edges[0][0]} if edges else set()
    for a, b in edges:
        if a not in seen or b in seen:
            break
        seen.add(b)
    else:
        return edges
    near: dict[str, list[str]] = {name: [] for name in tree["states"]}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    order = [edges[0][0]]
    above: dict[str, str | None] = {order[0]: None}
    for name in order:
        for other in near[name]:
            if other not in above:
                above[other] = name
                order.append(other)
    return [(up, name) for name in order if (up := above[name]) is not None]


def _renamed(
    path: Sequence[StepContents], branches: Sequence[Branches], final: Branches, leaves: set[int]
) -> list[StepContents]:
    """The steps with latent variables called as what they became."""
    if branches[-1].keys() == final.keys():  # they have their final names already
        return list(path)
    letters = _letters()
    after, shown = final, {name: name for name in final}
    names: list[dict[str, str]] = []
    for own in reversed(branches):
        same = _matched(own, after, leaves)
        shown = {z: shown[same[z]] if z in same else f"latent {next(letters)}" for z in own}
        names.append(shown)
        after = own
    names.reverse()
    found = []
    for i, (step, own_names) in enumerate(zip(path, names, strict=True)):
        operation = _with_names(step["operation"], names[i - 1]) if i else step["operation"]
        edges = [[own_names.get(name, name) for name in edge] for edge in step["edges"]]
        states = {own_names.get(name, name): k for name, k in step["states"].items()}
        found.append(StepContents(**{**step, "operation": operation, "edges": edges, "states": states}))
    return found


def _letters() -> Iterator[str]:
    for n in count():
        yield chr(ord("A") + n % 26) + (str(n // 26 + 1) if n >= 26 else "")


def _matched(before: Branches, after: Branches, leaves: set[int]) -> dict[str, str]:
    """Which latent variable became which: those with the most branches in common, then variables in common."""
    alike: dict[frozenset[int], list[str]] = {}
    for b in reversed(after):
        alike.setdefault(after[b], []).append(b)
    found = {a: same.pop() for a, own in before.items() if (same := alike.get(own))}  # most do not change in a step
    taken = set(found.values())
    holders: dict[int, list[str]] = {}
    for b, other in after.items():
        if b not in taken:
            for part in other:
                holders.setdefault(part, []).append(b)
    pairs = []
    for a, own in before.items():
        if a in found:
            continue
        for b in dict.fromkeys(b for part in own for b in holders.get(part, ())):
            common = own & after[b]
            pairs.append((len(common & leaves), len(common) / len(own | after[b]), a, b))
    pairs.sort(key=lambda pair: (-pair[0], -pair[1]))
    for *_, a, b in pairs:
        if a not in found and b not in taken:
            found[a] = b
            taken.add(b)
    return found


def _with_names(operation: str, names: Mapping[str, str]) -> str:
    """What was done, with the names of the nodes before the step."""
    if not names:
        return operation
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.sub(rf"(?<![\w+])({known})(?![\w+])", lambda found: names[found[1]], operation)
