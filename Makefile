# locklab: benchmarking and chaos harness for ZooKeeper locks.
# `make help` lists the targets; `make demo` and `make test` set themselves up.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
BIN := bin/locklab
# Reproducible: the same source makes the same binary, and so the same host image.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath
SOURCES := $(shell find harness workloads chaos recipes reports ensembles -name '*.go' -o -name '*.java' -o -name 'logback.xml' -o -name '*.yaml' -o -name '*.tmpl' -o -name '*.css' 2>/dev/null) go.mod go.sum

.PHONY: help build test test-all soak lint bench bench-gate bench-peers image demo clean setup-race curator

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: $(BIN) ## build bin/locklab, static

$(BIN): $(SOURCES)
	$(BUILD) -o $@ ./harness/cmd/locklab

demo: image ## three acts: a lock that works, one that is broken by a pause, one that is fenced (about a minute)
	$(BIN) demo

# What building an image needs is installed only if one has to be built.
image: build ## make sure that there is an image with Java and ZooKeeper (about a minute, once)
	@if [ "$$($(BIN) image --no-build)" = build ]; then $(call install,mmdebstrap,mmdebstrap); fi
	$(BIN) image

# Another Curator than Debian's: LOCKLAB_CURATOR_JARS=… make curator.
curator: build ## make sure that Apache Curator can be run beside our locks
	@$(call install,javac,openjdk-17-jdk-headless)
	@if [ -z "$${LOCKLAB_CURATOR_JARS:-}" ]; then $(call install-file,/usr/share/java/curator-recipes.jar,libcurator-recipes-java); fi
	$(BIN) curator

# The race detector needs a C compiler.
setup-race:
	@$(call install,gcc,gcc libc6-dev)

# install,PROGRAM,PACKAGES installs packages unless the program is there. Without
# the right to install it names them and stops.
define install
$(call install-unless,command -v $(1) >/dev/null,$(2))
endef

# install-file,FILE,PACKAGES installs packages unless the file is there.
define install-file
$(call install-unless,[ -e $(1) ],$(2))
endef

define install-unless
if ! { $(1); }; then \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "missing package(s): $(2). Install them as root: apt-get install $(2)" >&2; exit 7; \
	fi; \
	echo "installing $(2)"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2) >/dev/null; \
fi
endef

# Packages whose tests start ensembles run one at a time (-p 1), and anew each time
# (-count=1): what they depend on is more than their files.
LAB_TESTS := ./ensembles/... ./chaos/... ./recipes/... ./harness ./harness/bench ./harness/benchpeers ./harness/cmd/...
# The others run with the race detector. go-zookeeper has a race of its own when
# it reconnects, so tests that reconnect cannot.
PURE_TESTS := ./harness/hiccups/... ./harness/history/... ./harness/check/... ./harness/scenario/... ./reports/... ./workloads/...
# One simulation after the other, and one picture after the other, of code that other tests run with the race detector,
# which makes these ten times as long.
WITHOUT_RACE := TestSaturationOfAKnownLock|TestSweepPage

test: image setup-race curator ## all tests that fit into twenty minutes, on real ensembles
	$(GO) vet ./...
	$(GO) test -race -skip '$(WITHOUT_RACE)' $(PURE_TESTS)
	$(GO) test -run '$(WITHOUT_RACE)' ./workloads/client ./reports
	$(GO) test -p 1 -count=1 -timeout 40m $(LAB_TESTS)

test-all: test ## all of that, every fault at every step of every recipe, the race detector over simulated servers, each fuzzer for half a minute
	LOCKLAB_TEST_ALL=1 $(GO) test -count=1 -timeout 30m -run TestProtocolSteps ./recipes
	$(GO) test -race -short ./recipes ./chaos
	$(GO) test -run '^$$' -fuzz FuzzLoad -fuzztime 30s ./harness/scenario
	$(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime 30s ./harness/history
	$(GO) test -run '^$$' -fuzz FuzzRead -fuzztime 30s ./ensembles/txnlog

soak: image ## the long suites: kills and faults by the hundred
	LOCKLAB_SOAK=1 $(GO) test -p 1 -timeout 3h -run 'Soak' -v ./harness/...

lint: ## gofmt, vet, modernizers, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "not gofmt-ed"; exit 1; }
	$(GO) vet ./...
	$(GO) fix -diff ./...
	$(GO) tool staticcheck ./...

bench: image ## the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: image curator ## our mutex beside zk.Lock and Curator's, from 1 to 1,000 clients; also runs/bench-peers.json
	$(BIN) bench-peers

# Comparisons add up in runs/bench-gate, so it may be done in pieces: LOCKLAB_BENCH_GATE_TIME=4m make bench-gate.
bench-gate: image ## may a red be trusted here? Twenty comparisons of the same code, ten of one that hands off 20 % slower (about 25 minutes)
	LOCKLAB_BENCH_GATE=$(CURDIR)/runs/bench-gate $(GO) test -count=1 -timeout 3h -run TestSoakGate -v ./harness/bench

clean: ## remove bin/ and what killed runs left in the Docker engine
	-if [ -x $(BIN) ]; then $(BIN) clean; fi
	rm -rf bin
