r"""DOT, the language of Graphviz: the tree as a drawing. Written only; it holds no probabilities."""

from __future__ import annotations

from .._model import Model

__all__ = ["dumps"]


def dumps(model: Model) -> str:
    r"""Draw the tree of a model in the language of Graphviz.

    Latent nodes are ellipses, manifest ones boxes; numbers of states stand in brackets.

    Examples
    --------
    >>> from latentree import Tree
    >>> from latentree import Variable
    >>> import numpy as np
    >>> own = [Variable("x", ("no", "yes")), Variable('say "y"', (0, 1, 2))]
    >>> print(dumps(Model.random(Tree.star(2, [2, 3]), own, np.random.default_rng(0))))
    digraph latentree {
      node [fontname="Helvetica"];
      edge [arrowhead=none];
      n0 [label="z (2)", shape=ellipse, style=filled, fillcolor="#e8f0fe"];
      n1 [label="x (2)", shape=box];
      n2 [label="say \"y\" (3)", shape=box];
      n0 -> n1;
      n0 -> n2;
    }
    <BLANKLINE>
    """
    tree = model.tree
    lines = ["digraph latentree {", '  node [fontname="Helvetica"];', "  edge [arrowhead=none];"]
    for v, name in enumerate(tree.names):
        look = 'shape=ellipse, style=filled, fillcolor="#e8f0fe"' if tree.variable[v] < 0 else "shape=box"
        lines.append(f'  n{v} [label="{_escaped(name)} ({tree.cardinality[v]})", {look}];')
    lines += [f"  n{tree.parent[v]} -> n{v};" for v in range(1, tree.n_nodes)]
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    # Control characters and halves of surrogate pairs have no place in a drawing.
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("\\", "\\\\").replace('"', '\\"')
