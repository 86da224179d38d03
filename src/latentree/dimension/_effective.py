"""Standard and effective dimension of any tree model ([ZhangKocka2004]; [Whiley1999] 3).

The effective dimension de is the rank, almost everywhere, of the Jacobian from the parameters to P(manifest).
[ZhangKocka2004] theorems 1 and 2 take a tree apart into latent class models, one around each latent node. The Jacobian
of such a model has a row for each pattern, exponentially many; instead of these rows we take a few random combinations
of them, which have closed form. ``docs/mathematics/dimension.md`` has the derivations and the proofs of the lemmas
named here.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, lgamma, log, prod

import numpy as np

from .._tree import Tree
from .._types import IndexArray
from ..errors import ModelError
from . import _modular as modular

MISTAKE = 1e-15
"""Bound on the probability that an effective dimension comes out too low; it is never too high."""

LARGEST = 5_000
"""Most columns of a matrix that is eliminated, which takes half a minute and 1 GB then."""


def standard_dimension(tree: Tree) -> int:
    """Count the free probabilities of a model, ds.

    Parameters
    ----------
    tree : Tree
        The structure.

    Examples
    --------
    >>> standard_dimension(Tree.star(3, [2, 2, 2, 2]))
    14
    """
    return tree.n_parameters


def effective_dimension(tree: Tree) -> int:
    """Find the dimension of the set of distributions that a structure can represent, de.

    It is the rank of the Jacobian from the parameters to the joint probabilities of the manifest variables, almost
    everywhere. Where it is below the standard dimension, data do not identify the parameters, however many there are.

    Parameters
    ----------
    tree : Tree
        Any structure: with observed inner nodes, latent leaves, states that make it irregular, nodes of one state.

    Returns
    -------
    int
        Never too high, and too low with a probability below 1e-15 (over the fixed seeds); certain whenever all latent
        nodes are locally of full dimension. The same in every run.

    Raises
    ------
    ModelError
        If a latent node has so many states and so few neighbours that more than 5,000 columns would have to be
        eliminated.

    Examples
    --------
    >>> effective_dimension(Tree.star(2, [2, 2, 2])), effective_dimension(Tree.star(3, [2, 2, 2, 2]))
    (7, 13)
    """
    tree = tree.regularised()
    k = [int(c) for c in tree.cardinality]
    observed = [v >= 0 for v in tree.variable]
    total = 0
    for v in range(tree.n_nodes):
        neighbours = tree.neighbours(v)
        if observed[v]:
            total -= (len(neighbours) - 1) * (k[v] - 1)  # [ZhangKocka2004] theorem 2
        else:
            total += class_dimension(k[v], tuple(sorted(k[u] for u in neighbours)))
    for v in range(1, tree.n_nodes):
        u = int(tree.parent[v])
        if observed[u] == observed[v]:
            # Two manifest nodes are a model of their own; of two latent ones both models hold P(u, v) (theorem 1).
            total += (1 if observed[v] else -1) * (k[u] * k[v] - 1)
    return total


@lru_cache(maxsize=65_536)
def class_dimension(n_states: int, leaves: tuple[int, ...]) -> int:
    """Effective dimension of a regular latent class model."""
    if n_states == 1 or len(leaves) < 2:
        return sum(r - 1 for r in leaves)
    # Lemma 1: of a leaf with more states than classes, only a subspace with one dimension a class is seen.
    beyond = sum(n_states * (r - n_states) for r in leaves if r > n_states)
    seen = [min(r, n_states) for r in leaves if r > 1]
    if _three_views(n_states, seen) or _few_leaves_suffice(n_states, seen):
        return beyond + _columns(n_states, seen) - 1
    sizes = ", ".join(map(str, leaves))
    _check_size(n_states, seen, f"around a latent node of {n_states} states with neighbours of {sizes} states")
    return beyond + _generic_rank(n_states, seen) - 1


@lru_cache(maxsize=65_536)
def pair_dimension(pair: tuple[int, int], leaves: tuple[int, ...]) -> int:
    """Effective dimension of two independent latents above every leaf ([Whiley1999] 4.8.8).

    A latent class model whose states are pairs, with P(z1, z2) = P(z1) P(z2).
    """
    seen = [r for r in leaves if r > 1]
    _check_size(prod(pair), seen, f"of two latents of {pair[0]} and {pair[1]} states")
    return _generic_rank(pair[0] * pair[1], seen, pair) - 1 if seen else 0


def _check_size(n_states: int, leaves: list[int], what: str) -> None:
    if (n := _columns(n_states, leaves)) > LARGEST:
        raise ModelError(
            f"The effective dimension {what} needs elimination of {n:,} columns; at most {LARGEST:,} are done. Use the "
            "standard dimension."
        )


def _columns(n_states: int, leaves: list[int]) -> int:
    """Parameters of a latent class model, its classes' weights being free: ds + 1."""
    return n_states * (1 + sum(r - 1 for r in leaves))


def _three_views(n_states: int, leaves: list[int]) -> bool:
    """Whether three groups of leaves can each tell all classes apart: then de = ds (lemma 2)."""
    groups = [1, 1, 1]
    for r in sorted(leaves, reverse=True):
        # Each leaf goes to the group that lacks least and still lacks something.
        lacking = [g for g in groups if g < n_states]
        if not lacking:
            break
        groups[groups.index(max(lacking))] *= r
    return min(groups) >= n_states


def _few_leaves_suffice(n_states: int, leaves: list[int]) -> bool:
    """Whether some of the leaves alone give de = ds: then all do (lemma 3, which extends [Whiley1999] theorem 3.4)."""
    few: list[int] = []
    for r in sorted(leaves, reverse=True):
        few.append(r)
        if prod(few) >= _columns(n_states, few):
            break
    n_columns = _columns(n_states, few)
    return len(few) < len(leaves) and n_columns <= LARGEST and _generic_rank(n_states, few) == n_columns


def _generic_rank(n_states: int, leaves: list[int], pair: tuple[int, int] | None = None) -> int:
    """Rank, almost everywhere, of a latent class model's Jacobian with its classes' weights free: one more than de.

    With a pair the weights are the products of two vectors that are free.
    """
    n_columns = _columns(n_states, leaves)
    most = min(n_columns if pair is None else n_columns - n_states + sum(pair) - 1, prod(leaves))
    best = 0
    for draw in range(_draws(most, len(leaves) + (0 if pair is None else 2))):
        rng = np.random.default_rng([draw, n_states, *leaves])
        p = modular.random_prime(rng)
        rows = _combined_rows(n_states, leaves, most, p, rng, pair)
        best = max(best, modular.rank(rows, p))
        if best == most:  # no rank modulo a prime exceeds the generic one: this is certain
            break
    return best


def _draws(rank: int, n_leaves: int) -> int:
    """How many independent draws make the probability small that all of them miss the rank.

    One draw misses it if the prime divides a certain coefficient, an integer of size at most rank!, or if the random
    point is a zero of a certain polynomial of degree at most 2 * n_leaves * rank (Schwartz & Zippel).
    """
    bad_primes = lgamma(rank + 1) / log(2 ** (modular.BITS - 1))
    miss = bad_primes / modular.N_PRIMES + 2 * n_leaves * rank / 2 ** (modular.BITS - 1)
    return ceil(log(MISTAKE) / log(miss))


def _combined_rows(
    n_states: int, leaves: list[int], n_rows: int, p: int, rng: np.random.Generator, pair: tuple[int, int] | None = None
) -> IndexArray:
    """Random combinations of the Jacobian's rows at a random point, modulo p.

    A class z is the product over the leaves of vectors a_zi; the columns are this product for each z, and the same with
    a_zi replaced by a unit vector. Rows are combined with weights that are products over the leaves, too, of vectors
    b_i: then each entry is a product of inner products <b_i, a_zi>. With free weights any entry of a_zi may stand for
    its scale; with a pair a_zi sums to one, and moves along differences of unit vectors.
    """
    a = [np.c_[np.ones((n_states, 1), dtype=np.int64), rng.integers(0, p, (n_states, r - 1))] for r in leaves]
    b = [np.c_[np.ones((n_rows, 1), dtype=np.int64), rng.integers(0, p, (n_rows, r - 1))] for r in leaves]
    moves = [own[:, 1:] for own in b]
    if pair is not None:
        for own in a:
            own[:, 0] = (1 - own[:, 1:].sum(axis=1)) % p
        moves = [(own - 1) % p for own in moves]
    inner = [modular.product(weights, own.T, p) for weights, own in zip(b, a, strict=True)]
    before = [np.ones((n_rows, n_states), dtype=np.int64)]
    for c in inner:
        before.append(before[-1] * c % p)
    columns = [before[-1] if pair is None else modular.product(before[-1], _weight_columns(pair, p, rng), p)]
    after = np.ones_like(before[0])
    for i in reversed(range(len(leaves))):
        others = before[i] * after % p
        columns.append((others[:, :, None] * moves[i][:, None, :] % p).reshape(n_rows, -1))
        after = after * inner[i] % p
    return np.hstack(columns)


def _weight_columns(pair: tuple[int, int], p: int, rng: np.random.Generator) -> IndexArray:
    """Derivatives of the products of two random vectors by their entries, modulo p: [pairs, entries]."""
    first, second = (rng.integers(1, p, k) for k in pair)
    by_first = np.kron(np.eye(pair[0], dtype=np.int64), second[:, None])
    by_second = np.kron(first[:, None], np.eye(pair[1], dtype=np.int64))
    return np.hstack([by_first, by_second])
