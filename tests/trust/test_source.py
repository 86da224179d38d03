"""What the source must not contain: code from data, a shell, pickles, the network. And what a run must not do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import latentree

SOURCE = Path(latentree.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
SCRIPTS = sorted(SOURCE.rglob("*.js"))

MODULES = {
    **dict.fromkeys(("pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"), "pickles run code when read"),
    **dict.fromkeys(("subprocess", "pty", "commands"), "starts other programs"),
    **dict.fromkeys(("socket", "socketserver", "http", "ssl", "asyncio", "ftplib", "smtplib", "xmlrpc"), "network"),
    **dict.fromkeys(("urllib.request", "requests", "httpx", "aiohttp", "urllib3"), "network"),
    **dict.fromkeys(("ctypes", "code", "codeop", "runpy"), "runs what is not ours"),
}
"""Modules that are not imported, and why."""

NAMES = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
"""Built-in functions that are not called."""

METHODS = re.compile(
    r"(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile))"
    r"|(\w+\.(read_pickle|to_pickle|unsafe_load|serve_forever|mktemp))"
    r"|(joblib\.(load|dump))"
)
"""Functions of modules that are not called."""

PAGES = re.compile(
    r"\beval\b|\bnew Function\b|\binnerHTML\b|\bouterHTML\b|\binsertAdjacentHTML\b|\bdocument\.write\b|\bfetch\b"
    r"|\bXMLHttpRequest\b|\bWebSocket\b|\bEventSource\b|\bsendBeacon\b|\bimport\s*\(|\bset(Timeout|Interval)\(\s*[\"'`]"
)
"""What scripts of pages do not do: run text, make markup of text, send anything anywhere."""


def faults(code: str) -> list[str]:
    """What a file of Python does that it must not."""
    out = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            out += [name.name for name in node.names if _refused(name.name)]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            whole = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
            out += [name for name in whole if _refused(name)][:1]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in NAMES or METHODS.fullmatch(called):
                out.append(called)
            out += [
                f"{k.arg}={ast.unparse(k.value)}"
                for k in node.keywords
                if k.arg in ("shell", "allow_pickle") and not (isinstance(k.value, ast.Constant) and not k.value.value)
            ]
    return out


def _refused(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:n]) in MODULES for n in range(1, len(parts) + 1))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_source_runs_no_data_and_reaches_nowhere(path):
    assert faults(path.read_text()) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_pages_run_no_data_and_reach_nowhere(path):
    assert PAGES.findall(path.read_text()) == []


def test_there_is_something_to_look_at():
    assert len(FILES) > 150 and len(SCRIPTS) > 5


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "import http.server",
        "from urllib import request",
        "from urllib.request import urlopen",
        "def f():\n    import subprocess as s",
        "eval('1')",
        "os.system('ls')",
        "os.execvp('ls', [])",
        "run('ls', shell=True)",
        "run('ls', shell=yes)",
        "np.load(f, allow_pickle=True)",
        "pd.read_pickle(f)",
        "joblib.load(f)",
        "server.serve_forever()",
    ],
)
def test_the_search_finds_what_it_looks_for(code):
    assert faults(code)


@pytest.mark.parametrize("code", ["re.compile('x')", "from urllib.parse import quote", "load(f, allow_pickle=False)"])
def test_the_search_leaves_the_rest_alone(code):
    assert faults(code) == []


# ---- what a run does --------------------------------------------------------------------------------------------

WATCHED = """
import sys
import numpy.testing  # of NumPy 1.26, asks lscpu about the processor when scipy imports it
seen = set()
def heard(event, args):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pickle.",
                         "ftplib.", "http.", "urllib.", "smtplib.", "webbrowser.")):
        seen.add(event)
sys.addaudithook(heard)
from latentree.cli import main
for line in sys.argv[1].split(";"):
    sys.argv = ["latentree", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (line, end.code)
print("SEEN", sorted(seen))
"""

COMMANDS = """fit carcinoma --classes 2 --out m.json --assign rows.csv --resume f.state
learn hiv_test --out t.json --report t.html --trace trace.json --resume t.state
sample carcinoma --max-classes 3 --draws 50 --burn 20 --chains 2 --n-jobs 2 --resume s.state
compare carcinoma --classes 1-2
convert m.json m.bif
convert m.bif m.xdsl
show t.json
explore t.json --data hiv_test --out t-explorer.html --no-open
fit rows.csv --columns A,B,C,D --classes 2"""


def test_a_run_opens_no_socket_starts_no_program_and_reads_no_pickle(tmp_path):
    line = [sys.executable, "-c", WATCHED, COMMANDS.replace("\n", ";")]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "SEEN []"
