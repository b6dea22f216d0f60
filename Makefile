# Every target sets up what it needs on a machine with python3 (3.11+), make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

CLIENTS := .venv-clients
CLIENT_TESTS := tests/clients
BENCH_QUALITY := .venv-bench-quality
NPM := $(shell command -v npm)

.PHONY: run demo test soak bench bench-quality bench-conformance check audit clients agents fmt lock clean

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

run: $(READY)
	$(BIN)/concertina serve $(ARGS)

demo: $(READY)
	$(BIN)/concertina demo $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -m "not whole and not bench and not soak" $(ARGS)

# Half an hour; SOAK_SECONDS=600 makes it shorter.
soak: $(READY)
	$(BIN)/python -m pytest -m soak -s tests/soak $(ARGS)

# Ten minutes on a quiet machine; ARGS=--quick ninety seconds, ARGS=--peers other proxies as well (docs/speed.md).
bench: $(READY)
	$(BIN)/python -m bench.speed $(ARGS)

# litellm, which it is compared with, and matplotlib live in a venv of their own.
bench-quality: $(READY) $(BENCH_QUALITY)/.ready
	$(BIN)/python -m bench.bench_quality --litellm $(BENCH_QUALITY)/bin/python $(ARGS)
	$(BENCH_QUALITY)/bin/python bench/quality/plot.py bench/results/quality/quality.json bench/results/quality/quality.png

# Judges made by others; conpact wants more than its constraints need, so nothing comes with it.
bench-conformance: $(READY) $(BENCH_QUALITY)/.ready
	$(BIN)/python -m bench.bench_conformance $(BENCH_QUALITY)/lib/python3.*/site-packages

$(BENCH_QUALITY)/.ready: bench/quality/requirements.txt
	$(PYTHON) -m venv $(BENCH_QUALITY)
	$(BENCH_QUALITY)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	$(BENCH_QUALITY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps compaction-conformance-kit==0.8.0 conpact==0.1.0
	touch $@

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Known vulnerabilities in what is locked. Asks a service on the network, and fails where there is none.
audit:
	test -x .venv-audit/bin/pip-audit || $(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.venv-audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock

# Real clients for the tests marked "clients", which are skipped without them; Node's only where there is npm.
clients: $(CLIENTS)/.ready $(if $(NPM),$(CLIENT_TESTS)/node_modules/.package-lock.json)

$(CLIENTS)/.ready: $(CLIENT_TESTS)/requirements.txt
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

$(CLIENT_TESTS)/node_modules/.package-lock.json: $(CLIENT_TESTS)/package-lock.json
	cd $(CLIENT_TESTS) && npm ci --silent --ignore-scripts

# Real agents through sixty rounds of tools each; a minute or two and a gigabyte, so that no run of the tests has it.
agents: $(READY) .agents/node/node_modules .agents/python/.ready .agents/aider/.ready
	$(BIN)/python -m tests.agents.drive .agents $(ARGS)

.agents/node/node_modules:
	mkdir -p .agents/node
	cd .agents/node && npm install --silent --no-save --prefix . @qwen-code/qwen-code@0.15.10 \
		@mariozechner/pi-coding-agent@0.73.1 opencode-ai@1.18.33

.agents/python/.ready:
	$(PYTHON) -m venv .agents/python
	.agents/python/bin/python -m pip install --quiet --disable-pip-version-check mini-swe-agent==2.4.6
	touch $@

# Its requirements are pinned and at odds with those of others.
.agents/aider/.ready:
	$(PYTHON) -m venv .agents/aider
	.agents/aider/bin/python -m pip install --quiet --disable-pip-version-check aider-chat==0.86.2
	touch $@

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock:
	$(BIN)/pip-compile --quiet --allow-unsafe --generate-hashes --strip-extras --all-extras \
		--no-emit-index-url --no-emit-find-links --no-header --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) $(CLIENTS) .venv-audit .agents .bench $(CLIENT_TESTS)/node_modules .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
