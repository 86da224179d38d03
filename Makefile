# make demo   set up, learn a latent tree from bundled data, print it, save model and report
# make test   set up and run the tests
# make help   the rest
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/latentree/engine/*.cpp src/latentree/engine/*.hpp) \
           $(shell find src -name __init__.py)
ASAN   := build/sanitize

.PHONY: help setup demo test test-browser lint bench interop docs notebooks fuzz torture leak sanitize wheel check clean

help:
	@sed -n 's/^# //p' Makefile
	@echo "make test-browser, lint, bench, interop, docs, notebooks, fuzz, torture, leak, sanitize, wheel, check (all of these but bench, fuzz, torture and leak), clean"

setup: $(READY)

# The build tools are installed first, so that rebuilding after a change needs no network.
$(READY): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.18"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	mkdir -p out
	$(BIN)/latentree learn voting --out out/voting.json --report out/voting.html --assign out/voting-rows.csv
	$(BIN)/latentree explore out/voting.json --data voting --out out/voting-explorer.html --no-open
	@echo "The model is in out/voting.json, the report in out/voting.html, the page to explore it in out/voting-explorer.html,"
	@echo "and every row with the states of its latent variables in out/voting-rows.csv."

test: $(READY)
	$(BIN)/python -m pytest -n auto tests

# The explorer page in a real browser: a Chromium that is there, or one from the system's packages, or Playwright's own.
test-browser: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "playwright>=1.50"
	LATENTREE_BROWSER="$$($(BIN)/python tests/browser/install.py)" $(BIN)/python -m pytest tests/browser

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks docs/site
	$(BIN)/mypy

# Ratios against StepMix and against the engine's own slow settings; see docs/benchmarks.md.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[bench]"
	$(BIN)/python benchmarks/engine.py --write

# Files and models against the real pgmpy, pyAgrum, networkx and StepMix.
interop: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[interop]"
	$(BIN)/python -m pytest tests/interop

# The notebooks of docs/notebooks, run; those of data that do not come with the package need LATENTREE_DATA, and are skipped without.
notebooks: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[docs]"
	$(BIN)/python docs/site/notebooks.py

# The site, into build/site: pages, API reference and the notebooks with their results. Any warning is an error.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[docs]"
	$(BIN)/python docs/site/notebooks.py --stale
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site -d build/doctrees docs build/site
	@echo "The site is in build/site/index.html."

# A million damaged files for the readers; FUZZ=10000 for fewer.
FUZZ ?= 1000000
fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py $(FUZZ)

# Fits, searches and samplers killed 50 times and resumed; TORTURE=10 for fewer.
TORTURE ?= 50
torture: $(READY)
	$(BIN)/python tests/torture/run.py $(TORTURE)

# Memory after 10,000 fits, and after many searches and samplers.
LEAK ?= 10000
leak: $(READY)
	PYTHONMALLOC=malloc $(BIN)/python tests/torture/leak.py $(LEAK)

# All tests that spend their time in C++ under address and undefined-behaviour sanitizers, in an environment of their own.
sanitize: $(READY)
	test -x $(ASAN)/bin/python || $(PYTHON) -m venv $(ASAN)
	$(ASAN)/bin/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.18"
	PATH="$(CURDIR)/$(ASAN)/bin:$$PATH" $(ASAN)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=cmake.define.LATENTREE_SANITIZE=ON --config-settings=build-dir=build/sanitized ".[test]"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(ASAN)/bin/python -m pytest -n auto tests/engine tests/estimation tests/bayes tests/cardinality tests/search \
	  tests/test_infer.py tests/trust/test_same_for_any_threads.py

# A wheel, installed alone into a clean environment, must do the demo's work.
wheel: $(READY)
	rm -rf dist build/clean
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/clean/bin/python -m pip check
	cd build && clean/bin/latentree fit carcinoma --classes 2 --json > clean/fit.json
	build/clean/bin/python -c "import json; assert abs(json.load(open('build/clean/fit.json'))['log_likelihood'] + 317.2568) < 1e-3"
	cd build && clean/bin/latentree learn hiv_test --out clean/tree.json --json > clean/learn.json
	build/clean/bin/python -c "import json; assert abs(json.load(open('build/clean/learn.json'))['bic'] + 656.62) < 0.01"

check: test lint interop notebooks docs test-browser wheel sanitize

clean:
	rm -rf docs/reference docs/notebooks/*.ipynb
	rm -rf build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)
