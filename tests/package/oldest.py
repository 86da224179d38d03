"""Print the lowest versions that pyproject.toml allows, as constraints for pip; ``make oldest`` installs them."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?(?:>=(?P<version>[\w.]+))?")


def constraints(requirements: Iterable[str]) -> dict[str, str]:
    """Exact versions for all requirements that have a lower bound."""
    found: dict[str, str] = {}
    for requirement in requirements:
        read = REQUIREMENT.fullmatch(requirement)
        if read is None:
            raise SystemExit(f"'{requirement}' is no requirement of the form NAME>=VERSION.")
        name, version = read["name"], read["version"]
        if version and found.setdefault(name, version) != version:
            raise SystemExit(f"'{name}' has two lower bounds, {found[name]} and {version}: name it in one extra only.")
    return found


def main() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    requirements = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    for name, version in sorted(constraints(requirements).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
