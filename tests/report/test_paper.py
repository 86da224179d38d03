"""Tables and frames for a paper hold the numbers of the fit, in every kind of file."""

from __future__ import annotations

import builtins
import re

import numpy as np
import pytest

import latentree as lt
from latentree import datasets
from latentree.errors import LatentreeError, ParameterError
from latentree.report import PaperTable, paper_tables, table_of, write_tables
from latentree.report._answers import is_sparse, top_items


@pytest.fixture(scope="module")
def lca():
    return lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma"))


def test_frames_are_tidy_and_true(lca):
    frame = lca.profiles_frame()
    assert list(frame) == ["variable", "answer", "class", "estimate", "standard_error", "lower", "upper"]
    errors = lca.standard_errors()
    for row in frame.itertuples():
        i, j = int(row[3].removeprefix("class")), lca.model_.states(row.variable).index(int(row.answer))
        assert row.estimate == lca.model_.table(row.variable)[i, j]
        np.testing.assert_equal(row.standard_error, errors.table(row.variable)[i, j])
    known = frame.dropna()
    assert ((known["lower"] <= known["estimate"]) & (known["estimate"] <= known["upper"])).all()
    sizes = lca.sizes_frame(backend="polars")
    assert sizes["estimate"].to_list() == lca.class_sizes_.tolist()


def test_every_kind_of_file_has_the_same_cells(lca, tmp_path):
    docx, openpyxl = pytest.importorskip("docx"), pytest.importorskip("openpyxl")
    named = (
        lt.LatentClass(3, random_state=0).fit(datasets.load_frame("carcinoma")).rename(classes=["=a", "b & c", "<d>"])
    )
    for ending in ("docx", "xlsx", "tex", "html"):
        named.save_tables(tmp_path / f"t.{ending}")
    tables = paper_tables(named)
    word = docx.Document(str(tmp_path / "t.docx")).tables
    for table, own in zip(tables, word, strict=True):
        assert [[c.text for c in r.cells] for r in own.rows] == [table.heads, *table.texts]
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["Table 1"]
    assert sheet["A4"].value == "=a" and sheet["A4"].data_type == "s"
    assert sheet["B4"].value == pytest.approx(named.class_sizes_[0])
    tex, html = ((tmp_path / f"t.{kind}").read_text(encoding="utf-8") for kind in ("tex", "html"))
    assert r"b \& c" in tex and r"\textless{}d\textgreater{}" in tex
    assert "&lt;d&gt;" in html and "<d>" not in html
    assert len(re.findall("<tr>", html)) == sum(1 + len(table.rows) for table in tables)


def test_a_comparison_and_any_frame_are_tables(lca, tmp_path):
    compared = lt.compare(datasets.load_frame("carcinoma"), range(1, 4), random_state=0, scores=("bic", "aic"))
    (table,) = paper_tables(compared)
    assert table.columns["BIC"] == compared.to_frame()["bic"].tolist()
    assert "lower is better" in table.note
    frame = lca.profiles_frame()
    assert table_of(frame).texts == paper_tables(frame)[0].texts
    write_tables(tmp_path / "all.html", compared, lca, frame)
    assert (tmp_path / "all.html").read_text(encoding="utf-8").count("<table>") == 4
    with pytest.raises(ParameterError, match=r"\.docx, \.xlsx, \.tex, \.html"):
        write_tables(tmp_path / "t.pdf", lca)


def test_a_library_that_is_not_there_is_named(lca, tmp_path, monkeypatch):
    real = builtins.__import__

    def none(name, *rest, **more):
        if name.split(".")[0] in ("docx", "openpyxl"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none)
    for ending in ("docx", "xlsx"):
        with pytest.raises(LatentreeError, match=r"latentree\[tables\]"):
            write_tables(tmp_path / f"t.{ending}", PaperTable("x", {"a": [1]}))


def test_baskets_are_told_by_their_items():
    rng = np.random.default_rng(0)
    group = rng.random(800) < 0.4
    items = {f"item{i}": (rng.random(800) < np.where(group == (i < 4), 0.4, 0.02)).astype(int) for i in range(8)}
    lca = lt.LatentClass(2, random_state=0).fit(np.column_stack(list(items.values())))
    model = lca.model_
    for text in (model.summary(), lca.summary()):
        assert "more often than others" in text and ", x2." in text
    names = [v.name for v in model.variables]
    overall = [float(model.marginals()[int(v)][1]) for v in model.tree.manifest]
    for state in (0, 1):
        top = top_items(names, [float(model.table(name)[state, 1]) for name in names], overall)
        assert len({int(name[1:]) <= 4 for name, _, _ in top[:4]}) == 1  # the items of one group
    assert is_sparse([["0", "1"]] * 8, [model.marginals()[int(v)].tolist() for v in model.tree.manifest])


def test_saved_models_predict_by_name(lca, tmp_path):
    frame = datasets.load_frame("carcinoma")
    lca.save(tmp_path / "m.json")
    model = lt.load(tmp_path / "m.json")
    mixed = frame[frame.columns[::-1]].assign(extra="x")
    np.testing.assert_allclose(model.predict_proba(mixed), lca.predict_proba(frame))
    np.testing.assert_array_equal(model.predict(frame.to_numpy()), lca.predict(frame))
    assert "Latent class model" in model.summary()


def test_notebooks_show_tables(lca):
    assert "class2" in lca._repr_html_() and "<pre" in lca._repr_html_()
    assert lt.LatentClass()._repr_html_()  # not fitted: scikit-learn's
    assert "<table>" in lt.compare(datasets.load_frame("carcinoma"), range(1, 3), random_state=0)._repr_html_()
    assert "X² / df" in lca.bivariate_residuals()._repr_html_()


def test_progress_is_one_bar_in_a_notebook(monkeypatch):
    import sys
    from types import SimpleNamespace

    shown = []
    display = SimpleNamespace(
        display=lambda bar, display_id: shown.append((display_id, bar._repr_html_())),
        update_display=lambda bar, display_id: shown.append((display_id, bar._repr_html_())),
    )
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    lt.LatentClass(3, random_state=0, n_init=20, verbose=1).fit(datasets.load_frame("carcinoma"))
    assert len(shown) > 1 and len({name for name, _ in shown}) == 1
    assert "<progress value=" in shown[0][1]
