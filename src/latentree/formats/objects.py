"""Models as objects of other libraries, which are imported only here and only when asked for."""

from __future__ import annotations

import re
from typing import Any

from ..errors import LatentreeError
from ..model import Model
from .network import Dialect, network_of

__all__ = ["to_networkx", "to_pgmpy", "to_pyagrum"]

ANY = Dialect("pyAgrum", names=re.compile(r"\S(?:.*\S)?"), states=re.compile(r"[^|{}\[\]]*[^|{}\[\]\s]"))


def to_networkx(model: Model) -> Any:
    """Turn a model into a ``networkx.DiGraph``.

    Its nodes have the attributes ``latent``, ``states`` and ``table``, P(node | parent) with a row for each state of
    the parent.

    Parameters
    ----------
    model : Model
        The model.
    """
    nx = _imported("networkx", "networkx")
    graph = nx.DiGraph()
    tree = model.tree
    for v, name in enumerate(tree.names):
        graph.add_node(name, latent=bool(tree.variable[v] < 0), states=model.states(v), table=model.table(v).copy())
    graph.add_edges_from((tree.names[tree.parent[v]], tree.names[v]) for v in range(1, tree.n_nodes))
    return graph


def to_pgmpy(model: Model) -> Any:
    """Turn a model into a Bayesian network of pgmpy, its latent nodes marked; names and states stay as they are.

    Parameters
    ----------
    model : Model
        The model.
    """
    models = _imported("pgmpy.models", "pgmpy")
    cpd = _imported("pgmpy.factors.discrete", "pgmpy").TabularCPD
    tree = model.tree
    kind = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork  # the older name
    network = kind(latents={tree.names[v] for v in tree.latent})
    network.add_nodes_from(tree.names, latent=(tree.variable < 0).tolist())
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
                state_names={tree.names[u]: list(model.states(u)) for u in (v, *given)},
            )
        )
    return network


def to_pyagrum(model: Model) -> Any:
    """Turn a model into a Bayesian network of pyAgrum.

    Its states are text there: those of a manifest variable as ``str`` gives them, ``s0``, ``s1``, ... for a latent.

    Parameters
    ----------
    model : Model
        The model.
    """
    gum = _imported("pyagrum", "pyagrum")
    network = gum.BayesNet("latentree")
    for node in network_of(model, ANY):
        network.add(gum.LabelizedVariable(node.name, node.name, list(node.states)))
        if node.parent is not None:
            network.addArc(node.parent, node.name)
        network.cpt(node.name).fillWith(node.table.ravel().tolist())
    return network


def _imported(module: str, package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LatentreeError(f"This needs {package}, which is not there ({error}): pip install {package}.") from None
