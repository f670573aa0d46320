# Front doors. `make setup` first; every other target runs it when it has to.

PYTHON  ?= python3
PROFILE ?= $(or $(patsubst .venv/setup-%,%,$(wildcard .venv/setup-*)),cpu)
CONFIG  ?= deployments/local.yaml
# Where pip's index lacks torch's CPU build: TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/setup-$(PROFILE)
PIP   := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup up down status test test-fast check format lock docs results clean bench bench-client \
  bench-peers bench-replay bench-gateway-path bench-abort bench-transformers bench-sweep bench-routing \
  bench-priority bench-real-engine bench-gateway bench-dispatch bench-failover bench-overload bench-soak

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

setup: $(STAMP) ## Install everything into .venv (PYTHON=, PROFILE=cpu|gpu, TORCH_INDEX=)

$(STAMP): requirements/$(PROFILE).txt requirements/dev.txt pyproject.toml
	@$(PYTHON) requirements/check_machine.py
	@rm -f $(VENV)/setup-*
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-deps $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) \
	  -r requirements/$(PROFILE).txt -r requirements/dev.txt
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

up: setup ## Start the deployment (CONFIG=deployments/local.yaml) and wait until it answers
	@$(BIN)/turnout up $(CONFIG)

down: setup ## Stop everything that `make up` started
	@$(BIN)/turnout down

status: setup ## Show what runs
	@$(BIN)/turnout status

test: setup ## All tests, end-to-end on real engines included
	$(BIN)/python -m pytest

test-fast: setup ## Tests without engines, under a minute
	$(BIN)/python -m pytest -m "not slow" --ignore=tests/e2e

check: setup ## Formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup ## Generate the reference pages
	$(BIN)/turnout config reference > docs/configuration.md

lock: setup ## Resolve the lock files anew
	cd requirements && for lock in cpu gpu dev; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	    --no-emit-index-url --no-emit-find-links --upgrade $$lock.in -o $$lock.txt \
	    $$(test $$lock = cpu && echo --excludes excluded.txt) \
	    $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX) --index-strategy unsafe-best-match); \
	done

RESULTS := docs/results
STATUS   = $(BIN)/turnout status --json |
GATEWAY  = http://127.0.0.1:8000/v1
TRACE   ?= AzureLLMInferenceTrace_conv.csv
PEERS   ?= .peers
WEIGHTS ?= $(firstword $(wildcard $(HOME)/.cache/turnout/models/smollm2*))

bench: bench-client bench-peers bench-gateway-path bench-abort bench-transformers bench-sweep bench-routing bench-priority bench-real-engine results ## All benchmarks that need no file of yours (after make up)

bench-client: setup ## The load tool's own rate, memory and size
	@$(BIN)/python -m turnout_load.bench.client_limits --out $(RESULTS)/load-client.json

bench-peers: setup ## The load tool beside aiperf and guidellm (PEERS= folder for their environments)
	@$(BIN)/python -m turnout_load.bench.peers --venvs $(PEERS) --out $(RESULTS)/load-peers.json

bench-replay: setup ## An hour of Azure's trace in a minute, against the mock (TRACE= the CSV)
	@$(BIN)/python -m turnout_load.bench.replay --trace $(TRACE) --out $(RESULTS)/load-replay.json

bench-gateway: setup ## Turnout's gateway beside other gateways (PEERS= folder, OUT= the goals' figures)
	@$(BIN)/python -m turnout_load.bench.gateway --venvs $(PEERS) --out $(RESULTS)/gateway.json \
	  $(if $(OUT),--figures $(OUT))

bench-gateway-path: setup ## What the gateway adds, direct path against handle path (after make up)
	@$(STATUS) $(BIN)/python -m turnout_load.bench.gateway_path --status - --out $(RESULTS)/gateway-path.json

bench-abort: setup ## How soon an engine is idle after its client left (after make up)
	@$(STATUS) $(BIN)/python -m turnout_load.bench.abort --status - --out $(RESULTS)/abort.json

bench-transformers: setup ## vLLM beside plain transformers generate (after make up)
	@$(STATUS) $(BIN)/python -m turnout_load.bench.transformers_generate --status - \
	  --weights $(WEIGHTS) --out $(RESULTS)/transformers.json

bench-sweep: setup ## The knee of the local deployment (after make up)
	@$(BIN)/python -m turnout_load.bench.local_sweep --url $(GATEWAY) --out $(RESULTS)/local-sweep.json

bench-routing: setup ## Always large against auto (after make up)
	@$(BIN)/python -m turnout_load.bench.routing --url $(GATEWAY) --out $(RESULTS)/routing.json

bench-priority: setup ## First come first served against priority, on an engine of its own (WEIGHTS=)
	@$(BIN)/python -m turnout_load.bench.priority --weights "$(WEIGHTS)" --out $(RESULTS)/priority.json

bench-real-engine: setup ## The load tools beside an engine that measures itself (WEIGHTS=, PEERS=)
	@$(BIN)/python -m turnout_load.bench.real_engine --weights "$(WEIGHTS)" --venvs $(PEERS) \
	  --out $(RESULTS)/real-engine.json

bench-soak: setup ## Half an hour at 80% load: do the gateway's memory or descriptors grow?
	@$(BIN)/python -m turnout_load.bench.gateway.soak --out $(RESULTS)/soak.json

bench-dispatch: setup ## The gateway's choice of replicas beside the usual ones, on echo replicas of unequal speed
	@$(BIN)/python -m turnout_load.bench.dispatch --out $(RESULTS)/dispatch.json

bench-overload: setup ## What the gateway answers in time at three times what its replicas can
	@$(BIN)/python -m turnout_load.bench.overload --out $(RESULTS)/overload.json

bench-failover: setup ## Replicas killed amid their streams: echoes, and real ones after make up CONFIG=deployments/two-replicas.yaml
	@$(BIN)/python -m turnout_load.bench.failover --turnout $(BIN)/turnout --out $(RESULTS)/failover.json

results: setup ## Generate the page of all results
	@$(BIN)/python -m turnout_load.bench.outcome $(RESULTS) > $(RESULTS)/page && mv $(RESULTS)/page $(RESULTS)/README.md

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
