"""Valid files of every format, ways to damage them, and what reading a damaged one may do.

A reader gets bytes. It may return, or raise an error of latentree; anything else (another exception, a warning that is
not ours, a crash, a hang, a model that does not come back as it was written) is a fault of the reader.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import latentree as lt
from latentree import bayes, cardinality, checkpoint, search
from latentree.cli.data import load_trace
from latentree.errors import LatentreeError, LatentreeWarning
from latentree.estimation import fit_classes
from latentree.formats import Recipe
from latentree.formats._models import text_of
from latentree.report._tree import checked_trace

DATA = Path(__file__).parents[1] / "formats" / "data"

CSV = '''id,age,"answer, given",n
a1,34,yes,2
a2,,"no ""really""",1.5
a3,51,?,0

a4, 29 ,yes,3
'''
SEMICOLONS = "x;y\n1;2,5\n2;3,5\n1;NA\n"
ARFF = """% a comment
@relation 'some data'
@attribute age numeric
@attribute "the answer" {yes, 'no, never', "it's"}
@attribute name string
@data
34, yes, 'a b'
?, 'no, never', x, {2.5}
51,"it's",?
"""
HLCM = """// made by hand
Name: some data
A: s0 s1 s2   // three states
B: no yes
0 1 3.0
1 -1 2
2 0 0.5
"""

WORDS = [
    *r"""
    0 1 -1 2 0.5 1e999 -0.0 nan inf 1e-400 1_0 0x1F 1.7976931348623157e308 999999999999999999999
    ' " \ / // /* */ % { } ( ) [ ] < > </ /> <!-- --> <![CDATA[ ]]> &amp; &#0; &x; ; , | = : . ? \u0000 \ud800
    network variable probability table default property type discrete net node potential data states class continuous
    latentree_states latentree_name latentree_latent latentree_column latentree_edges i:1 f:nan b:true t:%ff yes inner
    <!DOCTYPE <!ENTITY SYSTEM <BIF> </BIF> <NETWORK> <TABLE> <cpt> id= <state/> <parents> <deterministic>
    null true false "float" "states" "nodes" "table" "cardinality" "latent" "Infinity" NaN
    latentree_merged latentree_other latentree_never_seen - "merged" "other" "never_seen"
    "recipe" "weights" "bins" "missing" "decimal" sep=;
    @data @attribute @relation numeric string Name:
    """.split(),  # noqa: SIM905
    *("\t", "\n", "\r", "\0", "\x1b", "\ufeff", "\u2028", "\x85", "\U0001f600", "9" * 5000),
]
"""What means something in some format."""

SPECIAL = [
    b"\0",
    b"\xff",
    b"\xfe",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"\r",
    b"\n",
    b'"',
    b"'",
    b"\x80",
    b"\xed\xa0\x80",
]
TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")


def _model() -> lt.Model:
    own = [
        lt.Variable("a b", ("<= 3", "> 3"), (3.0,)),
        lt.Variable("x", (0, 1, 2), never_seen=("refused", 9)),
        lt.Variable("é<&", (True, 1.5, "a | b", -7), merged=((), (), ("a", "b,c"), (7,)), other=3),
    ]
    k = {"z": 2, "w": 3} | {v.name: v.cardinality for v in own}
    tree = lt.Tree.from_edges([("z", "é<&"), ("z", "w"), ("w", "x"), ("w", "a b")], k, [v.name for v in own])
    recipe = Recipe(weights="n", missing=("9",), decimal=",", bins={"a b": (3.0,)})
    return recipe.kept_in(lt.Model.random(tree, own, np.random.default_rng(0)))


def _seeds() -> dict[str, list[bytes]]:
    model = _model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentreeWarning)
        out = {kind: [text_of(model, kind).encode()] for kind in ("json", "bif", "xmlbif", "net", "xdsl")}
    for path in sorted(DATA.iterdir()):
        out["xmlbif" if path.suffix == ".xml" else path.suffix[1:]].append(path.read_bytes())
    out["parquet"] = [_parquet()]
    out["trace"] = [_trace()]
    out["checkpoint"] = _checkpoints()
    out["csv"] = [CSV.encode(), SEMICOLONS.encode(), CSV.encode("utf-16"), gzip.compress(CSV.encode(), mtime=0)]
    out["arff"] = [ARFF.encode()]
    out["hlcm"] = [HLCM.encode()]
    return out


def _parquet() -> bytes:
    out = io.BytesIO()
    names = pa.array(["yes", "no", None, "yes"])
    cells = {"n": pa.array([1, 2, 3, None]), "text": names, "kind": names.dictionary_encode(), "x": [0.5, 1.5, 2.5, 0]}
    pq.write_table(pa.table(cells), out)
    return out.getvalue()


# ---- work that is kept in files --------------------------------------------------------------------------------------

TABLE = lt.Table.from_codes(np.array(list(itertools.product((0, 1), repeat=4))), np.full(4, 2), np.arange(1, 17))
PRIOR = bayes.ClassPrior(bayes.prior_on_classes(3))
SHORT = {"n_draws": 6, "n_burn": 2, "n_chains": 2}


def _fit(path: Path, budget: lt.Budget) -> None:
    fit_classes(TABLE, 2, rng=np.random.default_rng(0), n_init=4, finalists=2, checkpoint=path, budget=budget)


def _learn(path: Path, budget: lt.Budget) -> None:
    search.learn(TABLE, method="east", rng=np.random.default_rng(0), checkpoint=path, budget=budget)


def _cardinality(path: Path, budget: lt.Budget) -> None:
    cardinality.learn(TABLE, rng=np.random.default_rng(0), checkpoint=path, budget=budget, polish=None)


def _sample(path: Path, budget: lt.Budget) -> None:
    bayes.sample(TABLE, PRIOR, rng=np.random.default_rng(0), checkpoint=path, budget=budget, **SHORT)


RESUMED: dict[str, Callable[[Path, lt.Budget], None]] = {
    "fit": _fit,
    "learn": _learn,
    "cardinality": _cardinality,
    "sample": _sample,
}
"""What goes on from a checkpoint, by its kind."""


def _checkpoints() -> list[bytes]:
    """Of each kind one that is under way; of a fit also one that is finished."""
    budgets = [("fit", lt.Budget()), ("fit", lt.Budget(seconds=0)), ("learn", lt.Budget(iterations=2))]
    budgets += [("cardinality", lt.Budget(iterations=2)), ("sample", lt.Budget(iterations=3)), ("sample", lt.Budget())]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (kind, budget) in enumerate(budgets):
            path = Path(folder, str(i))
            RESUMED[kind](path, budget)
            out.append(_signed(_timeless(json.loads(path.read_bytes()))))
    return out


def _timeless(value: Any) -> Any:
    """The same seeds every time: nothing takes any time."""
    if isinstance(value, dict):
        return {key: 0.0 if key == "seconds" else _timeless(item) for key, item in value.items()}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _signed(document: dict[str, Any]) -> bytes:
    document.pop("sha256", None)
    return checkpoint._text({**document, "sha256": checkpoint._digest(document)}).encode()


def _trace() -> bytes:
    run = search.learn(TABLE, method="east", rng=np.random.default_rng(0), budget=lt.Budget(iterations=2))
    return json.dumps({"trace": _timeless(search.trace_to_plain(run.trace))}).encode()


SEEDS = _seeds()


# ---- small files that stand for large ones ---------------------------------------------------------------------------

BOMB_MEMORY = 4 << 30
"""What reading any file may take, in bytes."""

BOMBS = {
    "commas after noise": ("csv", b"", b",", 400_000_000),
    "one row of commas": ("csv", b"", b",", 150_000_000),
    "rows of commas": ("csv", b"a,b\n", b"," * 900_000 + b"\n", 150_000_000),
    "quoted cells": ("csv", b"a\n", b'"",', 150_000_000),
    "wide characters": ("csv", "\U0001f600\n".encode(), b",", 300_000_000),
    "blank lines": ("arff", b"@relation r\n", b"\n", 20_000_000),
    "one row of an ARFF file": ("arff", b"@attribute a {x}\n@data\n", b"x,", 150_000_000),
    "states": ("hlcm", b"Name: x\nA:", b" s", 150_000_000),
    "escapes": ("bif", b'network "', b"\\\\a", 30_000_000),
}
"""Format, beginning, and what follows how often (bytes in all): files of a few megabytes that unpack to a hundred times
as much."""


def bomb(name: str, noise: int = 0) -> tuple[str, bytes]:
    """A packed file, and its format; the noise makes it large enough not to be suspected."""
    kind, start, part, size = BOMBS[name]
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed:
        packed.write(start)
        packed.write(random.Random(0).randbytes(noise).hex().encode())
        block = part * (max(1, 1_000_000 // len(part)))
        for _ in range(size // len(block)):
            packed.write(block)
    return kind, out.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_model(kind: str, path: Path) -> None:
    """Read a model; one that can be read can be written, and comes back as it was."""
    model = lt.load(path, format=kind)
    path.write_bytes(text_of(model, kind).encode())  # not save: waiting for the disk is most of the time then
    again = lt.load(path, format=kind)
    assert again == model
    assert [(v.merged, v.other, v.never_seen) for v in again.variables] == [
        (v.merged, v.other, v.never_seen) for v in model.variables
    ]


def read_data(kind: str, path: Path) -> None:
    table = lt.Table.read(path, format=kind, bins=2)
    assert (table.weights > 0).all() and np.isfinite(table.n)


def read_trace(kind: str, path: Path) -> None:
    checked_trace(load_trace(str(path)) or [])


def go_on(kind: str, path: Path) -> None:
    """Go on from a checkpoint. Its checksum is made to fit: the damage must be found behind it too.

    Searches and learners of cardinalities stop at once: what a step of theirs finds in a file that somebody has edited
    and signed again is not promised. Fits and samplers hand what they read to C++, and go on.
    """
    try:
        document = json.loads(path.read_bytes())
        path.write_bytes(_signed(document))
        resumed = RESUMED[document["kind"]]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        resumed = _fit
    resumed(path, lt.Budget(seconds=0) if resumed in (_learn, _cardinality) else lt.Budget())


READERS: dict[str, Callable[[str, Path], None]] = {
    **dict.fromkeys(("json", "bif", "xmlbif", "net", "xdsl"), read_model),
    **dict.fromkeys(("csv", "arff", "hlcm", "parquet"), read_data),
    "trace": read_trace,
    "checkpoint": go_on,
}


def check(kind: str, content: bytes, path: Path) -> bool:
    """Read a file; tell whether it could be read."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LatentreeWarning)
        try:
            READERS[kind](kind, path)
        except LatentreeError as error:
            assert len(str(error)) < 4_000
            return False
    return True


# ---- damaging --------------------------------------------------------------------------------------------------------


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change a file in one to six places."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change = rng.choice((_bytes, _tokens, _tokens, _tokens, _ranges))
        content = change(content, rng)
    return content


def _bytes(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    new = rng.choice(SPECIAL) if rng.random() < 0.5 else bytes([rng.randrange(256)])
    return content[:at] + new + content[at + rng.choice((0, 1, 1)) :]


def _ranges(content: bytes, rng: random.Random) -> bytes:
    """Cut off, cut out, double, repeat or move a part."""
    a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    if rng.random() < 0.7:
        b = min(b, a + rng.randrange(1, 60))
    part = content[a:b]
    match rng.randrange(5):
        case 0:
            return content[:a]
        case 1:
            return content[:a] + content[b:]
        case 2:
            return content[:b] + part + content[b:]
        case 3:
            return content[:b] + part[:40] * rng.choice((3, 50, 1000)) + content[b:]
    rest = content[:a] + content[b:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + part + rest[at:]


def _tokens(content: bytes, rng: random.Random) -> bytes:
    """Replace, delete, double or exchange words, or put in one of those that mean something somewhere."""
    tokens = TOKEN.findall(content)
    if not tokens:
        return _bytes(content, rng)
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    match rng.randrange(6):
        case 0:
            tokens[i] = tokens[j]
        case 1:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case 2:
            del tokens[i]
        case 3:
            tokens.insert(i, tokens[j])
        case 4:
            tokens[i] = rng.choice(WORDS).encode()
        case _:
            tokens.insert(i, rng.choice(WORDS).encode())
    return b"".join(tokens)
