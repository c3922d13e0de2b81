# Everything runs in a virtual environment of its own, made on first use. Override at will:
#   make test PYTHON=python3.12 DJANGO='5.2.*'
PYTHON ?=
DJANGO ?=
FOR ?=

PYTHON_FOUND := $(shell .ci/find-python "$(PYTHON)")
ifeq ($(PYTHON_FOUND),)
$(error no Python to run with)
endif
PYTHON_VERSION := $(shell "$(PYTHON_FOUND)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv-$(PYTHON_VERSION)$(if $(DJANGO),-django$(subst *,x,$(DJANGO)))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
DJANGO_REQUIREMENT ?= $(if $(DJANGO),django==$(DJANGO))
INSTALL := $(PIP) install --editable . $(if $(DJANGO_REQUIREMENT),"$(DJANGO_REQUIREMENT)")

.PHONY: help demo test test-nightly lint bench docs clean which
help:
	@echo "make demo           run the example project: web server, scheduler, SQLite (Ctrl-C stops it)"
	@echo "make demo FOR=30    the same for 30 seconds, then a report"
	@echo "make test           run every test on every database that is found or can be started"
	@echo "make test-nightly   the same and those that take minutes"
	@echo "make lint           check style, types, layers, migrations, spelling, workflow and scripts"
	@echo "make bench          measure"
	@echo "make docs           build the documentation into docs/_build/html"
	@echo "make clean          remove what make made"
	@echo "PYTHON=python3.12 and DJANGO='5.2.*' choose the versions."

which:
	@echo "Python: $$($(PYTHON_FOUND) --version) ($(PYTHON_FOUND)), environment: $(VENV)"

# --- environments: one stamp a set of packages -------------------------------------------------

$(VENV)/.made:
	@"$(PYTHON_FOUND)" -m venv --clear $(VENV)
	@$(PIP) install --upgrade pip
	@touch $@

$(VENV)/.package: $(VENV)/.made pyproject.toml | which
	$(INSTALL)
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml | which
	$(INSTALL) --group test
	@$(PIP) install --group mysqlclient 2> $(VENV)/mysqlclient.log || \
	  echo "mysqlclient cannot be built here (see $(VENV)/mysqlclient.log): tests on MariaDB use PyMySQL."
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(INSTALL) --group lint
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml | which
	$(INSTALL) --group docs
	@touch $@

# --- what people run -----------------------------------------------------------------------------

demo: which $(VENV)/.package
	@$(BIN)/python example_project/manage.py demo $(if $(FOR),--for $(FOR))

test: which $(VENV)/.test
	@$(BIN)/python -m tests.matrix $(OPTIONS)

test-nightly: export GOCRON_TEST_NIGHTLY = 1
test-nightly: test

bench: which $(VENV)/.package
	@$(BIN)/python -m benchmarks.schedules

docs: which $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Read docs/_build/html/index.html"

clean:
	rm -rf .venv-* docs/_build build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# --- lint: "make -k lint" goes on after a failure ------------------------------------------------

LINTS := style format types layers spelling text migrations workflow scripts
.PHONY: $(LINTS:%=lint-%)
lint: $(LINTS:%=lint-%)
$(LINTS:%=lint-%): $(VENV)/.lint

lint-style:
	$(BIN)/ruff check
lint-format:
	$(BIN)/ruff format --check --output-format concise
lint-types:
	$(BIN)/mypy
	cd example_project && PYTHONPATH=. ../$(BIN)/mypy
lint-layers:
	$(BIN)/lint-imports --no-cache
lint-spelling:
	$(BIN)/codespell
lint-text:
	$(BIN)/python .ci/lint_text.py
lint-migrations:
	$(BIN)/python -m django makemigrations --check --dry-run --settings tests.settings
	$(BIN)/python example_project/manage.py makemigrations --check --dry-run
lint-workflow:
	$(BIN)/actionlint -shellcheck $(BIN)/shellcheck
lint-scripts:
	$(BIN)/shellcheck .ci/run .ci/find-python
