# The commands of this repository; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
NATIVE := python/bentpipe/_native.abi3.so
# Maturin's arguments for compiling the engine. The engine depends on this file.
BUILT := .venv/built
# `dist` is for users and optimised across crates; `release` compiles in half the time, runs up to half as long again, and
# `make run` and tests share it, as do the packages, whose own engine is always `dist` and compiled by zig: this one only gives the site its version. Only
# `make build` and `make bench` insist on `dist`: the others use the existing engine.
ifneq ($(filter build bench,$(MAKECMDGOALS)),)
PROFILE ?= dist
else
PROFILE ?= $(or $(word 2,$(shell cat $(BUILT) 2>/dev/null)),$(if $(filter run check test docs wheel sdist deb test-packages,$(MAKECMDGOALS)),release,dist))
endif
# The set of Python packages (scripts/venv): what tests and documentation need is three times what a run needs.
PACKAGES ?= $(if $(filter check test test-kernel test-variants bench generate studies docs wheel sdist deb test-packages lock,$(MAKECMDGOALS)),dev,$(if $(filter web,$(MAKECMDGOALS)),testbed,run))

# The sources of the compiled engine.
SOURCES := pyproject.toml $(wildcard Cargo.toml Cargo.lock rust-toolchain.toml .cargo/config.toml) $(shell find crates -type f ! -path '*/target/*' 2>/dev/null | tr ' ' '?')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help announce build run check test test-kernel test-variants kernel bench studies web docs wheel sdist deb test-packages lock generate clean venv packages

help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

build: $(BIN)/bentpipe $(NATIVE) ## Set up .venv, compile the engine, leave .venv/bin/bentpipe

venv:
	@scripts/venv $(PACKAGES)

packages:
	@scripts/packages build

# Written only when it changes, so that only a change recompiles the engine.
$(BUILT): packages | venv
	@scripts/built $(PROFILE)

$(BIN)/bentpipe $(NATIVE) &: $(SOURCES) $(BUILT)
	@echo "bentpipe: compiling the engine"
	@PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/maturin develop $$(cat $(BUILT))
	@$(BIN)/python -m compileall -q python/bentpipe
	@touch $(BIN)/bentpipe $(NATIVE)

# Before the first run takes minutes, in which only the compiler speaks.
announce:
	@[ -e $(BIN)/bentpipe ] || echo "bentpipe: installs 35 Python packages, compiles the engine (3 minutes on two idle cores, once), and simulates an upload (seconds)"

run: announce build ## The main job: one upload, then CRA, RBDC and VBDC with Reno and Vegas, and a report
	@scripts/run

check: build ## Run the checks that need no test: format, lint, layers, types, generated files
	@scripts/check

# What tests need is installed while the engine is compiled; not by `make -n`, which runs a line that calls make itself.
test: packages ## Run every check and every test
	@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),,scripts/packages test &) $(MAKE) build PROFILE=$(PROFILE) PACKAGES=dev && wait
	@scripts/ilbc
	@scripts/test

kernel: build ## Build the kernel of the clock `kernel`, once: a real Linux in virtual time
	@$(BIN)/bentpipe kernel build

test-kernel: kernel ## Tests and studies with real kernels in virtual time, including the long ones
	@BENTPIPE_LONG=1 $(BIN)/pytest tests/python/kernel/test_kernel*.py tests/python/tcp/test_parity.py -k 'kernel or guest'
	@$(BIN)/bentpipe reproduce satnex --test eggs-tcp

test-variants: build ## Every congestion control in engine and kernel, over five conditions: takes some minutes
	@$(BIN)/pytest tests/python/tcp/test_parity_variants.py -m slow -s

bench: build ## Speed and memory, as ratios against a baseline in the same session
	@scripts/bench

generate: build ## Regenerate the files generated from the engine: types, reference pages
	@$(BIN)/python scripts/generate

studies: build ## Reproduce every published experiment completely (satnex needs `make kernel`): verdicts, figures below runs/
	@for study in studies/*/; do $(BIN)/bentpipe reproduce $$(basename $$study | tr _ -) || exit 1; done

web: venv ## Build the page of the test bed (`bentpipe serve`), with Node
	@scripts/web

docs: build ## Build the documentation as a site with a search: python/bentpipe/site, which `bentpipe docs` opens
	@scripts/docs

wheel: docs ## Build a wheel that needs no compiler: dist/bentpipe-*.whl, with the site in it
	@scripts/wheel

sdist: docs ## Build the source package with all crates: dist/bentpipe-*.tar.gz
	@scripts/sdist

deb: wheel ## Build the Debian package: dist/bentpipe_*.deb
	@scripts/deb

test-packages: deb sdist ## Build all packages and use them without compiler, repository and network
	@scripts/packages container
	@$(BIN)/pytest -s tests/packages

lock: venv ## Rewrite requirements/ from pyproject.toml, with the newest versions
	@scripts/lock --upgrade

clean: ## Remove everything that was built, and nothing else
	rm -rf .venv target dist build examples/bentpipe.schema.json $(NATIVE) python/bentpipe/testbed/static python/bentpipe/site testbed/web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python tests studies scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
