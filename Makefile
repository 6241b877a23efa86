# `make run` trains on the embedded data, `make test` runs every check. Both first make the environment .venv, once.
# Another interpreter: make run PYTHON=/path/to/python3.11. Options of kedro run: make run ARGS="--params dataset=multi_digits,seed=1"

# By the shell, because make's own functions take a path with a space in it for two.
ROOT := $(shell dirname "$(strip $(MAKEFILE_LIST))")

ifneq ($(ROOT),.)
# Called as `make -f somewhere/Makefile`: go there first, so that everything below can use relative paths.
.PHONY: run test lock clean
run test lock clean:
	@$(MAKE) --no-print-directory -C "$(ROOT)" $@
else

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Kedro and MLflow send no usage data; MLflow understands no other value.
export DO_NOT_TRACK := true
# The isolated environment in which pip builds the package is pinned too.
export PIP_CONSTRAINT := requirements.lock
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lock clean

run: .venv/ready
	@$(BIN)/python -m kedro run $(ARGS)

test: .venv/ready
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The file `ready` is made last: an environment without it was interrupted, and is made anew from nothing.
.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "idbpd needs Python 3.11, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1); try: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@echo "Making the environment .venv (once; a few minutes, mostly downloads)"
	@[ -e $@ ] || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --editable ".[dev]"
	@touch $@

# What requirements.lock is made by: the newest versions that pyproject.toml admits, in an environment of their own. The build of
# torch that was found (a CPU build has a local version) is not part of the pin.
lock:
	@rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	@PIP_CONSTRAINT= .venv-lock/bin/python -m pip install -qq ".[dev]"
	@.venv-lock/bin/python -m pip check
	@.venv-lock/bin/python -m pip freeze --all --exclude idbpd --exclude pip | sed 's/+cpu$$//' > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@rm -rf .venv-lock build src/idbpd.egg-info
	@echo "requirements.lock has $$(wc -l < requirements.lock) packages"

clean:
	@rm -rf .venv .venv-lock build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache src/idbpd.egg-info

endif
