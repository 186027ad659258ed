# Two commands do everything on a fresh Linux machine with Python 3.11 to 3.13: `make warehouse` and `make test`.

SUITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3 python; do \
	$$name -I -c '$(SUITS)' 2>/dev/null && command -v $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WAREHOUSE := warehouse
# A path as one word of the shell, whatever its characters are.
quoted = '$(subst ','\'',$1)'
PLACE = $(call quoted,$(WAREHOUSE))

# Variables of other programs in the user's shell are not passed on, except pip's own that say where packages come from
# and how to get there. PYTHONDONTWRITEBYTECODE, for one, would keep Python from caching the modules that it compiles, and
# pip installs them uncompiled.
PIP_KEPT := PIP_%INDEX PIP_%INDEX_URL PIP_FIND_LINKS PIP_TRUSTED_HOST PIP_%CERT PIP_PROXY PIP_%TIMEOUT PIP_RETRIES \
	PIP_CACHE_DIR PIP_NO_CACHE_DIR PIP_CONFIG_FILE PIP_KEYRING_PROVIDER
OTHERS := $(filter-out $(PIP_KEPT),$(filter PIP_% DAGSTER_% DBT_% GX_% PYTHON%,$(.VARIABLES)))
unexport $(OTHERS)
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help warehouse test lint format dagster faults pictures editor bench bench-dialogues bench-peers bench-exports bench-scores bench-pages bench-spark bench-readme spark validators lock clean

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

# The environment: exactly the packages of requirements.lock, checked by hash, and this clone itself.
$(READY): requirements.lock pyproject.toml
	@$(or $(PYTHON),false) -c '$(SUITS)' 2>/dev/null \
		|| { echo "error: no Python 3.11 to 3.13 found; install one, or name it with make PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) \
		|| { echo "error: $(PYTHON) has no working venv module (Debian: apt-get install python3-venv)" >&2; exit 2; }
	@echo "installing the locked environment into $(VENV)"
	@sed -n '/^pip==/,/[^\\]$$/p' requirements.lock > $(VENV)/pip.lock
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r $(VENV)/pip.lock
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

warehouse: $(READY) ## Build the warehouse from the embedded sample and say where it is.
	@$(BIN)/dialogue-warehouse build --warehouse $(PLACE)

test: $(READY) ## Run all tests.
	@$(BIN)/python -m pytest

lint: $(READY) ## Check style and types.
	@failed=; $(BIN)/ruff check . || failed=1; $(BIN)/ruff format --check . || failed=1; \
		$(BIN)/ty check --output-format concise || failed=1; $(BIN)/python -m tests.lint || failed=1; [ -z "$$failed" ]

format: $(READY) ## Format the Python code.
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

dagster: $(READY) ## Show the asset graph in a browser, with its schedules and sensors.
	@$(BIN)/python -m pipelines.dagster_graph.instance $(PLACE)
	@DAGSTER_DISABLE_TELEMETRY=1 DIALOGUE_WAREHOUSE=$(PLACE) $(BIN)/python -m pipelines.dagster_graph.web --daemon

# make faults ONLY=kill,disk SHARE=0.1; with SHARE, each fault happens less often, and docs/faults.md is not written.
faults: $(READY) ## Kill, limit and damage builds many times; results in docs/faults.md.
	@$(BIN)/python -m tests.faults $(if $(ONLY),--only "$(ONLY)") $(if $(SHARE),--share $(SHARE)) $(if $(SHARE),,--write)

spark: $(VENV)/.spark ## Install what `build --engine spark` needs besides Java: pyspark and dbt-spark.

$(VENV)/.spark: $(READY) requirements-spark.lock
	@echo "installing pyspark and dbt-spark into $(VENV)"
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements-spark.lock
	@touch $@

validators: .venv-validators/.ready ## Install the libraries that read exports, for their tests.

# --no-deps: the lock is complete, except for what left_out.txt leaves out.
.venv-validators/.ready: requirements-validators.lock requirements.lock
	@$(PYTHON) -m venv --clear $(@D)
	@echo "installing the libraries that read exports into $(@D)"
	@sed -n '/^pip==/,/[^\\]$$/p' requirements.lock > $(@D)/pip.lock
	@$(@D)/bin/python -m pip install --quiet --no-compile --require-hashes -r $(@D)/pip.lock
	@$(@D)/bin/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements-validators.lock
	@touch $@

pictures: $(READY) ## Take the README's pictures of the report and the dashboard again (needs Chromium).
	@$(BIN)/python -m tests.pictures $(PLACE)

# make bench SCALES="1 10" REPEATS=5 SCRATCH=/somewhere/large REAL=FOLDER; all of them have defaults.
BENCH = $(if $(SCALES),--scales "$(SCALES)") $(if $(REPEATS),--repeats $(REPEATS)) \
	$(if $(SCRATCH),--scratch "$(SCRATCH)") $(if $(REAL),--real "$(REAL)")
PEERS := $(patsubst tests/benchmarks/peers/read_with_%.txt,.venv-peers/%/.ready,$(wildcard tests/benchmarks/peers/*.txt))

# Needs npm, and is run when a version in package.json changes: the bundle is committed.
editor: ## Bundle the editor of the page of SQL again (needs npm).
	@dialogue_warehouse/site/editor/bundle.sh

bench: $(READY) ## Measure builds beside their floor (SCALES="1 10" REPEATS=5); results in warehouse/bench.
	@$(BIN)/python -m tests.benchmarks.bench $(BENCH)

bench-peers: $(READY) $(PEERS) ## Measure other libraries on the same files (SCALES=1 REPEATS=5).
	@$(BIN)/python -m tests.benchmarks.comparison $(BENCH)

bench-dialogues: $(READY) .venv-peers/datasets/.ready .venv-peers/convokit/.ready ## Measure dialogues in Python (WAREHOUSE=FOLDER RELEASE=FOLDER).
	@$(BIN)/python -m tests.benchmarks.dialogues $(PLACE) $(call quoted,$(or $(RELEASE),$(WAREHOUSE)/sample/sgd))

bench-exports: $(READY) .venv-peers/datasets/.ready ## Measure exports beside `datasets` (of real files, or WAREHOUSE=FOLDER).
	@$(BIN)/python -m tests.benchmarks.exports $(if $(filter file,$(origin WAREHOUSE)),,$(PLACE)) $(if $(REPEATS),--repeats $(REPEATS))

bench-scores: $(READY) ## Measure scores beside plain Python (WAREHOUSE=FOLDER RELEASE=FOLDER).
	@$(BIN)/python -m tests.benchmarks.scores $(PLACE) $(call quoted,$(or $(RELEASE),$(WAREHOUSE)/sample/sgd)) $(if $(REPEATS),--repeats $(REPEATS))

bench-spark: $(VENV)/.spark ## Measure builds by DuckDB and by Spark (SCALES="0.01 1" SCRATCH=/somewhere/large).
	@$(BIN)/python -m tests.benchmarks.engines $(if $(SCALES),--scales "$(SCALES)") $(if $(SCRATCH),--scratch "$(SCRATCH)")

bench-pages: $(READY) ## Measure the dashboard's pages and memory (WAREHOUSE=FOLDER; needs Chromium).
	@$(BIN)/python -m tests.benchmarks.pages $(PLACE) $(if $(REPEATS),--repeats $(REPEATS))

bench-readme: $(READY) ## Write the newest results into docs/benchmarks.md.
	@$(BIN)/python -m tests.benchmarks.report

.venv-peers/%/.ready: tests/benchmarks/peers/read_with_%.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet -r $<
	@touch $@

# Without ConvoKit's requirements for other tasks, such as torch: they are not needed to read a corpus.
.venv-peers/convokit/.ready: tests/benchmarks/peers/convokit.pins
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --no-deps -r $<
	@touch $@

COMPILE = uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	--no-strip-extras --no-header

lock: ## Pin the newest allowed versions (needs uv).
	$(COMPILE) pyproject.toml --extra build --extra arrow --extra ui --extra postgresql --extra dev -o requirements.lock
	$(COMPILE) pyproject.toml --extra build --extra spark --constraints requirements.lock -o requirements-spark.lock
	$(COMPILE) pyproject.toml --extra build --extra ui --extra postgresql --constraints requirements.lock -o deploy/requirements.lock
	$(COMPILE) tests/validators/requirements.txt --override tests/validators/left_out.txt -o requirements-validators.lock

# Files that a build writes into the clone's own warehouse folder, as in `WarehousePaths.places`.
BUILT = .scratch .spark .dagster .dbt raw builds sample reports dialogues.duckdb published.json .publishing.json .lock \
	.checked.json .silence.json alerts.jsonl .trouble.json .download_trouble.json .dialogue-warehouse

clean: ## Remove the environment and everything built; releases that were fetched stay.
	@[ -f dbt_project/dbt_project.yml ] || { echo "error: run make clean in the top folder of a clone" >&2; exit 2; }
	rm -rf $(VENV) .venv-peers .venv-validators *.egg-info
	@if [ -L warehouse ]; then echo "kept: warehouse is a link to another folder"; else rm -rf $(addprefix warehouse/,$(BUILT)); fi
	@if [ -d warehouse/landing ]; then echo "kept: the fetched releases (rm -r warehouse/landing removes them)"; fi
