"""One time limit for a whole command with a second of grace, and Ctrl-C in every part of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from running import PROGRAM

import latentree as lt
from latentree import Model, Tree
from latentree._variables import numbered
from latentree.cli.files import Outputs
from latentree.cli.limit import Finishing, Limit
from latentree.cli.output import Session
from latentree.estimation import evaluate
from latentree.infer import sample_table
from latentree.report import Report
from latentree.runner import StopReason
from latentree.search import Run

N_LATENTS, PER_LATENT = 40, 40


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file of 500 rows and 1,600 columns."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, (500, N_LATENTS))
    codes = (np.repeat(hidden, PER_LATENT, axis=1) + (rng.random((500, N_LATENTS * PER_LATENT)) < 0.3)) % 3
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    np.savetxt(
        path, codes, fmt="%d", delimiter=",", comments="", header=",".join(f"v{i}" for i in range(codes.shape[1]))
    )
    return path


@pytest.mark.parametrize("command", [["learn", "--report", "r.html"], ["fit", "--classes", "2-9"], ["fit"]])
def test_a_wide_table_keeps_to_the_limit(command, wide, tmp_path, monkeypatch):
    """It ends by itself, in time, with all that was asked for; how exactly is measured by benchmarks/limits.py."""
    monkeypatch.chdir(tmp_path)
    name, *more = command
    args = [name, wide, *more, "--out", "m.json", "--time-limit", 2, "--n-jobs", 1, "--json"]
    out = subprocess.run([*PROGRAM, *map(str, args)], capture_output=True, check=True, timeout=120).stdout
    assert json.loads(out)["command"] == name
    assert lt.load("m.json").tree.n_variables == N_LATENTS * PER_LATENT


def test_one_limit_for_the_whole_command():
    """The clock of the work began with the command, and keeps time to describe and write what was found."""
    wide, small = (lt.Table.from_codes(np.random.default_rng(0).integers(2, size=(500, n))) for n in (2000, 20))
    session = Session(started=time.monotonic() - 2.5)
    with click.Context(click.Command("learn"), obj=session):
        limit = Limit(10.0, wide)
        assert limit.work.started == session.started
        assert limit.work.remaining < 10.0 - 2.5 - 0.1
        assert limit.work.remaining < Limit(10.0, small).work.remaining
        assert Limit(100.0, wide, rows=1).work.remaining < Limit(100.0, wide).work.remaining
        assert 0 < Limit(3.0, small).work.remaining < 0.5
        assert Limit(1.0, small).work.expired
        assert not Limit(None, wide).work.expired and not Limit(None, wide).finishing().hurried()


def described(hurried) -> Report:
    rng = np.random.default_rng(0)
    parent = [-1, 0, 0, *(i % 3 for i in range(24))]
    tree = Tree(np.array(parent), np.full(27, 3), np.r_[[-1] * 3, np.arange(24)])
    model = Model.random(tree, numbered([3] * 24), rng)
    fit = evaluate(model, sample_table(model, 50, rng))
    return Report.of_search(Run(fit, (), StopReason.TIME, 1.0, "swift", "bic", -1.0, True, ""), hurried=hurried)


def test_what_no_time_is_left_for_is_said():
    whole, cut = described(None), described(lambda: True)
    assert whole.contents["curves"]["short"] == 0 and not any("No time" in note for note in whole.contents["notes"])
    assert cut.contents["curves"]["short"] == 3
    assert any("No time was left to describe 3 latent variables" in note for note in cut.contents["notes"])
    for ours, theirs in zip(whole.contents["latents"], cut.contents["latents"], strict=True):
        assert ours["leaves"][:4] == theirs["leaves"]
        assert theirs["information"] == pytest.approx(theirs["leaves"][-1]["cumulative"])
    assert "No time was left" in cut.to_text() and "No time was left" in cut.to_html().html


def test_ctrl_c_while_a_result_is_described_leaves_less_time_for_it():
    before = signal.getsignal(signal.SIGINT)
    with Finishing(float("inf"), interrupted=False) as finishing:
        assert not finishing.hurried()
        signal.raise_signal(signal.SIGINT)
        assert finishing.interrupted and not finishing.hurried()
        time.sleep(0.35)
        assert finishing.hurried()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("command", ["learn", "fit"])
def test_ctrl_c_while_files_are_written_says_which_are_not(command, run, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Outputs, "write_rows", broken)
    told = run(command, "hiv_test", "--out", "m.json", "--assign", "rows.csv", code=130).stderr
    assert "Model written to 'm.json'." in told
    assert "Interrupted while the result was written or shown. Not written: 'rows.csv'." in told


@pytest.mark.parametrize("command", ["learn", "fit"])
def test_ctrl_c_after_the_work_does_not_lose_it(command, run, monkeypatch):
    import latentree.report

    original = Report.of_search if command == "learn" else latentree.report.describe

    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)
        return original(*args, **options)

    if command == "learn":
        monkeypatch.setattr(Report, "of_search", interrupted)
    else:
        monkeypatch.setattr(latentree.report, "describe", interrupted)
    done = run(command, "hiv_test", "--out", "m.json", code=130)
    assert "this is its result" in done.stderr and lt.load("m.json").provenance["reason"] != "interrupted"


def test_statistics_that_no_time_is_left_for_are_left_out_and_that_is_said(run):
    """On 200,000 rows they take longer than the second of grace."""
    told = Finishing(float("inf"), interrupted=True, for_statistics=1.0)
    assert told.without_statistics()
    assert not Finishing(float("inf"), interrupted=True, for_statistics=0.1).without_statistics()
    assert Finishing(
        float("inf"), interrupted=False, last=time.monotonic() + 1, for_statistics=2.0
    ).without_statistics()
    enough = Finishing(float("inf"), interrupted=False, for_statistics=1.0)
    assert enough.without_statistics(complete=False) and not enough.without_statistics()
    short = described(None).without_statistics("No time was left for statistics.")
    assert "No time was left for statistics." in short.to_html().html and "<h2>Fit</h2>" not in short.to_html().html


def test_after_ctrl_c_only_what_was_stopped_is_looked_at(run, monkeypatch):
    """Fits that had ended were looked at as they ended, and no fit follows; what is written is said first."""
    import latentree.comparison as comparison

    order = []
    fit_classes, found = comparison.fit_classes, comparison._found

    def fitted(table, k, **options):
        order.append(f"fit {k}")
        fit = fit_classes(table, k, **options)
        return replace(fit, reason=StopReason.INTERRUPTED) if k == 3 else fit

    def looked(fit, scores):
        order.append(f"look {fit.model.tree.cardinality[0]}")
        return found(fit, scores)

    monkeypatch.setattr(comparison, "fit_classes", fitted)
    monkeypatch.setattr(comparison, "_found", looked)
    told = run("fit", "hiv_test", "--classes", "1-6", "--assign", "rows.csv", code=130).stderr
    assert order == ["fit 1", "look 1", "fit 2", "look 2", "fit 3", "look 3"]
    assert told.index("Writing 'rows.csv'. Press Ctrl-C again") < told.index("rows written to 'rows.csv'")
    assert "Not fitted: 4, 5, 6 classes" in told


def test_rows_need_no_plan_of_their_own(run, monkeypatch):
    """Posteriors of a fit's own rows are found with the plan that the model file needed."""
    from latentree.engine._plan import Plan

    made = []
    original = Plan.__init__

    def counted(self, *args, **options):
        made.append(1)
        original(self, *args, **options)

    monkeypatch.setattr(Plan, "__init__", counted)
    run("fit", "hiv_test", "--classes", "2", "--out", "m.json")
    before, made[:] = len(made), []
    run("fit", "hiv_test", "--classes", "2", "--out", "m.json", "--assign", "rows.csv")
    assert len(made) == before


def test_text_is_shown_without_the_libraries_of_statistics():
    """Loading them takes longer than showing a result does."""
    code = "import sys, latentree.report._text; assert not [m for m in sys.modules if m.startswith('scipy')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_intervals_that_no_time_is_left_for_are_left_out(run, monkeypatch):
    """Of a latent class model of 200,000 rows they take many times the second of grace."""
    import latentree.cli.limit as limit

    run("fit", "carcinoma", "--classes", "2", "--report", "whole.html")
    assert "95 % intervals" in Path("whole.html").read_text(encoding="utf-8")
    monkeypatch.setattr(limit, "INTERVALS", 1e9)
    run("fit", "carcinoma", "--classes", "2", "--time-limit", "60", "--report", "short.html")
    page = Path("short.html").read_text(encoding="utf-8")
    assert "No time was left for statistics" in page and "95 % intervals" not in page


def test_ctrl_c_while_the_reviewers_pack_is_made_keeps_the_fit(run, monkeypatch):
    import latentree.report

    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(latentree.report, "reviewer_report", broken)
    done = run("fit", "carcinoma", "--classes", "1-2", "--reviewer", "--out", "m.json", "--report", "r.html", code=130)
    assert "what reviewers ask for is missing, and 'r.html' is not written" in done.stderr
    assert lt.load("m.json").tree.n_nodes == 8 and not Path("r.html").exists()


def test_ctrl_c_in_a_bootstrap_test_keeps_those_before(run, monkeypatch):
    from latentree import comparison

    made, original = [], comparison.bootstrap_tests

    def second_is_broken(table, numbers, **options):
        made.append(numbers)
        if len(made) == 2:
            raise KeyboardInterrupt
        return original(table, numbers, **options)

    monkeypatch.setattr(comparison, "bootstrap_tests", second_is_broken)
    done = run("compare", "carcinoma", "--classes", "1-4", "--bootstrap", "19", code=130)
    assert "1 against 2" in done.stdout and "2 against 3" not in done.stdout and len(made) == 2
    assert "these are the results so far" in done.stderr


def test_garbage_is_collected_again_after_a_command(run):
    import gc

    run("fit", "carcinoma", "--classes", "2")
    assert gc.isenabled()


def test_ctrl_c_while_the_program_loads_is_said_without_a_traceback():
    code = (
        "import sys\nclass Broken:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'latentree.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Broken())\nfrom latentree.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_large_documents_have_one_line_for_each_key(run, monkeypatch):
    from latentree.cli import output

    small = json.loads(run("fit", "carcinoma", "--classes", "2", "--json").stdout)
    monkeypatch.setattr(output, "LARGE", 100)
    lines = run("fit", "carcinoma", "--classes", "2", "--json").stdout.splitlines()
    assert json.loads("\n".join(lines)).keys() == small.keys() and len(lines) == len(small) + 2
