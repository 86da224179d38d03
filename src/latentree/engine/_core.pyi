from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

def kernels() -> str: ...
def available_kernels() -> list[str]: ...
def use_kernels(name: str, /) -> None: ...
def distinct_rows(codes: NDArray[np.int16], states: IntArray, /) -> tuple[IntArray, NDArray[np.int64]]: ...
def text_rows(
    columns: Sequence[tuple[IntArray, NDArray[np.uint8] | None, NDArray[np.int64] | None]],
    n_rows: int,
    between: str,
    /,
) -> bytes: ...

class Engine:
    n_rows: int
    n_parameters: int
    root: int
    work: float
    n_bytes: int
    row_of: IntArray
    row_weights: FloatArray
    slots: list[tuple[int, int, bool]]
    top: list[int]
    def best_lanes(self, n_sets: int, /) -> int: ...
    def evaluate(
        self, parameters: FloatArray, with_counts: bool, threads: int, lanes: int, /
    ) -> tuple[FloatArray, FloatArray]: ...
    def row_log_likelihood(self, parameters: FloatArray, threads: int, /) -> FloatArray: ...
    def posteriors(self, parameters: FloatArray, nodes: list[int], /) -> FloatArray: ...
    def root_messages(self, parameters: FloatArray, /) -> tuple[FloatArray, FloatArray, FloatArray]: ...

def make_engine(
    parent: IntArray,
    states: IntArray,
    columns: Sequence[tuple[int, IntArray, FloatArray | None, FloatArray | None, FloatArray | None]],
    weights: FloatArray,
    share: bool,
    root: int,
    /,
) -> Engine: ...

LOSS_LEFT: float

class Beliefs:
    def log_likelihood(self) -> FloatArray: ...
    def __init__(
        self,
        n_manifest: int,
        states: IntArray,
        marginals: Sequence[FloatArray],
        edges: Sequence[tuple[int, int, FloatArray]],
        numbers: Sequence[int],
        codes: NDArray[np.int16],
        weights: FloatArray,
        width: float,
        /,
    ) -> None: ...
    def total(self, v: int, /) -> FloatArray: ...
    def posterior(self, v: int, /) -> FloatArray: ...
    def without(self, z: int, a: int, /) -> dict[int, FloatArray]: ...
    def evaluate(
        self,
        moves: Sequence[tuple[int, Sequence[int], int, int, int, float, float, int]],
        seed: int,
        first: int,
        threads: int,
        /,
    ) -> list[tuple[float, list[int], list[int], list[int], FloatArray] | tuple[float, None, None, None, None]]: ...
    def relocations(
        self,
        places: Sequence[int],
        branches: Sequence[tuple[int, int, FloatArray | None]],
        passes: int,
        near: int,
        threads: int,
        /,
    ) -> list[tuple[float, FloatArray, FloatArray]]: ...
    def dependence(self, a: int, first: int, last: int, /) -> FloatArray: ...
    def triple(self, a: int, b: int, c: int, /) -> FloatArray: ...
    def divisions(
        self, a: int, n: float, rate: float, least: float, most: int, sizes: int, /
    ) -> list[tuple[list[int], int, int]]: ...

class Em:
    n_runs: int
    given_up: int
    def __init__(
        self,
        engine: Engine,
        starts: FloatArray,
        pseudo: FloatArray | None,
        held: NDArray[np.uint8] | None,
        accelerate: bool,
    ) -> None: ...
    def advance(self, max_iterations: int, tolerance: float, seconds: float, threads: int, /) -> bool: ...
    def compete(self, first: int, steps: int, tolerance: float, goal: float, hope: float, /) -> int: ...
    def keep(self, chosen: Sequence[int], /) -> None: ...
    def asked(self) -> FloatArray: ...
    def answer(
        self, log_likelihood: FloatArray, counts: FloatArray, max_iterations: int, tolerance: float, /
    ) -> None: ...
    def restore(self, states: Sequence[FloatArray], given_up: int, /) -> None: ...
    def state(self, run: int, /) -> FloatArray: ...
    def parameters(self, run: int, /) -> FloatArray: ...
    def counts(self, run: int, /) -> FloatArray: ...
    def trace(self, run: int, /) -> FloatArray: ...
    def log_likelihood(self, run: int, /) -> float: ...
    def evaluations(self, run: int, /) -> int: ...
    def status(self, run: int, /) -> int: ...

class Sampler:
    def __init__(
        self,
        codes: NDArray[np.int16],
        states: IntArray,
        weights: NDArray[np.int64],
        delta1: float,
        delta2: float,
        log_prior: FloatArray,
        simplex: bool,
        scale: float,
        tries: int,
        informed: float,
        small: float,
        /,
    ) -> None: ...
    def advance(
        self,
        k: int,
        log_weights: FloatArray,
        log_theta: FloatArray,
        members: NDArray[np.int64],
        stream: NDArray[np.uint64],
        moves: Sequence[int],
        n_sweeps: int,
        thin: int,
        with_counts: bool,
        /,
    ) -> tuple[
        int,
        FloatArray,
        FloatArray,
        NDArray[np.int64],
        NDArray[np.uint64],
        IntArray,
        FloatArray,
        FloatArray,
        FloatArray,
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
    ]: ...

def draw(words: NDArray[np.uint64], kind: int, a: float, b: float, n: int, /) -> FloatArray: ...
