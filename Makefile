# Needs Python >= 3.11 and make. Everything else is installed into .venv from requirements/*.lock.
PYTHON ?= python3
# Test processes, three a core, since much of a test is waiting: 6 took 271 s, 4 took 368 s beside
# another run. 0 runs them in one, in order.
WORKERS ?= 6
SECONDS ?=
SITE ?= site
BIN := .venv/bin
START := $(shell date +%s)
# Where it is set, as in many containers, each of the hundreds of processes that tests start compiles
# all that it imports: `postroad --version` took 0.8 s of CPU, and takes 0.3 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo up test quick wide lint heart suite bench proof docs reference release plots drawings pictures lock audit clean run-venv dev-venv
.DEFAULT_GOAL := demo

# The whole server on SQLite in ./road/, until interrupted. ARGS="--app tasks:road" brings handlers.
up: run-venv
	@$(BIN)/postroad up $(ARGS)

demo: run-venv
	@$(BIN)/python -m postroad.demo

test:
	@$(MAKE) --no-print-directory -j2 heart suite
	@echo "make test: $$(($$(date +%s) - $(START))) s in all"

# The inner loop: what changed is linted; types; and the tests that need no server.
quick: dev-venv
	@$(BIN)/python scripts/quick.py

# The heart of the pages in a browser: one process, one Chromium, one test after the other, 45 s at
# most on a machine that does nothing else. Beside the suite, after the linters.
heart: lint
	@$(BIN)/python -m pytest -m heart tests/dashboard

# The tests that take long, then the quick ones on every other Python that the classifiers name.
wide: dev-venv
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'wide or heart'
	@$(PYTHON) scripts/wide.py

lint: dev-venv
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Beside mypy, which keeps one core busy for half a minute.
suite: .pytest_cache/compiled
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not wide and not heart'

# All tests are compiled once after a change, not by every test process. What is wrong with them is
# told by the run itself.
.pytest_cache/compiled: $(shell find src tests -name '*.py' 2>/dev/null) | dev-venv
	-@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1
	@mkdir -p $(@D) && touch $@

bench: dev-venv
	@$(BIN)/python -m bench $(NAME) $(if $(SECONDS),--seconds $(SECONDS))

proof: dev-venv
	@$(BIN)/python -m proof $(ITEM) $(if $(SECONDS),--seconds $(SECONDS))

# The site in site/, from docs/; a page without its place, or a link that leads nowhere, fails it. All pages
# are written: one that has not changed would keep the navigation of the last time.
docs:
	@$(PYTHON) scripts/venv.py docs .venv-docs
	@.venv-docs/bin/python -m sphinx -q -W --keep-going -E -a -b html -d $(SITE)/.doctrees docs $(SITE)
	@rm -r $(SITE)/.doctrees
	@echo "$(SITE)/index.html"

# The papers' flow charts as pictures, for the site. Needs `dot` (apt install graphviz).
drawings: dev-venv
	@$(BIN)/python scripts/drawings.py

# The pages of docs/reference/ that come from the code; tests compare them.
reference: dev-venv
	@$(BIN)/python scripts/reference.py

# dist/: wheel, sdist, bill of materials, OpenAPI file and SHA256SUMS; docs/releasing.md.
release: dev-venv
	@$(BIN)/python scripts/release.py $(ARGS)

# docs/figures.md and its pictures, from what `make bench` has left in bench/results/.
plots: dev-venv
	@$(BIN)/python scripts/plots.py

# docs/img/*.png: the pages of a road that runs, in a browser.
pictures: dev-venv
	@$(BIN)/python scripts/pictures.py

lock:
	@PYTHON=$(PYTHON) LOCK_ARGS="$(LOCK_ARGS)" sh scripts/lock.sh

# Every pin against the advisories of the package index; 3 when there is nobody to ask.
audit:
	@$(PYTHON) scripts/audit.py

clean:
	rm -rf .venv .venv-docs .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

run-venv:
	@$(PYTHON) scripts/venv.py run

dev-venv:
	@$(PYTHON) scripts/venv.py dev
