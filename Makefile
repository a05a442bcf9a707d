# Each verb sets up what it needs: Python packages go to .venv, at the versions of requirements.lock.

PYTHON ?= python3.11
CORES ?= $(shell nproc)
MIRROR ?=

VENV := .venv
INSTALLED := $(VENV)/.installed
PIP := $(VENV)/bin/python -m pip install --disable-pip-version-check
SNAKEMAKE := $(VENV)/bin/snakemake --profile local --cores $(CORES)
# Rules and tests find the programs of the environment without its being activated.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.DELETE_ON_ERROR:
.PHONY: help setup demo demo-all small encoder test test-fast test-slurm test-demo test-cluster coverage lint format lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "CORES=$(CORES) CPUs to use   MIRROR=DIR folder with the upstream files (small)   PYTHON=$(PYTHON)"

setup: $(INSTALLED) ## install everything into .venv (again only after requirements.lock has changed)

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "mbert-atlas needs Python 3.11 with venv. On Debian 12: sudo apt-get install python3 python3-venv" >&2; \
	  echo "Elsewhere: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --constraint requirements.lock pip setuptools setuptools_scm
	$(PIP) --no-build-isolation --requirement requirements.lock
	$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

demo: $(INSTALLED) ## first results in minutes: highlights and claims in miniature; no network, no GPU
	$(SNAKEMAKE) --configfile config/demo.yaml -- highlights
	@echo "Start here: results/demo/highlights/index.html"

demo-all: $(INSTALLED) ## the whole workflow in miniature, going on from what `demo` has made
	$(SNAKEMAKE) --configfile config/demo.yaml -- all
	$(SNAKEMAKE) --configfile config/demo.yaml --report results/demo/report.html -- all
	@echo "Start here:                 results/demo/index.html"
	@echo "Figures, tables, captions:  results/demo/report.html"

small: MIRRORED := $(if $(MIRROR),--config mirror=$(abspath $(MIRROR)))
small: $(INSTALLED) ## real data, truncated: 3.4 hours on two cores, as predicted (MIRROR=DIR, or the network)
	$(SNAKEMAKE) --configfile config/small.yaml $(MIRRORED) -- all
	$(SNAKEMAKE) --configfile config/small.yaml $(MIRRORED) --report results/small/report.html -- all
	@echo "Start here: results/small/index.html"

encoder: $(INSTALLED) ## train the encoders that the repository ships for the demo, and put them there
	$(SNAKEMAKE) --configfile config/demo.yaml --config use_shipped=false -- ship_encoders

test: lint ## lint, then every test
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses $(CORES) --dist worksteal -m "not alone"
	$(MAKE) --jobs 2 --output-sync=target test-demo test-cluster

# A cluster mostly waits, so its tests run beside those of the demo.
test-demo: $(INSTALLED) ## the whole demo, and the tests of what it made
	$(VENV)/bin/python -m pytest -m "alone and not slurm"

test-cluster: $(INSTALLED) ## the demo on a SLURM cluster of its own (where one is installed)
	$(VENV)/bin/python -m pytest -m "slurm and not slow"

coverage: $(INSTALLED) ## what the tests reach that need no whole run of the demo (twice as slow as without)
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses $(CORES) --dist worksteal -m "not alone" \
	  --cov --cov-report=term-missing:skip-covered --cov-fail-under=85

test-fast: $(INSTALLED) ## the unit tests only
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses $(CORES) tests/unit

test-slurm: $(INSTALLED) ## faults on a SLURM cluster of its own: an hour (root, Debian 12)
	tests/slurm/dev_cluster.sh install
	$(VENV)/bin/python -m pytest -m slow tests/slurm

lint: $(INSTALLED) ## ruff, snakefmt, mypy, snakemake --lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/snakefmt --check Snakefile workflow
	$(VENV)/bin/mypy
	$(SNAKEMAKE) --configfile config/demo.yaml --lint

format: $(INSTALLED) ## rewrite the sources as lint wants them
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/snakefmt Snakefile workflow

# torch pins its CUDA packages itself, and a build without CUDA has none: they stay out of the lock.
lock: ## resolve requirements.in anew (in a fresh environment) and write requirements.lock
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --upgrade pip setuptools setuptools_scm
	$(VENV)-lock/bin/python -m pip install --no-build-isolation --requirement requirements.in
	{ echo "# Exact versions of requirements.in and of all that it needs. Written by \`make lock\`; don't edit."; \
	  $(VENV)-lock/bin/python -m pip freeze --all | sed 's/+cpu$$//' | grep -viE '^(nvidia-|cuda-|triton)'; \
	} > requirements.lock
	rm -rf $(VENV)-lock
	awk -F== 'NR == FNR { pin[$$1] = $$2; next } /^      - .*==/ { $$0 = $$1 "==" pin[substr($$1, 9)] } 1' \
	  requirements.lock envs/mbert-atlas.yaml > envs/mbert-atlas.yaml.new
	mv envs/mbert-atlas.yaml.new envs/mbert-atlas.yaml

clean: ## remove the demo's results and all caches; other results stay
	rm -rf results/demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -not -path './$(VENV)/*' -exec rm -rf {} +
