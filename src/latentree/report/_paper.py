"""Tables for a paper, as Word, Excel, LaTeX or HTML, in the manner of the American Psychological Association.

A table has a number, a title, a head between rules, no vertical lines, and notes below. Probabilities have no zero
before the point. :class:`PaperTable` holds what any of the writers needs, whatever the numbers are of.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import narwhals as nw

from .._files import write_atomically
from .._model import Model
from .._scale import direction, score_label, shown_score
from ..comparison import Comparison
from ..errors import LatentreeError, ParameterError
from ..estimation import Fit
from ..naming import latent_title, node_labels
from ..score import StandardErrors, standard_errors
from ._frames import profile_columns, size_columns
from ._paper_office import excel_file, word_file
from ._printable import printable

__all__ = ["ENDINGS", "PaperTable", "paper_tables", "table_of", "write_tables"]

MOST_PARAMETERS = 2_000
"""With more of them, standard errors would take long and are left out."""


PORTRAIT = 88
"""Characters of a table that fit on an upright page."""

STATISTICS = frozenset({"SE", "SD", "M", "Mdn", "N", "n", "p", "z", "t", "F", "df", "r", "b", "B"})
"""Symbols of statistics, which are set in italics; abbreviations such as CI and BIC are not."""


@dataclass(frozen=True)
class PaperTable:
    """A table with its title and notes.

    Attributes
    ----------
    title : str
        What stands above it.
    columns : mapping of str to list
        Texts, numbers, None for empty cells, or pairs of ends of an interval.
    note : str
        What stands below it.
    digits : mapping of str to int
        Decimals of the columns of numbers; 2 unless told otherwise.
    shares : frozenset of str
        Columns of probabilities, which have no zero before the point.
    """

    title: str
    columns: Mapping[str, Sequence[Any]]
    note: str = ""
    digits: Mapping[str, int] = field(default_factory=dict)
    shares: frozenset[str] = frozenset()

    @property
    def heads(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Cells, row by row."""
        return list(zip(*self.columns.values(), strict=True))

    @property
    def texts(self) -> list[list[str]]:
        """Cells as they are printed, row by row."""
        return [[self.text(head, value) for head, value in zip(self.heads, row, strict=True)] for row in self.rows]

    def text(self, head: str, value: Any) -> str:
        """A cell as it is printed.

        Examples
        --------
        >>> table = PaperTable("", {"p": [0.25]}, shares=frozenset({"p"}))
        >>> table.text("p", 0.25), table.text("p", (0.1, 0.32)), table.text("n", 7), table.text("x", None)
        ('.25', '[.10, .32]', '7', '')
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, tuple):
            return "" if None in value else f"[{', '.join(self.text(head, end) for end in value)}]"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return printable(str(value))
        if isinstance(value, int):
            return f"{value:,}"
        text = f"{value:,.{self.digits.get(head, 2)}f}"
        if head in self.shares:
            text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
        return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text

    @property
    def is_wide(self) -> bool:
        """Whether it needs a page on its side."""
        widths = (max([len(head), *(len(self.text(head, x)) for x in own)]) for head, own in self.columns.items())
        return sum(width + 2 for width in widths) > PORTRAIT

    def is_number(self, head: str) -> bool:
        """Whether a column holds numbers or intervals."""
        return any(isinstance(x, int | float | tuple) and not isinstance(x, bool) for x in self.columns[head])


# ---- from what was found to tables ---------------------------------------------------------------------------------


def paper_tables(*things: Any, errors: StandardErrors | bool | None = True) -> list[PaperTable]:
    """Make the tables that a paper shows of results.

    Parameters
    ----------
    *things
        Fitted estimators, fits, models, comparisons, :class:`PaperTable` objects, or data frames, each of which
        becomes one table.
    errors : StandardErrors or bool, default True
        Standard errors and intervals of a fit: those given, or computed from the information. False: none.

    Returns
    -------
    list of PaperTable

    Examples
    --------
    >>> import latentree as lt
    >>> lca = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
    >>> [table.title for table in paper_tables(lca)]
    ['Sizes of the classes', 'Probabilities of answers, by class']
    """
    found: list[PaperTable] = []
    for thing in things:
        if isinstance(thing, PaperTable):
            found.append(thing)
        elif isinstance(thing, Comparison):
            found.append(_compared(thing))
        elif isinstance(thing, Model | Fit) or hasattr(thing, "model_"):
            found += _of_model(thing, errors)
        else:
            found.append(table_of(thing))
    return found


def table_of(frame: Any, title: str = "", note: str = "") -> PaperTable:
    """Make any data frame, or columns by name, a table: covariates, residuals, whatever has one.

    Examples
    --------
    >>> table_of({"variable": ["age"], "p_value": [0.03]}).rows
    [('age', 0.03)]
    """
    if not isinstance(frame, Mapping):
        frame = nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    columns = {head.replace("_", " "): list(values) for head, values in frame.items()}
    shares = {"estimate", "standard error", "lower", "upper", "p", "p value", "size"} & columns.keys()
    unit = {h for h in shares if all(x is None or x != x or 0 <= x <= 1 for x in columns[h])}
    digits = {head: 3 for head in columns if head == "p" or head.startswith("p ")}
    return PaperTable(title, columns, note, digits, frozenset(unit))


def _of_model(thing: Any, errors: StandardErrors | bool | None) -> list[PaperTable]:
    fit = thing if isinstance(thing, Fit) else getattr(thing, "fit_", None)
    model = thing if isinstance(thing, Model) else thing.model_ if hasattr(thing, "model_") else thing.model
    known = errors if isinstance(errors, StandardErrors) else None
    if known is None and errors and fit is not None:
        known = _errors(thing, fit)
    latents = map(int, model.tree.latent_variables)
    return [table for z in latents for table in (_sizes(model, known, z), _profiles(model, known, z))]


def _errors(thing: Any, fit: Fit) -> StandardErrors | None:
    """Standard errors from the information, where they can be had."""
    if fit.n_parameters > MOST_PARAMETERS:
        return None
    try:
        found: StandardErrors = thing.standard_errors() if hasattr(thing, "standard_errors") else standard_errors(fit)
    except LatentreeError:
        return None
    return found


def _sizes(model: Model, errors: StandardErrors | None, z: int) -> PaperTable:
    found = size_columns(model, errors, node=z)
    title = latent_title(model, z)
    head = "Class" if title == "class" else title
    columns: dict[str, list[Any]] = {head: found[title], "Size": found["estimate"]}
    note = "Size is the probability of belonging to a class."
    if "lower" in found:
        columns["SE"] = found["standard_error"]
        columns["95% CI"] = list(zip(found["lower"], found["upper"], strict=True))
        note += " SE = standard error; CI = confidence interval."
    what = "the classes" if len(model.tree.latent_variables) == 1 else f"the states of {title}"
    digits = {"SE": 3}
    return PaperTable(f"Sizes of {what}", columns, note, digits, frozenset({"Size", "SE", "95% CI"}))


def _profiles(model: Model, errors: StandardErrors | None, z: int) -> PaperTable:
    found = profile_columns(model, errors, node=z)
    states, k = node_labels(model, z), int(model.tree.cardinality[z])
    columns: dict[str, list[Any]] = {"Variable": [], "Answer": []}
    before = None
    for i in range(0, len(found["estimate"]), k):
        name = found["variable"][i]
        columns["Variable"].append("" if name == before else name)
        columns["Answer"].append(found["answer"][i])
        before = name
    for i, state in enumerate(states):
        columns[state] = found["estimate"][i::k]
        if "lower" in found:
            columns[f"{state} 95% CI"] = list(zip(found["lower"][i::k], found["upper"][i::k], strict=True))
    one = len(model.tree.latent_variables) == 1
    note = "Cells are probabilities of the answer in the class." if one else "Cells are probabilities of the answer."
    if "lower" in found:
        note += " CI = confidence interval; there is none where a probability is estimated as 0 or 1."
    title = "Probabilities of answers, by class" if one else f"Probabilities of answers, by {latent_title(model, z)}"
    return PaperTable(title, columns, note, {}, frozenset(columns) - {"Variable", "Answer"})


def _compared(comparison: Comparison) -> PaperTable:
    rows = comparison.table
    columns: dict[str, list[Any]] = {
        "Classes": [row["n_classes"] for row in rows],
        "Log-likelihood": [row["log_likelihood"] for row in rows],
        "Parameters": [row["n_parameters"] for row in rows],
    }
    for name in comparison.scores:
        head = score_label(name).partition(" (")[0]
        columns[head] = [shown_score(row[name], name) for row in rows]
    columns["Entropy"] = [row["relative_entropy"] for row in rows]
    columns["Smallest class"] = [row["smallest_class"] for row in rows]
    best = comparison.best_n_classes()
    note = (
        f"Scores: {direction(comparison.scores[0])}. Entropy is relative, 1 when all rows are certain. By "
        f"{comparison.scores[0].upper()}, the model with {best} classes is best."
    )
    return PaperTable("Fit of models by number of classes", columns, note, {}, frozenset({"Entropy", "Smallest class"}))


# ---- writing -------------------------------------------------------------------------------------------------------


def write_tables(path: str | os.PathLike[str], *things: Any, errors: StandardErrors | bool | None = True) -> None:
    """Write tables for a paper to a Word, Excel, LaTeX or HTML file, as its name ends.

    Parameters
    ----------
    path : str or path
        The file, ending in ``.docx``, ``.xlsx``, ``.tex`` or ``.html``. Word needs python-docx and Excel openpyxl:
        ``pip install 'latentree[tables]'``.
    *things
        Fitted estimators, fits, models, comparisons, or data frames with estimates; see :func:`paper_tables`.
    errors : StandardErrors or bool, default True
        Standard errors and intervals of a fit: those given, or computed from the information. False: none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import latentree as lt
    >>> lca = lt.LatentClass(2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables(folder + "/tables.tex", lca)
    ...     "toprule" in Path(folder, "tables.tex").read_text()
    True
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ParameterError(
            "Tables are written to files that end in {endings}. Got '{path}'.",
            endings=", ".join(ENDINGS),
            path=os.fspath(path),
        )
    write_atomically(path, ENDINGS[ending](paper_tables(*things, errors=errors)))


def _html(tables: Iterable[PaperTable]) -> str:
    parts = []
    for i, table in enumerate(tables, 1):
        heads = "".join(f"<th{_right(table, h)}>{_html_head(h)}</th>" for h in table.heads)
        right = [_right(table, head) for head in table.heads]
        rows = "".join(
            f"<tr>{''.join(f'<td{a}>{escape(x)}</td>' for a, x in zip(right, texts, strict=True))}</tr>"
            for texts in table.texts
        )
        note = f"<p><i>Note.</i> {escape(table.note)}</p>" if table.note else ""
        parts.append(
            f"<p><b>Table {i}</b></p>\n<p><i>{escape(printable(table.title))}</i></p>\n"
            f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody>\n</table>\n{note}\n"
        )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Tables</title>\n<style>'
        "body{font:12pt/1.5 'Times New Roman',serif;margin:2em}table{border-collapse:collapse;border-top:1.5px solid;"
        "border-bottom:1.5px solid}thead th{border-bottom:1px solid;font-weight:normal}"
        "th,td{padding:2px 14px;text-align:left}"
        ".n{text-align:right}</style>\n</head>\n<body>\n" + "\n".join(parts) + "</body>\n</html>\n"
    )


def _html_head(head: str) -> str:
    return f"<i>{head}</i>" if head in STATISTICS else escape(printable(head))


def _right(table: PaperTable, head: str) -> str:
    return ' class="n"' if table.is_number(head) else ""


_TEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}", ">": r"\textgreater{}"}
)  # fmt: skip


def _tex(tables: Iterable[PaperTable]) -> str:
    parts = ["% needs \\usepackage{booktabs}, and \\usepackage{rotating} where a sidewaystable is"]
    for table in tables:
        place = "sidewaystable" if table.is_wide else "table"

        def cells(texts: Iterable[str]) -> str:
            line = " & ".join(text.translate(_TEX).replace("\N{MINUS SIGN}", "$-$") for text in texts) + r" \\"
            return "{}" + line if line.startswith(("[", "*")) else line  # which would belong to the \\ before it

        layout = "".join("r" if table.is_number(h) else "l" for h in table.heads)
        body = [cells(texts) for texts in table.texts]
        note = table.note.translate(_TEX).replace("\N{MINUS SIGN}", "$-$")
        below = [rf"\par\smallskip\footnotesize\textit{{Note.}} {note}"] if note else []
        names = [rf"\textit{{{h}}}" if h in STATISTICS else cells([printable(h)])[:-3] for h in table.heads]
        head = " & ".join(names) + r" \\"
        parts.append(
            "\n".join(
                [rf"\begin{{{place}}}", r"\centering", rf"\caption{{{printable(table.title).translate(_TEX)}}}",
                 rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule",
                 r"\end{tabular}", *below, rf"\end{{{place}}}"]
            )
        )  # fmt: skip
    return "\n\n".join(parts) + "\n"


ENDINGS: Mapping[str, Callable[[Iterable[PaperTable]], str | bytes]] = {
    ".docx": word_file,
    ".xlsx": excel_file,
    ".tex": _tex,
    ".html": _html,
}
"""How names of files end, and what writes them."""
