"""What estimators say about what they found: values, text and pages. Nothing else here imports the reports."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from sklearn.utils.validation import check_is_fitted

from .._model import Model
from .._table import Table
from ..infer import find_node
from ..score import standard_errors

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

    def profiles_frame(self, latent: str | None = None, *, errors: bool = True, backend: str = "pandas") -> Any:
        """Return P(answer | class) as a tidy data frame, one probability a row.

        Parameters
        ----------
        latent : str, optional
            The latent variable of a tree, whose own variables are told. Default: the first, which is the only one of
            a latent class model.
        errors : bool, default True
            Whether to add standard errors and 95 % intervals, from the information.
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"
            What kind of frame.

        Returns
        -------
        data frame
            ``variable``, ``answer``, ``class`` (or the name of the latent variable), ``estimate``,
            ``standard_error``, ``lower``, ``upper``.

        Examples
        --------
        >>> import latentree as lt
        >>> lca = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
        >>> lca.profiles_frame(errors=False).round(3).head(2)
          variable answer   class  estimate
        0        A      1  class0     0.000
        1        A      1  class1     0.883
        """
        from ..report._frames import framed, profile_columns

        return framed(profile_columns(self.model_, self._errors(errors), node=self._latent(latent)), backend)

    def sizes_frame(self, latent: str | None = None, *, errors: bool = True, backend: str = "pandas") -> Any:
        """Return the sizes of the classes as a tidy data frame; see :meth:`profiles_frame`."""
        from ..report._frames import framed, size_columns

        return framed(size_columns(self.model_, self._errors(errors), node=self._latent(latent)), backend)

    def _latent(self, name: str | None) -> int | None:
        check_is_fitted(self, self._subject)
        return None if name is None else find_node(self.model_, name)

    def _errors(self, wanted: bool) -> Any:
        check_is_fitted(self, self._subject)
        if not wanted or self._subject == "draws_":
            return None
        own = getattr(self, "standard_errors", None)
        return standard_errors(self.fit_) if own is None else own()  # type: ignore[attr-defined]

    def save_tables(self, path: str | os.PathLike[str], *more: Any) -> None:
        """Write the tables that a paper shows to a Word, Excel, LaTeX or HTML file, as its name ends.

        Parameters
        ----------
        path : str or path
            The file, ending in ``.docx``, ``.xlsx``, ``.tex`` or ``.html``.
        *more
            What else to put into it, such as a comparison; see :func:`latentree.report.write_tables`.
        """
        from ..report import write_tables

        check_is_fitted(self, self._subject)
        write_tables(path, *more, self)

    def _repr_html_(self) -> str:
        """What notebooks show: the summary once it is fitted, otherwise the parameters."""
        from html import escape

        if not hasattr(self, self._subject):
            shown: str = super()._repr_html_()  # type: ignore[misc]
            return shown
        text = escape(self.summary())
        return f'<pre style="line-height:1.25;white-space:pre;overflow-x:auto">{text}</pre>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

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
