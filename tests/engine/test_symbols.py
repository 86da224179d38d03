"""Code for one instruction set must not run on machines without it.

A function that several object files define, such as an inline member or a template of the standard library, is linked
once, from whichever file comes first. If that file was compiled for AVX-512, every caller gets AVX-512 code. So the
kernels' objects may define nothing that others could be given, but for names in a namespace of their own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "CMakeLists.txt"

HARMLESS = re.compile(r"DW\.ref\.__gxx_personality_v0")
"""A pointer, and no code."""


def instruction_sets() -> dict[str, list[str]]:
    """The options of the compiler for each instruction set, as the build has them."""
    here = BUILD.exists() and (ROOT / "src" / "latentree" / "engine" / "kernels.cpp").exists()
    found = re.findall(r"add_kernels\((\w+) (\d+)(.*?)\)", BUILD.read_text()) if here else []
    return {
        name: [*flags.split(), f"-DLATENTREE_ISA={name}", f"-DLATENTREE_WIDTH={width}"]
        for name, width, flags in found
        if name != "name"
    }


def shared_symbols(text: str, isa: str) -> list[str]:
    """The symbols that a linker could hand to code for other instruction sets, from what ``nm`` prints."""
    lines = (line.split(maxsplit=2) for line in text.splitlines() if line.strip())
    symbols = [(kind, name) for _, kind, name in lines]
    ours = re.compile(rf"(\w+ for )?latentree::{isa}::")
    return [name for kind, name in symbols if kind in "TDBRWVu" and not ours.match(name) and not HARMLESS.match(name)]


@pytest.mark.parametrize("isa", list(instruction_sets()) or ["none"])
def test_no_vector_code_leaves_the_namespace_of_its_instruction_set(isa, tmp_path):
    if isa == "none":
        pytest.skip("the build's description is not here: these are not the sources")
    compiler, nm = shutil.which("c++") or shutil.which("g++"), shutil.which("nm")
    if compiler is None or nm is None:
        pytest.skip("there is no compiler or no nm on this machine")
    flags = instruction_sets()[isa]
    probe = subprocess.run([compiler, "-E", "-x", "c++", *flags, "/dev/null"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"the compiler knows no {isa}")
    options = re.search(r"PRIVATE (-O3.*?) -Wall", BUILD.read_text(), re.S).group(1).split()
    source, made = ROOT / "src/latentree/engine/kernels.cpp", tmp_path / "kernels.o"
    subprocess.run([compiler, "-std=c++20", "-fPIC", *options, *flags, "-c", source, "-o", made], check=True)
    told = subprocess.run([nm, "-C", "--defined-only", made], capture_output=True, text=True, check=True).stdout
    assert f"latentree::{isa}::table" in told
    assert shared_symbols(told, isa) == []


def test_the_guard_sees_what_it_looks_for():
    told = """\
0000000000000000 V DW.ref.__gxx_personality_v0
0000000000000000 D latentree::avx512::table
0000000000000000 W std::vector<double>::push_back(double&&)
0000000000000000 t latentree::avx512::(anonymous namespace)::run(latentree::Pass const&)
0000000000000000 W latentree::Workspace::~Workspace()
"""
    assert shared_symbols(told, "avx512") == [
        "std::vector<double>::push_back(double&&)",
        "latentree::Workspace::~Workspace()",
    ]
