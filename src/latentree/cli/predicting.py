"""What ``latentree predict`` writes: probabilities of a column in each row, or in the rows where they are highest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import ParameterError
from ..infer import find_state
from ..naming import node_labels
from ..prediction import PredictionScores, predicted
from .rows import free_name

if TYPE_CHECKING:
    from .stream import Reader

__all__ = ["Asked", "in_words"]


@dataclass
class Asked:
    """What is to be predicted, and the rows in which it is most probable."""

    model: Model
    node: int
    top: int | None
    state: str | None
    hits: float | None = field(default=None, init=False)
    n_top: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.name = self.model.tree.names[self.node]
        self.labels = node_labels(self.model, self.node)
        names: list[str] = ["row"]
        for label in self.labels:
            names.append(free_name(f"p_{label}", names))
        self.header = [*names, "choice"]
        self.at = None if self.state is None else find_state(self.model, self.node, self.state)
        if self.top is not None and self.at is None:
            self.at = self._last()

    def _last(self) -> int:
        if len(self.labels) != 2:
            raise ParameterError(
                "--top needs --state: '{target}' has the values {values}.",
                target=self.name,
                values=", ".join(self.labels[:12]),
            )
        return 1

    def predictions(self, reader: Reader, scores: PredictionScores) -> Any:
        """Columns of predictions, piece by piece; with ``--top`` once, at the end."""
        best: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None = None
        for piece in reader:
            p = predicted(self.model, piece.table, self.name)
            truth = _truth(piece.table, self.name)
            scores.add(p, truth, piece.weights)
            if self.top is None:
                yield self._columns(np.array(piece.numbers), p)
                continue
            weights = np.ones(len(p)) if piece.weights is None else piece.weights
            new = (np.array(piece.numbers, dtype=float), p, truth.astype(float), weights)
            whole = new if best is None else tuple(np.concatenate(pair) for pair in zip(best, new, strict=True))
            best = self._best(whole)
        if best is not None:
            numbers, p, truth, weights = best
            self.n_top = len(numbers)
            if (truth >= 0).any():
                self.hits = float(weights @ (truth == self.at))
            yield self._columns(numbers.astype(int), p)

    def _best(self, rows: Any) -> Any:
        """The rows in which the state is most probable; of equal ones the first."""
        numbers, p, _, _ = rows
        known = np.flatnonzero(~np.isnan(p[:, 0]))
        order = known[np.lexsort((numbers[known], -p[known, self.at].round(12)))][: self.top]
        return tuple(own[order] for own in rows)

    def _columns(self, numbers: Any, p: FloatArray) -> dict[str, Any]:
        unknown = np.isnan(p[:, 0])
        states = [*self.model.states(self.node), ""]
        choice = np.where(unknown, -1, np.where(unknown[:, None], 0.0, p).argmax(axis=1))
        cells = [numbers.tolist(), *p.T, [states[i] for i in choice.tolist()]]
        return dict(zip(self.header, cells, strict=True))

    def document(self, reader: Reader, scores: PredictionScores) -> dict[str, Any]:
        """What ``--json`` says."""
        found = scores.to_dict()
        found["n_known"] = found.pop("n")
        top = None
        if self.top is not None:
            assert self.at is not None
            top = {"n": self.n_top, "state": self.model.states(self.node)[self.at], "hits": self.hits}
        return {
            "data": reader.name,
            "target": self.name,
            "states": list(self.model.states(self.node)),
            "n_rows": reader.n_rows,
            **found,
            "top": top,
            "seed": self.model.provenance.get("seed"),
        }


def _truth(table: Any, name: str) -> Any:
    if name not in table.names:
        return np.full(len(table.inverse), -1)
    return np.where(table.inverse >= 0, table.codes[table.inverse, table.names.index(name)], -1)


def in_words(found: dict[str, Any]) -> str:
    """The scores of predictions in a sentence."""
    auc = "" if found["auc"] is None else f", AUC {found['auc']:.3f}"
    text = (
        f"'{found['target']}' is known in {found['n_known']:,.10g} rows: accuracy {100 * found['accuracy']:.1f} %, "
        f"log loss {found['log_loss']:.4f}, Brier score {found['brier']:.4f}{auc}."
    )
    top = found["top"]
    if top is not None and top["hits"] is not None:
        text += f" Of the {top['n']:,} rows shown, {top['hits']:,.10g} have '{top['state']}'."
    return text
