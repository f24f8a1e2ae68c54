# The commands of this repository; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
NATIVE := python/bentpipe/_native.abi3.so
# Contains maturin's arguments for compiling the engine, which depends on this file.
BUILT := .venv/built
# The profile of the engine. `dist` is for users and optimised across crates. `release` compiles in
# half the time and runs up to half as long again; `make run`, tests and packages use it. (The
# engine in a package is always `dist`, compiled by zig; the engine of this file only gives the site
# its version.) `make build` and `make bench` always compile `dist`; all other targets keep the
# profile of an existing engine.
ifneq ($(filter build bench,$(MAKECMDGOALS)),)
PROFILE ?= dist
else
PROFILE ?= $(or $(word 2,$(shell cat $(BUILT) 2>/dev/null)),$(if $(filter run check test docs wheel sdist deb test-packages,$(MAKECMDGOALS)),release,dist))
endif
# The set of Python packages (scripts/venv). The set of tests and documentation is three times as
# large as the set of a run.
PACKAGES ?= $(if $(filter check test test-kernel test-variants bench generate studies docs wheel sdist deb test-packages lock,$(MAKECMDGOALS)),dev,$(if $(filter web,$(MAKECMDGOALS)),testbed,run))

# The source files of the engine.
SOURCES := pyproject.toml $(wildcard Cargo.toml Cargo.lock rust-toolchain.toml .cargo/config.toml) $(shell find crates -type f ! -path '*/target/*' 2>/dev/null | tr ' ' '?')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help announce build run check test test-kernel test-variants kernel matrix bench studies web docs wheel sdist deb test-packages lock generate clean venv packages

help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

build: $(BIN)/bentpipe $(NATIVE) ## Set up .venv, compile the engine, install .venv/bin/bentpipe

venv:
	@scripts/venv $(PACKAGES)

packages:
	@scripts/packages build

# scripts/built rewrites the file only if its content changes, so that only a change recompiles the
# engine.
$(BUILT): packages | venv
	@scripts/built $(PROFILE)

$(BIN)/bentpipe $(NATIVE) &: $(SOURCES) $(BUILT)
	@echo "bentpipe: compiling the engine"
	@PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/maturin develop $$(cat $(BUILT))
	@$(BIN)/python -m compileall -q python/bentpipe
	@touch $(BIN)/bentpipe $(NATIVE)

# Announces the work of a first run, which compiles for minutes almost without output.
announce:
	@[ -e $(BIN)/bentpipe ] || echo "bentpipe: installing 35 Python packages, compiling the engine (once; 3 minutes on two idle cores), then simulating an upload (seconds)"

run: announce build ## Simulate an upload, then CRA, RBDC and VBDC with Reno and Vegas, and write a report
	@scripts/run

check: build ## Run the static checks: format, lint, layers, types, generated files
	@scripts/check

# Installs the packages of tests while the engine compiles. `make -n` skips the installation: it
# would run this line, because the line calls make.
test: packages ## Run every check and every test
	@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),,scripts/packages test &) $(MAKE) build PROFILE=$(PROFILE) PACKAGES=dev && wait
	@scripts/ilbc
	@scripts/test

kernel: build ## Build the kernel of the clock `kernel` (once): a real Linux in virtual time
	@$(BIN)/bentpipe machine kernel build

test-kernel: kernel ## Run tests and studies with real kernels in virtual time, including long ones
	@BENTPIPE_LONG=1 $(BIN)/pytest tests/python/kernel/test_kernel*.py tests/python/tcp/test_parity.py -k 'kernel or guest'
	@$(BIN)/bentpipe reproduce satnex --test eggs-tcp

test-variants: build ## Compare every congestion control in engine and kernel, over five conditions (some minutes)
	@$(BIN)/pytest tests/python/tcp/test_parity_variants.py -m slow -s

matrix: kernel ## Build QUIC stacks from package registries, and compare them and Linux' TCP over satellite paths
	@$(BIN)/bentpipe matrix quic --build
	@$(BIN)/bentpipe matrix tcp

bench: build ## Measure speed and memory, as ratios to a baseline in the same session
	@scripts/bench

generate: build ## Update the files generated from the engine: types, reference pages
	@$(BIN)/python scripts/generate

studies: build ## Reproduce all published experiments (satnex needs `make kernel`); figures are written below runs/
	@for study in studies/*/; do $(BIN)/bentpipe reproduce $$(basename $$study | tr _ -) || exit 1; done

web: venv ## Build the page of the test bed (`bentpipe serve`); needs Node
	@scripts/web

docs: build ## Build the documentation site with a search in python/bentpipe/site, which `bentpipe docs` opens
	@scripts/wasm --build
	@scripts/docs

wheel: docs ## Build a wheel that needs no compiler and contains the site: dist/bentpipe-*.whl
	@scripts/wheel

sdist: docs ## Build the source package with all crates: dist/bentpipe-*.tar.gz
	@scripts/sdist

deb: wheel ## Build the Debian package: dist/bentpipe_*.deb
	@scripts/deb

test-packages: deb sdist ## Build all packages and test them without compiler, repository and network
	@scripts/packages container
	@$(BIN)/pytest -s tests/packages

lock: venv ## Update requirements/ from pyproject.toml, with the newest versions
	@scripts/lock --upgrade

clean: ## Remove everything that was built, but no runs
	rm -rf .venv target dist build examples/bentpipe.schema.json $(NATIVE) python/bentpipe/testbed/static python/bentpipe/site testbed/web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python tests studies scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
