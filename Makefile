# make demo   set up .venv and optimize the sample collection
# make test   set up .venv and run every check: lint, types, import rules, kernels under sanitizers, tests
# make sanitize   run the native kernels under AddressSanitizer and UndefinedBehaviorSanitizer (needs g++ and cmake)
#
# PYTHON     the interpreter to build .venv with (3.11 or newer), e.g. make demo PYTHON=python3.12
# PIP_ARGS   more options for pip. Torch's default Linux build brings CUDA libraries of several GB along; to do
#            without:  make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"

PYTHON ?= python3
PIP_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
INPUTS := pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*)
BROWSERS := chromium chromium-browser google-chrome-stable google-chrome

.PHONY: demo test sanitize sanitize-where-possible lint browser sample constraints clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	$(BIN)/fsrs-opt optimize data/sample.colpkg

test: lint browser sanitize-where-possible
	$(BIN)/python -m pytest

# A browser for the tests of the report. Where there is none, and none can be installed, those tests are skipped.
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "Installing Chromium for the tests of the report."; \
	    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install chromium >/dev/null; \
	  else false; fi \
	  || echo "No Chromium here: the tests that open the report in a browser will be skipped." >&2

sanitize-where-possible:
	@if command -v cmake >/dev/null \
	    && echo 'int main() {}' | g++ -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null; \
	  then $(MAKE) --no-print-directory sanitize; \
	  else echo "No cmake, or no g++ with sanitizers: the kernels are not run under them." >&2; fi

sanitize:
	cmake -S . -B build/sanitize -DFSRS_OPT_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build build/sanitize --parallel 2
	build/sanitize/sanitize

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The sample data again (Linux with gcc; see data/README.md).
sample: $(VENV)/installed-test
	$(BIN)/python scripts/make_sample.py

# Pin what a fresh environment gets today. Torch stays as pinned; its platform libraries are left to it.
constraints: $(VENV)/made
	rm -rf $(VENV)-constraints
	$(BIN)/python -m venv $(VENV)-constraints
	$(VENV)-constraints/bin/python -m pip install --quiet $(PIP_ARGS) '.[test]' "$$(grep '^torch==' constraints.txt)"
	{ grep '^#' constraints.txt; \
	  $(VENV)-constraints/bin/python -m pip freeze --exclude fsrs-opt \
	  | grep -vE '^(nvidia-|cuda-|triton)' | sed -E 's/\+[a-z0-9.]+$$//'; } > $(VENV)-constraints/pins
	mv $(VENV)-constraints/pins constraints.txt
	rm -rf $(VENV)-constraints

clean:
	rm -rf $(VENV) $(VENV)-constraints build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Stamps: each step runs again only when what it depends on has changed.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made $(INPUTS)
	@echo "Installing fsrs-opt into $(VENV); this takes a few minutes the first time."
	$(INSTALL) -e .
	@touch $@

$(VENV)/installed-test: $(VENV)/made $(INPUTS)
	@echo "Installing fsrs-opt and its test tools into $(VENV); this takes a few minutes the first time."
	$(INSTALL) -e '.[test]'
	@touch $(VENV)/installed $@
