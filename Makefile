# The commands of the project; `make help` lists them. All of them install what they need into .venv first.
PYTHON ?= python3.11
PORT ?= 8000
N ?= 10000
WORKERS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Ten times as fast, where it is there; what it cannot do is left to pip.
UV ?= $(shell command -v uv)
LOCKED := --quiet --no-deps --require-hashes -r requirements-dev.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo serve sample test test-long test-faults test-all attack reliability browser node web-server lint format docs examples messages screenshots bench shell lock audit sbom

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

$(STAMP): requirements.txt requirements-dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is needed; install it or set PYTHON=..." >&2; exit 1; }
	@# Where venv could not finish there is a python without pip, which only uv can go on with.
	@$(if $(UV),test -x $(BIN)/python,$(BIN)/python -m pip --version >/dev/null 2>&1) || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV) ..."
	@$(if $(UV),$(UV) pip install --python $(BIN)/python $(LOCKED) ||) $(BIN)/python -m pip install --disable-pip-version-check $(LOCKED)
	@touch $(STAMP)

setup: $(STAMP) ## install everything into .venv (quick when nothing changed)

demo: $(STAMP) ## set up and serve the demo storage on http://127.0.0.1:8000 (PORT=... changes it)
	@exec $(BIN)/python manage.py demo --bind 127.0.0.1:$(PORT)

serve: $(STAMP) ## run the production server (PORT=..., WORKERS=...)
	@exec $(BIN)/python manage.py serve --bind 127.0.0.1:$(PORT) $(if $(WORKERS),--workers $(WORKERS))

sample: $(STAMP) ## fill the storage demo/sample with N generated elements (N=10000)
	@$(BIN)/python manage.py sample_storage demo sample $(N)

test: $(STAMP) ## run the tests; needs no service started by hand
	@$(BIN)/python -m pytest $(ARGS)

test-long: $(STAMP) ## run the tests that take long by their nature: load, browsers, many random cases
	@$(BIN)/python -m pytest -m long -n 3 $(ARGS)

test-faults: $(STAMP) ## break things under load: database, pool, workers, disk, clients, migrations, clock
	@$(BIN)/python -m pytest -m fault -n 2 $(if $(ARGS),$(ARGS),tests/faults)

reliability: $(STAMP) ## attack it, try all faults, and write what was measured into docs/explanation/reliability.md
	@figures=$$(mktemp) && export REPOSITORY_FIGURES=$$figures && \
		$(MAKE) --no-print-directory attack && $(MAKE) --no-print-directory test-faults && \
		REPOSITORY_FIGURES=$$figures $(BIN)/python -m tests.reliability; status=$$?; rm -f "$$figures"; exit $$status

attack: $(STAMP) ## every operation with requests at random, by every role and by another tenant (ARGS="editor --cases 100")
	@$(BIN)/python -m tests.attack $(ARGS)

browser: ## install the browser that some long tests need (Debian's chromium, without its windows where there is that)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		echo "Installing chromium ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && \
			if apt-cache show chromium-headless-shell >/dev/null 2>&1; then package=chromium-headless-shell; else package=chromium; fi && \
			apt-get install -y -qq --no-install-recommends $$package >/dev/null'; }

node: ## install Node.js, npm and jq, which the tests of the documentation need (Debian's)
	@{ command -v npm && command -v jq; } >/dev/null || { \
		echo "Installing npm and jq ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm jq >/dev/null'; }

web-server: ## install nginx (which then serves port 80), openssl and the analyser of systemd, which check the files of docs/how-to/files (Debian's)
	@PATH="$$PATH:/usr/sbin"; { command -v nginx && command -v openssl && command -v systemd-analyze; } >/dev/null || { \
		echo "Installing nginx-light, openssl and systemd ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light openssl systemd >/dev/null'; }

test-all: test test-long test-faults ## run every test

lint: $(STAMP) ## check style, types, import directions, migrations and settings
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --num-workers 2 .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@REPOSITORY_PUBLIC_URL=https://repository.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(STAMP) ## put the code into its form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(STAMP) ## make the generated pages of docs/ anew
	@$(BIN)/python -m repository_site.core.environment
	@$(BIN)/python -m tests.permissions.matrix
	@$(BIN)/python manage.py draw_lifecycle --into docs/explanation/lifecycle.md
	@$(BIN)/python manage.py write_openapi --into docs/reference/openapi.json

examples: $(STAMP) ## record the examples of the OpenAPI document anew, by a run against the demo storage
	@REPOSITORY_WRITE_EXAMPLES=1 $(BIN)/python -m pytest -n 0 tests/repository_site/test_api_examples.py

messages: $(STAMP) ## bring the translations up to date; lists the texts that have none yet
	@$(BIN)/python -m repository_site.translations

screenshots: $(STAMP) browser ## make the pictures of docs/images anew
	@$(BIN)/python -m tests.browser.screenshots

bench: $(STAMP) ## measure, and write benchmarks/RESULTS.md (ARGS=--short for two minutes, ARGS=--long for a million elements)
	@$(BIN)/python -m benchmarks $(ARGS)

shell: $(STAMP) ## a Python shell with the project loaded
	@exec $(BIN)/python manage.py shell

audit: $(STAMP) ## look up known vulnerabilities of all packages (needs a network)
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements.txt -r requirements-traces.txt -r requirements-dev.txt

sbom: $(STAMP) ## write a bill of materials (CycloneDX JSON) to standard output
	@$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible requirements.txt

lock: $(STAMP) ## pin the requirements anew from pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.txt pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra dev --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra traces --constraint requirements.txt --output-file requirements-traces.txt pyproject.toml
