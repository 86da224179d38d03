"""What a user writes, with types; ``make minimal`` checks it by mypy --strict with the installed wheel, and runs it.

Public names are loaded when first used: ``assert_type`` makes sure that they have their types all the same, since a
name of unknown type would pass any other check.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import latentree as lt
from latentree.score import ScoreValue
from latentree.search import Run, Step


def classes() -> float:
    frame = lt.datasets.load_frame("carcinoma")
    lca = assert_type(lt.LatentClass(n_classes=2, random_state=0).fit(frame), lt.LatentClass)
    sizes: list[float] = lca.predict_proba(frame).mean(axis=0).tolist()
    assert abs(sum(sizes) - 1.0) < 1e-9
    fit = assert_type(lca.fit_, lt.Fit)
    return assert_type(fit.log_likelihood, float)


def in_pieces() -> float:
    frame = lt.datasets.load_frame("carcinoma")
    data = assert_type(lt.Table.from_chunks([frame[:60], frame[60:]]), lt.Data)
    fit = assert_type(lt.fit_classes(data, 2, rng=np.random.default_rng(0)), lt.Fit)
    assert_type(fit.table, lt.Data)
    return fit.log_likelihood


def tree(table: lt.Table) -> lt.Model:
    def tell(progress: lt.Progress) -> None:
        assert_type(progress.stage, str)

    def show(step: Step) -> None:
        print(f"{assert_type(step.score, float):.1f} {assert_type(step.kind, str)}")

    rng = np.random.default_rng(0)
    run = lt.learn(table, rng=rng, budget=lt.Budget(seconds=60.0), on_progress=tell, on_step=show)
    model = assert_type(assert_type(run, Run).model, lt.Model)
    names = assert_type(assert_type(model.tree, lt.Tree).names, tuple[str, ...])
    assert len(names) > table.n_variables
    return model


def scored(model: lt.Model, table: lt.Table) -> float:
    fit = assert_type(lt.estimate(model, table, method="em", budget=lt.Budget(iterations=10)), lt.Fit)
    assert assert_type(fit.reason, lt.StopReason) in lt.StopReason
    value = assert_type(lt.scores(fit, ["bic"]), dict[str, ScoreValue])["bic"].value
    assert value is not None
    return value


def explained() -> str:
    try:
        assert_type(lt.load("nothing.json"), lt.Model)
    except (lt.LatentreeError, OSError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    assert round(classes(), 4) == -317.2568 == round(in_pieces(), 4)
    data = assert_type(lt.datasets.load("hiv_test"), lt.Table)
    learned = tree(data)
    assert abs(scored(learned, data) + 656.62) < 0.01
    assert_type(lt.effective_dimension(learned.tree), int)
    assert "nothing.json" in explained()
    print("The program of a user works.")
