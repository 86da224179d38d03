"""Hidden Chow-Liu trees ([LiuVandenBroeck2021]): a latent behind each variable of the tree of strongest pairs.

The tree of Chow and Liu joins the variables by their strongest pairs. Every variable that is joined to several gets a
latent variable; the latents take over the links, and the variables hang on them. (A latent behind a variable with one
link would add nothing: the variable hangs on the latent of its neighbour.) The numbers of states are doubled, each
state being divided into two that differ a little, as long as a tenth of the cases, held out, becomes more probable. The
same cases end EM at each size. Where a penalty for parameters would stop at a few states, this goes on to dozens: such
trees are made for predicting, not for reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._folds import fold_weights, training_parts
from .._model import Model, normalised
from .._table import Table
from .._trace import Step
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan
from ..errors import Parameter, ParameterError
from ..estimation import Estimate, evaluate
from ..estimation._em import EmRuns
from ..estimation._fit import Prior
from ..method import Options, Whole, option
from ..runner import StopReason
from ._chow_liu import chow_liu
from ._independence import shares
from ._task import Point, SearchMethod, State, Task

Generator = np.random.Generator
Indices = NDArray[np.intp]

FOLDS = 10
"""One part in so many is held out."""
STRENGTH = 1.0
"""Cases that the prior adds to each distribution unless another prior is given."""
PASSES = 5
"""Steps of EM between two looks at the cases held out."""
PATIENCE = 3
"""Looks in a row without a gain after which EM ends."""
MOST_PASSES = 2000
NOISE = 0.3
"""Standard deviation of the logarithms of what the two halves of a state are multiplied by."""
LEAST_GAIN = 1e-4
"""A size must make a case held out more probable by this part of its log-likelihood, or the one before is kept."""


@dataclass(frozen=True)
class HiddenChowLiuOptions(Options):
    """Options of hidden Chow-Liu trees."""

    most_states: int = option(64, Whole(2), "states of a latent at most; they are doubled up to here")


class HiddenChowLiu(SearchMethod):
    """Hidden Chow-Liu trees; see the top of this module."""

    Options = HiddenChowLiuOptions
    estimates = True

    def init(self, task: Task, rng: Generator) -> State:
        """Two states for each latent."""
        if task.start is not None:
            raise ParameterError(
                "{parameter}: a hidden Chow-Liu tree follows from the data and starts from no other model.",
                parameter=Parameter("start", "learn"),
            )
        return _grown(task, _first(task, rng), 2, _independent(task))

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """Twice the states, if that predicts better; otherwise fit the last size to all cases, and end."""
        states = 2 * int(state.memory["states"])
        if state.phase == "grow" and states <= self.options.most_states:
            start = divided(state.best.fit.model, states, rng)
            if start.tree != state.best.fit.model.tree:
                wider = _grown(task, start, states, state.memory["alone"])
                if wider.score > state.score + LEAST_GAIN * abs(state.score):
                    said = f"up to {states} states for each latent"
                    return wider, wider.best.step("grow", "SI", said)
        if task.clock.expired:
            return state.to("grow", finished=True), None
        model = _on_all(task, state.memory["start"], int(state.memory["passes"]))
        best = Point(evaluate(model, task.table, n_jobs=task.n_jobs), state.score)
        said = f"{state.memory['passes']} steps of EM on all cases"
        return replace(state, best=best, finished=True), best.step("end", "EM", said)

    def estimate(self, task: Task, point: Point) -> Estimate:
        """What the probabilities of a point are."""
        known = Estimate("map", point.fit.log_likelihood, chosen="search")
        if task.prior == "auto":
            return replace(known, strength=STRENGTH, towards="marginal")
        return replace(known, prior=task.prior, kind="ml" if task.prior is None else "map")


# ---- the tree ------------------------------------------------------------------------------------------------------


def hidden_tree(links: Sequence[tuple[int, int]], table: Table, states: int) -> Tree:
    """The tree of latents behind the variables that have several links, rooted at its centre.

    Examples
    --------
    >>> table = Table.from_codes([[0, 0, 0, 0], [1, 1, 1, 1]])
    >>> tree = hidden_tree([(0, 1), (1, 2), (2, 3)], table, 8)
    >>> len(tree.latent), tree.cardinality[tree.latent].tolist()  # more than 4 would add nothing
    (2, [4, 4])
    """
    near: list[list[int]] = [[] for _ in range(table.n_variables)]
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    inner = [v for v, own in enumerate(near) if len(own) > 1]
    root = _from(_from(inner[0], near)[-1], near, middle=True)[0]
    parent, order = {root: -1}, [root]
    for v in order:
        for w in near[v]:
            if w not in parent and len(near[w]) > 1:
                parent[w] = v
                order.append(w)
    place = {v: i for i, v in enumerate(order)}
    taken, names = set(table.names), []
    for v in order:
        name = f"{table.names[v]}*"
        while name in taken:
            name += "*"
        taken.add(name)
        names.append(name)
    above = [place[v] if len(near[v]) > 1 else place[near[v][0]] for v in range(table.n_variables)]
    tree = Tree(
        np.array([-1, *(place[parent[v]] for v in order[1:]), *above]),
        np.r_[np.full(len(order), states), table.cardinalities],
        np.r_[np.full(len(order), -1), np.arange(table.n_variables)],
        (*names, *table.names),
    )
    return _capped(tree, states)


def _from(v: int, near: Sequence[Sequence[int]], *, middle: bool = False) -> list[int]:
    """Inner variables in the order of their distance from one; or the one in the middle of the longest way from it."""
    before, order = {v: -1}, [v]
    for u in order:
        for w in near[u]:
            if w not in before and len(near[w]) > 1:
                before[w] = u
                order.append(w)
    if not middle:
        return order
    way = [order[-1]]
    while before[way[-1]] >= 0:
        way.append(before[way[-1]])
    return [way[len(way) // 2]]


def _capped(tree: Tree, states: int) -> Tree:
    """The same tree with so many states for each latent, or as many as can matter to its neighbours."""
    cardinality = np.where(tree.variable < 0, states, tree.cardinality)
    for v in [*map(int, tree.latent), *map(int, tree.latent[::-1])]:  # from both ends, since caps lower others
        own = sorted(int(cardinality[w]) for w in tree.neighbours(v))
        cap = 1
        for k in own[:-1]:
            cap = min(cap * k, states)
        cardinality[v] = min(int(cardinality[v]), max(cap, 2))
    return Tree(tree.parent, cardinality, tree.variable, tree.names)


def divided(model: Model, states: int, rng: Generator) -> Model:
    """The model with up to so many states for each latent: the most probable are divided, into some that differ a bit.

    Examples
    --------
    >>> tree = Tree.star(2, [4, 4, 4])
    >>> model = Model.random(tree, Table.from_codes([[0] * 3, [3] * 3]).variables, np.random.default_rng(0))
    >>> divided(model, 4, np.random.default_rng(0)).tree.cardinality.tolist()
    [4, 4, 4, 4]
    """
    old, tree = model.tree, _capped(model.tree, states)
    of = [_origin(p, int(k)) for p, k in zip(model.marginals(), tree.cardinality, strict=True)]
    tables = []
    for v in range(tree.n_nodes):
        halves = np.bincount(of[v], minlength=int(old.cardinality[v]))
        own = (model.table(v) / halves)[:, of[v]]
        if tree.parent[v] >= 0:
            own = own[of[int(tree.parent[v])]]
        tables.append((own * np.exp(NOISE * rng.standard_normal(own.shape))).ravel())
    return Model(tree, model.variables, normalised(tree, np.concatenate(tables)))


def _origin(marginal: FloatArray, states: int) -> Indices:
    """Which old state each new one comes from."""
    k = len(marginal)
    return np.sort(np.r_[np.arange(k), np.resize(np.argsort(-marginal, kind="stable"), states - k)])


# ---- fitting -------------------------------------------------------------------------------------------------------


def _first(task: Task, rng: Generator) -> Model:
    """The tree with two states for each latent and random probabilities."""
    tree = hidden_tree([(a, b) for a, b, _ in chow_liu(task.table)], task.table, 2)
    return Model.random(tree, task.table.variables, rng)


def _prior(task: Task, tree: Tree, table: Table) -> Prior:
    """What the user asked for, or one case for each distribution: spread like the variable, evenly for a latent."""
    if task.prior != "auto":
        return task.prior
    spread = {name: np.full(int(k), 1 / k) for name, k in zip(tree.names, tree.cardinality, strict=True)}
    for i, variable in enumerate(table.variables):
        k = variable.cardinality
        spread[variable.name] = (shares(table, i) * table.weight + 0.5) / (table.weight + 0.5 * k)
    rows = zip(tree.names, tree.rows, strict=True)
    return {name: 1.0 + np.tile(STRENGTH * spread[name], (int(n), 1)) for name, n in rows}


def _parts(task: Task) -> tuple[Table, Table]:
    """The cases to fit to, and those held out."""
    table = task.table
    cases = max(table.weight, float(table.n_patterns))
    parts = fold_weights(table, int(max(2, min(FOLDS, cases))), labels=range(table.n_variables))
    return training_parts(table, parts)[0]


def _independent(task: Task) -> FloatArray:
    """Log-likelihood of each row held out if all variables were independent."""
    rest, own = _parts(task)
    rows = np.zeros(own.n_patterns)
    for i, variable in enumerate(rest.variables):
        k = variable.cardinality
        p = (shares(rest, i) * rest.weight + 1 / k) / (rest.weight + 1)
        rows += np.log(np.r_[p, 1.0])[own.codes[:, i]]  # a missing cell, -1, says nothing
    return rows


def _grown(task: Task, start: Model, states: int, alone: FloatArray) -> State:
    """EM from a start until the cases held out are no more probable: the state with the best model on the way.

    ``alone`` are the rows held out if all variables were independent. To be a structure, a tree must be better than
    that by two standard errors of the difference: the cases held out have chosen it.
    """
    rest, own = _parts(task)
    fitting, judging = Plan.of(start, rest), Plan.of(start, own)
    prior = _prior(task, start.tree, rest)
    here, best, score, at = start.parameters, start.parameters, -np.inf, 0
    for passes in range(PASSES, MOST_PASSES + 1, PASSES):
        runs = EmRuns(fitting, here[None], prior=prior, accelerate=False, n_jobs=task.n_jobs)
        stopped = runs.advance(PASSES, 0.0, task.clock)
        here = runs.parameters(0)
        value = judging.log_likelihood(here, n_jobs=task.n_jobs)
        if value > score:
            best, score, at = here, value, passes
        if stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        if stopped is not None or passes - at >= PATIENCE * PASSES:
            break
    fit = evaluate(start.with_parameters(best), task.table, n_jobs=task.n_jobs)
    gain = judging.row_log_likelihood(best, n_jobs=task.n_jobs) - alone
    error = np.sqrt(own.weights @ (gain - own.weights @ gain / own.weight) ** 2)
    needed = float(own.weights @ alone + 2 * error)
    memory = {"start": start, "states": states, "passes": at, "alone": alone, "independent": needed}
    return State(Point(fit, score), "grow", memory=memory)


def _on_all(task: Task, start: Model, passes: int) -> Model:
    """So many steps of EM on all cases."""
    prior = _prior(task, start.tree, task.table)
    runs = EmRuns(Plan.of(start, task.table), start.parameters[None], prior=prior, accelerate=False, n_jobs=task.n_jobs)
    if runs.advance(passes, 0.0, task.clock) is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return start.with_parameters(runs.parameters(0))
