# All tasks of the project. They need Go, make, and for the end-to-end tests node and npm. This file fetches the rest
# and installs nothing outside this folder and the caches of Go and npm, except a PostgreSQL server and ffmpeg for the tests where they are missing.

SHELL := /bin/bash -euo pipefail
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The version is that of the last tag, with how many commits came since; a tree without tags has that of the file VERSION, as not released yet.
VERSION := $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null | sed 's/^v//' | grep . || echo "$$(cat VERSION)-dev$$(git rev-parse --short HEAD 2>/dev/null | sed 's/^/./')")
LDFLAGS := -s -w -X weir/internal/app.Version=$(VERSION)
# How the program is built. The linters and the tests without the race detector take it, too: each package is compiled once for all of them.
AS_SHIPPED := CGO_ENABLED=0 GOFLAGS="$(strip $(GOFLAGS) -trimpath)"
GO_CODE := files.go cmd internal bench e2e

# The race detector needs a C compiler. Without one the tests run without it, and report that.
# It does not instrument the SQLite library and what that library takes for C's, which are translated from C and would take two thirds of the
# tests' time. No package that shares generic code with others may be left out as well (modernc.org/sqlite): the linker keeps one copy of a
# sync.Map's methods, and one without instruments reports races that are none.
UNRACED := modernc.org/sqlite/lib modernc.org/libc modernc.org/memory
RACE := $(shell command -v $$(go env CC) >/dev/null 2>&1 && echo -race $(UNRACED:%=-gcflags=%=-race=false))

.PHONY: help
help: ## list the tasks
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 14

.PHONY: run
run: build ## build Weir and start a demo with its simulator, on loopback
	@exec bin/weir demo

# The Go part is always run, because the Go tool detects changes itself.
.PHONY: build
build: web ## build bin/weir, with the web interface if npm is there
	$(MAKE) program

# The one place with the flags: releases and the container file build with it, too. The interface is the one that was built before.
PROGRAM ?= bin/weir
.PHONY: program
program:
	$(AS_SHIPPED) go build -ldflags "$(LDFLAGS)" -o $(PROGRAM) ./cmd/weir

# The interface is built again when one of its files changed. Without npm the program is built without it, and its pages say so.
WEB_FILES := $(shell find web/src web/*.html web/*.ts web/*.json internal/mail/facts.*.json -type f 2>/dev/null)

.PHONY: web
ifneq ($(shell command -v npm),)
web: internal/webui/dist/index.html ## build the web interface
else
web:
	@echo 'npm is missing: building without the web interface (it needs Node 20)'
endif

internal/webui/dist/index.html: $(WEB_FILES) web/node_modules/.package-lock.json
	cd web && npm run --silent build -- --logLevel warn
	@touch $@

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

.PHONY: web-test
web-test: web ## check the web interface: types, unit tests, sizes
	cd web && npm run --silent check && npm run --silent test && npm run --silent size

.PHONY: test
test: check-format lint unit web-test fuzz-briefly e2e ## run everything that must pass: format, lint with vet, unit tests, the web interface's, half a second of each fuzz target, end-to-end tests

.PHONY: check-format
check-format:
	@unformatted=$$(gofmt -l $(GO_CODE)); \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt mends it):\n%s\n' "$$unformatted"; exit 1; fi; \
	echo 'format: ok'

.PHONY: vet
vet:
	go vet ./...
	go -C e2e vet ./...

.PHONY: lint
lint: bin/golangci-lint lint-openapi lint-web vuln ## run the linters, and check for known vulnerabilities
	$(AS_SHIPPED) bin/golangci-lint run ./...
	cd e2e && ../bin/golangci-lint run ./...

.PHONY: lint-web
lint-web: web/node_modules/.package-lock.json ## check the web interface's code: format, mistakes, circles of imports
	cd web && npm run --silent lint

.PHONY: lint-openapi
lint-openapi: tools/openapi/node_modules/.package-lock.json ## check the OpenAPI document; a warning fails
	cd tools/openapi && REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm exec -- redocly lint ../../internal/httpapi/openapi.yaml

tools/openapi/node_modules/.package-lock.json: tools/openapi/package.json tools/openapi/package-lock.json
	cd tools/openapi && npm ci --no-audit --no-fund
	@touch $@

.PHONY: vuln
vuln: bin/govulncheck ## check for calls of known vulnerabilities (GOVULNDB=file:///dir: a mirror, VULN=required: fail without a database)
	@tools/vuln.sh

bin/govulncheck: tools/vuln/go.mod tools/vuln/go.sum
	go -C tools/vuln build -trimpath -o ../../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@touch $@

# From a separate module, because its two hundred dependencies must not be in the product's go.mod.
bin/golangci-lint: tools/go.mod tools/go.sum
	go -C tools build -trimpath -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# Tests start separate servers, in temporary folders and without a port. Only the programs are needed. A service that the
# package starts is not used and does no harm.
.PHONY: postgres
postgres: ## install the PostgreSQL server for tests, if it is missing (Debian and derivatives)
	@if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; then exit 0; fi; \
	$(call install-package,postgresql)

# TestFleet puts it before three nodes. The service that the package starts is not used.
.PHONY: nginx
nginx: ## install nginx for tests, if it is missing (Debian and derivatives)
	@if command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; then exit 0; fi; \
	$(call install-package,nginx)

# The tests compare the lengths of recordings with those of ffprobe, a program of this package.
.PHONY: ffmpeg
ffmpeg: ## install ffmpeg for tests, if it is missing (Debian and derivatives)
	@if command -v ffprobe >/dev/null; then exit 0; fi; \
	$(call install-package,ffmpeg)

# docs/webhooks.md has examples in Python; those in JavaScript use the node of the end-to-end tests.
.PHONY: python
python: ## install Python for tests, if it is missing (Debian and derivatives)
	@if command -v python3 >/dev/null; then exit 0; fi; \
	$(call install-package,python3)

# The tests of the interface read the invoices that people download.
.PHONY: poppler
poppler: ## install pdftotext for tests, if it is missing (Debian and derivatives)
	@if command -v pdftotext >/dev/null; then exit 0; fi; \
	$(call install-package,poppler-utils)

.PHONY: openssl
openssl: ## install openssl for tests, if it is missing (Debian and derivatives)
	@if command -v openssl >/dev/null; then exit 0; fi; \
	$(call install-package,openssl)

# The pages show code for PHP with its extension curl, and the tests of the interface run it.
.PHONY: php
php: ## install PHP for tests, if it is missing (Debian and derivatives)
	@if php -r 'exit(extension_loaded("curl") ? 0 : 1);' 2>/dev/null; then exit 0; fi; \
	$(call install-package,php-cli php-curl)

define install-package
root=; [ "$$(id -u)" = 0 ] || root='sudo -n'; \
	if ! command -v apt-get >/dev/null || ! $$root true 2>/dev/null; then \
		echo '$(1) is missing, and cannot be installed from here; on Debian: apt-get install $(1)' >&2; exit 1; fi; \
	$$root apt-get update -q && $$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(1)
endef

# Programs that tests start would each wait a second at their end for races that might still show. The race detector gives the shadow of
# large memory back to the system at each use, which costs more than the check. Tests wait for timeouts more than for processors, so several
# of a package run at a time. The linters have vetted them. They make thousands of small databases, which take half the time in memory.
unit: export GORACE = atexit_sleep_ms=0 clear_shadow_mmap_threshold=1073741824
TESTS_AT_ONCE := 6
ifneq ($(shell df -Pk /dev/shm 2>/dev/null | awk 'END { print ($$4 > 4000000) && $$6 == "/dev/shm" }'),0)
unit soak: export GOTMPDIR := $(or $(TMPDIR),/tmp)
unit soak: export TMPDIR := /dev/shm
endif

# Each of these keeps all processors busy. They run one after another, so that their times can be compared.
APP_TESTS := ./internal/app ./internal/app/accounts ./internal/app/nodes ./internal/app/media
LONG_TESTS := $(APP_TESTS) ./internal/store/sqlite ./internal/store/postgres ./cmd/weir
# Half of its time this one waits for silent nodes to count as dead.
WAITING_TESTS := ./internal/app/nodes
# The race detector makes parsers ten times slower, and those of plugins have nothing that runs beside something else.
FULL_TESTS := ./cmd/weir $(APP_TESTS) ./internal/ledger ./internal/plugin/pdf ./internal/plugin/pdftext ./internal/plugin/schema

.PHONY: unit
unit: postgres nginx ffmpeg python ## run the Go tests of the product, with the race detector if there is a C compiler, and the longest in full without it
	@[ -n "$(RACE)" ] || echo 'ATTENTION: no C compiler, so the race detector is off; on Debian: apt-get install gcc libc6-dev'
	go test -vet=off $(RACE) -short -parallel $(TESTS_AT_ONCE) -timeout 15m $$(go list ./... | grep -vxF "$$(go list $(LONG_TESTS))")
	go test -vet=off $(RACE) -short -parallel $(TESTS_AT_ONCE) -timeout 25m -p 1 $(filter-out $(WAITING_TESTS),$(LONG_TESTS))
	go test -vet=off $(RACE) -short -parallel 12 -timeout 15m $(WAITING_TESTS)
	$(AS_SHIPPED) go test -vet=off -parallel $(TESTS_AT_ONCE) -timeout 10m -p 2 -run "$$(tools/long-tests.sh $(FULL_TESTS))" $(FULL_TESTS)

.PHONY: fuzz
fuzz: ## run every fuzz target for ten minutes (FUZZTIME=1h: longer, AT_ONCE=4: four in parallel)
	tools/fuzz.sh $(or $(FUZZTIME),10m)

.PHONY: fuzz-briefly
fuzz-briefly: ## run every fuzz target for half a second, without coverage
	BLIND=1 tools/fuzz.sh 500ms

.PHONY: e2e
e2e: e2e-go e2e-node e2e-web e2e-clients ## test the built binary with the official SDKs, a browser, coding agents and frameworks

.PHONY: e2e-go
e2e-go: build
	go -C e2e test -count=1 -parallel $(TESTS_AT_ONCE) -timeout 10m ./...

.PHONY: e2e-node
e2e-node: build e2e/node/node_modules/.package-lock.json
	cd e2e/node && WEIR_BIN=$(CURDIR)/bin/weir npm test

e2e/node/node_modules/.package-lock.json: e2e/node/package.json e2e/node/package-lock.json
	cd e2e/node && npm ci --no-audit --no-fund
	@touch $@

.PHONY: e2e-web
e2e-web: build chromium python php poppler openssl e2e/web/node_modules/.package-lock.json ## test the web interface in Chromium
	cd e2e/web && WEIR_BIN=$(CURDIR)/bin/weir npm test

.PHONY: screens
screens: build chromium ffmpeg e2e/web/node_modules/.package-lock.json ## write pictures of every page to docs/screens, in 64 colours
	cd e2e/web && WEIR_BIN=$(CURDIR)/bin/weir node screens.js ../../docs/screens
	for f in docs/screens/*.png; do \
		ffmpeg -loglevel error -y -i $$f -vf 'split[a][b];[a]palettegen=max_colors=64:stats_mode=single[p];[b][p]paletteuse=dither=none' $$f.small.png && mv $$f.small.png $$f || exit 1; done

e2e/web/node_modules/.package-lock.json: e2e/web/package.json e2e/web/package-lock.json
	cd e2e/web && npm ci --no-audit --no-fund
	@touch $@

.PHONY: chromium
chromium: ## install Chromium without windows for the tests of the web interface, if there is none (Debian and derivatives)
	@for name in chromium-headless-shell chromium chromium-browser google-chrome; do if command -v $$name >/dev/null; then exit 0; fi; done; \
	$(call install-package,chromium-headless-shell)

# The packages of the agents have a gigabyte in total. Claude Code's needs its install script, which npm may be configured to skip.
.PHONY: e2e-clients
e2e-clients: build e2e/node/node_modules/.package-lock.json e2e/clients/node_modules/.package-lock.json
	cd e2e/clients && WEIR_BIN=$(CURDIR)/bin/weir npm test

e2e/clients/node_modules/.package-lock.json: e2e/clients/package.json e2e/clients/package-lock.json
	cd e2e/clients && npm ci --no-audit --no-fund --loglevel=error || { \
		echo 'The clients could not be installed: the npm registry is needed, and a gigabyte of disk.' >&2; exit 1; }
	cd e2e/clients && node node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@

# docs/reliability.md has its last output.
.PHONY: soak
soak: build postgres nginx chromium e2e/web/node_modules/.package-lock.json ## run the tests that are too long for make test: 200,000 schedules of failures, 1,000 kills, 1,000 calls at one moment under budgets and kills, a death at every step, 24,000 hostile calls, every state of every page, axe over each, and the effect of one user on another (about 25 minutes)
	go test -count=1 -timeout 60m ./internal/ledger -run 'TestSimulation$$' -sim.schedules 200000
	go test -count=1 -timeout 30m -parallel $(TESTS_AT_ONCE) -p 1 ./internal/store/sqlite ./internal/store/postgres
	go test -count=1 -timeout 60m -v ./cmd/weir -run 'TestKills$$' -kills 500 | { grep -vE '^=== |credited,' || true; }
	go test -count=1 -timeout 30m -v ./cmd/weir -run 'TestCeilingsUnderKills$$' -ceilings.calls 1000 -ceilings.kills 12 -ceilings.keys 1000 | { grep -v '^=== ' || true; }
	go test -count=1 -timeout 30m ./internal/app/accounts -run 'TestHostile(Charges|Wallets)$$' -rapid.checks 3000
	go test -count=1 -timeout 30m ./cmd/weir -run 'TestHostileFiles$$' -hostile.all
	cd e2e/web && SOAK=1 WEIR_BIN=$(CURDIR)/bin/weir node --test states.test.js access.test.js
	$(MAKE) fleet-test
	$(MAKE) upgrade-test
	$(MAKE) package-test
	$(MAKE) container-test
	$(MAKE) alerts-test
	$(MAKE) chart-test
	WEIR_NEIGHBOURS=measure go test -count=1 -timeout 30m -v ./internal/app/accounts -run 'TestNeighbours$$' | grep -E 'p99|^ok|FAIL|grew'

.PHONY: fleet-test
fleet-test: postgres nginx ## freeze, kill, cut off and restart nodes and PostgreSQL behind nginx, under load, each node in a network namespace (as root; a part of make soak)
	go test -count=1 -timeout 10m -v ./cmd/weir -run 'TestFleet$$' -fleet.long

.PHONY: upgrade-test
upgrade-test: postgres ## start a node beside one of the release before, on one PostgreSQL, under load (a part of make soak; needs the history of the repository)
	tools/previous.sh bin/weir-before
	go test -count=1 -timeout 10m -v ./cmd/weir -run 'TestUpgrade$$' -upgrade.from $(CURDIR)/bin/weir-before

.PHONY: package-test
package-test: build debootstrap ## install, upgrade and remove the Debian package in a clean root, and run its service under systemd there (as root; a part of make soak)
	tools/package-test.sh

.PHONY: container-test
container-test: build ## run the program as the container image does: a root that cannot be written, a user without rights, a volume (as root; a part of make soak)
	go test -count=1 -timeout 5m ./cmd/weir -run 'TestContainer$$' -container.program $(CURDIR)/bin/weir

.PHONY: alerts-test
alerts-test: python ## check the alert rules and the dashboard's expressions with Prometheus, when each alert fires, and the dashboard with Grafana's types (a part of make soak)
	tools/alerts-test.sh
	cd tools/dashboard && go test -count=1 ./...

.PHONY: chart-test
chart-test: build ## render the Helm chart with Helm's engine and read it as Kubernetes does (a part of make soak: it compiles both)
	cd tools/chart && WEIR_BIN=$(CURDIR)/bin/weir go test -count=1 ./...

.PHONY: debootstrap
debootstrap:
	@if command -v debootstrap >/dev/null; then exit 0; fi; \
	$(call install-package,debootstrap)

.PHONY: bench
bench: build ## measure Weir against nginx and a hand-tuned handler (BENCH='-passes 3' passes flags)
	go build -trimpath -o bin/bench ./bench
	bin/bench -weir $(CURDIR)/bin/weir $(BENCH)

.PHONY: web-trace
web-trace: build chromium e2e/web/node_modules/.package-lock.json ## trace the way from the catalog to the playground, pages, and long answers, on a slow device (RUNS=5 LATENCY=150 CPU=4 MODELS=500 TOKENS=100000)
	cd e2e/web && WEIR_BIN=$(CURDIR)/bin/weir node trace.js

CALLS ?= 1000000
ACCOUNTS ?= 200
KEYS ?= 4000
.PHONY: bench-data
bench-data: ## measure what pages read in databases with CALLS=1000000 (or several numbers, with commas), ACCOUNTS=200, KEYS=4000
	go test -run xxx -bench Pages -benchtime 30x -timeout 6h ./internal/store/sqlite ./internal/store/postgres -args -pages.calls $(CALLS) -pages.accounts $(ACCOUNTS) -pages.keys $(KEYS)

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: release
release: web bin/cyclonedx-gomod ## build the programs for all systems, Debian packages, lists of components and checksums into dist/
	rm -rf dist && mkdir dist
	for p in $(PLATFORMS); do \
		os=$${p%/*} arch=$${p#*/}; ext=; [ $$os != windows ] || ext=.exe; \
		echo "weir-$$os-$$arch$$ext"; \
		GOOS=$$os GOARCH=$$arch $(MAKE) program PROGRAM=dist/weir-$$os-$$arch$$ext || exit 1; \
	done
	if command -v dpkg-deb >/dev/null; then for arch in amd64 arm64; do packaging/deb.sh dist/weir-linux-$$arch $(VERSION) $$arch dist || exit 1; done; fi
	bin/cyclonedx-gomod bin -json -version "$(VERSION)" -output dist/weir.go.cdx.json dist/weir-linux-amd64
	mkdir dist/web && cp web/package.json web/package-lock.json dist/web/
	cd dist/web && npm pkg set version=0.0.0 && npm sbom --package-lock-only --sbom-format cyclonedx --sbom-type application --omit dev > ../weir.web.cdx.json # npm lists nothing that has no version
	rm -r dist/web
	$(MAKE) sums
	$(AS_SHIPPED) go test -vet=off -count=1 ./cmd/weir -run 'TestRelease$$' -release.dir $(CURDIR)/dist -release.version '$(VERSION)'

# A target of its own, so that a test can use it.
DIST ?= dist
.PHONY: sums
sums:
	cd $(DIST) && rm -f SHA256SUMS && sha256sum -- * > SHA256SUMS

bin/cyclonedx-gomod: tools/sbom/go.mod tools/sbom/go.sum
	go -C tools/sbom build -trimpath -o ../../bin/cyclonedx-gomod github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
	@touch $@

.PHONY: fmt
fmt: web/node_modules/.package-lock.json ## format the code: Go, and the web interface's
	gofmt -w $(GO_CODE)
	cd web && npm run --silent format

.PHONY: clean
clean: ## remove the files that other tasks built
	rm -rf bin dist web/node_modules internal/webui/dist/assets internal/webui/dist/*.html e2e/web/node_modules e2e/node/node_modules e2e/clients/node_modules tools/openapi/node_modules
