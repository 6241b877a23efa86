# `make run` trains on the embedded data; `make test` runs every check. Both create the environment .venv when needed.
# Another interpreter: make run PYTHON=/path/to/python3.11
# Options of kedro run: make run ARGS="--params dataset=multi_digits,seed=1"

# From the shell, because make's own functions split a path at a space.
ROOT := $(shell dirname "$(strip $(MAKEFILE_LIST))")

ifneq ($(ROOT),.)
# Called as `make -f somewhere/Makefile`: change to that folder first, because everything below uses relative paths.
.PHONY: run check test docs hooks lock clean
run check test docs hooks lock clean:
	@$(MAKE) --no-print-directory -C "$(ROOT)" $@
else

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Turn off the usage reports of Kedro and MLflow. MLflow accepts no other value than "true".
export DO_NOT_TRACK := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run check test docs hooks lock clean

run: .venv/ready
	@$(BIN)/python -m kedro run $(ARGS)

# The static checks.
check: .venv/ready
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The documentation as a site in the folder site; open site/index.html. (The variable silences an announcement.)
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

# Install the git hooks of .pre-commit-config.yaml: `make check` at every commit, `make test` at every push.
hooks: .venv/ready
	$(BIN)/pre-commit install

# Everything in the lock is checked against its hash; the second command adds torch and this project. The file `ready` is
# written last. An environment without it was interrupted and is created again from scratch.
.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "idbpd needs Python 3.11, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1); try: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@echo "Creating the environment .venv (once; a few minutes, mostly downloads)"
	@[ -e $@ ] || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install -qq --no-build-isolation --editable ".[dev]"
	@touch $@

# Write requirements.lock: the newest versions that pyproject.toml allows, installed in a fresh environment, and the
# hashes of all their files.
lock:
	@rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	@.venv-lock/bin/python -m pip install -qq ".[dev]"
	@.venv-lock/bin/python -m pip check
	@.venv-lock/bin/python -m pip freeze --all --exclude idbpd --exclude pip > .venv-lock/versions
	@.venv-lock/bin/python .ci/lock_hashes.py < .venv-lock/versions > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@rm -rf .venv-lock build src/idbpd.egg-info
	@echo "requirements.lock has $$(grep -c == requirements.lock) packages"

clean:
	@rm -rf .venv .venv-lock build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache src/idbpd.egg-info

endif
