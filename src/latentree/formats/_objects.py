"""Models as objects of other libraries, which are imported only here and only when asked for."""

from __future__ import annotations

import importlib
from typing import Any

from .._model import Model
from ..errors import LatentreeError

__all__ = ["to_networkx", "to_pgmpy", "to_pyagrum"]


def to_networkx(model: Model) -> Any:
    """Turn a model into a ``networkx.DiGraph``.

    Its nodes have the attributes ``latent``, ``states`` and ``table``, P(node | parent) with a row for each state of
    the parent.
    """
    nx = _imported("networkx", "networkx")
    graph = nx.DiGraph()
    tree = model.tree
    for v, name in enumerate(tree.names):
        graph.add_node(name, latent=bool(tree.variable[v] < 0), states=model.states(v), table=model.table(v).copy())
    graph.add_edges_from((tree.names[tree.parent[v]], tree.names[v]) for v in range(1, tree.n_nodes))
    return graph


def to_pgmpy(model: Model) -> Any:
    """Turn a model into a Bayesian network of pgmpy, its latent nodes marked.

    Names and states stay as they are. Only a variable with states that are equal to Python (1, 1.0 and True) gets text
    for all of them.
    """
    models = _imported("pgmpy.models", "pgmpy")
    cpd = _imported("pgmpy.factors.discrete", "pgmpy").TabularCPD
    tree = model.tree
    network = models.DiscreteBayesianNetwork()
    network.add_nodes_from(tree.names)
    network.latents = {tree.names[v] for v in tree.latent}
    network.add_edges_from((tree.names[tree.parent[v]], tree.names[v]) for v in range(1, tree.n_nodes))
    for v, name in enumerate(tree.names):
        given = [int(tree.parent[v])] if v else []
        network.add_cpds(
            cpd(
                name,
                int(tree.cardinality[v]),
                model.table(v).T.tolist(),
                evidence=[tree.names[u] for u in given],
                evidence_card=[int(tree.cardinality[u]) for u in given],
                state_names={tree.names[u]: _told_apart(model, u) for u in (v, *given)},
            )
        )
    return network


def to_pyagrum(model: Model) -> Any:
    """Turn a model into a Bayesian network of pyAgrum.

    Its states are text there: those of a manifest variable as ``str`` gives them, ``s0``, ``s1``, ... for a latent.
    """
    gum = _imported("pyagrum", "pyagrum")
    network = gum.BayesNet("latentree")
    tree = model.tree
    for v, name in enumerate(tree.names):
        network.add(gum.LabelizedVariable(name, name, _labels(model, v)))
        if v:
            network.addArc(tree.names[tree.parent[v]], name)
        network.cpt(name).fillWith(model.table(v).ravel().tolist())
    return network


def _told_apart(model: Model, node: int) -> list[Any]:
    states = list(model.states(node))
    return states if len(set(states)) == len(states) else _labels(model, node)


def _labels(model: Model, node: int) -> list[str]:
    """States as text, all different: 1 and "1" would be the same."""
    labels: list[str] = []
    taken: set[str] = set()
    for state in model.states(node):
        label = f"s{state}" if model.tree.variable[node] < 0 else str(state)
        while label in taken:
            label += "_"
        labels.append(label)
        taken.add(label)
    return labels


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LatentreeError(
            f"This needs {package}, which is not there ({error}): pip install {package}, or all such programs by "
            "'latentree[interop]'."
        ) from None
