"""Pictures can be drawn, on axes given or made."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import datasets, fit_classes
from latentree.score import bivariate_residuals

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_residuals_as_a_heat_map():
    import matplotlib.pyplot as plt

    from latentree.report.figures import plot_residuals

    found = bivariate_residuals(fit_classes(datasets.load("carcinoma"), 2, rng=np.random.default_rng(0)))
    figure, ax = plt.subplots()
    assert plot_residuals(found, ax) is ax
    assert [t.get_text() for t in ax.get_xticklabels()] == list("ABCDEFG")
    shown = ax.images[0].get_array()
    assert shown.mask.diagonal().all()
    assert np.nanmax(found.residuals) == pytest.approx(shown.max())
    plt.close(figure)
    own = plot_residuals(found)
    assert own is not ax
    plt.close(own.figure)


def test_progress_of_methods_in_panels():
    from latentree.report.figures import plot_progress, to_svg

    curves = [np.linspace(0, 1, 5), np.linspace(0, -0.5, 5)]
    panels = {"one $ two": curves, "other": curves[:1]}
    figure = plot_progress(panels, columns=2)
    first, second = figure.axes
    assert first.get_title() == r"one \$ two" and len(first.lines) == 4 and len(second.lines) == 3
    np.testing.assert_allclose(first.lines[2].get_ydata(), np.mean(curves, axis=0))
    text = to_svg(figure)
    assert text == to_svg(plot_progress(panels, columns=2)) and "<svg" in text and "Date" not in text
