# Each target installs what it needs: Python packages go to .venv, at the versions of requirements.lock.

PYTHON ?= python3.11
CORES ?= $(shell nproc)
MIRROR ?=
ENCODER ?=
OWN ?=

VENV := .venv
INSTALLED := $(VENV)/.installed
PIP := $(VENV)/bin/python -m pip install --disable-pip-version-check
SNAKEMAKE := $(VENV)/bin/snakemake --profile local --cores $(CORES)
# Rules and tests find the programs of the environment without activating it.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Without bytecode, each of the many processes of a run or of the tests compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help docs setup demo demo-all small small-highlights night encoder test test-all test-more test-quick test-fast test-demo-all test-benchmarks test-cluster test-slurm coverage lint format graph lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "CORES=$(CORES) CPUs to use   MIRROR=DIR folder with the upstream files (small)   PYTHON=$(PYTHON)"

setup: $(INSTALLED) ## install everything into .venv (again only if requirements.lock changed)

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "mbert-atlas needs Python 3.11 with venv. On Debian 12: sudo apt-get install python3 python3-venv" >&2; \
	  echo "Elsewhere: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --constraint requirements.lock pip setuptools setuptools_scm
	$(PIP) --no-build-isolation --requirement requirements.lock
	$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

DOCS := $(VENV)-docs
docs: ## the documentation as a site: results/site/index.html
	test -x $(DOCS)/bin/mkdocs || { $(PYTHON) -m venv $(DOCS) && $(DOCS)/bin/pip install $$(sed -n 's/^docs = \[\(.*\)\].*/\1/p' pyproject.toml | tr -d '",'); }
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "Start here: results/site/index.html"

demo: $(INSTALLED) ## highlights and claims on synthetic data, in minutes; no network, no GPU
	$(SNAKEMAKE) --configfile config/demo.yaml -- highlights
	@echo "Start here: results/demo/highlights/index.html"

demo-all: $(INSTALLED) ## every table and figure on synthetic data; reuses the results of `demo`
	$(SNAKEMAKE) --configfile config/demo.yaml -- all
	$(SNAKEMAKE) --configfile config/demo.yaml --report results/demo/report.html -- all
	@echo "Start here:                 results/demo/index.html"
	@echo "Figures, tables, captions:  results/demo/report.html"

small small-highlights night: MIRRORED := $(if $(MIRROR),--config mirror=$(abspath $(MIRROR)))
small: $(INSTALLED) ## real data, truncated, a real encoder: 2 to 3 hours on two cores with AVX512-BF16 (MIRROR=DIR or network)
	@echo "Two cores with AVX512-BF16 need 2 to 3 hours, others perhaps twice that; 3 GB of memory each, and 12 GB of disk, 1 GB of it downloads."
	@echo "Stop it with Ctrl-C; the same command resumes."
	$(SNAKEMAKE) --configfile config/small.yaml $(MIRRORED) -- all
	$(SNAKEMAKE) --configfile config/small.yaml $(MIRRORED) --report results/small/report.html -- all
	@echo "Start here: results/small/index.html"

small-highlights: $(INSTALLED) ## a few figures and tables of each paper on real data: 36 minutes on two cores with AVX512-BF16
	$(SNAKEMAKE) --configfile config/small.yaml $(MIRRORED) -- highlights
	@echo "Start here: results/small/highlights/index.html"

# ENCODER=hub:ORGANISATION/NAME or folder:DIR; its config is written once, so that a resumed night keeps its revision.
NIGHT := night$(if $(ENCODER),-$(subst .,-,$(firstword $(subst @, ,$(notdir $(ENCODER))))))
OTHER := $(if $(ENCODER),config/$(NIGHT).yaml)
NIGHTS := config/small.yaml config/night.yaml
night: $(INSTALLED) ## more seeds, tasks and controls than `small`, for a night on two cores (MIRROR=DIR or network; ENCODER=hub:ORG/NAME)
	@echo "5 GB of memory for each of two cores, and 14 GB of disk. Stop it with Ctrl-C; the same command resumes."
	$(if $(OTHER),test -f $(OTHER) || $(VENV)/bin/python -m mbert_atlas encoder $(ENCODER) --output $(OTHER) $(if $(MIRROR),--mirror $(abspath $(MIRROR))) --configfile $(NIGHTS))
	$(SNAKEMAKE) --configfile $(NIGHTS) $(OTHER) $(OWN) $(MIRRORED) -- all
	$(SNAKEMAKE) --configfile $(NIGHTS) $(OTHER) $(OWN) $(MIRRORED) --report results/$(NIGHT)/report.html -- all
	@echo "Start here: results/$(NIGHT)/index.html"

encoder: $(INSTALLED) ## retrain the encoders that ship with the repository for the demo
	$(SNAKEMAKE) --configfile config/demo.yaml --config use_shipped=false -- ship_encoders

# Tests of the demo share one copy of the repository, so that `test-all` reuses the results of `test`.
export MBERT_ATLAS_DEMO := $(CURDIR)/.pytest_cache/demo
PYTEST := $(VENV)/bin/python -m pytest
# Twice the cores: many of these tests wait, for Snakemake or for a stand-in of SLURM.
QUICK := OMP_NUM_THREADS=1 $(PYTEST) --numprocesses $(shell expr 2 \* $(CORES)) --dist worksteal -m "not (demo or demo_all or slurm or benchmark)"

test: $(INSTALLED) ## lint, unit tests, dry runs, and the demo's highlights with their checks
	$(MAKE) --jobs 2 --output-sync=target lint test-quick
	rm -rf $(MBERT_ATLAS_DEMO)
	$(PYTEST) -m demo

test-all: test test-more ## `test`, then the whole demo and the demo on a disposable SLURM cluster

test-more: $(INSTALLED) ## what `test-all` adds to `test`
	$(MAKE) --jobs 2 --output-sync=target test-demo-all test-cluster
	$(MAKE) test-benchmarks

test-quick: $(INSTALLED) ## unit tests and dry runs
	$(QUICK)

test-fast: $(INSTALLED) ## unit tests
	OMP_NUM_THREADS=1 $(PYTEST) --numprocesses $(CORES) tests/unit

test-demo-all: $(INSTALLED) ## the whole demo with its checks; reuses the results of `test`
	$(PYTEST) -m demo_all

test-benchmarks: $(INSTALLED) ## every benchmark in its smallest form: some minutes
	OMP_NUM_THREADS=1 $(PYTEST) --numprocesses $(CORES) -m benchmark

# Jobs on the cluster mostly wait, so these tests run alongside those of the demo.
test-cluster: $(INSTALLED) ## the demo on a disposable SLURM cluster, where SLURM is installed
	$(PYTEST) -m "slurm and not slow"

test-slurm: $(INSTALLED) ## fault injection on a disposable SLURM cluster: an hour (root, Debian 12)
	tests/slurm/dev_cluster.sh install
	$(PYTEST) -m slow tests/slurm

coverage: $(INSTALLED) ## line coverage of the unit tests and dry runs: 99%
	$(QUICK) --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

lint: $(INSTALLED) ## ruff, snakefmt, mypy, snakemake --lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/snakefmt --check Snakefile workflow
	$(VENV)/bin/mypy
	$(SNAKEMAKE) --configfile config/demo.yaml --lint

format: $(INSTALLED) ## reformat the sources
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/snakefmt Snakefile workflow

graph: $(INSTALLED) ## draw the rules by stage (docs/rules.md)
	$(VENV)/bin/python -m workflow.graph docs/rules.md

# torch pins its own CUDA packages and a CPU build has none, so the lock leaves them out. sil-thot has no wheel for
# Linux on ARM, where its line does not count.
lock: ## resolve requirements.in in a fresh environment and write requirements.lock
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --upgrade pip setuptools setuptools_scm
	$(VENV)-lock/bin/python -m pip install --no-build-isolation --requirement requirements.in
	{ echo "# Exact versions of requirements.in and of all that it needs. Written by \`make lock\`; don't edit."; \
	  $(VENV)-lock/bin/python -m pip freeze --all | sed 's/+cpu$$//; s/^sil-thot.*/&; platform_machine != "aarch64"/' | grep -viE '^(nvidia-|cuda-|triton)'; \
	} > requirements.lock
	rm -rf $(VENV)-lock
	awk -F== 'NR == FNR { pin[$$1] = $$2; next } /^      - .*==/ { $$0 = $$1 "==" pin[substr($$1, 9)] } 1' \
	  requirements.lock envs/mbert-atlas.yaml > envs/mbert-atlas.yaml.new
	mv envs/mbert-atlas.yaml.new envs/mbert-atlas.yaml

clean: ## remove the demo's results and all caches; keep other results
	rm -rf results/demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -not -path './$(VENV)/*' -exec rm -rf {} +
