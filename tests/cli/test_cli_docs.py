"""What docs/command-line.md shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from latentree.cli import application
from latentree.cli.app import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def shown_commands() -> list[tuple[str, str]]:
    """Commands and what the page says they print; a line of three dots stands for any lines."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    return [tuple(part.split("\n", 1)) for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def test_the_page_tells_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown_commands()
    for line, expected in shown_commands():
        name, *args = shlex.split(line)
        done = CliRunner().invoke(application, args, prog_name=name)
        pattern = "(.*\n)*".join(map(re.escape, re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)))
        assert re.fullmatch(pattern, done.output), f"{line}\n{done.output}"


def test_the_page_has_every_command():
    text = PAGE.read_text("utf-8")
    for name in COMMANDS:
        assert f"## {name}\n" in text
