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
INSTALL := python -m pip install --quiet --disable-pip-version-check

.PHONY: help setup demo test test-browser lint bench bench-scale interop docs notebooks fuzz torture leak sanitize wheel minimal oldest latest check clean

help:
	@sed -n 's/^# //p' Makefile
	@echo "make test-browser, lint, bench, bench-scale, interop, docs, notebooks, fuzz, torture, leak, sanitize, wheel, minimal, oldest, latest,"
	@echo "check (all of these but benchmarks, fuzz, torture and leak), clean"

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
	$(BIN)/python -m pytest -n auto --dist loadgroup tests

# The explorer page in a real browser: a Chromium that is there, or one from the system's packages, or Playwright's own.
test-browser: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "playwright>=1.50"
	LATENTREE_BROWSER="$$($(BIN)/python tests/browser/install.py)" $(BIN)/python -m pytest tests/browser

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks studies docs/site
	$(BIN)/ruff format --check src tests benchmarks studies docs/site
	$(BIN)/mypy

# Ratios against StepMix and against the engine's own slow settings; see docs/benchmarks.md.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[bench]"
	$(BIN)/python benchmarks/engine.py --write

# Data beyond memory and a cluster of processes on this machine; see docs/scaling.md.
bench-scale: $(READY)
	$(BIN)/python benchmarks/scale.py --write

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

# A published study, ours beside theirs: make study-search ARGS="--help"; DATA is the folder of data sets that do not come along.
study-%: $(READY)
	$(BIN)/python -m studies.$* $(if $(DATA),--data "$(DATA)") $(ARGS)

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
SANITIZED ?= tests/engine tests/estimation tests/bayes tests/cardinality tests/search tests/test_infer.py \
             tests/trust/test_same_for_any_threads.py
sanitize: $(READY)
	test -x $(ASAN)/bin/python || $(PYTHON) -m venv $(ASAN)
	$(ASAN)/bin/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.18"
	PATH="$(CURDIR)/$(ASAN)/bin:$$PATH" $(ASAN)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=cmake.define.LATENTREE_SANITIZE=ON --config-settings=build-dir=build/sanitized ".[test]"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(ASAN)/bin/python -m pytest -n auto $(SANITIZED)

# The sdist, and the wheel made from it; both must hold the right files and nothing else.
wheel: $(READY)
	rm -rf dist && mkdir -p build
	$(BIN)/python -m build --no-isolation --outdir dist . > build/wheel.log || { cat build/wheel.log; exit 1; }
	$(BIN)/python tests/package/contents.py dist

# The wheel alone in a clean environment: it does the demo's work, names the extras it lacks, and a program that uses it
# passes mypy --strict.
minimal: wheel
	rm -rf build/minimal
	$(PYTHON) -m venv build/minimal
	build/minimal/bin/$(INSTALL) dist/*.whl
	build/minimal/bin/python -m pip check
	build/minimal/bin/python tests/package/minimal.py
	build/minimal/bin/python tests/package/user.py
	cd build && ../$(BIN)/mypy --config-file= --strict --python-executable minimal/bin/python ../tests/package/user.py

# All tests against the installed wheel, from the files of the sdist without its sources.
define test-installed
	mkdir build/$(1)/away
	tar -xzf dist/*.tar.gz -C build/$(1)/away --strip-components=1
	rm -r build/$(1)/away/src
	cd build/$(1)/away && ../bin/python -m pytest -n auto --dist loadgroup tests $(2)
endef

# The lowest versions that pyproject.toml allows; they warn of each other, which is no matter of ours. Needs Python 3.11 or 3.12.
oldest: wheel
	rm -rf build/oldest
	$(PYTHON) -m venv build/oldest
	$(BIN)/python tests/package/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/$(INSTALL) --constraint build/oldest/constraints.txt "$$(echo dist/*.whl)[test]"
	build/oldest/bin/python -m pip check
	$(call test-installed,oldest,-W ignore::DeprecationWarning)

# The newest versions of everything, on the newest Python that is here (pyenv's included), built anew from the sdist.
NEWEST ?= $(shell for v in 3.14 3.13 3.12 3.11; do for p in python$$v $$HOME/.pyenv/versions/$$v.*/bin/python; do \
            $$p -m venv --help > /dev/null 2>&1 && echo $$p && exit; done; done)
latest: wheel
	rm -rf build/latest
	$(NEWEST) -m venv build/latest
	build/latest/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/latest/dist dist/*.tar.gz
	cp dist/*.tar.gz build/latest/dist
	$(BIN)/python tests/package/contents.py build/latest/dist
	build/latest/bin/$(INSTALL) "$$(echo build/latest/dist/*.whl)[test]"
	build/latest/bin/python -m pip check
	$(call test-installed,latest)

check: test lint interop notebooks docs test-browser minimal oldest latest sanitize

clean:
	rm -rf docs/reference docs/notebooks/*.ipynb
	rm -rf build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)
