"""Rank of a model's Jacobian at its own parameters, in floating point.

The decomposition of [ZhangKocka2004] theorem 1 holds at every point, and not only almost everywhere, if a neighbour
counts with the directions that the branch behind it tells apart instead of with its states
(``docs/mathematics/dimension.md``). So the rank is again a sum over latent nodes of ranks of latent class models, each
the rank of a Gram matrix in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._model import Model
from .._types import FloatArray
from ..errors import ModelError
from ._effective import LARGEST

RESOLUTION = 1e-6
"""Singular values below this count as zero, columns of the Jacobian being scaled to length one."""

EMPTY = 1e-6
"""States less probable than this count as never occurring."""


@dataclass(frozen=True, eq=False)
class Node:
    """What there is to know about one latent node at its model's parameters."""

    rank: int  # rank of the Jacobian of the latent class model around the node
    empty: tuple[int, ...]  # states that never occur
    loose: tuple[int, ...]  # states whose parameters can move, some of them together, without changing the distribution
    profiles: FloatArray  # what the neighbours do in each state, as far as it can be seen


class LocalRanks:
    """The ranks around all latent nodes of a model, and of the whole."""

    def __init__(self, model: Model, pair: tuple[int, int] | None = None) -> None:
        self.model = model
        self.tree = model.tree
        self.pair = pair  # of two independent latents, whose pairs are the states of the root of a star
        self.marginals = model.marginals()
        self._seen: dict[tuple[int, int], FloatArray] = {}  # (node, neighbour it is seen from): directions
        tree = self.tree
        for v in reversed(range(1, tree.n_nodes)):
            self._find_directions(v, int(tree.parent[v]))
        for v in range(1, tree.n_nodes):
            self._find_directions(int(tree.parent[v]), v)

    @cached_property
    def nodes(self) -> dict[int, Node]:
        """The latent nodes."""
        return {int(z): self._node(int(z)) for z in self.tree.latent}

    @cached_property
    def rank(self) -> int:
        """Rank of the whole model's Jacobian."""
        tree = self.tree
        observed = tree.variable >= 0
        total = sum(node.rank for node in self.nodes.values())
        for v in map(int, tree.manifest):
            total -= (len(tree.neighbours(v)) - 1) * (len(self._kept(v)) - 1)  # [ZhangKocka2004] theorem 2
        for v in range(1, tree.n_nodes):
            u = int(tree.parent[v])
            if observed[u] == observed[v]:
                both = self._seen[u, v].shape[1] * self._seen[v, u].shape[1] - 1
                total += both if observed[v] else -both  # [ZhangKocka2004] theorem 1
        return int(total)

    # ---- what can be seen of a node ---------------------------------------------------------------------

    def _kept(self, v: int) -> NDArray[np.intp]:
        """States of a manifest node; an inner one's without those that never occur, below which nothing is fixed."""
        if len(self.tree.neighbours(v)) < 2:
            return np.arange(self.tree.cardinality[v])
        return np.flatnonzero(self.marginals[v] >= EMPTY)

    def _conditional(self, u: int, v: int) -> FloatArray:
        """P(u | v) for neighbours, a row for each state of v."""
        if u and self.tree.parent[u] == v:
            return self.model.table(u)
        joint = self.marginals[u][:, None] * self.model.table(v)
        total = joint.sum(axis=0)
        out = np.repeat(self.marginals[u][:, None], len(total), axis=1)
        back: FloatArray = np.divide(joint, total, out=out, where=total > 0).T
        return back

    def _find_directions(self, v: int, u: int) -> None:
        """Find the directions of v's distribution that the branch behind it, away from u, tells apart."""
        k = int(self.tree.cardinality[v])
        if self.tree.variable[v] >= 0:
            self._seen[v, u] = np.eye(k)[:, self._kept(v)]
            return
        if self.tree.variable[u] >= 0:
            return  # nobody asks: models end at manifest nodes
        cosines, log_length = np.ones((k, k)), np.zeros(k)
        for n in self.tree.neighbours(v):
            if n != u:
                unit, length = _unit(self._conditional(n, v) @ self._seen[n, v])
                cosines *= unit @ unit.T
                log_length += np.log(length)
        values, vectors = np.linalg.eigh(cosines)
        hidden = vectors[:, values < RESOLUTION**2]
        if not hidden.shape[1]:
            self._seen[v, u] = np.eye(k)
            return
        # Undo the scaling; states that cannot be told apart have equal lengths, so that it hardly matters.
        hidden = hidden * np.exp(np.minimum(log_length.max() - log_length, 14.0))[:, None]
        self._seen[v, u] = np.linalg.svd(hidden)[0][:, hidden.shape[1] :]

    # ---- one latent node --------------------------------------------------------------------------------

    def _node(self, z: int) -> Node:
        tree = self.tree
        neighbours = tree.neighbours(z)
        views = [self._conditional(n, z) @ self._seen[n, z] for n in neighbours]
        empty = self.marginals[z] < EMPTY
        if len(empty) * (1 + sum(v.shape[1] - 1 for v in views)) > LARGEST:
            raise ModelError(f"The latent node '{tree.names[z]}' has too many parameters around it (over {LARGEST:,}).")
        gram, owner, neighbour = _gram(views, len(empty))
        # P(leaf | z) of an empty state can be anything. P(latent, z) moves even where it is zero.
        observed = np.array([False, *(tree.variable[n] >= 0 for n in neighbours)])
        moving = ~(empty[owner] & observed[neighbour])
        if self.pair is not None:
            by, owner = _with_pairs(views, self.marginals[z].reshape(self.pair), empty)
            gram, moving = by.T @ gram @ by, np.ones(by.shape[1], dtype=bool)
        values, vectors = np.linalg.eigh(gram[np.ix_(moving, moving)])
        null = vectors[:, values < RESOLUTION**2]
        loose = set(np.flatnonzero(empty)) | set(owner[moving][np.abs(null).max(axis=1, initial=0.0) > 1e-3])
        return Node(
            rank=int(moving.sum()) - null.shape[1] - 1,
            empty=tuple(map(int, np.flatnonzero(empty))),
            loose=tuple(sorted(map(int, loose))),
            profiles=np.hstack([np.zeros((len(empty), 1)), *views])[:, 1:],
        )


def _unit(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    length = np.sqrt((rows * rows).sum(axis=1))
    length[length == 0] = 1.0
    return rows / length[:, None], length


def _gram(views: list[FloatArray], k: int) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """Inner products of the columns of a latent class model's Jacobian, its classes' weights being free.

    Class z is the product over the leaves of unit vectors t_zi. In an orthonormal frame of each leaf's space that
    begins with t_zi, the columns are this product and those with t_zi replaced by another vector of its frame. So
    columns of one class are orthonormal, and between classes inner products are products of frames' inner products.

    Returns the matrix and, for each column, its class and the leaf that is replaced in it (0: none, else one more).
    """
    frames = _frames(views)
    widths = [1, *(v.shape[1] - 1 for v in views)]
    leaf = np.repeat(np.arange(len(widths)), widths)
    size = len(leaf)
    gram = np.eye(k * size)
    for a in range(k):
        for b in range(a):
            block = _cross([f[a].T @ f[b] for f in frames], leaf)
            gram[a * size : (a + 1) * size, b * size : (b + 1) * size] = block
            gram[b * size : (b + 1) * size, a * size : (a + 1) * size] = block.T
    return gram, np.repeat(np.arange(k), size), np.tile(leaf, k)


def _with_pairs(
    views: list[FloatArray], root: FloatArray, empty: NDArray[np.bool_]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The moves of two independent latents' parameters in the columns of :func:`_gram`, each of length one.

    The two vectors of weights are free, but for a scale that moves from one to the other; each leaf's distribution
    moves within its simplex, in states that occur. The second result is the state that each move belongs to.
    """
    frames = _frames(views)
    size = 1 + sum(v.shape[1] - 1 for v in views)
    log_length = sum((np.log(_unit(v)[1]) for v in views), np.zeros(root.size))
    length = np.exp(log_length - log_length.max()).reshape(root.shape)
    moves, owner = [], []
    for state in np.flatnonzero(~empty):
        at = state * size + 1
        for frame in frames:
            r = frame.shape[1]
            for direction in np.linalg.svd(np.ones((1, r)))[2][1:]:  # the differences: all that sum to zero
                own = np.zeros(root.size * size)
                own[state * size], *own[at : at + r - 1] = frame[state].T @ direction
                moves.append(own)
                owner.append(state)
            at += r - 1
    first, second = root.sum(axis=1), root.sum(axis=0)
    states = np.arange(root.size).reshape(root.shape)
    weights = [(states[i], second * length[i]) for i in range(len(first))]
    weights += [(states[:, j], first * length[:, j]) for j in range(1, len(second))]
    for of, values in weights:
        own = np.zeros(root.size * size)
        own[of * size] = values
        moves.append(own)
        owner.append(of[int(values.argmax())])
    by = np.array(moves).T
    norms = np.linalg.norm(by, axis=0)
    return by / np.where(norms > 0, norms, 1.0), np.array(owner)


def _frames(views: list[FloatArray]) -> list[FloatArray]:
    """Orthonormal frames of each leaf's space that begin with the unit vectors of the states."""
    frames = [np.linalg.svd(_unit(v)[0][:, :, None])[0] for v in views]
    for frame, view in zip(frames, views, strict=True):
        frame[:, :, 0] = _unit(view)[0]  # the decomposition may turn the sign
    return frames


def _cross(turns: list[FloatArray], leaf: NDArray[np.intp]) -> FloatArray:
    """Inner products between the columns of two classes; ``turns`` has those of their frames for each leaf."""
    cosine = np.array([1.0, *(t[0, 0] for t in turns)])
    without = _products_without(cosine)
    rows = np.concatenate([[1.0], *(t[1:, 0] for t in turns)])
    columns = np.concatenate([[1.0], *(t[0, 1:] for t in turns)])
    out: FloatArray = np.outer(rows, columns) * without[np.ix_(leaf, leaf)]
    out[0, 0] = cosine.prod()
    for i, turn in enumerate(turns, start=1):
        own = np.flatnonzero(leaf == i)
        out[np.ix_(own, own)] = turn[1:, 1:] * without[0, i]
    return out


def _products_without(c: FloatArray) -> FloatArray:
    """Product of all c but those at i and j, for i != j; the diagonal means nothing."""
    zero = c == 0
    size = np.log(np.where(zero, 1.0, np.abs(c)))
    sign = np.where(c < 0, -1.0, 1.0)
    left_zero = zero.sum() - zero[:, None] - zero[None, :] > 0
    log_size = np.minimum(size.sum() - size[:, None] - size[None, :], 0.0)  # cosines: rounding aside, none exceeds 1
    return np.where(left_zero, 0.0, np.exp(log_size) * sign.prod() * sign[:, None] * sign[None, :])
