"""A :class:`~latentree.relate.Relation` as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._relation import Relation

__all__ = ["sections", "text_of"]

Section = tuple[str, list[str], list[list[str]]]


def number(value: Any, digits: int = 3) -> str:
    """A number for people."""
    if value is None or value != value:
        return ""
    return f"{value:.{digits}f}" if 0.001 <= abs(value) < 1e6 or value == 0 else f"{value:.{digits}g}"


def p_value(p: Any) -> str:
    """A p-value for people."""
    if p is None or p != p:
        return ""
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def sections(found: Relation) -> Iterator[Section]:
    """Titles, headers and cells of the tables."""
    rows = found.rows()
    if rows:
        head = ["class", "term", "estimate", "s.e.", "z", "p", "95 % interval", "odds ratio"]
        head[6] = f"{100 * found.level:g} % interval"
        cells = [
            [
                row["class"],
                row["term"],
                *(number(row[name]) for name in ("estimate", "standard_error")),
                number(row["z"], 2),
                p_value(row["p"]),
                f"{number(row['lower'])} to {number(row['upper'])}",
                number(row["odds_ratio"]),
            ]
            for row in rows
        ]
        yield f"Log-odds against {found.reference}", head, cells
    direct = found.direct_rows()
    if direct:
        cells = [
            [
                row["item"],
                str(row["answer"]),
                row["class"] or "all",
                row["term"],
                number(row["estimate"]),
                number(row["standard_error"]),
                p_value(row["p"]),
            ]
            for row in direct
        ]
        yield "Direct effects", ["item", "answer", "class", "term", "estimate", "s.e.", "p"], cells
    what = {"continuous": "Mean", "categorical": "Proportion", "count": "Rate"}
    for own in found.outcomes:
        mine = [row for row in found.outcome_rows() if row["outcome"] == own.name]
        head = ["class", *(["category"] if own.kind == "categorical" else []), "estimate", "s.e.", "interval"]
        head += ["variance"] if own.variances is not None else []
        cells = [
            [row["class"], *([str(row["category"])] if own.kind == "categorical" else [])]
            + [number(row["estimate"]), number(row["standard_error"])]
            + [f"{number(row['lower'])} to {number(row['upper'])}"]
            + ([number(row["variance"])] if own.variances is not None else [])
            for row in mine
        ]
        yield f"{what[own.kind]} of {own.name}{', adjusted' if own.adjusted else ''} ({own.method})", head, cells
    tests = found.test_rows()
    if tests:
        cells = [
            [
                row["term"] or row["outcome"],
                " / ".join(row["classes"]) if row["classes"] else "all",
                number(row["statistic"], 2),
                str(row["df"]),
                p_value(row["p"]),
                f"{row['effect']} {number(row['effect_size'], 2)}" if row["effect"] else "",
            ]
            for row in tests
        ]
        yield "Wald tests", ["of", "classes", "statistic", "df", "p", "effect size"], cells


def effects(found: Relation) -> Section:
    """Average marginal effects as a table."""
    head = ["covariate", "change", "class", "estimate", "s.e.", "z", "p", f"{100 * found.level:g} % interval"]
    cells = [
        [
            row["covariate"],
            row["change"],
            row["class"],
            number(row["estimate"], 4),
            number(row["standard_error"], 4),
            number(row["z"], 2),
            p_value(row["p"]),
            f"{number(row['lower'], 4)} to {number(row['upper'], 4)}",
        ]
        for row in found.effect_rows()
    ]
    return "Average marginal effects on the probability of a class", head, cells


def headline(found: Relation) -> str:
    """One line above the tables."""
    what = {"one-step": "one step", "two-step": "two steps", "three-step": "three steps (ML)", "bch": "BCH"}
    fit = "" if found.log_likelihood is None else f", log-likelihood {found.log_likelihood:.2f}"
    prior = "" if found.prior == 1.0 else f"; items estimated again with prior {found.prior:.2f}"
    return (
        f"{len(found.classes)} classes, {found.n:,.10g} rows, {what[found.method]}{fit}; "
        f"relative entropy {found.entropy:.2f}{prior}; standard errors: {found.errors}"
    )


def text_of(found: Relation) -> str:
    """The tables as text."""
    parts = [headline(found)]
    for title, head, cells in sections(found):
        parts.append("\n".join([title, *_lines(head, cells)]))
    parts += [f"Note: {own}" for own in found.notes]
    return "\n\n".join(parts)


def _lines(head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [head, *cells]]
