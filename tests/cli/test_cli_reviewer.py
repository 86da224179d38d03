"""latentree fit --reviewer, and latentree power."""

from __future__ import annotations

import pytest
from messy import strict


def test_the_pack_is_shown_written_and_in_json(run, tmp_path):
    done = run("fit", "carcinoma", "--classes", "1-3", "--reviewer", "--bootstrap", "19", "--report", "pack.html")
    for words in ("Reviewer's pack: 3 classes of 118 rows", "1 against 2", "SMART-LCA checklist", "Jeffries 2003"):
        assert words in done.stdout
    assert "SMART-LCA checklist" in (tmp_path / "pack.html").read_text()
    found = strict(run("fit", "carcinoma", "--classes", "1-3", "--reviewer", "--bootstrap", "0", "--json").stdout)
    pack = found["reviewer"]
    assert [row["n_classes"] for row in pack["models"]] == [1, 2, 3]
    assert pack["models"][2]["bic"] == pytest.approx(-2 * found["bic"])  # here lower is better
    assert pack["tests"][0]["bootstrap_p"] is None


def test_a_learned_number_is_compared_with_those_around_it(run):
    found = strict(run("fit", "carcinoma", "--reviewer", "--bootstrap", "0", "--json").stdout)
    assert [row["n_classes"] for row in found["reviewer"]["models"]] == [1, 2, 3, 4]
    assert found["reviewer"]["n_classes"] == 3


def test_a_report_without_the_pack(run, tmp_path):
    run("fit", "carcinoma", "--classes", "2", "--report", "model.html")
    page = (tmp_path / "model.html").read_text()
    assert "SMART" not in page
    assert "<h1>" in page


def test_what_does_not_go_together(run):
    assert "--reviewer" in run("fit", "carcinoma", "--classes", "2", "--bootstrap", "9", code=2).stderr
    assert "--prior" in run("fit", "carcinoma", "--classes", "2", "--reviewer", "--prior", "2", code=2).stderr


POWER = ("power", "--simulations", "3", "--scores", "bic", "--bootstrap", "0")


def test_power_of_stated_classes(run, tmp_path):
    done = run(*POWER, "--classes", "2", "--n", "60,120", "--report", "power.html")
    assert "Sample size: 2 classes, 6 items" in done.stdout
    assert "<svg" in (tmp_path / "power.html").read_text()
    found = strict(run(*POWER, "--sizes", "3,1", "--separation", "0.9", "--n", "80", "--effect", "1", "--json").stdout)
    assert found["class_sizes"] == [0.75, 0.25]
    assert [row["what"] for row in found["power"]] == ["bic", "covariate"]
    assert found["complete"]
    assert len(found["simulations"]) == 3


def test_power_of_a_model_and_of_profiles(run, tmp_path):
    run("fit", "carcinoma", "--classes", "2", "--out", "model.json")
    assert "2 classes, 7 items" in run(*POWER, "model.json", "--n", "100").stdout
    (tmp_path / "profiles.csv").write_text("size,a,b,c\n0.5,0.1,0.2,0.1\n0.5,0.9,0.8,0.9\n")
    found = strict(run(*POWER, "--profiles", "profiles.csv", "--n", "100", "--json").stdout)
    assert found["profiles"]["x2"] == [[0.8, 0.2], [pytest.approx(0.2), 0.8]]


def test_power_draws_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    run(*POWER, "--classes", "2", "--n", "50,60", "--plot", "power.png")
    assert (tmp_path / "power.png").read_bytes().startswith(b"\x89PNG")
    run(*POWER, "--classes", "2", "--n", "50,60", "--plot", "power.png")  # which it made itself


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--n", "100"], "one of MODEL, --classes"),
        (["--classes", "2", "--sizes", "1,1", "--n", "100"], "--classes and --sizes"),
        (["--classes", "2", "--n", "many"], "whole numbers"),
        (["--sizes", "1,x", "--n", "100"], "numbers are expected"),
        (["--classes", "2", "--n", "100", "--separation", "0.4"], "0.4"),
    ],
)
def test_power_says_what_is_wrong(run, arguments, words):
    refused = run(*POWER, *arguments, code=2)
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_profile_file_that_is_not_one(run, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    assert "'size'" in run(*POWER, "--profiles", "bad.csv", "--n", "100", code=2).stderr
    (tmp_path / "short.csv").write_text("size,b\n1\n")
    assert "more or fewer cells" in run(*POWER, "--profiles", "short.csv", "--n", "100", code=2).stderr
