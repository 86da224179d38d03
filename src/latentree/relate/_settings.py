"""What can be asked for when classes are related to other variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._options import AnyOf, Flag, Number, OneOf, Options, Whole, option
from .._table import Table
from ._classification import Assignment
from ._covariates import Information
from ._design import READING, Reading

__all__ = ["Method", "Settings"]

Method = Literal["one-step", "two-step", "three-step", "bch"]


@dataclass(frozen=True, eq=False)
class Settings(Options):
    """Keywords of :func:`latentree.relate.relate`, checked; what they mean is said there."""

    method: Method | None = option(None, OneOf("one-step", "two-step", "three-step", "bch", None))
    latent: str | None = None
    assignment: Assignment = option("modal", OneOf("modal", "proportional"))
    information: Information = option("observed", OneOf("observed", "opg"))
    robust: bool = option(False, Flag())
    clusters: Any = None
    strata: Any = None
    sample_weight: Any = None
    reference: Any = None
    missing_covariates: str = option("error", OneOf("error", "drop"))
    complete: bool = option(False, Flag())
    penalty: float | None = option(None, AnyOf(Number(above=0), OneOf(None)))
    prior: float | Literal["auto"] | None = option("auto", AnyOf(Number(least=1), OneOf("auto", None)))
    outcome_kind: str | Mapping[str, str] | None = None
    direct_effects: Mapping[str, str] | None = None
    bootstrap: int | None = option(None, AnyOf(Whole(2), OneOf(None)))
    rng: np.random.Generator | None = None
    level: float = option(0.95, Number(above=0, below=1))
    reading: Reading = READING
    table: Table | None = None

    @property
    def dirichlet(self) -> float:
        """The parameter of the prior that was asked for, 1 if none was."""
        return 1.0 if self.prior is None or self.prior == "auto" else float(self.prior)

    @property
    def for_covariates(self) -> Method:
        """The method for covariates."""
        return self.method or "three-step"

    @property
    def for_outcomes(self) -> Method:
        """The method for outcomes."""
        return self.method or "bch"
