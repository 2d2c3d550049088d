# `make help` lists the targets. Each target first installs what it needs into .venv.
# Distributions compile Python with profile-guided optimisation: it is up to 1.5 times as fast as one that pyenv has
# compiled. Their Python needs the package python3-venv.
ifndef PYTHON
PYTHON := $(shell for name in 3.11 3.12 3.13; do \
	/usr/bin/python$$name -c 'import ensurepip, venv' 2>/dev/null && echo /usr/bin/python$$name && break; \
	python$$name -c '' 2>/dev/null && echo python$$name && break; done || \
	{ python3 -c '' 2>/dev/null && echo python3; })
endif
PORT ?= 8000
N ?= 10000
WORKERS ?=
# The tests start many processes, which load compiled modules faster.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
# Stamps of what is installed, for each version of Python: what running needs, and the development tools.
RUN := $(VENV)/.installed-to-run-$(VERSION)
DEV := $(VENV)/.installed-to-develop-$(VERSION)
RUN_SIZE := about 300 MB, a minute with pip
DEV_SIZE := about 450 MB more, two minutes with pip
# uv is ten times as fast as pip, where it is installed; if it fails, pip does the work.
UV ?= $(shell command -v uv)
PIP_OPTIONS := --no-deps --require-hashes
INSTALL = $(if $(UV),$(UV) pip install --python $(BIN)/python $(PIP_OPTIONS) -r $(1) ||) \
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_OPTIONS) -r $(1)

.DEFAULT_GOAL := help
.PHONY: help python port setup demo serve sample test test-long test-faults test-fairness test-citus test-all attack reliability browser node web-server replication wrk lint format docs examples messages screenshots bench shell lock audit sbom

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

python:
	@case "$(VERSION)" in 3.11|3.12|3.13) ;; *) \
		echo "error: Python 3.11, 3.12 or 3.13 is needed; $(if $(VERSION),'$(PYTHON)' is Python $(VERSION),$(if $(PYTHON),'$(PYTHON)' does not run,none is on the PATH))." >&2; \
		echo "Install one, such as: apt install python3.11 python3.11-venv. Or name one: PYTHON=/path/to/python3.11 make $(MAKECMDGOALS)" >&2; \
		exit 1;; esac

port: python
	@$(PYTHON) -m repository_site.core.ports "$(PORT)" "PORT={port} make $(MAKECMDGOALS)"

# A .venv of another Python, or one that was left unfinished, is created again. (uv needs no pip in it.)
$(RUN): requirements.txt | python
	@test "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$(VERSION)" \
		&& $(if $(UV),true,$(BIN)/python -m pip --version >/dev/null 2>&1) || { \
		test ! -e $(VENV) || echo "Replacing $(VENV), which is not a complete environment of Python $(VERSION)." >&2; \
		$(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing the packages to run into $(VENV) ($(RUN_SIZE)) ..." >&2
	@$(call INSTALL,requirements.txt) >&2
	@touch $(RUN)

$(DEV): requirements-dev.txt $(RUN)
	@echo "Installing the development tools into $(VENV) ($(DEV_SIZE)) ..." >&2
	@$(call INSTALL,requirements-dev.txt) >&2
	@touch $(DEV)

setup: $(DEV) ## install everything into .venv, development tools included (quick when nothing changed)

demo: port $(RUN) ## create and serve the demo storage on http://127.0.0.1:8000 (PORT=... changes the port)
	@exec $(BIN)/python manage.py demo --bind 127.0.0.1:$(PORT)

serve: port $(RUN) ## run the production server (PORT=..., WORKERS=...)
	@exec $(BIN)/python manage.py serve --bind 127.0.0.1:$(PORT) $(if $(WORKERS),--workers $(WORKERS))

sample: $(RUN) ## fill the storage demo/sample with N generated elements (N=10000)
	@$(BIN)/python manage.py sample_storage demo sample $(N)

test: $(DEV) ## run the tests; needs no service started by hand
	@$(BIN)/python -m pytest $(ARGS)

test-long: $(DEV) ## run the slow tests: load, browsers, many random cases
	@$(BIN)/python -m pytest -m long -n 3 $(ARGS)

test-faults: $(DEV) ## run the fault tests, which break the database, workers, disk, clients or clock under load
	@$(BIN)/python -m pytest -m fault -n 3 --ignore tests/faults/test_fairness.py $(if $(filter-out --%,$(ARGS)),,tests/faults) $(ARGS)

test-fairness: $(DEV) ## run the tests of fairness between tenants, one after the other
	@$(BIN)/python -m pytest -m fault -n 0 tests/faults/test_fairness.py $(ARGS)

test-citus: $(DEV) ## run a part of the tests on a Citus cluster, or all with TEST_SCALE=full; skipped without Citus (ARGS="tests/elements")
	@$(BIN)/python -m tests.citus $(ARGS)

reliability: $(DEV) ## run attack, test-faults, test-fairness and the faults of a cluster, and write the figures into docs/explanation/reliability.md
	@figures=$$(mktemp) && export REPOSITORY_FIGURES=$$figures && \
		$(MAKE) --no-print-directory attack test-faults test-fairness && \
		$(MAKE) --no-print-directory test-citus ARGS=tests/citus_cluster && \
		REPOSITORY_FIGURES=$$figures $(BIN)/python -m tests.reliability; status=$$?; rm -f "$$figures"; exit $$status

attack: $(DEV) ## send random requests to every operation, as every role and from another storage (ARGS="editor --cases 100")
	@$(BIN)/python -m tests.attack $(ARGS)

browser: ## install the browser of some long tests (the chromium package of Debian)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		echo "Installing chromium ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && \
			if apt-cache show chromium-headless-shell >/dev/null 2>&1; then package=chromium-headless-shell; else package=chromium; fi && \
			apt-get install -y -qq --no-install-recommends $$package >/dev/null'; }

node: ## install Node.js, npm and jq (Debian packages) for the tests of the documentation, and the judges of BPMN documents (npm)
	@{ command -v npm && command -v jq; } >/dev/null || { \
		echo "Installing npm and jq ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm jq >/dev/null'; }
	@npm ci --silent --prefix tests/elements/bpmn/judges

web-server: ## install nginx (which then serves port 80), openssl and systemd (Debian packages) for the tests of docs/how-to/files
	@PATH="$$PATH:/usr/sbin"; { command -v nginx && command -v openssl && command -v systemd-analyze; } >/dev/null || { \
		echo "Installing nginx-light, openssl and systemd ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light openssl systemd >/dev/null'; }

replication: ## install Patroni, etcd, HAProxy, PgBouncer and PostgreSQL (Debian packages, which start services) for the test of fail-overs
	@PATH="$$PATH:/usr/sbin"; { command -v patroni && command -v etcd && command -v haproxy && command -v pgbouncer && ls /usr/lib/postgresql/*/bin/postgres; } >/dev/null 2>&1 || { \
		echo "Installing patroni, etcd-server, haproxy, pgbouncer and postgresql ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends patroni python3-etcd etcd-server haproxy pgbouncer postgresql >/dev/null'; }

test-all: test test-long test-faults test-fairness ## run every test

lint: $(DEV) ## check style, types, import directions, migrations and settings
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@# Exit status 2: on a busy machine, the workers may start too late.
	@$(BIN)/mypy --num-workers 2 . || { [ $$? = 2 ] && $(BIN)/mypy .; }
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@REPOSITORY_PUBLIC_URL=https://repository.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(DEV) ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(DEV) ## write the generated pages of docs/
	@$(BIN)/python -m repository_site.core.environment
	@$(BIN)/python -m tests.permissions.matrix
	@$(BIN)/python manage.py draw_lifecycle --into docs/explanation/lifecycle.md
	@$(BIN)/python manage.py write_openapi --into docs/reference/openapi.json

examples: $(DEV) ## record the examples of the OpenAPI document from the demo storage
	@REPOSITORY_WRITE_EXAMPLES=1 $(BIN)/python -m pytest -m "" -n 0 tests/repository_site/test_api_examples.py

messages: $(DEV) ## update the translations, and list the texts without one
	@$(BIN)/python -m repository_site.translations

screenshots: $(DEV) browser ## take the screenshots of docs/images again
	@$(BIN)/python -m tests.browser.screenshots

wrk: ## install wrk (Debian package), the load generator of the benchmarks
	@command -v wrk >/dev/null || { \
		echo "Installing wrk ..."; \
		$$(test "$$(id -u)" = 0 || echo sudo) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk >/dev/null'; }

bench: $(DEV) wrk ## run the benchmarks and write benchmarks/RESULTS.md (ARGS=--short: a few minutes, ARGS=--long: a million elements)
	@$(BIN)/python -m benchmarks $(ARGS)

shell: $(RUN) ## open a Python shell with the project loaded
	@exec $(BIN)/python manage.py shell

audit: $(DEV) ## look up known vulnerabilities of all packages (needs a network)
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements.txt -r requirements-traces.txt -r requirements-s3.txt -r requirements-dev.txt

sbom: $(DEV) ## write a bill of materials (CycloneDX JSON) to standard output
	@$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible requirements.txt

lock: $(DEV) ## pin the requirements from pyproject.toml again
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.txt pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra dev --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra traces --constraint requirements.txt --output-file requirements-traces.txt pyproject.toml
	@$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra s3 --constraint requirements.txt --output-file requirements-s3.txt pyproject.toml
