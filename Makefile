# Needs python3 (3.11 or newer), make and the package registries; all else comes into .venv.
PYTHON ?= python3
PORT ?= 8000
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --require-hashes
LOCK := $(VENV)/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --custom-compile-command "make lock"
PG := $(PY) -m relay_project.server.postgres

# Throw-away values for tools that read the settings and keep nothing.
TOOL_ENV := SECRET_KEY=tools-only RELAY_ENCRYPTION_KEYS=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-all check bench lock

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: export PORT := $(PORT)
run: $(VENV)/runtime.stamp ## install and serve on http://127.0.0.1:8000 (PORT=…); Ctrl-C stops all
	@$(PY) manage.py up $(ARGS)

test: $(VENV)/dev.stamp ## the suite: SQLite, embedded Valkey, real processes
	@$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

test-all: $(VENV)/dev.stamp ## adds the slow tier: both PostgreSQL versions, long runs, browsers
	$(PY) -m pytest -m "" $(ARGS)
	$(PG) -- $(PY) -m pytest -m "not browser" $(ARGS)
	$(PG) --from system -- $(PY) -m pytest -m "not browser and not slow" $(ARGS)

check: $(VENV)/dev.stamp ## format, lint, types, imports, sizes, tests on SQLite and on PostgreSQL
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(TOOL_ENV) $(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(TOOL_ENV) $(PY) manage.py makemigrations --check --dry-run
	$(PY) -m pytest tests/structure
	$(PY) -m pytest -n 2 --dist loadfile --ignore tests/structure
	$(PG) -- $(PY) -m pytest -n 2 --dist loadfile -m "django_db and not served and not slow and not browser"

bench: $(VENV)/dev.stamp ## performance, side by side with peers when they are installed
	@$(PY) -m bench $(ARGS)

lock: $(VENV)/dev.stamp ## resolve requirements*.in anew, with hashes
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) requirements-embedded.in -o requirements-embedded.txt
	$(LOCK) requirements-dev.in -o requirements-dev.txt

$(VENV)/runtime.stamp: requirements.txt requirements-embedded.txt | $(PY)
	$(PIP) -r requirements.txt -r requirements-embedded.txt
	@$(PY) -m relay_project.server.system_check
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt | $(PY)
	$(PIP) -r requirements-dev.txt
	@$(PY) -m relay_project.server.system_check
	@touch $@

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Set PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "Python's venv is missing (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
