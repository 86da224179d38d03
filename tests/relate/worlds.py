"""Generated data with known classes, and slow twins by enumeration."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import gammaln

import latentree as lt
from latentree._tree import Tree

SIZES = (2, 3, 2, 3, 2)
BETA = np.array([[0.0, 0.0], [0.4, -0.9], [-0.3, 0.8]])


def profiles(rng: np.random.Generator, k: int, sizes=SIZES, strength: float = 4.0) -> list[np.ndarray]:
    """Tables in which each class prefers one answer."""
    out = []
    for j, r in enumerate(sizes):
        logits = rng.normal(0, 0.3, (k, r))
        logits[np.arange(k), (np.arange(k) * (j + 1) + j) % r] += strength / 2
        out.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    return out


def world(seed: int = 0, n: int = 600, *, missing: float = 0.0, strength: float = 5.0, beta=BETA, sizes=SIZES):
    """A frame of items a, b, ..., covariates x (number) and g (text), the class and an outcome, and the true model."""
    rng = np.random.default_rng(seed)
    k = len(beta)
    x = rng.normal(size=n).round(2)
    g = rng.choice(["f", "m"], n)
    logits = beta[:, 0] + x[:, None] * beta[:, 1]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    z = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    tables = profiles(rng, k, sizes, strength)
    frame = {}
    for j, t in enumerate(tables):
        codes = (rng.random(n)[:, None] > t[z].cumsum(axis=1)).sum(axis=1).astype(float)
        codes[rng.random(n) < missing] = np.nan
        frame["abcdefgh"[j].upper()] = codes
    frame |= {"x": x, "g": g, "y": (2.0 * z + rng.normal(size=n)).round(3), "z": z}
    frame["visits"] = rng.poisson(1.0 + z)
    variables = [lt.Variable("ABCDEFGH"[j], tuple(range(r))) for j, r in enumerate(sizes)]
    tree = Tree.star(k, list(sizes), [v.name for v in variables])
    size = np.bincount(z, minlength=k) / n
    parameters = np.concatenate([size, *(t.ravel() for t in tables)])
    return pd.DataFrame(frame), lt.Model(tree, variables, parameters)


def brute_log_likelihood(logit, tables, codes, weights, *, outcome=None, direct=None) -> float:
    """Sum over rows of log sum over classes, cell by cell."""
    total = 0.0
    for i in range(len(codes)):
        linear = logit.beta @ logit.x[i]
        prior = np.exp(linear - linear.max())
        prior = prior / prior.sum()
        density = 0.0
        for k in range(len(prior)):
            p = prior[k]
            for j, code in enumerate(codes[i]):
                if code < 0:
                    continue
                if direct is not None and direct[0] == j:
                    part = direct[1]
                    own = part.constants[k] + part.z[i] @ part.slopes[0 if part.uniform else k]
                    p *= (np.exp(own) / np.exp(own).sum())[code]
                else:
                    p *= tables[j][k][code]
            density += p * (1.0 if outcome is None else outcome(i, k))
        total += weights[i] * np.log(density)
    return total


def outcome_density(part):
    """Densities of an outcome part, from their formulas."""
    k, c, q = part.n_classes, part.n_categories, part.z.shape[1]
    constants = part.parameters[: k * c].reshape(k, c)
    slopes = part.parameters[k * c : k * c + q * c].reshape(q, c)

    def density(i: int, own: int) -> float:
        y = part.y[i]
        if np.isnan(y):
            return 1.0
        eta = constants[own] + part.z[i] @ slopes
        kind = type(part).__name__
        if kind == "Normal":
            sigma = np.exp(part.parameters[-k + own])
            return float(np.exp(-0.5 * ((y - eta[0]) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))
        if kind == "Count":
            return float(np.exp(y * eta[0] - np.exp(eta[0]) - gammaln(y + 1)))
        whole = np.exp(np.concatenate([[0.0], eta]))
        return float(whole[int(y)] / whole.sum())

    return density


def hessian(function, size: int, step: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and matrix of second derivatives by central differences."""
    eye = np.eye(size) * step
    gradient = np.array([(function(e) - function(-e)) / (2 * step) for e in eye])
    out = np.empty((size, size))
    for a in range(size):
        for b in range(a + 1):
            ends = [function(s * eye[a] + t * eye[b]) * s * t for s in (1, -1) for t in (1, -1)]
            out[a, b] = out[b, a] = sum(ends) / (4 * step**2)
    return gradient, out
