# A newcomer needs two: `make run` to try opsboard, `make test` to test it. Both set themselves up.
#
#   make run     try it, or look after your own RQ (REDIS_URL=… DATABASE_URL=… make run)
#   make test    every test; ARGS="tests/domain -k retry" chooses some, TEST_DATABASE_URL=… another database
#   make chaos   what comes of every crash, on real processes: FULL=1 the whole table, MINUTES=n SEED=s at random,
#                DATABASE=sqlite, postgresql or both
#   make trials  watch an export survive: its worker stopped, and killed, the web restarted; a period that does not exist
#   make cover   the tests again, slower, and which lines and branches they reach
#   make check   format, lint, types, layers, templates, Django's own checks: what CI runs
#   make lint    mend what can be mended without thinking
#   make bench-layer   what the job-safety layer adds to a job, on this machine; ARGS="--rounds 3 --databases sqlite"
#   make bench-exports   a million rows: memory of the worker, rows a second beside a plain csv.writer
#   make setup   only the set-up for development
#
# PYTHON=… names the Python to make the environments with; else the one of .venv, else the newest found.

SHELL := /bin/sh
PYTHON ?=
PYTHONS := .venv/bin/python python3.14 python3.13 python3.12 python3.11 python3 python
BIN := .venv/bin
TEMPLATES = $$(find templates jobs exports opsboard -name '*.html' | sort)

.PHONY: run test chaos trials cover check lint bench-layer bench-exports setup clean
.DEFAULT_GOAL := run

run:
	$(call provide,run)
	@exec $(BIN)/python -m opsboard.runner

test:
	$(call provide,test)
	@exec $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

chaos:
	$(call provide,test)
	@exec $(BIN)/python -m tests.chaos --database $(or $(DATABASE),sqlite) --rows $(if $(FULL),full,some) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

trials:
	$(call provide,test)
	@exec $(BIN)/python -m tests.trials $(ARGS)

cover:
	$(call provide,test)
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage report

check:
	$(call provide,test)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djade --target-version 5.2 --check $(TEMPLATES)
	$(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

lint:
	$(call provide,test)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/djade --target-version 5.2 $(TEMPLATES)

bench-layer:
	$(call provide,test)
	@exec $(BIN)/python -m bench.layer $(ARGS)

bench-exports:
	$(call provide,test)
	@exec $(BIN)/python -m bench.exports $(ARGS)

setup:
	$(call provide,test)

clean:
	rm -rf .venv .venv-rq2 static-built .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# provide(use): the environments for that use, made by the first Python that can.
define provide
@tried=; for python in $(if $(PYTHON),"$(PYTHON)",$(PYTHONS)); do \
	command -v "$$python" >/dev/null 2>&1 || continue; \
	if reason=$$("$$python" opsboard/bootstrap.py why-not 2>/dev/null); then \
		"$$python" opsboard/bootstrap.py $(1); exit; \
	fi; \
	tried="$$tried  $$python $${reason:-is too old, or does not start}\n"; \
done; \
printf 'opsboard needs Python 3.11 or newer with its venv module, and finds none.\n%b' "$${tried:-  There is no python3 on PATH.\n}"; \
printf 'Install one (on Debian: apt-get install python3 python3-venv), or name one: make $@ PYTHON=…\n'; exit 1
endef
