# `make help` lists the verbs. Every verb sets up what it needs on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
FOLDER ?= demo

# Bytecode is kept even where the shell forbids it: hundreds of processes of the tests
# would compile the package again, each a third of a second.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-slow test-spark check legibility hooks format capture compare screenshots bench bench-peers docs gallery studio clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# The package alone, and the survey that the demo releases.
$(VENV)/.core: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --editable . --prefer-binary 'statsmodels>=0.14.5'
	@touch $@

# What the checks, tests and benchmarks need on top.
$(VENV)/.ready: $(VENV)/.core
	@$(PIP) --only-binary :all: --group test --group check
	@touch $@

demo: $(VENV)/.core ## A sensitive survey, released privately, from CSV to comparison
	@$(BIN)/understudy demo
	@echo && echo ' The command lies in $(BIN): type `. $(BIN)/activate` once, then `understudy sample` and the others as above.'

# A real browser for the studio's tests, from the system's packages where there is none.
$(VENV)/.browser: $(VENV)/.ready
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null)
	@touch $@

# PostgreSQL for the tests of databases, from the system's packages where there is none.
$(VENV)/.postgres: $(VENV)/.ready
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null)
	@touch $@

test: check $(VENV)/.browser $(VENV)/.postgres ## Everything that decides whether a change lands
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
	@if command -v java >/dev/null; then $(MAKE) --no-print-directory test-spark SPARK_CLUSTER= && \
		echo 'Not run: Spark on a cluster of two workers. `make test-spark` does.'; else \
		echo; echo '!!! NOT RUN: the tests of Spark, because there is no Java here. `make test-spark` installs it.'; echo; fi

# Spark, and Java from the system's packages where there is none.
$(VENV)/.spark: $(VENV)/.ready
	@command -v java >/dev/null || \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null)
	@$(PIP) --group spark
	@touch $@

# One process each: Spark has one session a process, and its settings stay with Java.
SPARK_TESTS := tables/streams/test_spark tables/streams/test_spark_connect censuses/workers/test_spark_families
# Three minutes of processor time, so not in `make test`: executors killed, slow tasks.
SPARK_CLUSTER := tables/streams/test_spark_cluster

test-spark: $(VENV)/.spark ## The tests of Spark: a session, Spark Connect, a cluster of two workers
	@for tests in $(SPARK_TESTS) $(SPARK_CLUSTER); do $(BIN)/python -m pytest -q -m spark tests/$$tests.py || exit 1; done

test-fast: $(VENV)/.ready $(VENV)/.postgres ## Most tests in two minutes: no browser, no long statistics
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not long and not spark"

test-slow: $(VENV)/.browser $(VENV)/.postgres ## The strong, long versions of the privacy checks
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

check: $(VENV)/.ready ## Format, lint, types, import contracts, house rules, weight of the core
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/house_rules.py
	@$(BIN)/python scripts/sentences.py --check
	@$(BIN)/python scripts/weight.py

legibility: $(VENV)/.ready ## How readable the package is, in figures beside their goals
	@$(BIN)/python scripts/legibility.py

hooks: $(VENV)/.ready ## Let git run the fast checks before each commit
	@$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

format: $(VENV)/.ready ## Rewrite files in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/python scripts/sentences.py

capture: $(VENV)/.core ## Draw the picture in the README again, from a real run
	@$(BIN)/python scripts/capture.py docs/images/demo.svg

compare: $(VENV)/.core ## Run every synthesizer on the demo's survey; numbers, plot and table of docs/comparison.md
	@$(BIN)/python scripts/compare.py

screenshots: $(VENV)/.browser ## Take the pictures of the studio and the report again; DATA=DIR adds those of the census extract in it
	@$(BIN)/python scripts/screenshots.py docs/images $(if $(DATA),--data $(DATA))

bench: $(VENV)/.ready ## Run the benchmarks; they print ratios against peers and physical limits
	@for b in $(filter-out benchmarks/peers.py benchmarks/picture.py benchmarks/page.py benchmarks/looks.py benchmarks/stranger_report.py, $(wildcard benchmarks/*.py)); do echo "== $$b"; $(BIN)/python $$b || exit 1; done

bench-peers: $(VENV)/.ready ## Install the peers in environments of their own, and run them and ours on the same table; DATA=DIR adds Adult
	@$(BIN)/python benchmarks/peers.py --install $(if $(DATA),--survey --data $(DATA)/adult-coded.csv --domain $(DATA)/adult-coded-domain.json) $(OPTIONS)

docs: $(VENV)/.ready ## Build the documentation into site/, warnings are errors; links resolve, snippets run
	@$(BIN)/python scripts/build_site.py
	@$(BIN)/python -m pytest -q tests/test_docs.py

gallery: $(VENV)/.ready ## Run the notebooks of the gallery and store what they show
	@$(BIN)/python scripts/gallery.py

studio: $(VENV)/.ready ## The whole way in a browser, on the tables of FOLDER (default: demo)
	@mkdir -p -m 700 $(FOLDER)
	@$(BIN)/understudy studio $(FOLDER)

clean: ## Remove what the other verbs made
	rm -rf $(VENV) .venv-peers demo build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
