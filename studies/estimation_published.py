"""What chapter 2 of [Whiley1999] prints, beside which :mod:`studies.estimation` puts ours."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["SHAPES", "TABLE_2_1", "TABLE_2_3", "TABLE_2_4", "TABLE_2_5", "W_SAYS"]

W_SAYS = {
    "proportion vector": {
        "IEM": "ahead in all 20",
        "GCG": "ahead in all 20, best",
        "CG": "ahead in all 20, second",
        "EM-eta": "ahead in all 20",
        "EG-eta": "ahead in all 20, best of the simple ones",
        "GP-eta": "poor; fails at the boundary (2 of 20)",
        "ACG-phi": "ahead on average, behind in 4",
        "ACG-theta": "poor; fails at the boundary",
        "ACG-theta-chi2": "behind even without the boundary",
        "GCG, golden section": "costs far more than EM a step",
    },
    "unknown components": {
        "IEM": "ahead",
        "GCG": "ahead, best",
        "CG": "ahead",
        "EM-eta": "like EM",
        "EG-eta": "like EM",
        "GP-eta": "much slower",
        "ACG-phi": "like EM",
        "ACG-theta": "much slower",
        "ACG-theta-chi2": "much slower",
    },
}

TABLE_2_5 = {  # [Whiley1999]: how often of 100 the Hessian is positive definite; leaves of 2, 3, 4, 5, 6 states
    0.1: (100, 100, 100, 100, 100),
    0.2: (100, 100, 100, 100, 100),
    0.3: (100, 97, 100, 100, 100),
    0.4: (100, 83, 93, 100, 97),
    0.5: (100, 3, 0, 0, 22),
    0.6: (100, 0, 0, 0, 0),
    0.7: (100, 0, 0, 0, 0),
    0.8: (100, 0, 0, 0, 0),
    0.9: (100, 0, 0, 0, 0),
}

TABLE_2_1 = {  # [Whiley1999]: mean, least, greatest and "standard error" of the rates of 20 data sets
    "proportion vector": {
        "em-eta": (1.88, 1.4, 2.2, 0.24),
        "eg-eta": (2.48, 1.5, 7.0, 1.15),
        "gp-eta": (0.44, 0.002, 1.3, 0.28),
        "acg-phi": (0.10, 0.06, 0.23, 0.040),
        "acg-theta": (0.0026, 0.00005, 0.008, 0.0019),
        "acg-theta-chi2": (0.0027, 0.00001, 0.008, 0.0019),
    },
    "unknown components": {
        "em-eta": (1.91, 1.7, 2.2, 0.17),
        "eg-eta": (1.85, 0.3, 2.7, 0.49),
        "gp-eta": (0.24, 0.005, 0.7, 0.23),
        "acg-phi": (0.12, 0.09, 0.15, 0.017),
        "acg-theta": (0.0013, 0.00003, 0.003, 0.0012),
        "acg-theta-chi2": (0.0018, 0.0001, 0.006, 0.0017),
    },
}
SHAPES = {"proportion vector": (4, 5), "unknown components": (2, 4)}
"""States of the latent variable, and leaves."""

Flops = Callable[[int, int, int, float], float]
TABLE_2_3: dict[str, Flops] = {  # the proportion vector: N rows, c states, n leaves, x looks of the line search
    "EM": lambda N, c, n, x: N * c * (3 + n) + c,
    "IEM": lambda N, c, n, x: N * c * (6 + n),
    "EM-eta": lambda N, c, n, x: N * c * (2 * n + 3) + 5 * c,
    "EG-eta": lambda N, c, n, x: N * c * (2 * n + 3) + 6 * c,
    "GP-eta": lambda N, c, n, x: N * c * (2 * n + 3) + 5 * c + 1,
    "ACG-phi": lambda N, c, n, x: N * (n * c**2 + 3 * c**2 - 2) + 13 * (c - 1) + 3,
    "ACG-theta": lambda N, c, n, x: N * (c * (n + 1) + (c - 1) * (2 * n + 3)) + 12 * (c - 1) + 3,
    "ACG-theta-chi2": lambda N, c, n, x: N * (c * (n + 1) + (c - 1) * (2 * n + 3)) + 13 * (c - 1) + 3,
    "CG": lambda N, c, n, x: _gradient_23(N, c, n) + 8 * (c - 1) + 1 + _search_23(N, c, n, x),
    "GCG": lambda N, c, n, x: _gradient_23(N, c, n) + N * c * (3 + n) + c + 10 * (c - 1) + 1 + _search_23(N, c, n, x),
}
TABLE_2_4: dict[str, Flops] = {  # unknown components
    "EM": lambda N, c, n, x: N * c * (2 * n + 3) + c * (n + 1),
    "IEM": lambda N, c, n, x: N * c * (4 * n + 5),
    "EM-eta": lambda N, c, n, x: N * c * (n + 1) * (n + 3) + c * (11 * n + 5),
    "EG-eta": lambda N, c, n, x: N * c * (n + 1) * (n + 3) + c * (13 * n + 6),
    "GP-eta": lambda N, c, n, x: N * c * (n + 1) * (n + 3) + c * (8 * n + 5),
    "ACG-phi": lambda N, c, n, x: (
        N * (c * (n + 1) + (c - 1) * (c + 1) + n * c * (5 + n)) + 8 * (n * c + c - 1) + 4 * (n + c - 1) + 3
    ),
    "ACG-theta": lambda N, c, n, x: _gradient_24(N, c, n) + 8 * (n * c + c - 1) + 4 * (n + c - 1) + 3,
    "ACG-theta-chi2": lambda N, c, n, x: _gradient_24(N, c, n) + 8 * (n * c + c - 1) + 5 * (n + c - 1) + 3,
    "CG": lambda N, c, n, x: _gradient_24(N, c, n) + 8 * (n * c + c - 1) + 1 + _search_24(N, c, n, x),
    "GCG": lambda N, c, n, x: (
        _gradient_24(N, c, n) + N * c * (2 * n + 3) + c * (n + 1) + 10 * (n * c + c - 1) + 1 + _search_24(N, c, n, x)
    ),
}
"""[Whiley1999]: floating point operations of an iteration, the sum of the printed columns."""


def _gradient_23(N: int, c: int, n: int) -> float:
    return N * ((n + 1) * (2 * c - 1) + (n + 2) * (c - 1)) + (n + 2) * (c - 1)


def _search_23(N: int, c: int, n: int, x: float) -> float:
    return 4 * (3 * (c - 1) + N * (c * (n + 1) + 1)) + x * (2 + 3 * (c - 1) + N * (c * (n + 1) + 1))


def _gradient_24(N: int, c: int, n: int) -> float:
    return N * (c * (n + 1) + (2 * c - 2 + n * c) * (n + 2))


def _search_24(N: int, c: int, n: int, x: float) -> float:
    look = 2 * n * c + 3 * (c - 1) + N * (c * (n + 1) + 1)
    return 4 * look + x * (2 + look)
