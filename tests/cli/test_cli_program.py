"""The program as a whole: help, exit codes, errors, Ctrl-C, progress, completion."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from messy import strict, write_csv
from running import PROGRAM, on_terminal, program

import latentree as lt
from latentree.cli import application
from latentree.cli.app import COMMANDS

# ---- help ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples(run, command):
    text = run(command, "--help").stdout
    assert "Examples:" in text and f"latentree {command}" in text
    assert "--debug" in text
    assert "--json" in text or command == "reproduce"  # which writes pages
    assert "..." not in (application.get_command(None, command).get_short_help_str(70))


def test_help_imports_no_numpy():
    code = (
        "import sys\n"
        "from latentree.cli import application\n"
        "for args in [['--help'], ['--version'], *([name, '--help'] for name in sys.argv[1:])]:\n"
        "    try: application(args)\n"
        "    except SystemExit as e: assert not e.code\n"
        "heavy = [m for m in ('numpy', 'rich', 'pandas', 'scipy', 'sklearn') if m in sys.modules]\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *COMMANDS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: " in done.stdout


def test_listing_data_sets_and_completing_import_no_numpy():
    code = (
        "import sys\n"
        "from latentree.cli import application\n"
        "for args in (['datasets'], ['datasets', 'carcinoma'], ['completion', 'bash']):\n"
        "    try: application(args)\n"
        "    except SystemExit as e: assert not e.code\n"
        "assert 'numpy' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_version(run):
    assert lt.__version__ in run("--version").stdout


# ---- exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ("fit",),
        ("fit", "carcinoma", "--classes", "x"),
        ("fit", "carcinoma", "--classes", "0-3"),
        ("fit", "carcinoma", "--classes", "4-2"),
        ("fit", "carcinoma", "--classes", "1-"),
        ("fit", "carcinoma", "--classes", ""),
        ("fit", "carcinoma", "--bins", "1"),
        ("fit", "carcinoma", "--bins", "A"),
        ("fit", "carcinoma", "--bins", "A=x:y"),
        ("fit", "carcinoma", "--bins", "2", "--bins", "A=3"),
        ("fit", "carcinoma", "--score", "best"),
        ("fit", "carcinoma", "--n-init", "0"),
        ("fit", "carcinoma", "--tol", "-1"),
        ("fit", "carcinoma", "--prior", "0.5"),
        ("fit", "carcinoma", "--delimiter", "ab"),
        ("fit", "carcinoma", "--sead", "1"),
        ("learn", "carcinoma", "--method", "fast"),
        ("learn", "carcinoma", "--set", "trials"),
        ("completion", "tcsh"),
        ("fitt", "carcinoma"),
        (),
    ],
)
def test_wrong_usage_is_2(run, args):
    done = run(*args, code=2)
    assert done.stdout == "" and "Usage:" in done.stderr


def test_a_wrong_command_names_the_right_one(run):
    assert "Did you mean 'fit'?" in run("fitt", code=2).stderr


@pytest.mark.parametrize("args", [("fit", "nothing.csv"), ("fit", "."), ("fit", "carcinoma", "--tol", "nan")])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_what_cannot_be_done_is_1_and_says_why(run, args, more):
    done = run(*args, *more, code=1)
    assert done.stdout == "" and "Error: " in done.stderr and "Traceback" not in done.stderr


def test_parameters_are_called_by_their_options(run):
    assert "--tol must be" in run("fit", "carcinoma", "--tol", "nan", code=1).stderr


@pytest.mark.parametrize("before", [True, False])
def test_debug_shows_where_an_error_arose(run, before):
    args = ("--debug", "fit", "nothing.csv") if before else ("fit", "nothing.csv", "--debug")
    shown = run(*args, code=1).stderr
    assert "Traceback" in shown and "Error: There is no file" in shown


def test_a_defect_is_reported_as_one(run, monkeypatch):
    def broken(*args: object, **more: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("latentree.cli.data.read_to_learn", broken)
    told = run("fit", "carcinoma", code=1).stderr
    assert "ZeroDivisionError: by nothing" in told and "report it" in told and "Traceback" not in told
    assert "Traceback" in run("fit", "carcinoma", "--debug", code=1).stderr


def test_nothing_in_the_data_steers_the_terminal(run, tmp_path):
    rows = [{"a": "\x1b[2Jx" if i % 2 else "b", "b\x1b]0;t\x07": i % 3} for i in range(30)]
    file = write_csv(tmp_path / "evil.csv", rows)
    done = run("fit", file, "--classes", "2", "--out", "m.json")
    done2 = run("fit", file, "--columns", "b\x1b", code=1)
    texts = [done.stdout, done.stderr, done2.stderr, run("show", "m.json").stdout]
    texts.append(run("query", "m.json", "--ask", "a").stdout)
    texts.append(run("query", "m.json", "--ask", "z", "--given", "a=\x1b", code=1).stderr)
    assert not any("\x1b" in text or "\x07" in text for text in texts)


def test_a_terminal_without_the_letters_of_the_data(tmp_path):
    rows = [{"größe": ("groß", "kleine 猫")[i % 2], "b": i % 3} for i in range(30)]
    file = write_csv(tmp_path / "letters.csv", rows)
    model = tmp_path / "m.json"
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}

    def printed(*args: object) -> bytes:
        return subprocess.run([*PROGRAM, *map(str, args)], capture_output=True, env=env, check=True).stdout

    shown = printed("fit", file, "--classes", "2", "--out", model).decode("latin-1")
    assert "groß" in shown and "kleine \\u732b" in shown
    report = strict(printed("fit", file, "--classes", "2", "--json").decode("ascii"))
    assert report["variables"][0]["states"] == ["groß", "kleine 猫"]
    assert "kleine 猫" in printed("assign", model, file).decode("utf-8")  # rows are data, not words for people


# ---- streams and signals -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="needs /dev/stdin")
def test_data_from_standard_input():
    text = "a,b\n" + "x,1\ny,2\n" * 20
    done = program("fit", "-", "--classes", "1", "--json", input=text)
    report = strict(done.stdout)
    assert report["n"] == 40 and report["data"] == "standard input"
    assert done.stderr == ""


def test_a_reader_that_goes_away(tmp_path):
    lt.datasets.generator("d7").save(tmp_path / "m.json")
    first = subprocess.Popen(
        [*PROGRAM, "sample-data", str(tmp_path / "m.json"), "-n", "50000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None and first.stderr is not None
    assert first.stdout.readline().startswith("X1,")
    first.stdout.close()
    told = first.stderr.read()
    first.stderr.close()
    first.wait(timeout=60)
    assert "Traceback" not in told and "Error" not in told


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_ctrl_c_gives_the_best_so_far(tmp_path):
    out = tmp_path / "m.json"
    # Far more than anyone waits for, the first models being there at once.
    much = ("fit", "adult", "--classes", "2-200", "--n-init", "1000")
    code, printed, told = on_terminal(*much, "--json", "--out", out, interrupt_at=b"3 classes")
    assert code == 130, told
    assert "Traceback" not in told and "best so far" in told
    report = strict(printed)
    assert report["interrupted"] and 4 < report["not_fitted"][-1] == 200
    model = lt.load(out)
    assert model.tree.cardinality[0] == report["n_classes"] >= 2
    assert model.provenance["log_likelihood"] == report["log_likelihood"]


def test_ctrl_c_between_two_looks_of_the_engine(run, monkeypatch, tmp_path):
    from latentree.estimation import fit_classes

    def struck(table: object, n_classes: int, **more: object):
        if n_classes == 3:
            raise KeyboardInterrupt
        return fit_classes(table, n_classes, **more)

    monkeypatch.setattr("latentree.comparison.fit_classes", struck)
    done = run("fit", "carcinoma", "--classes", "1-5", "--out", "m.json", "--json", code=130)
    assert strict(done.stdout)["n_classes"] == 2 and strict(done.stdout)["not_fitted"] == [3, 4, 5]
    assert lt.load(tmp_path / "m.json").tree.cardinality[0] == 2
    done = run("fit", "carcinoma", "--classes", "3", "--out", "none.json", code=130)
    assert done.stdout == "" and "Interrupted" in done.stderr and not (tmp_path / "none.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_progress_is_shown_on_a_terminal_only():
    code, printed, shown = on_terminal("fit", "adult", "--classes", "2-4", "--json")
    assert code == 0
    assert "4 classes" in shown and "log-likelihood" in shown
    assert strict(printed)["command"] == "fit"
    assert "classes" not in program("fit", "adult", "--classes", "2-4", "--json").stderr


# ---- completion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run, shell):
    assert "_LATENTREE_COMPLETE" in run("completion", shell).stdout
    assert strict(run("completion", shell, "--json").stdout)["shell"] == shell


def test_names_of_data_sets_are_completed():
    env = {"COMP_WORDS": "latentree fit car", "COMP_CWORD": "2", "_LATENTREE_COMPLETE": "bash_complete"}
    done = CliRunner(env=env).invoke(application, prog_name="latentree")
    assert "plain,carcinoma" in done.stdout and "file,car" in done.stdout


# ---- reproduce -----------------------------------------------------------------------------------------------------


def test_reproduce_says_where_the_studies_are(run):
    done = run("reproduce", "merging", "--models", "1")
    assert done.exit_code == 0 and "python -m studies" in done.stdout


# ---- names, bad values, limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("fit", "carcinoma", "--threads", "2"), "--threads is called --n-jobs now."),
        (("fit", "carcinoma", "--starts", "2"), "--starts is called --n-init now."),
        (("sample", "carcinoma", "--kmax", "2"), "--kmax is called --max-classes now."),
        (("sample", "carcinoma", "--checkpoint", "c"), "--checkpoint is called --resume now."),
        (("fit", "carcinoma", "--sead", "2"), "--seed"),
        (("fit", "carcinoma", "--score", "bci"), "Did you mean 'bic'?"),
        (("learn", "carcinoma", "--method", "hshcc"), "Did you mean 'hshc'?"),
    ],
)
def test_old_and_misspelt_names_are_answered_with_the_right_one(run, args, told):
    assert told in run(*args, code=2).stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("learn", "hiv_test", "--method", "hshc", "--set", "k=abc"), "--set k must be a whole number of at least 1"),
        (("learn", "hiv_test", "--method", "hshc", "--set", "k=0"), "--set k must be a whole number of at least 1"),
        (("learn", "hiv_test", "--method", "hshc", "--set", "kk=1"), "Did you mean 'k'?"),
        (("learn", "hiv_test", "--method", "east", "--set", "evaluation=8"), "--set evaluation must be"),
        (("compare", "values", "--scores", "bci"), "Did you mean 'bic'?"),
        (("fit", "carcinom"), "Did you mean 'carcinoma'?"),
        (("learn", "hiv_test", "--time-limit", "nan"), "--time-limit must be"),
    ],
)
def test_bad_values_are_no_defects(run, args, told):
    """What a person typed wrong is a clear error, and never reported as a defect."""
    shown = run(*args, code=1).stderr
    assert told in shown and "defect" not in shown


def test_a_column_that_looks_like_a_message_is_shown_as_it_is(run, tmp_path):
    """Names in data are never taken for a part of the message that they stand in."""
    name = "row 7: income drop=['x'] {braces}"
    file = write_csv(tmp_path / "odd.csv", [{name: i, "b": i % 2} for i in range(60)])
    assert f"Column '{name}'" in run("fit", file, code=1).stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_rows_on_a_terminal_cannot_steer_it(tmp_path):
    """Control and direction characters are shown by their codes on a terminal, and kept in files and pipes."""
    rows = [{"a": "\x1b[2J\x07x" if i % 2 else "\u202eb", "b": i % 3} for i in range(30)]
    file = write_csv(tmp_path / "evil.csv", rows)
    model = tmp_path / "m.json"
    program("fit", file, "--classes", "2", "--out", model)
    for args in (("assign", model, file), ("sample-data", model, "-n", "20"), ("show", model)):
        master, slave = os.openpty()
        env = {**os.environ, "TERM": "dumb"}  # no styles of our own: any escape would be from the data
        with subprocess.Popen([*PROGRAM, *map(str, args)], stdout=slave, stderr=slave, env=env) as process:
            os.close(slave)
            shown = b""
            try:
                while part := os.read(master, 4096):
                    shown += part
            except OSError:  # the other end was closed
                pass
        os.close(master)
        assert process.returncode == 0
        text = shown.decode()
        assert "\\x1b[2J\\x07x" in text and "\\u202eb" in text
        assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    piped = program("assign", model, file).stdout
    assert "\x1b[2J\x07x" in piped and "\u202eb" in piped
