"""Which kinds of files there are, as data: nothing here is loaded before it is used.

A format of one's own is one entry: ``DATA_FORMATS.register("mine", DataFormat("...", (".mine",), "my_module:read"))``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._registry import Registry

__all__ = ["DATA_FORMATS", "MODEL_FORMATS", "DataFormat", "ModelFormat", "by_suffix"]

PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class DataFormat:
    """A kind of file that holds data.

    Parameters
    ----------
    title : str
        What it is.
    suffixes : tuple of str
        How names of such files end.
    reader : str
        Reference to the function that reads it, ``module:name``; it takes a path and returns a
        :class:`~latentree.formats._columns.Frame`.
    options : tuple of str
        Which of ``encoding``, ``delimiter``, ``header`` and ``sheet`` it takes.
    defaults : mapping
        Values of these, and of others that its reader takes, that the format implies.
    """

    title: str
    suffixes: tuple[str, ...]
    reader: str
    options: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFormat:
    """A kind of file that holds a model.

    Parameters
    ----------
    title : str
        What it is.
    suffixes : tuple of str
        How names of such files end.
    module : str
        The module with ``dumps`` and ``loads``.
    is_read : bool
        Whether it can be read.
    is_xml : bool
        Whether the file itself tells its encoding.
    """

    title: str
    suffixes: tuple[str, ...]
    module: str
    is_read: bool = True
    is_xml: bool = False


_TABLE_OPTIONS = ("encoding", "delimiter", "header")
_SHEET = ("header", "sheet")
_STATISTICS = f"{PACKAGE}._statistics_files:read_statistics"

DATA_FORMATS = Registry(
    "format",
    {
        "csv": DataFormat(
            "cells separated by commas, semicolons or tabs", (".csv",), f"{PACKAGE}._csv:read_csv", _TABLE_OPTIONS
        ),
        "tsv": DataFormat(
            "cells separated by tabs", (".tsv", ".tab"), f"{PACKAGE}._csv:read_csv", _TABLE_OPTIONS, {"delimiter": "\t"}
        ),
        "parquet": DataFormat("Apache Parquet", (".parquet", ".pq"), f"{PACKAGE}._parquet:read_parquet"),
        "arff": DataFormat("ARFF of Weka", (".arff",), f"{PACKAGE}._arff:read_arff", ("encoding",)),
        "hlcm": DataFormat(
            "the first programs for latent trees", (".hlcm",), f"{PACKAGE}._hlcm:read_hlcm", ("encoding",)
        ),
        "excel": DataFormat(
            "Excel workbooks", (".xlsx", ".xls", ".xlsm", ".xlsb"), f"{PACKAGE}._workbook:read_workbook", _SHEET
        ),
        "ods": DataFormat("OpenDocument sheets", (".ods",), f"{PACKAGE}._workbook:read_workbook", _SHEET),
        "spss": DataFormat("SPSS", (".sav", ".zsav"), _STATISTICS, ("encoding",), {"kind": "sav"}),
        "por": DataFormat("portable files of SPSS", (".por",), _STATISTICS, ("encoding",), {"kind": "por"}),
        "stata": DataFormat("Stata", (".dta",), _STATISTICS, ("encoding",), {"kind": "dta"}),
        "sas": DataFormat("SAS", (".sas7bdat",), _STATISTICS, ("encoding",), {"kind": "sas7bdat"}),
        "xport": DataFormat("transport files of SAS", (".xpt",), _STATISTICS, ("encoding",), {"kind": "xpt"}),
    },
)

MODEL_FORMATS = Registry(
    "format",
    {
        "json": ModelFormat("latentree's own, which keeps everything", (".json",), f"{PACKAGE}._json"),
        "bif": ModelFormat("BIF: bnlearn, HLTA, JavaBayes, pgmpy, pyAgrum", (".bif",), f"{PACKAGE}._bif"),
        "xmlbif": ModelFormat(
            "XMLBIF: JavaBayes, Weka, SamIam, pgmpy, pyAgrum",
            (".xmlbif", ".bifxml", ".xbif", ".xml"),
            f"{PACKAGE}._xmlbif",
            is_xml=True,
        ),
        "net": ModelFormat("NET: Hugin, bnlearn, pgmpy, pyAgrum", (".net", ".hugin"), f"{PACKAGE}._net"),
        "xdsl": ModelFormat("XDSL: GeNIe and SMILE, pgmpy, pyAgrum", (".xdsl",), f"{PACKAGE}._xdsl", is_xml=True),
        "dot": ModelFormat(
            "DOT: a drawing for Graphviz, without probabilities", (".dot", ".gv"), f"{PACKAGE}._dot", is_read=False
        ),
    },
)


def by_suffix(
    path: str | os.PathLike[str], formats: Mapping[str, DataFormat] | Mapping[str, ModelFormat]
) -> str | None:
    """Tell the format that a name stands for, gzipped or not; None if it does not tell.

    Examples
    --------
    >>> by_suffix("asia.BIF.gz", MODEL_FORMATS), by_suffix("survey.csv", DATA_FORMATS)
    ('bif', 'csv')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    return next((kind for kind, one in formats.items() if name.endswith(one.suffixes)), None)
