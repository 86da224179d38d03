"""What docs/command-line.md, docs/first-steps.md and the guide to trees show is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from latentree.cli import application
from latentree.cli.app import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "command-line.md").read_text("utf-8")
FIRST_STEPS = (DOCS / "first-steps.md").read_text("utf-8")
TREES = (DOCS / "guides" / "latent-trees.md").read_text("utf-8")

NUMBER = re.compile(r"[0-9][0-9,]*\.[0-9]+")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def shown_commands(page: str) -> list[tuple[str, str]]:
    """Commands and what the page says they print; a line of three dots stands for any lines."""
    parts = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(line, expected) for line, expected in (part.split("\n", 1) for part in parts)]


def same_line(shown: str, printed: str) -> bool:
    """Whether two lines are the same but for the last digits, which differ from machine to machine."""
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    return all(
        abs(float(a.replace(",", "")) - float(b.replace(",", ""))) <= max(1.01 * 10.0 ** -len(a.split(".")[1]), 2e-5)
        for a, b in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    )


def is_shown(shown: str, printed: str) -> bool:
    """Whether the lines shown are the ones printed, three dots standing for any."""
    lines, at = printed.splitlines(), 0
    parts = [part.splitlines() for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    for i, part in enumerate(parts):
        last = len(lines) - len(part)
        places = [at] if i == 0 else [last] if i == len(parts) - 1 and part else range(at, last + 1)
        found = [p for p in places if at <= p <= last and all(map(same_line, part, lines[p : p + len(part)]))]
        if not found:
            return False
        at = found[0] + len(part)
    return at == len(lines) or parts[-1] == []


def check_commands(page: str) -> None:
    assert shown_commands(page)
    for line, expected in shown_commands(page):
        name, *args = shlex.split(line)
        done = CliRunner().invoke(application, args, prog_name=name)
        assert is_shown(expected, done.output), f"{line}\n{done.output}"


def test_the_page_tells_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_commands(PAGE)


def test_the_first_steps_can_be_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make, analyse = blocks(FIRST_STEPS, "python")
    survey, rows, printed = blocks(FIRST_STEPS, "text")
    exec(compile(make, "make_survey.py", "exec"), {})
    assert is_shown(survey, Path("survey.csv").read_text("utf-8"))
    Path("new.csv").write_text(blocks(FIRST_STEPS, "csv")[0], "utf-8")
    check_commands(FIRST_STEPS)
    assert is_shown(rows, Path("rows.csv").read_text("utf-8"))
    capsys.readouterr()
    exec(compile(analyse, "first-steps.md", "exec"), {})
    assert is_shown(printed, capsys.readouterr().out)


def test_the_guide_to_trees_can_be_followed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make, *others = blocks(TREES, "python")
    exec(compile(make, "make_habits.py", "exec"), {})
    check_commands(TREES)
    capsys.readouterr()
    for code, printed in zip(others, blocks(TREES, "text"), strict=True):
        exec(compile(code, "latent-trees.md", "exec"), {})
        assert is_shown(printed, capsys.readouterr().out)


def test_other_output_is_noticed():
    assert is_shown("a 0.123\n...\nd\n", "a 0.124\nb\nc\nd\n")
    for shown in ("a 0.125\n...\nd\n", "a 0.123\n...\n", "...\nc\n", "a 0.123\nb\nc\n", "a 0.123\n...\nx\n...\nd\n"):
        assert is_shown(shown, "a 0.123\nb\nc\nd\n") == (shown == "a 0.123\n...\n")


def test_the_page_has_every_command():
    for name in COMMANDS:
        assert f"## {name}\n" in PAGE
