"""Marginal likelihoods by summing over everything hidden, for data small enough."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
from scipy.special import gammaln, logsumexp

from latentree._model import Model
from latentree._table import Table


def log_dirichlet(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Counts averaged over a Dirichlet distribution, along the last axis."""
    k = counts.shape[-1]
    whole = gammaln(k * alpha) - gammaln(counts.sum(axis=-1) + k * alpha)
    return whole + (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=-1)


def two_classes(codes, weights, alpha: float = 1.0) -> float:
    """log P(D) of two classes with binary leaves: a sum over how many of each pattern are in the first class."""
    codes, weights = np.asarray(codes), np.asarray(weights)
    first = np.stack(np.meshgrid(*(np.arange(w + 1) for w in weights), indexing="ij"), axis=-1).reshape(
        -1, len(weights)
    )
    ways = (gammaln(weights + 1) - gammaln(first + 1) - gammaln(weights - first + 1)).sum(axis=1)
    total = ways + log_dirichlet(np.stack([first.sum(axis=1), (weights - first).sum(axis=1)], axis=-1), alpha)
    for members in (first, weights - first):
        for leaf in codes.T:
            ones = members @ leaf
            total += log_dirichlet(np.stack([members.sum(axis=1) - ones, ones], axis=-1), alpha)
    return float(logsumexp(total))


def by_completion(model: Model, table: Table, alpha: float = 1.0) -> float:
    """log P(D) of any tree on a few rows without missing cells: a sum over all values of all latents."""
    tree = model.tree
    rows = np.repeat(table.codes, table.weights.astype(int), axis=0)
    latent = [int(z) for z in tree.latent]
    hidden = list(product(*(range(int(tree.cardinality[z])) for z in latent)))
    terms = []
    for chosen in product(hidden, repeat=len(rows)):
        value = np.zeros((len(rows), tree.n_nodes), dtype=int)
        value[:, tree.manifest] = rows
        value[:, latent] = np.array(chosen).reshape(len(rows), len(latent))
        total = 0.0
        for v in range(tree.n_nodes):
            counts = np.zeros((tree.rows[v], tree.cardinality[v]))
            np.add.at(counts, (value[:, tree.parent[v]] if v else np.zeros(len(rows), int), value[:, v]), 1)
            total += log_dirichlet(counts, alpha).sum()
        terms.append(total)
    return float(logsumexp(terms))


def two_classes_of_three(weights, alpha: float = 1.0) -> float:
    """log P(D) of two classes and three binary leaves, all eight patterns: a sum over what the first class can hold.

    Only its size and how often each leaf is 1 in it matter, so memberships are counted pattern by pattern.
    """
    codes, weights = np.array(list(product((0, 1), repeat=3))), np.asarray(weights)
    n, ones = int(weights.sum()), weights @ codes
    ways = np.zeros((n + 1, *(ones + 1)))
    ways[0, 0, 0, 0] = 1.0
    for code, w in zip(codes, weights, strict=True):
        more = np.zeros_like(ways)
        for m in range(w + 1):
            steps = (m, *(m * code))
            to = tuple(slice(s, None) for s in steps)
            of = tuple(slice(None, size - s) for s, size in zip(steps, ways.shape, strict=True))
            more[to] += comb(int(w), m) * ways[of]
        ways = more
    held = np.argwhere(ways > 0)
    total = np.log(ways[ways > 0])
    for size, have in ((held[:, 0], held[:, 1:]), (n - held[:, 0], ones - held[:, 1:])):
        for leaf in have.T:
            total += log_dirichlet(np.stack([size - leaf, leaf], axis=-1), alpha)
    total += log_dirichlet(np.stack([held[:, 0], n - held[:, 0]], axis=-1), alpha)
    return float(logsumexp(total))


def two_classes_by_sampling(weights, near: np.ndarray, information: np.ndarray, rng, n: int = 200_000):
    """The same for any number of rows, by importance sampling: the estimate, and its standard error.

    In the softmax basis (ln odds of class 1, then of each leaf and class) with flat priors. ``near`` is a mode and
    ``information`` the precision of the samples, which follow Student's t with 5 degrees of freedom. The two halves of
    the space, by which class has the greater odds on the first leaf, are mirror images: one is sampled, and doubled.
    """
    codes, d = np.array(list(product((0, 1), repeat=3))), len(near)
    root = np.linalg.cholesky(information)
    steps = np.linalg.solve(root.T, rng.standard_normal((d, n))) / np.sqrt(rng.chisquare(5, n) / 5)
    x = near[:, None] + steps
    log_q = gammaln((5 + d) / 2) - gammaln(5 / 2) - d / 2 * np.log(5 * np.pi) + np.log(np.diag(root)).sum()
    log_q = log_q - (5 + d) / 2 * np.log1p(((root.T @ steps) ** 2).sum(axis=0) / 5)
    on, off = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    log_f = (on + off).sum(axis=0)  # flat priors, transformed
    leaves = np.arange(3)
    for code, w in zip(codes, weights, strict=True):
        each = np.where(np.array(code)[:, None, None] == 1, on[1:].reshape(3, 2, -1), off[1:].reshape(3, 2, -1))
        by_class = each[leaves].sum(axis=0) + np.stack([off[0], on[0]])
        log_f = log_f + w * np.logaddexp(*by_class)
    half = np.sign(x[1] - x[2]) == np.sign(near[1] - near[2])
    log_w = np.where(half, log_f - log_q, -np.inf) + np.log(2)
    ratio = np.exp(log_w - log_w.max())
    return float(np.log(ratio.mean()) + log_w.max()), float(ratio.std() / ratio.mean() / np.sqrt(n))
