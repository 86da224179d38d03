"""Our own search: the operators and the principle of the sources, with the work taken out of them.

A *climb* looks at all moves at once: new nodes that the completed data speak for, all relocations, more and fewer
states, unions of two latents, narrow latents on edges. It carries out together all that do not touch each other, fits
all probabilities, and tries a third of the bundle if that did not pay. More states and unions are held back where a new
node gains more for each parameter. When nothing else gains, edges are cut that are not worth their parameters, and the
states of each latent are split and merged (:func:`latentree.cardinality.adapt`). It ends when that does not help
either.

There are several *starts*: a climb from a star of two states and one from three, and where these end at different
scores others from trees of pieces and from stars of many states (:mod:`latentree.search._starts`), until several have
come to the best score met or the last ones have led no higher. Climbs are cheap, so they come first. The best tree that
they led to goes on. It now climbs with more moves: states and unions from random tables, divisions of a latent in two,
branches that need not know all its states, and the states of a large latent from several beginnings.

Where that ends the tree is *perturbed*: a few moves that lose are carried out in one part of it, those that lose least
being the likeliest, and it climbs again around them; what ends higher is kept. It does not go back to structures that
are known and no better, and gives up when what is left to gain would not do. When the first perturbations have failed,
all probabilities are fitted after each of the likeliest single moves (in a small tree it climbs around each), and after
the likeliest of all *divisions* of a latent, which restricted likelihood has for much worse than they are; if there is
a large latent, all of three states and more get others from several beginnings, and its neighbours are *narrowed* one
by one, so that they tell fewer of its states apart. The start is over when so many perturbations in a row have not led
higher, and neither have random starts of EM, *recombination* with the ends of earlier starts
(:mod:`latentree.search._recombine`), nor *enlargement*: climbs from the same tree with one and with two more states for
every latent, drawn at random.

Then the next best tree goes on, or else another start is made, until several have ended at the best score or there have
been enough of them. How many did so is told with the result. A tree that an earlier start was perturbed at goes where
that one went. Starts that are behind, or have come to where another ended, are perturbed less. Where starts have ended
at different scores a last look is taken at divisions of the best tree, and at the neighbours of large latents; and if
too few have found it, it is perturbed once more. Whatever they find, the search does not end below the best latent
class model, as far as few starts of EM find it.

Of many variables it first makes a tree from pieces (:mod:`latentree.search._wide_start`). It climbs from there once, by
local moves, looks first where the last step changed something, and ends when nothing gains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._trace import Step
from .._tree import Tree
from ..errors import ParameterError
from ..estimation import evaluate
from . import _wide_start as wide_start
from ._evaluation import renumbered
from ._independence import independent
from ._network import Network
from ._proposals import Proposal, carried_out, divide, near, together
from ._recombine import children
from ._relocate import PLACES
from ._restricted import regularised
from ._starts import kind_of, latent_classes, under, with_more_states
from ._swift_climb import Climber, beliefs_of
from ._swift_memory import (
    CLIMBS,
    FRESH,
    GAIN,
    LARGE,
    MIXED,
    START,
    alike,
    can_enlarge,
    ended_there,
    has_large_latents,
    is_behind,
    known_end,
    largest_latent,
    moved,
    n_found,
    n_starts,
    no_better,
    over,
    reached,
    settled,
    sure,
    with_home,
)
from ._swift_options import PIECE, WIDE
from ._task import SAME, Point, State, Task

Generator = np.random.Generator

FEW_PLACES = 32
"""Places that a branch is tried at in a tree of many variables."""
LITTLE = 1e-5
"""A tree of many variables is looked at as a whole again if its score has risen by this share since the last time."""

_MOST_MOVES = 5
"""Moves of one perturbation."""
_RANKS = (3.0, 100.0)
"""How far down the list of moves a perturbation reaches: a number between these, drawn anew each time."""
_HOPS = 8
"""How often splitting and merging states begins anew from others: of a large latent at the first end of a climb, of
all that have three or more beside one where single moves are looked at."""
_REGION = 6
"""Least latents of the part of a tree that a perturbation stays within; up to all of them, drawn anew each time."""
_LOSS = (20.0, 0.1)
"""Moves are listed that lose no more than this, and this share of what the tree gains on independence."""
_CHILDREN = 60
"""Most recombinations with the ends of other starts that are fitted when a start is over."""
_BUNDLE = 4
"""Most perturbations that are tried side by side, whatever the threads."""
_SINGLE = 32
"""Single moves, the best first, after which all probabilities are fitted, or around which a small tree climbs, when the
first perturbations have failed."""
_DIVIDED = 12
"""Divisions of latents after which they are fitted then, too, out of many more than are listed otherwise."""
_STATES = ("SI", "SD")
"""Moves after which random starts of EM are tried then: other states may mean something else altogether."""
_NEAR = 5.0
"""EM is run on after a move that comes so close: it is often slow there."""
_SHARE = 0.7
"""Perturbations that may fail, for each move that is listed."""
_AGAIN, _BEHIND = 0.2, 0.3
"""The same, as a part: for a start that has come to where another ended, if that can be enlarged, and for one that is
behind."""
_SMALL = 4
"""Trees of no more latents are enlarged more often, and by more, and climb around each single move."""
_LAST = 3
"""Ends that a last look is taken at, if they have large latents; otherwise at the best alone."""
_DRAWS = 8
"""Draws of a perturbation that was not tried before."""


class Swift(Climber):
    """Our own search; see the top of this module."""

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self._listed: tuple[Model, int, list[Proposal]] | None = None

    def init(self, task: Task, rng: Generator) -> State:
        """The latent class model with two states, a tree of pieces, or the model the user gave."""
        if self.options.root is not None and (task.start is not None or self.options.pieces):
            raise ParameterError(
                "The option 'root' of learn needs the start that belongs to it: no 'start', no 'pieces'."
            )
        if task.start is None and self._piece(task):
            return wide_start.init(task, self._piece(task))
        point = self._start(task, 0, rng)
        return State(settled(point), "climb", memory={**FRESH, **START})

    def _piece(self, task: Task) -> int:
        """How many variables the pieces have that the start is put together from; 0: it is a star."""
        size: int | None = self.options.pieces
        if size is None:
            return PIECE if _wide(task) and self.options.root is None else 0
        return size

    def _learn_piece(self, task: Task, piece: Table, rng: Generator) -> Model:
        """The tree of a piece: one climb from a star."""
        climber = Swift(replace(self.options, pieces=0, starts=1, trials=0))
        own = replace(task, table=piece, n_jobs=1, start=None, on_progress=None)
        state = climber.init(own, rng)
        while not state.finished:
            own.check_time()
            state, _ = climber.step(own, state, rng)
        return state.best.fit.model

    def _start(self, task: Task, number: int, rng: Generator, largest: int | None = None) -> Point:
        """Where a start begins: at stars of different sizes, and now and then at a tree of pieces."""
        if task.start is not None:
            return self._fitted(task, regularised(Network.from_model(task.start)), task.n_jobs)
        if self.options.root is not None:
            tree = under(self.options.root, task.table, number % 2)
        else:
            kind, size = kind_of(number, task.table.n_variables, largest=largest)
            if kind == "pieces":
                return self._of_pieces(task, size, rng)
            tree = Tree.star(size, task.table.cardinalities)
        network = Network.from_model(Model.random(tree, task.table.variables, rng))
        return self._fitted(task, regularised(network), task.n_jobs)

    def _of_pieces(self, task: Task, size: int, rng: Generator) -> Point:
        state = wide_start.init(task, size)
        while state.phase == "pieces":
            task.check_time()
            state, _ = wide_start.step(task, state, self._learn_piece, rng)
        return self._fitted(task, state.best.network, task.n_jobs)

    def step(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The next bundle of moves that raises the score, or the next perturbation that leads higher."""
        if state.phase == "pieces":
            state, made = wide_start.step(task, state, self._learn_piece, rng)
            return (replace(state, memory={**FRESH, **START}) if state.phase == "climb" else state), made
        return (self._climb if state.phase == "climb" else self._perturb)(task, state, rng)

    # ---- climbing -------------------------------------------------------------------------------------------------

    def _climb(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """A bundle of moves; in a tree of many variables first of all around what the last one changed."""
        here: Point = state.memory["here"] or state.best
        around, n_places = state.memory["active"], FEW_PLACES if _wide(task) else PLACES
        if around is None:
            state = state.to("climb", swept=here.score)
        more = {"around": around, "n_jobs": task.n_jobs, "n_places": n_places, "anew": state.memory["anew"]}
        point, done, looked_at = self._improved(task, here, rng, parallel=True, **more)
        if done:
            active = _changed(here, point, done) if _wide(task) else None
            return moved(state, here, point, done, looked_at, active=active)
        if around is not None and here.score - state.memory["swept"] > LITTLE * abs(here.score):
            return state.to("climb", active=None), None
        if _wide(task):
            return replace(state, finished=True), None
        first = state.memory["home"] is None and state.memory["anew"] and self.options.tries > 0
        other = self._adapted(task, here, rng, hops=_HOPS if first else 0)
        if other.score > here.score + SAME:
            return reached(state.to("climb"), other), other.step("climb", "states", "states split and merged")
        if not state.memory["anew"]:
            return self._climbed(task, state, here, rng)
        return self._at_home(state, here, rng), None

    def _climbed(self, task: Task, state: State, here: Point, rng: Generator) -> tuple[State, Step | None]:
        """The first climb of a start is over: others begin before the best is perturbed, more where they differ.

        Climbs are cheap beside perturbations, and where they begin decides most.
        """
        waiting = [*state.memory["waiting"], [state.memory["start"], self._converged(task, here)]]
        state = state.to("climb", waiting=waiting)
        _, agree, starts = self.options.limits(task.table.n_variables)
        several = self.options.tries > 0 and agree > 1 and task.start is None and not state.memory["ends"]
        if several and n_starts(state) < min(CLIMBS, starts) and not sure(state, agree):
            return self._another(task, state, rng)
        return self._go_on(state, rng)

    def _another(self, task: Task, state: State, rng: Generator) -> tuple[State, Step]:
        """Begin another start."""
        number = n_starts(state)
        point = self._start(task, number, rng, None if alike(state) else largest_latent(state))
        state = state.to("climb", **{**START, "start": number})
        return reached(state, point), point.step("climb", "start", f"start {number + 1}")

    def _go_on(self, state: State, rng: Generator) -> tuple[State, Step | None]:
        """Take the best of the starts that have climbed, and try random tables, too, before it is perturbed."""
        (number, here), *rest = sorted(state.memory["waiting"], key=lambda own: -own[1].score)
        before, passed = state.memory["start"], {here.network.graph.fingerprint: here.score}
        state = state.to("climb", **{**START, "start": number, "waiting": rest, "anew": True, "passed": passed})
        made = here.step("climb", "start", f"start {number + 1} goes on") if number != before else None
        if known_end(state, here) is not None:
            return self._at_home(state, here, rng), made
        return reached(state, here), made

    def _at_home(self, state: State, here: Point, rng: Generator) -> State:
        """Perturb a tree next; if an earlier start was there, the one that it ended at."""
        end = known_end(state, here)
        home = here if end is None or end.score < here.score else end
        passed = {**state.memory["passed"], here.network.graph.fingerprint: here.score}
        return state.to("perturb", home=home, seed=int(rng.integers(2**32)), looked=False, passed=passed)

    # ---- perturbing -----------------------------------------------------------------------------------------------

    def _perturb(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """Carry out a few moves that lose and climb around them, several times over; what ends higher counts."""
        home: Point = state.memory["home"]
        if not self.options.tries or (ended_there(state) and is_behind(state)):
            return self._next_start(task, state, rng)
        losing = self._losing(task, state)
        patience = self._patience(state, len(losing))
        seen = state.memory["looked"] or ended_there(state)
        if state.memory["missed"] >= min(patience, _BUNDLE) and not seen:
            return self._look(task, state.to("perturb", looked=True), losing, rng)
        if state.memory["missed"] >= patience:
            return self._next_start(task, state, rng)
        name = home.network.graph.fingerprint
        met = {**state.memory["met"], name: max(home.score, state.memory["met"].get(name, -np.inf))}
        drawn = self._drawn(losing, home, met, rng, min(_BUNDLE, patience - state.memory["missed"]))
        if not drawn:
            return self._next_start(task, state, rng)
        end, by, passed = self._tried(task, home, drawn, met, rng)
        for there, score in passed:
            met[there] = max(score, met.get(there, -np.inf))
        missed = 0 if end.score > home.score + SAME else state.memory["missed"] + len(drawn)
        state = state.to("perturb", met=met, missed=missed)
        if end.score > home.score + GAIN:
            return moved(state, home, end, by, len(drawn))
        return state, None

    def _tried(
        self, task: Task, home: Point, drawn: Sequence[list[Proposal]], met: Mapping[str, float], rng: Generator
    ) -> tuple[Point, list[Proposal], list[tuple[str, float]]]:
        """Where the best of some perturbations ends, which it was, and the structures that all of them pass."""
        results = task.map(lambda few, rng: self._around(task, home, few, met, rng), drawn, rng, stage="perturbations")
        best = max(range(len(results)), key=lambda i: results[i][0].score)
        return results[best][0], drawn[best], [own for _, passed in results for own in passed]

    def _look(self, task: Task, state: State, losing: Sequence[Proposal], rng: Generator) -> tuple[State, Step | None]:
        """Look closely at what restricted likelihood may have for worse than it is; see the top of this module."""
        home: Point = state.memory["home"]
        graph, met = home.network.graph, dict(state.memory["met"])
        some = [] if is_behind(state) else losing[:_SINGLE]
        if len(graph.latents) <= _SMALL and can_enlarge(graph):  # there a climb around each costs little more
            best, by = self._climbed_around(task, home, some, rng)
            some = [p for p in some if p.move.kind in _STATES]
        else:
            best, by = home, losing[:0]
        if not by:
            best, by = self._fitted_in_full(task, home, some, met, rng)
        state = state.to("perturb", met=met)
        ahead = not is_behind(state) or state.memory["goes_on"] is not None
        if not by and ahead and has_large_latents(graph):
            other = self._adapted(task, home, rng, hops=_HOPS, least=2)
            if other.score > home.score + SAME:
                made = other.step("perturb", "states", "states split and merged, from several beginnings")
                return reached(state.to("climb", missed=0), other), made
            best, by = self._narrowed(task, state, rng)
        return moved(state, home, best, by, len(losing), missed=0) if by else (state, None)

    def _fitted_in_full(
        self, task: Task, home: Point, some: Sequence[Proposal], met: dict[str, float], rng: Generator
    ) -> tuple[Point, Sequence[Proposal]]:
        """The best after all probabilities are fitted after one of some moves, or after a division; what is ``met``."""
        best, by = home, some[:0]
        known = no_better(met, home)
        # other states and divisions may have been met before and fitted badly
        single = [p for p in some if p.move.kind in _STATES or _after(p, home) not in known]
        for p in [*single, *divide(task, beliefs_of(task, home), rng, most=_DIVIDED)]:
            task.check_time()
            network, done = carried_out([p], home.network)
            point = self._fitted(task, network, task.n_jobs)
            if p.move.kind in _STATES:
                point = max(point, self._refitted(task, point, rng), key=lambda own: own.score)
            if abs(point.score - home.score) < _NEAR:
                point = self._converged(task, point)
            name = network.graph.fingerprint
            met[name] = max(point.score, met.get(name, -np.inf))
            if point.score > best.score + GAIN:
                best, by = point, done
        return best, by

    def _narrowed(self, task: Task, state: State, rng: Generator) -> tuple[Point, Sequence[Proposal]]:
        """Let one neighbour of a large latent after the other tell fewer of its states apart, and climb around it.

        Many of its states may be there for one neighbour, and come to mean something else once that can do without
        them. Restricted likelihood, where they go on to mean what they do, has this for hundreds worse than it is.
        """
        home: Point = state.memory["home"]
        size = home.network.graph.cardinality
        large = {a for a in home.network.graph.latents if size[a] > LARGE}
        some = [p for p in self._losing(task, state) if p.move.kind == "NE" and large & {*p.move.nodes[:2]}]
        return self._climbed_around(task, home, some, rng)

    def _climbed_around(
        self, task: Task, home: Point, some: Sequence[Proposal], rng: Generator
    ) -> tuple[Point, Sequence[Proposal]]:
        """Where a climb around one of some moves leads that ends higher, and the move; no move if none does.

        Each is on its own: what others have met on their way may have been fitted badly there.
        """
        met = {home.network.graph.fingerprint: home.score}
        for i in range(0, len(some), _BUNDLE):
            end, by, _ = self._tried(task, home, [[p] for p in some[i : i + _BUNDLE]], met, rng)
            if abs(end.score - home.score) < _NEAR:
                end = self._converged(task, end)
            if end.score > home.score + SAME:
                return end, by
        return home, []

    def _patience(self, state: State, moves: int) -> int:
        """Perturbations in a row that may fail: fewer where moves are few, or where others have been or are ahead.

        All of them at a tree that is perturbed once more, whatever was tried there before.
        """
        home: Point = state.memory["home"]
        most: int = self.options.tries
        graph = home.network.graph
        if graph.fingerprint in state.memory["once_more"]:
            return most
        if not (ended_there(state) and can_enlarge(graph)):
            share = _BEHIND if is_behind(state) else 1.0
        elif len(graph.latents) > _SMALL:
            share = _AGAIN
        else:
            return 0  # it is enlarged more often instead
        return min(most, max(1, int(share * min(most, _SHARE * moves))))

    def _losing(self, task: Task, state: State) -> list[Proposal]:
        """All moves from home, those included that lose, the best first; found once for each home."""
        home: Point = state.memory["home"]
        seed: int = state.memory["seed"]
        if self._listed is None or self._listed[0] is not home.fit.model or self._listed[1] != seed:
            least, share = _LOSS
            fits = (home.fit, independent(task.table))
            tree, none = (task.criterion.estimate(fit.log_likelihood, fit.model.tree) for fit in fits)
            loss = least + share * max(tree - none, 0.0)
            own = np.random.default_rng(seed)
            found = self._proposals(task, home, own, parallel=True, least=-loss, anew=True, n_jobs=task.n_jobs)
            self._listed = home.fit.model, seed, found
        return self._listed[2]

    def _drawn(
        self, found: Sequence[Proposal], home: Point, met: Mapping[str, float], rng: Generator, most: int
    ) -> list[list[Proposal]]:
        """Perturbations that lead to structures not met before, or to better ones, each in one part of the tree."""
        out, new = [], no_better(met, home)
        graph = home.network.graph
        latents = graph.latents
        for _ in range(_DRAWS * _BUNDLE):
            reach = np.exp(rng.uniform(*np.log(_RANKS)))
            moves = found
            if len(latents) > _REGION:  # moves far from each other would each have to pay for all the others
                size = round(np.exp(rng.uniform(*np.log((_REGION, len(latents))))))
                region = graph.latents_around(latents[rng.integers(len(latents))], size)
                moves = [p for p in found if p.move.place in region]
            order = np.argsort(np.arange(len(moves)) + rng.exponential(reach, len(moves)), kind="stable")
            few = together([moves[i] for i in order], graph, int(rng.integers(1, _MOST_MOVES + 1)))
            network, done = carried_out(few, home.network)
            name = network.graph.fingerprint
            if name not in new:
                new.add(name)
                out.append(done)
            if len(out) == most:
                break
        return out

    def _around(
        self, task: Task, home: Point, few: Sequence[Proposal], met: Mapping[str, float], rng: Generator
    ) -> tuple[Point, list[tuple[str, float]]]:
        """Where a perturbation and a climb around it lead, and the structures it passes.

        It does not go back to what is known and no better than home.
        """
        known = no_better(met, home)
        network, done = carried_out(few, home.network)
        point = self._fitted(task, network, 1)
        around = near(home.network.graph, network.graph, done)
        passed: list[tuple[str, float]] = []
        while True:
            name = point.network.graph.fingerprint
            passed.append((name, point.score))
            if point.score <= met.get(name, -np.inf) + SAME:  # from here the way is known
                return point, passed
            task.check_time()
            found = self._proposals(task, point, rng, around=around)
            hope = sum(p.gain for p in together(found, point.network.graph))
            if hope < (home.score - point.score) * 2.0 ** (len(passed) - 2):  # the later, the more it must promise
                return point, passed
            after, done = self._bundle(task, point, found, 1, known)
            if not done:
                return point, passed
            around |= near(point.network.graph, after.network.graph, done)
            point = after

    def _enlarged(self, task: Task, state: State, rng: Generator) -> Point | None:
        """Where climbs from trees with more states for all latents end, drawn at random; None if no better than home.

        Each latent may have too few states for the others to gain any: then no single move leads on. Not every such
        climb finds them, but in small trees it costs next to nothing: there are more of them.
        """
        home: Point = state.memory["home"]
        graph = home.network.graph
        if not can_enlarge(graph):
            return None
        again = ended_there(state)
        if len(graph.latents) <= _SMALL:
            sizes = [3, 3] if again else [1, 2, 3, 3]
        else:
            sizes = [1 + state.memory["start"] % 2] if again else [1, 2]
        known = {p.network.graph.fingerprint: p.score for p in [home, *state.memory["homes"]]}

        def end(more: int, own: Generator) -> Point:
            model = with_more_states(graph, more, task.table, own)
            point = self._refitted(replace(task, n_jobs=1), Point(evaluate(model, task.table), -np.inf), own)
            return self._end(replace(task, n_jobs=1), point, own, known)

        best = max(task.map(end, sizes, rng, stage="perturbations"), key=lambda point: point.score)
        return best if best.score > home.score + SAME else None

    def _recombined(self, task: Task, state: State) -> Point | None:
        """Where this start has come to, with parts as others ended, as long as that gains; None if no better than all.

        Structures that were met before count too: they may have been fitted less well then.
        """
        best = max([state.memory["home"].score, *state.memory["ends"]])
        others = sorted(state.memory["homes"], key=lambda p: -p.score)
        point: Point = state.memory["home"]
        tried: set[str] = set()
        gained = True
        while gained and len(tried) < _CHILDREN:
            gained = False
            for network in (child for p in others for child in children(point.network, p.network, task.table)):
                name = network.graph.fingerprint
                if name in tried:
                    continue
                tried.add(name)
                task.check_time()
                child = self._fitted(task, network, task.n_jobs)
                if child.score > point.score + SAME:
                    point, gained = child, True
                    break
        return point if point.score > best + SAME else None

    def _next_start(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The start is over: look whether enough of them agree, and begin the next if not."""
        trials, agree, starts = self.options.limits(task.table.n_variables)
        home: Point = state.memory["home"]
        again = ended_there(state)  # random starts of EM and recombination have been tried from here
        if trials and not again and (other := self._refitted(task, home, rng)).score > home.score + SAME:
            made = other.step("perturb", "EM", "other probabilities, from random starts")
            return reached(state.to("climb", missed=0), other), made
        if trials and not again and (child := self._recombined(task, state)) is not None:
            made = child.step("perturb", "recombine", "a part of it as where another start ended")
            return reached(state.to("climb", missed=0), child), made
        if trials and not is_behind(state) and (larger := self._enlarged(task, state, rng)) is not None:
            made = larger.step("perturb", "enlarge", "more states for all latents, and a climb from there")
            return reached(state.to("climb", missed=0), larger), made
        home = self._converged(task, home)
        state = reached(state, home) if home.score > state.score else state
        ends, homes = list(state.memory["ends"]), with_home(state.memory["homes"], home)
        if state.memory["goes_on"] is None:
            ends.append(home.score)
        else:  # the same start, after a last look
            ends[state.memory["goes_on"]] = home.score
        name = home.network.graph.fingerprint
        ways = {**state.memory["ways"], **{there: [score, name] for there, score in state.memory["passed"].items()}}
        own = {**START, "ends": ends, "homes": homes, "ways": ways, "start": state.memory["start"]}
        state = state.to("climb", **own)
        number, same = n_starts(state), alike(state)
        enough = n_found(state) >= agree and (same or agree == 1 or number >= MIXED)
        if not enough and state.memory["waiting"]:
            return self._go_on(state, rng)
        if number >= starts or enough or task.start is not None:
            classes = self._better_classes(task, state, rng)
            if classes is not None:
                state = state.to("climb", start=number)
                return reached(state, classes), classes.step("climb", "start", "the best latent class model")
            return (over(state), None) if same else self._look_again(task, state, rng)
        return self._another(task, state, rng)

    def _look_again(self, task: Task, state: State, rng: Generator) -> tuple[State, Step | None]:
        """The end, unless a last look at the best tree, with other tables to start from, leads on.

        Of trees with large latents it is the best few: the way up is long, and another may lead higher.
        """
        ends: list[float] = state.memory["ends"]
        best, *others = sorted((p for p in state.memory["homes"] if p.score in ends), key=lambda point: -point.score)
        large = [p for p in others[: _LAST - 1] if has_large_latents(p.network.graph)]
        for home in [best, *large] if self.options.tries else []:
            name = home.network.graph.fingerprint
            if name not in state.memory["seen"]:
                seen = [*state.memory["seen"], name]
                state = state.to("perturb", seen=seen, anew=True, home=home, goes_on=ends.index(home.score))
                state, made = self._look(task, state, [], rng)
                if made is not None:
                    return state, made
        _, agree, _ = self.options.limits(task.table.n_variables)
        name, once_more = best.network.graph.fingerprint, state.memory["once_more"]
        if self.options.tries and name not in once_more and n_found(state) < min(agree, n_starts(state)):
            more: dict[str, Any] = {"once_more": [*once_more, name], "goes_on": ends.index(best.score)}
            return state.to("perturb", home=best, anew=True, looked=True, missed=0, **more), None
        return over(state), None

    def _better_classes(self, task: Task, state: State, rng: Generator) -> Point | None:
        """The best latent class model if it beats all that was found, so that no search ends below it."""
        once = not self.options.tries  # a single climb, such as that of a piece, stays what it is
        if once or task.start is not None or self.options.root is not None:
            return None
        point = latent_classes(task, self._refitted, rng)
        return point if point.score > state.score + SAME else None

    def forecast(self, task: Task) -> str | None:
        """How long a tree of many variables may take, and what it needs, if that is much."""
        return wide_start.forecast(task) if _wide(task) and task.start is None else None


def _wide(task: Task) -> bool:
    return task.table.n_variables >= WIDE


def _after(proposal: Proposal, home: Point) -> str:
    """The structure after a move."""
    return carried_out([proposal], home.network)[0].graph.fingerprint


def _changed(here: Point, point: Point, done: Sequence[Proposal]) -> list[int]:
    """The nodes around moves, as they are numbered when the new model is taken up."""
    number = renumbered(point.network.graph)
    return sorted(number.get(v, v) for v in near(here.network.graph, point.network.graph, done))
