"""What estimators say about what they found: values, text and pages. Nothing else here imports the reports."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from sklearn.utils.validation import check_is_fitted

from .._model import Model
from .._table import Table

if TYPE_CHECKING:
    from ..estimation import Fit
    from ..report import Page, ReviewerReport
    from ..report._contents import Contents

__all__ = ["Reporting"]

_DESCRIBED_BY = {"fit_": "describe", "run_": "describe_run", "draws_": "describe_draws"}


class Reporting:
    """Reports of an estimator; ``_subject`` names the attribute that they describe: its fit, run or draws."""

    _subject: ClassVar[str] = "fit_"
    model_: Model
    table_: Table

    def _report_options(self) -> dict[str, Any]:
        """Options of the report that follow from the estimator."""
        return {}

    def _described(self) -> Any:
        check_is_fitted(self, self._subject)
        return getattr(self, self._subject)

    def report(self, **options: Any) -> dict[str, Any]:
        """Return all that :meth:`summary` shows as plain values.

        Parameters
        ----------
        **options
            ``statistics=True`` adds absolute fit, bivariate residuals, average posteriors and all quick scores, unless
            draws are described. See :func:`latentree.report.describe` for a latent class model,
            :func:`latentree.report.describe_run` for a tree and :func:`latentree.report.describe_draws` for draws.
        """
        from .. import report

        describe = getattr(report, _DESCRIBED_BY[self._subject])
        contents: dict[str, Any] = describe(self._described(), **self._report_options(), **options)
        return contents

    def summary(
        self, *, width: int = 80, max_variables: int | None = 30, max_states: int | None = 12, **options: Any
    ) -> str:
        """Return what was found as text: sizes, profiles, fit statistics or intervals, warnings and notes.

        Parameters
        ----------
        width : int, default 80
            Columns of text.
        max_variables, max_states : int or None
            Of more variables, the most informative are shown; of more states, the most frequent. None shows all.
        **options
            Those of :meth:`report`.
        """
        from ..report import Shown, to_text

        contents = cast("Contents", self.report(**options))
        return Shown(to_text(contents, width=width, max_variables=max_variables, max_states=max_states))

    def _reviewed(self, fits: Iterable[Fit], n_classes: int, **options: Any) -> ReviewerReport:
        from ..report import reviewer_report

        return reviewer_report(fits, n_classes, **options)

    def explore(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Page:
        """Make the explorer page of the model, its data and how it grew, which notebooks show.

        Parameters
        ----------
        path : str or path, optional
            Where to write it. The page returned also has ``save`` and ``open``.
        **options
            Those of :func:`latentree.report.explore`.
        """
        from ..report import explore

        subject = self._described()
        if hasattr(subject, "model"):
            return explore(subject, path=path, **options)
        return explore(self.model_, self.table_, path, **options)  # of draws: their means
