"""What our own search does at each step: bundles of moves, other states of one latent, EM on a whole tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..cardinality import adapt
from ..estimation import Fit, em, restart_em
from ._beliefs import Beliefs
from ._evaluation import whole
from ._network import Network
from ._proposals import Proposal, carried_out, propose, together
from ._restricted import regularised
from ._swift_memory import GAIN, LARGE
from ._swift_options import WIDE, SwiftOptions
from ._task import SAME, Point, SearchMethod, Task

Generator = np.random.Generator

_FLOOR = 1e-5
"""Probabilities of zero could not be left again by EM: they start from here."""
_MANY_STATES = 4
"""States of a latent from which on they are split and merged one by one; with fewer, the moves leave out no state."""
_RANDOM_STARTS = 16
"""Random starts of EM for the tree that a start has come to, and for latent class models to start from."""
_FINALISTS = 4
"""So many of them are run to the end."""
_CLOSELY: Mapping[str, Any] = {"tol": 0.005, "max_iterations": 200}
"""How closely the tree that a start ends at is fitted."""
_WIDEST, _NARROWEST = 0.1, 1e-3
"""Messages that differ by less than a standard error of a share, within these bounds, are one to judge moves."""


class Climber(SearchMethod):
    """The steps that climbs and perturbations have in common."""

    Options = SwiftOptions

    def _end(self, task: Task, point: Point, rng: Generator, known: Mapping[str, float]) -> Point:
        """Where a climb ends: at the latest at a tree and its score that others are ``known`` to have ended at."""
        while True:
            task.check_time()
            if abs(point.score - known.get(point.network.graph.fingerprint, -np.inf)) < SAME:
                return point
            after, done, _ = self._improved(task, point, rng, n_jobs=1)
            if not done:
                after = self._adapted(task, point, rng)
                if after.score <= point.score + SAME:
                    return point
            point = after

    def _improved(
        self, task: Task, here: Point, rng: Generator, *, n_jobs: int, **how: Any
    ) -> tuple[Point, list[Proposal], int]:
        """Where a bundle of moves leads, the moves, and how many there were; no moves if none gains."""
        found = self._proposals(task, here, rng, n_jobs=n_jobs, **how)
        cuts = [p for p in found if p.move.cuts]  # last: what is cut off early is rarely found a better place
        point, done = self._bundle(task, here, [p for p in found if not p.move.cuts], n_jobs)
        if not done:
            point, done = self._bundle(task, here, cuts, n_jobs)
        return point, done, len(found)

    def _proposals(self, task: Task, point: Point, rng: Generator, **how: Any) -> list[Proposal]:
        return propose(task, beliefs_of(task, point), rng, cuts=self.options.cuts, **how)

    def _bundle(
        self, task: Task, here: Point, found: Sequence[Proposal], n_jobs: int, avoid: Collection[str] = ()
    ) -> tuple[Point, list[Proposal]]:
        """Carry out what can be done together; if that does not pay, a third of it, and so on."""
        most, tries = None, 0
        left = list(found)
        while left and tries < 5:
            network, done = carried_out(together(left, here.network.graph, most), here.network)
            if not avoid or network.graph.fingerprint not in avoid:
                point = self._fitted(task, network, n_jobs)
                if point.score > here.score + GAIN:
                    return point, done
                tries += 1
            if len(done) > 1:
                most = max(1, len(done) // 3)
            else:
                left = [p for p in left if p not in done] if done else left[1:]
        return here, []

    def _adapted(self, task: Task, here: Point, rng: Generator, hops: int = 0, least: int = LARGE) -> Point:
        """The same tree with other states: of one latent after the other they are split and merged while that gains.

        For latents of more states than ``least`` this begins anew from others, ``hops`` times.
        """
        tree, best = here.fit.model.tree, here.fit

        def worth(fit: Fit) -> float:
            return task.criterion.estimate(fit.log_likelihood, fit.model.tree)

        states = {tree.names[z]: int(tree.cardinality[z]) for z in tree.latent}
        own_hops = {name: hops if k > least else 0 for name, k in states.items()}
        for name in [name for name, k in states.items() if k >= _MANY_STATES or own_hops[name]]:
            task.check_time()
            found = adapt(best.model, task.table, name, rng=rng, score=worth, hops=own_hops[name], budget=task.clock)
            best = found if worth(found) > worth(best) + GAIN else best
        task.check_time()  # what was broken off is left for another time
        if best is here.fit:
            return here
        return self._fitted(task, regularised(Network.from_model(best.model)), task.n_jobs)

    def _fitted(self, task: Task, network: Network, n_jobs: int) -> Point:
        """All probabilities fitted; the nodes keep their numbers."""
        order, _ = network.graph.rooted()
        model = network.to_model(task.table.variables, least=_FLOOR)
        # the likelihood of many variables creeps up somewhere all the time
        tol = self.options.tol * max(1.0, task.table.n_variables / WIDE)
        steps = self.options.iterations
        fit = whole(em(model, task.table, tol=tol, max_iterations=steps, budget=task.clock, n_jobs=n_jobs))
        return Point(fit, task.criterion(fit), tuple(order))

    def _refitted(self, task: Task, home: Point, rng: Generator) -> Point:
        """The same tree, fitted from random starts; beside the present fit they would be given up too early."""
        own = {"n_init": _RANDOM_STARTS, "finalists": _FINALISTS, "tol": self.options.tol}
        steps, jobs = self.options.iterations, task.n_jobs
        fit = restart_em(
            home.fit.model, task.table, rng=rng, max_iterations=steps, n_jobs=jobs, budget=task.clock, **own
        )
        return Point(whole(fit), task.criterion(fit))

    def _converged(self, task: Task, home: Point) -> Point:
        """The same tree fitted more closely, so that ends can be compared."""
        fit = whole(em(home.fit.model, task.table, budget=task.clock, n_jobs=task.n_jobs, **_CLOSELY))
        point = Point(fit, task.criterion(fit))
        return point if point.score > home.score else home


def beliefs_of(task: Task, point: Point) -> Beliefs:
    return Beliefs(point.network, task.table, width=min(_WIDEST, max(_NARROWEST, task.table.n**-0.5)))
