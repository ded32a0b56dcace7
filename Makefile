# The two commands of a newcomer are `make run` and `make test`. Both set up all they need.

UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)

# cargo would look for the jobs of a parallel make, which recursive makes alone can use.
NO_JOBS := MAKEFLAGS=

# Python starts hundreds of times here. Where this is set, as in many images of Python, each start
# would compile everything that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test accept build lint licenses sbom audit bench verify-all figures race-workloads board stored-board \
	clean

run: build                 ## race eight real servers, and print the ranked table
	$(UV) run deadheat run $(FIRST_EIGHT) --connections 100 --budget 4m -o results.md

# The matrices of the tests are small: threads of OpenBLAS would only wait for them, and keep
# processors busy.
test: export OPENBLAS_NUM_THREADS := 1
test:                      ## every check and every test; the steps before pytest run in pairs
	$(MAKE) --jobs=2 --output-sync=target packages lint test-engine test-page compile-tests
	$(UV) run pytest -m alone $(ALONE)
	$(UV) run pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal -m "not alone"

# Many tests wait for servers or for another host, so there are twice as many workers as processors,
# and as many threads for the engine's tests.
WORKERS := $(shell echo $$(($$(nproc) * 2)))
ENGINE_THREADS := $(shell echo $$(($$(nproc) * 2)))
# The engine's tests and lints share one build without link-time optimization: see Cargo.toml.
ENGINE_TESTS := quick-link

# The files of the tests that run alone: to collect all others takes as long as some of these tests.
ALONE := $(shell grep -rl --include='*.py' 'mark\.alone' tests)

.PHONY: test-engine test-page compile-tests
compile-tests: build       # once: each worker would compile all tests for itself
	@mkdir -p target
	$(UV) run pytest --collect-only -qq > target/collected || { cat target/collected; exit 1; }

test-engine: lint-engine
	$(NO_JOBS) cargo test --locked --profile $(ENGINE_TESTS) --quiet -- --test-threads=$(ENGINE_THREADS)

test-page: build
	$(call npm_run,test,the tests of the page's JavaScript)

# Both parts are built at the same time, unless an outer make runs jobs in parallel already.
build: toolchains          ## the Python package, the load engine, the page
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2) sync page

.PHONY: sync
sync: $(UV)
	$(NO_JOBS) $(UV) sync --quiet

accept: build              ## write the golden files anew: git shows what changed
	$(UV) run pytest tests/golden --accept

# Formatting, lints and types, of all three languages.
.PHONY: lint-engine lint-python lint-page
lint: lint-engine lint-python lint-page

lint-engine: toolchains    # beside `build`: the profiles of cargo do not wait for each other
	$(NO_JOBS) cargo fmt --check
	$(NO_JOBS) cargo clippy --locked --profile $(ENGINE_TESTS) --quiet --all-targets -- -D warnings

lint-python: build
	$(UV) run ruff check
	$(UV) run ruff format --check
	$(UV) run mypy

lint-page: build
	$(call npm_run,lint,the checks of the page's JavaScript)

licenses:                  ## THIRD_PARTY.txt: the licenses of the crates in the engine
	$(UV) run python docs/supply_chain.py licenses

sbom: page                 ## what the package, the page and the engine contain, as CycloneDX JSON
	$(UV) run python docs/supply_chain.py sbom target/sbom

audit: build               ## known vulnerabilities, where an advisory database is reachable
	$(UV) run python docs/supply_chain.py audit

bench: build               ## the engine's cost beside wrk's and ab's
	$(UV) run python bench/engine.py

verify-all: build          ## every server in every setting, loaded; goes on where it was stopped
	-$(UV) run deadheat verify --all --freeze -o docs/results/servers.json --page docs/servers.md

figures: build             ## the figures in the documents, from the runs in docs/results
	$(UV) run deadheat report --from docs/results/make-run-awake.deadheat --format svg \
		-o docs/pictures/make-run.svg
	$(MAKE) stored-board
	cp target/board/index.svg docs/pictures/board-workloads.svg
	cp target/board-hello/index.svg docs/pictures/board.svg
	$(UV) run python docs/figures.py
	@! test -f docs/results/workloads.deadheat || $(UV) run python docs/workload_results.py

race-workloads: build      ## 24 servers on seven workloads, for docs/results/workloads.md
	$(UV) run deadheat run $(OF_EACH_KIND) --protocol bench/workloads.toml \
		--workload hello,json,route,page,echo,upload,wait
	$(UV) run deadheat export -o docs/results/workloads.deadheat
	$(UV) run python docs/workload_results.py

# zig links against an old C library, so that the wheel runs on any Linux with glibc 2.17 or newer.
.PHONY: wheel
wheel: page $(UV)          ## dist: the package for Linux, as a release has it
	$(UV) tool run --from 'maturin[zig]==1.16.0' maturin build --release --locked --zig \
		--compatibility manylinux2014 --out dist $(WHEEL_OPTIONS)

EDITION ?= target/edition

board: build               ## race every server that works here and write the board; goes on later
	$(UV) run deadheat board race -o $(EDITION) $(if $(BUDGET),--budget $(BUDGET))

# With URL, pages name their pictures for link previews: URL is where the boards will be.
stored-board: build        ## the boards of the editions in docs/results: all workloads, and hello
	$(UV) run deadheat board write docs/results/edition-workloads docs/results/workloads.deadheat \
		-o target/board $(if $(URL),--url $(URL))
	$(UV) run deadheat board write docs/results/edition -o target/board-hello \
		$(if $(URL),--url $(URL)/hello)

.PHONY: stored-transports
stored-transports: build   ## the page of the race over http, https and h2 in docs/results
	@mkdir -p target/transports
	$(UV) run deadheat report --from docs/results/transports.deadheat --format html \
		-o target/transports/index.html

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
	iproute2 nginx-light openssh-client openssh-server ruby-rack puma sbcl cl-hunchentoot
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

OF_EACH_KIND := go-net-http go-gin go-chi go-echo go-fiber go-fasthttp rust-hyper rust-axum \
	rust-actix-web node-http node-express node-fastify bun-serve deno-serve java-undertow java-vertx \
	python-uvicorn python-starlette python-fastapi python-aiohttp python-sanic \
	python-gunicorn-flask python-gunicorn-django ruby-sinatra

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

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
