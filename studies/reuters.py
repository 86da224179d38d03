"""The nine text data sets of [Karciauskas2005] table 4.2, made of Reuters-21578 as in appendix A."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentree._table import Table
from latentree._variables import Variable

__all__ = ["READINGS", "described", "text_table"]

FILE = "reuters.jsonl.gz"
MORE_FUNCTION_WORDS = frozenset({"said", "say", "says"})
"""Beside scikit-learn's list and words of one letter; Karciauskas' own list is lost."""
READINGS: dict[str, tuple[str, str, bool]] = {
    "as here": (r"[a-z]+", "{title} {body}", False),
    "digits count as letters": (r"[a-z0-9]+", "{title} {body}", False),
    "hyphens join words": (r"[a-z](?:-?[a-z])*", "{title} {body}", False),
    "bodies without titles": (r"[a-z]+", "{body}", False),
    "gain from test documents, too": (r"[a-z]+", "{title} {body}", True),
}
"""Readings of appendix A: what a word is, what a text is, and whether all documents choose the words."""


def text_table(name: str, folder: Path) -> Table:
    """A data set by Karciauskas' name, such as corn10: the ten words that tell most about the topic corn."""
    return _table(name, folder / FILE, "as here")


def described(folder: Path, reading: str) -> tuple[dict[str, Any], dict[str, Table]]:
    """What a reading of appendix A comes to: sizes, the words of every topic, and the three smallest tables."""
    words, seen, _, training = _corpus(folder / FILE, *READINGS[reading][:2])
    tables = {name: _table(name, folder / FILE, reading) for name in ("corn10", "crude10", "earn10")}
    told = {
        "documents": len(seen),
        "training": int(training.sum()),
        "words": len(words),
        "chosen": {name: list(table.names) for name, table in tables.items()},
    }
    return told, tables


def _table(name: str, path: Path, reading: str) -> Table:
    topic, count = name.rstrip("0123456789"), int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))
    pattern, text, by_all = READINGS[reading]
    words, seen, topics, training = _corpus(path, pattern, text)
    about = np.array([topic in own for own in topics])
    choosing = np.ones_like(training) if by_all else training
    gains = information_gain(seen[choosing], about[choosing])
    best = np.argsort(-gains, kind="stable")[:count]
    codes = seen[:, best].astype(np.int64)
    variables = tuple(Variable(words[i], ("no", "yes")) for i in best)
    return Table.from_codes(codes, variables)


def information_gain(seen: NDArray[np.bool_], about: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How much each column (whether a word occurs) tells about the topic, in nats.

    Examples
    --------
    >>> about = np.array([True, True, False, False])
    >>> information_gain(np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=bool), about).round(3).tolist()
    [0.693, 0.0]
    """
    n = len(about)
    joint = np.stack([[seen[about == t].sum(axis=0), (~seen[about == t]).sum(axis=0)] for t in (True, False)]) / n
    independent = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log(joint / independent), 0.0)
    out: NDArray[np.float64] = terms.sum(axis=(0, 1))
    return out


@cache
def _corpus(
    path: Path, pattern: str, form: str
) -> tuple[list[str], NDArray[np.bool_], list[set[str]], NDArray[np.bool_]]:
    """Words of two training documents at least, which document has which, its topics, and whether it is to train."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        documents: list[dict[str, Any]] = [json.loads(line) for line in lines]
    in_part = {part: {t for d in documents if d["split"] == part for t in d["topics"]} for part in _parts(documents)}
    both = set.intersection(*in_part.values())
    documents = [d for d in documents if both & set(d["topics"])]
    training = np.array([d["split"].startswith("train") for d in documents])
    left_out = _function_words()
    found = re.compile(pattern).findall
    texts = [set(found(form.format(**d).lower())) - left_out for d in documents]
    often = Counter(word for text, own in zip(texts, training, strict=True) if own for word in text if len(word) > 1)
    words = sorted(word for word, count in often.items() if count > 1)
    place = {word: i for i, word in enumerate(words)}
    seen = np.zeros((len(documents), len(words)), dtype=bool)
    for row, text in enumerate(texts):
        seen[row, [place[word] for word in text if word in place]] = True
    return words, seen, [set(d["topics"]) for d in documents], training


def _parts(documents: list[dict[str, Any]]) -> set[str]:
    return {d["split"] for d in documents}


def _function_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS) | MORE_FUNCTION_WORDS
