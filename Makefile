# The two commands of a newcomer are `make run` and `make test`. Both set up all they need.

UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)

.PHONY: run test accept build lint bench verify-all figures site clean

run: build                 ## race eight real servers, and print the ranked table
	$(UV) run deadheat run $(FIRST_EIGHT) --connections 100 --budget 4m -o results.md

test: build packages lint  ## every check and every test
	cargo test --locked --profile $(ENGINE_TESTS) --quiet
	$(call npm_run,test,the tests of the page's JavaScript)
	$(UV) run pytest --numprocesses auto --maxprocesses 8 --dist worksteal $(WITHOUT_LOAD)
	$(UV) run pytest $(addprefix --ignore=,$(WITHOUT_LOAD))

# The engine's tests and lints share one build without link-time optimization: see Cargo.toml.
ENGINE_TESTS := quick-link
# These tests load no server and measure none, so they run beside each other. All others run alone.
WITHOUT_LOAD := $(wildcard tests/test_*.py) $(addprefix tests/,\
	$(addprefix cli/test_,bundles.py doctor_command.py documents.py help.py list.py \
		progress_view.py stored.py) \
	$(addprefix host/test_,clock.py conversation.py doctor.py fake.py machine.py network.py) \
	$(addprefix measure/test_,contender.py gates.py response.py verify.py) \
	audit bench build campaign catalog golden protocol report serve site stats store)

build: toolchains $(UV) page   ## the Python package, the load engine, the page
	$(UV) sync --quiet

accept: build              ## write the golden files anew: git shows what changed
	$(UV) run pytest tests/golden --accept

lint: build                ## formatting, lints and types, of all three languages
	cargo fmt --check
	cargo clippy --locked --profile $(ENGINE_TESTS) --quiet --all-targets -- -D warnings
	$(UV) run ruff check
	$(UV) run ruff format --check
	$(UV) run mypy
	$(call npm_run,lint,the checks of the page's JavaScript)

bench: build               ## the engine's cost beside wrk's and ab's
	$(UV) run python bench/engine.py

verify-all: build          ## every server in every setting, loaded; goes on where it was stopped
	-$(UV) run deadheat verify --all --freeze -o docs/results/servers.json --page docs/servers.md

figures: build             ## the figures in the documents, from the runs in docs/results
	$(UV) run deadheat report --from docs/results/make-run.deadheat --format svg \
		-o docs/pictures/make-run.svg
	$(UV) run python docs/figures.py

site: build                ## the gallery of the runs in docs/results
	$(UV) run deadheat site docs/results/*.deadheat -o target/site

PAGE := src/deadheat/report/formats/page.html

.PHONY: page
page: $(PAGE)              ## script and style of the reports as HTML, in one file

$(PAGE): web/build.js web/package-lock.json $(wildcard web/src/*)
	@if command -v npm >/dev/null; then \
		(cd web && $(NPM_CI) && npm run --silent build) \
			|| echo "the page could not be built: reports as HTML are left out"; \
	else \
		echo "reports as HTML are left out: they need npm (apt-get install nodejs npm)"; \
	fi

# Installs what package-lock.json pins, unless the last installation did.
NPM_CI := { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent; }

# $(call npm_run,SCRIPT,WHAT): runs a script of web/package.json; without npm, says what is skipped.
npm_run = @if command -v npm >/dev/null; then \
		cd web && $(NPM_CI) && npm run --silent $(1); \
	else \
		echo "skipped $(2): they need npm (apt-get install nodejs npm)"; \
	fi

clean:                     ## what the commands above have made here
	rm -rf target .venv .tools

# What tests skip without. A developer's machine is left alone; one that says it is CI's is not.
PACKAGES := apache2-bin chromium erlang-base erlang-mochiweb erlang-inets fonts-dejavu-core libev-dev \
	nginx-light ruby-rack puma sbcl cl-hunchentoot
NO_SERVICES := /usr/sbin/policy-rc.d

.PHONY: packages
packages:
	@if [ -n "$$CI" ] && [ "$$(id -u)" = 0 ]; then \
		[ -e $(NO_SERVICES) ] || { made=1; printf '#!/bin/sh\nexit 101\n' > $(NO_SERVICES); }; \
		chmod +x $(NO_SERVICES); \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
			--no-install-recommends $(PACKAGES) > /dev/null; } || echo "some tests will be skipped"; \
		[ -z "$$made" ] || rm -f $(NO_SERVICES); \
	fi

FIRST_EIGHT := go-net-http go-gin rust-hyper node-http node-express \
	python-gunicorn-flask python-uvicorn java-undertow

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

.PHONY: toolchains
toolchains:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Python 3.11 or newer is missing: apt-get install python3 python3-venv"; exit 1; }
	@python3 -c 'import ensurepip' 2>/dev/null || \
		{ echo "Python's venv module is missing: apt-get install python3-venv"; exit 1; }
	@command -v cargo >/dev/null || \
		{ echo "a Rust toolchain is missing: see rustup.rs, or apt-get install cargo"; exit 1; }
	@command -v cc >/dev/null || \
		{ echo "a C linker is missing (Rust links with it): apt-get install gcc"; exit 1; }
