# Every target needs only make and Python 3.11 or newer: the rest is installed into .venv.

SHELL := /bin/sh
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS  ?= 2
MINUTES ?= 30

# The tests of lowering: with machine code, and where there is no compiler.
LOWERING := tests/test_agreement.py tests/test_batched.py tests/test_masks.py tests/symdiff/test_scan.py $(wildcard tests/numeric/test_passes*.py) \
	$(foreach name,bad_lengths blocks bound_and_partial bound_lengths calls contraction derivatives fields function gathers \
	kept_memory kernels lengths_that_are_lost lowering models_of_any_length named_lengths random_named_lengths rolling source \
	special steps structure surface tables unrolling ways,tests/numeric/test_$(name).py)

# The first interpreter that is new enough; override with `make PYTHON=/path/to/python3.12`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; \
	done)

# Tests start many processes: what one of them compiles, the others need not. mypy checks in several, too.
unexport PYTHONDONTWRITEBYTECODE
export MYPY_NUM_WORKERS ?= $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help install demo test check quick mutants lint format coverage fuzz crosscheck accuracy notebooks oracles look docs bench size clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-10s %s\n", $$1, $$2 }'

install: $(STAMP) ## create .venv and install the project with its development tools

# Built again from nothing when pyproject.toml changes, so that a dropped dependency is really gone.
$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer found; try make PYTHON=..." >&2; exit 1; }
	@test ! -L $(VENV) || { echo "make: $(VENV) is a link: building it again would empty what it points to; remove the link" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(STAMP) ## differentiate 100 physics equations to second order and cross-check every derivative
	$(BIN)/python -m numeric.demo

lint: $(STAMP) ## formatting, lint, types and the layering of the modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict -p symdiff -p numeric -m pytest_symdiff
	$(BIN)/lint-imports

test: lint ## everything in lint, then the fast tests, doctests and README's examples: 3 minutes on 2 cores
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow or kills"

check: $(STAMP) ## what `make test` leaves out: slow tests, notebooks, planted faults of changed files
	$(BIN)/python -m pytest -n $(JOBS) -m "slow and not kills"
	$(BIN)/python -m tests.mutants --changed --jobs $(JOBS)

quick: $(STAMP) ## in 40 seconds, the tests that see most of what the changed files can break
	$(BIN)/python -m tests.quick --jobs $(JOBS)

mutants: $(STAMP) ## plant every fault of tests/mutants: the tests that each row names have to see it
	$(BIN)/python -m tests.mutants --jobs $(JOBS)

format: $(STAMP) ## let ruff format and repair what it can, and declare the methods of Tensors
	$(BIN)/python -m tests.tensor_stub
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: $(STAMP) ## branch coverage of the tests without those of scale: symdiff 95 %, numeric 90 %
	$(BIN)/python -m pytest -n $(JOBS) --ignore=tests/test_engine.py --ignore=notebooks --cov --cov-report= --cov-fail-under=0
	$(BIN)/python -m coverage report --include='symdiff/*' --fail-under=95
	$(BIN)/python -m coverage report --include='numeric/*' --fail-under=90

fuzz: $(STAMP) ## the property tests with fresh random examples for MINUTES=30; PyTorch is one oracle
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,crosscheck]'
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --jobs $(JOBS)

crosscheck: $(STAMP) ## beside PyTorch, JAX and autograd; lowering in machine code, and without a compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,crosscheck]'
	$(BIN)/python -m pytest tests/check
	env MPMATH_NOGMPY=1 $(BIN)/python -m pytest tests/check tests/symdiff/test_digits.py tests/symdiff/test_evaluate.py
	$(BIN)/python -m tests.eager.crosscheck
	$(BIN)/python -m tests.check.foreign_rules
	$(BIN)/python -m tests.notebooks.record
	$(BIN)/python -m pytest -n $(JOBS) --backend=native $(LOWERING)
	$(BIN)/python -m tests.numeric.sanitized
	env PATH=/nowhere CC= $(BIN)/python -m pytest -n $(JOBS) -W ignore:backend=:RuntimeWarning $(LOWERING) README.md docs/tour.md

accuracy: $(STAMP) ## the whole vocabulary and its derivatives beside mpmath; writes docs/accuracy.md
	$(BIN)/python -m tests.accuracy

oracles: $(STAMP) ## compute the checked-in digits of slow oracles again
	$(BIN)/python -m tests.oracle_digits

notebooks: $(STAMP) ## execute the notebooks and save what their cells show
	$(BIN)/python -m tests.notebooks

look: $(STAMP) ## what notebooks show, in a JupyterLab in headless Chromium, and in a new execution
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,look]'
	$(BIN)/python -m tests.look --self-test --out out/look/faults
	$(BIN)/python -m tests.look
	$(BIN)/python -m tests.look --random 500
	$(BIN)/python -m tests.look --live --out out/look/live
	$(BIN)/python -m tests.look --notebooks --out out/look/notebooks
	$(BIN)/python -m tests.notebooks --compare

docs: $(STAMP) ## the reference site, in out/docs/index.html; MathJax and Mermaid come from npm's registry
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	rm -rf out/docs
	$(BIN)/python -m manual.assets
	$(BIN)/python -m sphinx -q -E -W --keep-going -c manual -d out/doctrees . out/docs

bench: $(STAMP) ## time the library beside hand-written NumPy and its peers; writes out/bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python -m benchmarks
	env OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.shards

size: $(STAMP) ## lines of code, docstrings, comments and tests by package, now and at the last tag
	$(BIN)/python -m tests.size

clean: ## remove everything that the other targets made
	rm -rf $(VENV) build dist out htmlcov .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
