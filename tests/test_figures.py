"""Pictures can be drawn, on axes given or made."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from latentree import datasets, fit_classes
from latentree.errors import ParameterError
from latentree.report import compare_classes
from latentree.report.figures import (
    plot_profiles,
    plot_residuals,
    plot_scores,
    plot_sizes,
    plot_trace,
    plot_tree,
    plot_uncertainty,
)
from latentree.score import bivariate_residuals, standard_errors

matplotlib.use("Agg")


def test_residuals_as_a_heat_map():
    import matplotlib.pyplot as plt

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


@pytest.fixture(scope="module")
def fit():
    return fit_classes(datasets.load("carcinoma"), 3, rng=np.random.default_rng(0))


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figure, own = plt.subplots()
    yield own
    plt.close(figure)


def test_profiles_show_every_category_with_intervals(fit, ax):
    errors = standard_errors(fit)
    assert plot_profiles(fit, ax, errors=errors) is ax
    assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "2"] * 7
    drawn = sorted(x for line in ax.containers for x in line[0].get_xdata())
    tables = [fit.model.table(name) for name in "ABCDEFG"]
    np.testing.assert_allclose(drawn, np.sort(np.concatenate([t.ravel() for t in tables])))
    assert any(container.has_xerr for container in ax.containers)


def test_profiles_of_distant_variables_by_name(ax):
    model = datasets.generator("d7")
    plot_profiles(model, ax, node="Z2", variables=["X7", "X1"])
    wanted = [*model.query(["Z2", "X7"]), *model.query(["Z2", "X1"])]
    drawn = np.concatenate([line[0].get_xdata() for line in ax.containers])
    np.testing.assert_allclose(np.sort(drawn), np.sort(np.concatenate([row / row.sum() for row in wanted])))


def test_sizes(fit, ax):
    assert plot_sizes(fit, ax, errors=standard_errors(fit)) is ax
    assert [p.get_height() for p in ax.patches] == pytest.approx(fit.model.table(0)[0].tolist())


def test_scores_against_classes_and_time(ax):
    compared = compare_classes(datasets.load("carcinoma"), range(1, 4), rng=0, scores=("bic", "aic"))
    plot_scores(compared, ax)
    line = ax.get_lines()[0]
    assert list(line.get_xdata()) == [1, 2, 3]
    assert list(line.get_ydata()) == [-2 * row["bic"] for row in compared.table]
    assert "lower is better" in ax.get_ylabel()
    best = ax.get_lines()[1]
    assert list(best.get_xdata()) == [compared.best_n_classes("bic")]
    ax.clear()
    plot_scores([{"score": -5.0, "seconds": 1.0}, {"score": -4.0, "seconds": 2.5}], ax)
    assert list(ax.get_lines()[0].get_xdata()) == [1.0, 2.5]
    with pytest.raises(ParameterError, match="against"):
        plot_scores(compared, ax, against="weather")


@pytest.mark.parametrize("style", ["rows", "radial"])
def test_tree_has_every_name_and_edge(style, ax):
    model = datasets.generator("d18")
    assert plot_tree(model, ax, style=style) is ax
    texts = {t.get_text().strip().split(" (")[0] for t in ax.texts}
    assert texts == set(model.tree.names)
    assert len(ax.patches) == model.tree.n_nodes - 1


def test_traces_of_fits_and_searches(fit, ax):
    plot_trace(fit, ax)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), fit.trace)
    ax.clear()
    plot_trace([{"operation": "start", "score": -9.0}, {"operation": "$x$", "score": -7.0}], ax)
    assert [t.get_text() for t in ax.texts] == [r"\$x\$"]


def test_uncertainty_counts_rows_by_weight(fit, ax):
    assert plot_uncertainty(fit, ax) is ax
    top = max(patch.get_y() + patch.get_height() for patch in ax.patches)
    assert top <= fit.table.n
    assert sum(patch.get_height() for patch in ax.patches) == pytest.approx(fit.table.n)


def test_pictures_can_be_drawn_without_axes(fit):
    import matplotlib.pyplot as plt

    for made in (plot_profiles(fit), plot_sizes(fit), plot_tree(fit), plot_trace(fit), plot_uncertainty(fit)):
        made.figure.canvas.draw()
        plt.close(made.figure)


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


def test_growth_with_the_power_that_fits():
    from latentree.report.figures import plot_growth, to_svg

    figure = plot_growth({"rows": [(1, 2.0), (10, 200.0), (100, 20_000.0)], "$": [(1, 1.0), (4, 4.0)]}, label="s")
    first, second = figure.axes
    assert first.get_legend().get_texts()[0].get_text() == "power 2.00"
    assert second.get_xlabel() == r"\$"
    assert to_svg(figure).startswith("<?xml")
