"""latentree learn and trace: messy files, files written, JSON, Ctrl-C, resuming, killing."""

from __future__ import annotations

import os
import re
import signal

import numpy as np
import pytest
from messy import MARKUP, USE, read_csv, strict, survey_rows, write_csv
from running import on_terminal, program

import latentree as lt
from latentree import score
from latentree.search import Step

QUICK = ("--set", "trials=0", "--n-jobs", "1")
TWO_LATENTS = ("hiv_test", "--n-jobs", "1")
pseudo_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


# ---- data as people have them ------------------------------------------------------------------------------------


def test_a_messy_file(run, survey, tmp_path):
    assert "--drop id" in run("learn", survey, code=1).stderr
    assert "--bins age=3" in run("learn", survey, "--drop", "id,name", code=1).stderr
    done = run("learn", survey, *USE, *QUICK, "--out", "m.json", "--assign", "rows.csv")
    assert MARKUP in done.stdout and "BIC" in done.stdout
    before, after = read_csv(survey), read_csv(tmp_path / "rows.csv")
    assert [{k: row[k] for k in before[0]} for row in after] == before
    model = lt.load(tmp_path / "m.json")
    assert {v.name for v in model.variables} == {"smokes", "drinks", "view", "grade", "age"}
    assert all(row[name] == "" for row in after if row["n"] == "0" for name in after[0] if name not in before[0])


def test_too_few_columns_constants_and_noise(run, tmp_path):
    rows = [{"a": i % 2, "b": i // 2 % 2, "c": "same"} for i in range(40)]
    file = write_csv(tmp_path / "few.csv", rows)
    assert "at least three variables" in run("learn", file, "--drop", "c", code=1).stderr
    done = run("learn", file, *QUICK, "--json")
    report = strict(done.stdout)
    assert not report["structure"] and "only 2 of 3 variables vary" in report["message"]
    noise = np.random.default_rng(0).integers(2, size=(80, 4))
    file = write_csv(tmp_path / "noise.csv", [dict(zip("abcd", row, strict=True)) for row in noise])
    done = run("learn", file, *QUICK)
    assert "No structure found" in done.stderr and "independent" in done.stderr


def test_a_weight_means_repeating_the_row(run, tmp_path):
    rows = survey_rows()
    weighted = write_csv(tmp_path / "w.csv", rows)
    repeated = write_csv(tmp_path / "r.csv", [row for row in rows for _ in range(int(str(row["n"])))])
    use = ("--columns", "smokes,drinks,grade,view", *QUICK, "--json")
    a = strict(run("learn", weighted, *use, "--weights", "n").stdout)
    b = strict(run("learn", repeated, *use).stdout)
    assert a["n"] == b["n"] and a["bic"] == pytest.approx(b["bic"], abs=1e-6)


# ---- what comes out ----------------------------------------------------------------------------------------------


def test_a_tree_in_the_terminal(run):
    done = run("learn", *TWO_LATENTS)
    for word in ("Latent tree model: 4 variables, 2 latent variables", "V1+V4 (2)", "V3+V2 (2)", "1,313.244", "swift"):
        assert word in done.stdout
    assert "using the bundled data set" in done.stderr


def test_json_is_one_object_with_the_promised_keys(run):
    done = run("learn", *TWO_LATENTS, "--json", "--seed", "1")
    report = strict(done.stdout)
    assert report["command"] == "learn" and report["method"] == "swift" and report["score"] == "bic"
    assert report["value"] == pytest.approx(report["bic"])
    assert report["aic"] == pytest.approx(report["log_likelihood"] - report["n_parameters"])
    assert report["n"] == 428 and report["n_rows"] == 16 and report["seed"] == 1 and report["seconds"] > 0
    assert report["structure"] and not report["interrupted"] and report["reason"] == "exhausted"
    assert report["n_latents"] == 2 and len(report["latents"]) == 2
    assert report["trace"][0]["score"] < report["trace"][-1]["score"]


def test_the_model_file(run, tmp_path):
    for name, n_jobs in (("a.json", "1"), ("b.json", "2")):
        run("learn", "hiv_test", "--out", name, "--n-jobs", n_jobs)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert "Found from 3 of 3 starts." in " ".join(run("learn", "hiv_test").stdout.split())
    model = lt.load(tmp_path / "a.json")
    told = model.provenance
    assert told["command"] == "latentree learn" and told["data"] == "hiv_test" and told["seed"] == 0
    assert told["bic"] == pytest.approx(-656.62, abs=0.01)
    assert told["value"] == pytest.approx(told["bic"], rel=1e-12)
    assert told["starts"] == {"made": 3, "found": 3}
    fit = lt.estimate(model, lt.datasets.load("hiv_test"))
    assert score.bic(fit) == pytest.approx(told["bic"], abs=1e-3)
    assert str(tmp_path) not in (tmp_path / "a.json").read_text()
    own = lt.LatentTree(random_state=0).fit(*_weighted("hiv_test", "freq"))
    assert own.log_likelihood_ == pytest.approx(told["log_likelihood"], abs=1e-6)


def _weighted(name, weights):
    data = lt.datasets.load_frame(name)
    counts = data.pop(weights)
    return data, None, counts


def test_other_commands_take_the_model(run, tmp_path):
    run("learn", *TWO_LATENTS, "--out", "m.json", "--report", "r.html", "--trace", "t.json")
    assert "*V1+V4 (2)" in run("show", "m.json").stdout
    assert "trace" not in run("show", "m.json").stdout
    answer = strict(run("query", "m.json", "--ask", "V1+V4", "--given", "V1=1", "--json").stdout)
    assert sum(answer["probabilities"]) == pytest.approx(1)
    run("learn", *TWO_LATENTS, "--prior", "none", "--out", "ml.json")
    assert strict(run("score", "ml.json", "hiv_test", "--json").stdout)["bic"] == pytest.approx(-656.62, abs=0.01)
    rows = run("assign", "m.json", "hiv_test").stdout.splitlines()
    assert rows[0].endswith("V1+V4,p_V1+V4_0,p_V1+V4_1,V3+V2,p_V3+V2_0,p_V3+V2_1")
    assert "V1+V4" in (tmp_path / "r.html").read_text()
    assert "hiv_test" in (tmp_path / "r.html").read_text()


def test_the_trace(run, tmp_path):
    run("learn", *TWO_LATENTS, "--out", "m.json", "--trace", "t.json", "--resume", "c.json")
    steps = strict((tmp_path / "t.json").read_text())["trace"]
    assert [Step.from_plain(step).number for step in steps] == list(range(len(steps)))
    for file in ("m.json", "t.json"):
        found = strict(run("trace", file, "--json").stdout)
        assert found["n_steps"] == len(steps) and found["trace"][-1]["score"] == steps[-1]["score"]
        assert (found["trace"][0]["seconds"] is None) == (file == "m.json")
    assert "seconds" in run("trace", "t.json").stdout and "seconds" not in run("trace", "m.json").stdout
    shown = run("trace", "c.json").stdout  # as it stands in the checkpoint
    assert "the model to start from" in shown and "NI: a new latent" in shown
    run("fit", "carcinoma", "--classes", "2", "--out", "lca.json")
    assert "holds no list of steps" in run("trace", "lca.json", code=1).stderr
    (tmp_path / "bad.json").write_text('{"trace": [{"score": 1}]}')
    assert "cannot be read" in run("trace", "bad.json", code=1).stderr


def test_a_start_is_improved(run):
    first = strict(run("learn", *TWO_LATENTS, "--out", "a.json", "--json").stdout)
    report = strict(run("learn", *TWO_LATENTS, "--start", "a.json", "--seed", "3", "--json").stdout)
    assert report["bic"] >= first["bic"] - 1e-6
    assert report["trace"][0]["score"] == pytest.approx(first["bic"], abs=0.1)
    assert "must have the variables" in run("learn", "carcinoma", "--start", "a.json", code=1).stderr


def test_options_of_the_method(run):
    assert "no option 'speed'" in run("learn", "hiv_test", "--set", "speed=1", code=1).stderr
    quick = strict(run("learn", "voting", *QUICK, "--json").stdout)
    east = strict(run("learn", "hiv_test", "--method", "east", "--score", "bice", "--json").stdout)
    assert quick["search"]["method"] == "swift" and quick["starts"]["found"] <= quick["starts"]["made"] <= 8
    assert east["method"] == "east" and east["score"] == "bice"


def test_files_are_checked_before_the_work(run, survey):
    for option in ("--out", "--assign", "--report", "--trace", "--resume"):
        assert "no folder" in run("learn", survey, *USE, option, "none/x", code=1).stderr
        assert "is the file that is read" in run("learn", survey, *USE, option, survey, code=1).stderr
    assert "same file" in run("learn", survey, *USE, "--out", "x.json", "--trace", "x.json", code=1).stderr


# ---- limits, Ctrl-C and worse ------------------------------------------------------------------------------------


def test_a_time_limit_gives_the_best_so_far(run):
    done = run("learn", "spambase", "--time-limit", "0.3", "--json")
    report = strict(done.stdout)
    assert report["reason"] == "time" and not report["interrupted"]
    assert any("was not finished" in text for text in report["warnings"])


def test_a_resumed_search_ends_as_one_that_was_not_stopped(run, tmp_path):
    whole = strict(run("learn", "voting", *QUICK, "--json").stdout)
    run("learn", "voting", *QUICK, "--resume", "c.json", "--time-limit", "0")
    done = run("learn", "voting", *QUICK, "--resume", "c.json", "--json")
    assert "Continuing from 'c.json'" in done.stderr
    again = strict(done.stdout)
    assert again["nodes"] == whole["nodes"] and again["bic"] == whole["bic"]
    assert "other data" in run("learn", "hiv_test", *QUICK, "--resume", "c.json", code=1).stderr
    assert "other settings" in run("learn", "voting", "--method", "dhc", "--resume", "c.json", code=1).stderr
    (tmp_path / "c.json").write_text("{}")
    assert "not a checkpoint" in run("learn", "voting", *QUICK, "--resume", "c.json", code=1).stderr


@pseudo_terminal
def test_ctrl_c_gives_the_best_so_far(tmp_path):
    out = tmp_path / "m.json"
    much = ("learn", "spambase", "--n-jobs", "1", "--set", "trials=1000")
    code, printed, told = on_terminal(*much, "--out", out, interrupt_at=b"step 1")
    assert code == 130, told
    assert "Traceback" not in told and "best so far" in told
    assert "Best found by the method 'swift'" in printed
    assert lt.load(out).provenance["reason"] == "interrupted"


@pseudo_terminal
def test_a_killed_search_goes_on(run, tmp_path):
    search = ("learn", "voting", "--set", "trials=24", "--n-jobs", "1")  # seconds, of which the first are few steps
    whole = strict(run(*search, "--json").stdout)
    file = tmp_path / "c.json"
    code, _, _ = on_terminal(*search, "--resume", file, interrupt_at=b"perturbations", with_signal=signal.SIGKILL)
    assert code == -signal.SIGKILL and file.exists()
    again = strict(run(*search, "--resume", file, "--json").stdout)
    assert again["nodes"] == whole["nodes"] and again["bic"] == whole["bic"]


@pseudo_terminal
def test_progress_is_shown_on_a_terminal_only(tmp_path):
    rows = [{"[red]a": x, "b": x ^ (i % 7 == 0), "c": x ^ (i % 5 == 0)} for i in range(120) for x in (i // 3 % 2,)]
    file = write_csv(tmp_path / "odd.csv", rows)
    code, printed, shown = on_terminal("learn", file, *QUICK, "--json")
    assert code == 0 and strict(printed)["command"] == "learn"
    assert re.search(r"step \d", shown) and "BIC" in shown and "parameters" in shown
    assert program("learn", file, *QUICK, "--json").stderr == ""


def test_a_start_of_other_data_is_refused_in_words_of_the_shell(run):
    run("fit", "hiv_test", "--classes", "2", "--out", "m.json")
    told = run("learn", "carcinoma", "--start", "m.json", code=1).stderr
    assert "Error: --start must have the variables of the data" in told


# ---- priors --------------------------------------------------------------------------------------------------------


def test_the_file_holds_an_estimate_for_new_rows(run, tmp_path):
    found = strict(run("learn", *TWO_LATENTS, "--out", "m.json", "--json").stdout)
    estimate = found["estimate"]
    assert estimate["kind"] == "map" and estimate["chosen"] == "cross-validation" and estimate["folds"] == 5
    assert found["log_likelihood"] == pytest.approx(-623.2971, abs=1e-3)  # at the maximum, as in the literature
    assert estimate["log_likelihood"] < found["log_likelihood"] and found["value"] == pytest.approx(found["bic"])
    scored = strict(run("score", "m.json", "hiv_test", "--json").stdout)
    assert scored["log_likelihood"] == pytest.approx(estimate["log_likelihood"], abs=1e-4)
    assert not scored["n_impossible"] and "These are not the data" not in run("score", "m.json", "hiv_test").stderr
    model = lt.load(tmp_path / "m.json")
    assert (model.parameters > 0).all() and model.provenance["estimate"]["strength"] == estimate["strength"]
    assert "pulled towards" in " ".join(run("learn", *TWO_LATENTS).stdout.split())
    run("learn", *TWO_LATENTS, "--report", "r.html")
    assert "Probabilities" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_other_priors(run, tmp_path):
    exact = strict(run("learn", *TWO_LATENTS, "--prior", "none", "--out", "ml.json", "--json").stdout)
    assert exact["estimate"]["kind"] == "ml" and (lt.load(tmp_path / "ml.json").parameters < 1e-9).any()
    two = strict(run("learn", *TWO_LATENTS, "--prior", "2", "--json").stdout)
    assert two["estimate"]["prior"] == 2 and two["bic"] == pytest.approx(exact["bic"])
    for wrong in ("0.5", "much"):
        assert (
            "at least 1, 'auto', 'shuffled', 'blocks' or 'none'"
            in run("learn", *TWO_LATENTS, "--prior", wrong, code=2).stderr
        )


def sorted_rows(n=200):
    """Lines of a file of two classes, sorted by the first column, so that most rows stand beside their like."""
    rng = np.random.default_rng(0)
    of = rng.integers(2, size=n)
    cells = np.where(rng.random((n, 4)) < 0.85, of[:, None], 1 - of[:, None])
    cells = cells[np.lexsort(cells.T[[1, 0]])]
    return ["a,b,c,d", *(",".join("yn"[c] for c in row) for row in cells.tolist())]


def test_a_prior_by_blocks_of_rows(run, tmp_path):
    (tmp_path / "d.csv").write_text("\n".join(sorted_rows()), encoding="utf-8")
    found = strict(run("learn", "d.csv", "--prior", "blocks", "--out", "m.json", "--json").stdout)
    assert found["estimate"]["chosen"] == "blocks" and found["estimate"]["folds"] == 10
    assert lt.load(tmp_path / "m.json").provenance["estimate"]["chosen"] == "blocks"
    assert "10 blocks of rows that stand together" in " ".join(
        run("learn", "d.csv", "--prior", "blocks").stdout.split()
    )
    found = strict(run("fit", "d.csv", "--classes", "2", "--prior", "blocks", "--json").stdout)
    assert found["estimate"]["chosen"] == "blocks"
    for command in ("learn", "fit"):
        told = run(command, "hiv_test", "--prior", "blocks", code=1).stderr
        assert "--prior blocks holds out rows that stand together" in told and "look like counts" in told
        told = run(command, "d*.csv", "--prior", "blocks", code=1).stderr
        assert "the order of the rows is lost" in told and "use --prior shuffled" in told
    assert "'blocks'" not in run("relate", "m.json", "d.csv", "--prior", "blocks", code=2).stderr.split("Give")[-1]


@pytest.mark.parametrize("command", ["show", "report", "explore"])
def test_a_model_from_a_file_has_one_bic_and_says_whose_the_other_is(run, tmp_path, command):
    known = strict(run("learn", *TWO_LATENTS, "--out", "m.json", "--json").stdout)
    told = {"show": ["show", "m.json"], "report": ["report", "m.json", "--data", "hiv_test"]}
    told["explore"] = ["explore", "m.json", "--data", "hiv_test", "--out", "e.html", "--no-open"]
    text = " ".join(run(*told[command]).stdout.split())
    text = text if command != "explore" else (tmp_path / "e.html").read_text(encoding="utf-8")
    assert "BIC (maximum likelihood" in text and f"{-2 * known['bic']:,.1f}" in text
    own = strict(run("report", "m.json", "--data", "hiv_test", "--json").stdout)
    assert own["maximum"]["bic"] == pytest.approx(known["bic"]) and own["bic"] < known["bic"]
    if command == "show":
        assert "saved estimate" in text and "pulled towards" in text
    else:
        assert "BIC (saved estimate" in text
    if command == "report":
        assert "The tree was chosen by its maximum of the likelihood (BIC" in text


def test_a_model_at_its_maximum_has_one_bic(run):
    run("learn", *TWO_LATENTS, "--prior", "none", "--out", "m.json")
    assert "BIC (lower is better)" in run("show", "m.json").stdout
    found = strict(run("report", "m.json", "--data", "hiv_test", "--json").stdout)
    assert "maximum" not in found and not any("maximum of the likelihood" in text for text in found["notes"])


def test_the_prior_of_latent_classes(run, tmp_path):
    plain = strict(run("fit", "hiv_test", "--classes", "2", "--json").stdout)
    assert plain["estimate"]["kind"] == "ml"
    auto = strict(run("fit", "hiv_test", "--classes", "2", "--prior", "auto", "--out", "m.json", "--json").stdout)
    assert auto["estimate"]["kind"] == "map" and auto["log_likelihood"] < plain["log_likelihood"]
    assert (lt.load(tmp_path / "m.json").parameters > 0).all()
    assert strict(run("fit", "hiv_test", "--classes", "2", "--prior", "2", "--json").stdout)["estimate"]["prior"] == 2


def test_impossible_rows_are_answered_with_a_prior(run, tmp_path):
    same = [{"a": i % 2, "b": i % 2, "c": i % 2, "level": ("low", "high")[i % 2]} for i in range(60)]
    write_csv(tmp_path / "same.csv", same)
    write_csv(tmp_path / "new.csv", [{"a": 0, "b": 1, "c": 0, "level": "high"}])
    run("learn", "same.csv", *QUICK, "--prior", "none", "--out", "ml.json")
    zero = lt.load(tmp_path / "ml.json")
    tables = {name: zero.table(name).round() for name in zero.tree.names}  # exactly 0 and 1
    tables[zero.tree.names[0]] = zero.table(0)
    lt.Model.from_tables(zero.tree, zero.variables, tables).save(tmp_path / "ml.json")
    assert "--prior auto" in run("score", "ml.json", "new.csv").stderr
    run("learn", "same.csv", *QUICK, "--out", "map.json")
    assert not strict(run("score", "map.json", "new.csv", "--json").stdout)["n_impossible"]


def test_a_vote_that_is_independent_of_all_others(run, tmp_path):
    done = run("learn", "voting", *QUICK, "--out", "m.json", "--assign", "rows.csv", "--json")
    report, tree = strict(done.stdout), lt.load(tmp_path / "m.json").tree
    assert report["n_latents"] == len(report["latents"]) == len(tree.latent_variables)
    assert ["immigration"] in report["parts"] and [tree.names[v] for v in tree.cuts] == ["cut1"]
    assert "Independent of all others: immigration." in report["independence"]
    assert not any("cut1" in name for name in read_csv(tmp_path / "rows.csv")[0])
