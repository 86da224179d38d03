"""Published figures."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import datasets, score
from latentree.estimation import fit_classes


def fitted(name, n_classes, n_init=64, **options):
    table = datasets.load(name)
    rng = np.random.default_rng(0)
    return fit_classes(table, n_classes, rng=rng, n_init=n_init, finalists=16, tol=1e-9, **options)


@pytest.mark.parametrize(("n_classes", "log_likelihood"), [(2, -317.2568), (3, -293.7050), (4, -289.2859)])
def test_carcinoma(n_classes, log_likelihood):
    """Carcinoma of the uterine cervix, 118 x 7, as published with the R package poLCA."""
    assert fitted("carcinoma", n_classes).log_likelihood == pytest.approx(log_likelihood, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "n_classes", "bic"),
    [("voting", 5, -3085.60), ("wisconsin", 3, -2560.7), ("heart", 2, -2388.1), ("abalone", 5, -12389.4)],
)
def test_bic_of_the_thesis_data_with_missing_cells(name, n_classes, bic):
    """[Karciauskas2005] table 6.13; a better fit than the published one would do as well."""
    ours = score.bic(fitted(name, n_classes))
    assert ours > bic - 0.05
    assert ours == pytest.approx(bic, abs=0.15)


@pytest.mark.parametrize(("n_classes", "bic"), [(1, -1135.32), (2, -1079.62), (3, -1086.87)])
def test_icu(n_classes, bic):
    """200 patients, 14 binary columns: two classes by BIC."""
    assert score.bic(fitted("icu", n_classes)) == pytest.approx(bic, abs=0.01)
