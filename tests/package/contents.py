"""Check that the wheel and the sdist in a folder hold what they should and nothing else: ``make wheel`` runs it.

What they should hold is what git knows in the source tree: a file that the package needs and the build leaves out is
found, and so is a stray one that it takes along.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "src/latentree/"
SOURCES = (".cpp", ".hpp")  # which the wheel has compiled
NOT_IN_SDIST = (".ci/",)
NEEDED = {  # a mistake in the rules below must not let these go
    "latentree/py.typed",
    "latentree/__init__.pyi",
    "latentree/engine/_core.pyi",
    "latentree/datasets/registry.json",
    "latentree/datasets/data/voting.csv.gz",
    "latentree/formats/model.schema.json",
    "latentree/report/page/explorer.html",
    "latentree/report/page/main.js",
    "latentree/report/page/report.css",
}
MOST = 4_000_000
"""Bytes that either may have."""


def tracked() -> set[str]:
    """Files of the source tree: those that git tracks, and new ones that it does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in names if (ROOT / name).exists()}


def wheel_should_hold() -> set[str]:
    own = {name.removeprefix("src/") for name in tracked() if name.startswith(PACKAGE) and not name.endswith(SOURCES)}
    about = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    return own | {f"dist-info/{name}" for name in about} | {"latentree/engine/_core"}


def wheel_holds(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    # The compiled module is named after the Python it is for, and the folder of metadata after the version.
    names = [re.sub(r"^(latentree/engine/_core)(\.[\w-]+)?\.(so|pyd)$", r"\1", name) for name in names]
    return {re.sub(r"^latentree-[^/]+\.dist-info/", "dist-info/", name) for name in names}


def wrong_tag(path: Path) -> list[str]:
    """A wheel that says it is for all later versions of Python must hold a module that is."""
    with zipfile.ZipFile(path) as wheel:
        [module] = [name for name in wheel.namelist() if name.startswith("latentree/engine/_core.") and name[-1] != "i"]
    later = "-abi3-" in path.name
    fits = module.endswith((".abi3.so", "_core.pyd")) == later
    return [] if fits else [f"{path.name} holds {module}"]


def sdist_should_hold() -> set[str]:
    return {name for name in tracked() if not name.startswith(NOT_IN_SDIST)} | {"PKG-INFO"}


def sdist_holds(path: Path) -> set[str]:
    with tarfile.open(path) as sdist:
        return {member.name.split("/", 1)[1] for member in sdist.getmembers() if member.isfile()}


def differences(path: Path, holds: set[str], should: set[str]) -> list[str]:
    found = [f"{path.name} lacks {name}" for name in sorted(should - holds)]
    found += [f"{path.name} should not have {name}" for name in sorted(holds - should)]
    size = path.stat().st_size
    return found + ([f"{path.name} has {size:,} bytes, more than {MOST:,}"] if size > MOST else [])


def main(folder: Path) -> None:
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    wrong = differences(wheel, wheel_holds(wheel), wheel_should_hold() | NEEDED) + wrong_tag(wheel)
    wrong += differences(sdist, sdist_holds(sdist), sdist_should_hold())
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
