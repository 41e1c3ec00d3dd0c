# locklab: benchmarking and chaos harness for ZooKeeper locks.
# `make help` lists the targets; `make demo` and `make test` set themselves up.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# `make module PATH=…` names a module. Make would pass it to every recipe as the search path too, so the search path is
# read back from make's own environment.
ifeq ($(origin PATH),command line)
MODULE := $(PATH)
override PATH := $(shell while IFS= read -r -d '' v; do [[ $$v != PATH=* ]] || printf %s "$${v:5}"; done </proc/$$PPID/environ)
endif

GO ?= go
BIN := bin/locklab
DIST := dist
# The build is reproducible: the same commit makes the same binary, and so the same host image.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath
# A release has a version, such as v1.2.3. Without one, `locklab --version` shows the commit alone.
VERSION ?=
SOURCES := $(shell find harness workloads chaos recipes reports ensembles -name '*.go' -o -name '*.java' -o -name 'logback.xml' -o -name '*.yaml' -o -name 'help*.txt' -o -name 'bugs.json' -o -name '*.tmpl' -o -name '*.css' -o -name '*.js' 2>/dev/null | grep -v /testcluster/) go.mod go.sum

.PHONY: help build lab release module setup test test-netns test-process test-kubernetes own-cluster in-cluster test-all test-race soak soak-advise lint lint-readme lint-columns lint-lines bench figures versions gate-curve bench-peers bench-load image images demo gallery clean setup-zookeeper setup-race setup-clojure setup-readers setup-chromium curator kazoo zk-lock broken-lock

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: $(BIN) ## build bin/locklab, static

$(BIN): $(SOURCES)
	$(BUILD) -o $@ ./harness/cmd/locklab

# The tools of a release are no tools of the module: its users would fetch them.
NFPM := $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
SBOM := $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
RELEASE_FLAGS = -s -w -X $(shell $(GO) list -m)/harness/rundir.release=$(VERSION)
release: ## write binaries, .deb, .rpm, images, SBOM, notes and checksums to dist/ (VERSION=v1.2.3)
	@[[ '$(VERSION)' =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$$ ]] || \
		{ echo "say which version it is: make release VERSION=v1.2.3" >&2; exit 2; }
	rm -rf $(DIST)
	mkdir $(DIST)
	for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch $(BUILD) -ldflags '$(RELEASE_FLAGS)' -o $(DIST)/locklab-linux-$$arch ./harness/cmd/locklab; \
		for kind in deb rpm; do \
			ARCH=$$arch DIST=$(DIST) VERSION=$(VERSION) $(NFPM) package --config .github/release/nfpm.yaml --packager $$kind \
				--target $(DIST)/; \
		done; \
		.github/release/image.sh $(DIST)/locklab-linux-$$arch $$arch $(VERSION) $(DIST)/locklab-image-linux-$$arch.tar.gz; \
	done
	$(SBOM) bin -json -noserial -output $(DIST)/locklab.cdx.json $(DIST)/locklab-linux-amd64
	{ echo '# locklab $(VERSION)'; sed 1d .github/CHANGELOG.md; } > $(DIST)/NOTES.md
	cd $(DIST) && sha256sum locklab* > SHA256SUMS

# An import path stands in quotes in Go and in backquotes in Markdown, and a linker flag names a package after -X. What
# follows is one of the folders, so names of images such as locklab/host stay as they are.
FOLDERS := recipes|ensembles|workloads|chaos|harness|reports
module: ## rename the module everywhere: make module PATH=example.org/you/locklab
	@[ -n "$(MODULE)" ] || { echo "say what to rename the module to: make module PATH=example.org/you/locklab" >&2; exit 2; }
	@old=$$($(GO) list -m) && $(GO) mod edit -module '$(MODULE)' && \
		find . \( -name .git -o -name runs -o -name bin -o -name $(DIST) \) -prune -o \( -name '*.go' -o -name '*.md' \) -print0 | \
		xargs -0 sed -E -i -e "s#([\"\`]|-X )$${old//./[.]}/($(FOLDERS))([/.\"\`])#\1$(MODULE)/\2\3#g" \
			-e "s#\"$${old//./[.]}/\"#\"$(MODULE)/\"#g" && \
		(cd recipes/examples/sqlite && $(GO) mod edit -module '$(MODULE)/recipes/examples/sqlite' -droprequire "$$old" \
			-dropreplace "$$old" -require '$(MODULE)@v0.0.0' -replace '$(MODULE)=../../..') && \
		gofmt -w $(subst |, ,$(FOLDERS)) && \
		echo "$$old is $(MODULE) now; see git diff"

demo: lab ## show a lock that works, one that a pause breaks, and one with fencing (45 s; 2 m 35 s with its image, the first time)
	$(BIN) demo

gallery: image curator broken-lock ## make each known bug of a lock show, and print how many the checks caught
	$(BIN) image 3.8.0 # for the known bug of that version
	$(BIN) repro --all --attempts 6

# Where no Docker engine answers, labs are made of network namespaces, with the Java and the ZooKeeper of this machine.
lab: build ## make sure that labs can be made: an image for Docker or, without Docker, Java and ZooKeeper on this machine
	@if $(BIN) image --no-build >/dev/null 2>&1; then $(MAKE) --no-print-directory image; else \
		$(MAKE) --no-print-directory setup-zookeeper; fi

# The packages that building an image needs are installed only if an image has to be built.
image: build ## make sure that there is an image with Java and ZooKeeper (about a minute, once)
	@if [ "$$($(BIN) image --no-build)" = build ]; then $(call install,mmdebstrap,mmdebstrap); fi
	$(BIN) image

images: build ## build an image of each version of ZooKeeper that Debian's packages have (half a minute each)
	@$(call install,mmdebstrap,mmdebstrap)
	$(BIN) image all

# To use another Curator than Debian's: LOCKLAB_CURATOR_JARS=… make curator. Debian 12 has 5.4.0, and 5.7.1 is unpacked
# from the packages of Debian 13.
curator: build ## make sure that Apache Curator, 5.7.1 and 5.4.0, can be run beside our locks (a minute, once)
	@$(call install,javac,openjdk-17-jdk-headless)
	@if [ -z "$${LOCKLAB_CURATOR_JARS:-}" ]; then \
		$(call install-file,/usr/share/java/curator-recipes.jar,libcurator-recipes-java); \
		( $(call install,mmdebstrap,mmdebstrap) ) || true; fi
	$(BIN) curator
	@[ -n "$${LOCKLAB_CURATOR_JARS:-}" ] || $(BIN) curator 5.4.0

# kazoo's driver runs in an image of its own, with Debian's Python and kazoo.
KAZOO_IMAGE := locklab/kazoo:debian
kazoo: ## make sure that there is an image with kazoo, for the example driver in Python (about two minutes, once)
	@if ! docker image inspect $(KAZOO_IMAGE) >/dev/null 2>&1; then \
		$(call install,mmdebstrap,mmdebstrap); \
		mmdebstrap --quiet --variant=minbase --include=python3-kazoo --format=tar bookworm - $${LOCKLAB_DEBIAN_MIRROR:-} | \
			docker import - $(KAZOO_IMAGE)-unfinished >/dev/null && \
		docker tag $(KAZOO_IMAGE)-unfinished $(KAZOO_IMAGE) && docker rmi $(KAZOO_IMAGE)-unfinished >/dev/null; \
	fi

zk-lock: ## build bin/zk-lock, the example driver with go-zookeeper's zk.Lock
	$(BUILD) -o bin/zk-lock ./workloads/foreign/examples/zk-lock

broken-lock: ## build bin/broken-lock, the foreign locks with known bugs
	$(BUILD) -o bin/broken-lock ./recipes/broken/broken-lock

# The race detector needs a C compiler. Go-zookeeper has a data race where it connects, so a copy is made in the user's
# cache in which the accesses are atomic.
RACE := bin/race
RACE_ZK := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/locklab/go-zookeeper
setup-race:
	@$(call install,gcc,gcc libc6-dev)
	@$(GO) mod download github.com/go-zookeeper/zk
	@set -- $$($(GO) list -m -f '{{.Version}} {{.Dir}}' github.com/go-zookeeper/zk); zk=$(RACE_ZK)-$$1-atomic; \
	if [ ! -e $$zk ]; then mkdir -p $$(dirname $$zk); new=$$(mktemp -d $$zk.XXXXXX); cp -r $$2/. $$new; chmod -R u+w $$new; \
		sed -E -i -e 's/c\.lastZxid = (.*)/atomic.StoreInt64(\&c.lastZxid, int64(\1))/' \
			-e 's/: ( *)c\.lastZxid,/: \1atomic.LoadInt64(\&c.lastZxid),/' $$new/conn.go; \
		mv -T $$new $$zk 2>/dev/null || rm -rf $$new; fi; \
	mkdir -p $(RACE) && cp go.mod go.sum $(RACE) && $(GO) mod edit -replace github.com/go-zookeeper/zk=$$zk $(RACE)/go.mod

# Clojure, in which Jepsen is written, reads exported histories in a test.
setup-clojure:
	@$(call install,clojure,clojure)

# The readers of formats of locklab export, in tests: Prometheus' promtool, jq, GitHub's cmark-gfm, and junitparser. And
# kazoo, whose lock is an example of a driver.
setup-readers:
	@$(call install,promtool,prometheus)
	@$(call install,jq,jq)
	@$(call install,cmark-gfm,cmark-gfm)
	@$(call install-file,/usr/lib/python3/dist-packages/junitparser,python3-junitparser)
	@$(call install-file,/usr/lib/python3/dist-packages/kazoo,python3-kazoo)

# Labs that are not made of containers use the Java and the ZooKeeper of the machine.
setup-zookeeper:
	@$(call install-file,/usr/share/java/zookeeper.jar,openjdk-17-jre-headless libzookeeper-java)

# Chromium shows reports in tests.
setup-chromium:
	@$(call install,chromium,chromium)

# install,PROGRAM,PACKAGES installs packages unless the program is there. Without the right to install, it names the
# packages and stops.
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

# Packages whose tests measure, or look at the whole machine, run one at a time, and every time, because they depend on
# more than their files. The longest comes first.
ALONE_TESTS := ./harness/run ./harness/gate ./harness/series/bench ./harness/benchpeers ./ensembles/docker \
	./ensembles/labtest/... ./ensembles/netns ./ensembles/process ./harness/incluster ./harness/doctor
# The others whose tests start labs run two at a time.
LAB_TESTS := ./recipes ./chaos/... ./recipes/curator ./recipes/zksession ./recipes/zktest ./recipes/broken ./ensembles \
	./ensembles/remote ./ensembles/txnlog ./harness/inspect ./harness/series
# The others run beside them, at a lower priority. Nightly ones run afterwards: they compile programs and start JVMs, and
# the containers of all labs together get no more of the processors from Linux than a single process outside.
SUITE_ORDER := $(if $(LOCKLAB_TEST_ALL),-after)
PLAIN_TESTS := ./recipes/broken/broken-lock ./ensembles/agent/... ./ensembles/debian ./ensembles/kubernetes ./ensembles/labs \
	./ensembles/reach ./ensembles/software ./ensembles/txnlog/nodes ./recipes/internal/... ./recipes/observe/... ./recipes/zkproto \
	./recipes/zktest/sim \
	./harness ./harness/cmd/... ./harness/commandline ./harness/console ./harness/fail ./harness/records ./harness/settings/... ./harness/untrusted/... ./harness/rundir/... ./harness/judge/... \
	./harness/secondopinion/... ./harness/watch/... ./harness/hiccups/... ./harness/history/... ./harness/check/... \
	./harness/scenario/... ./harness/simulate ./reports/... ./workloads/...
# Packages that start goroutines are tested with the race detector as well, as far as their tests are short: they leave
# out what needs a lab or a browser, simulates for long, or reconnects, where go-zookeeper has a race of its own. They
# are built without what only labs need. ensembles/kubernetes needs so much else that it has its turn in test-all.
RACE_TESTS := ./chaos ./ensembles/agent/serve ./ensembles/remote ./ensembles/txnlog \
	./harness/check ./harness/history ./harness/inspect ./harness/judge ./harness/rundir ./harness/watch ./harness/run ./harness/series \
	./recipes ./recipes/broken/... ./recipes/internal/... ./recipes/zksession ./recipes/zktest/... ./reports/chart ./reports/result ./reports/serve \
	./workloads/client ./workloads/foreign ./workloads/foreign/drivercheck ./workloads/lock ./workloads/resource

setup: image setup-race setup-clojure setup-readers setup-chromium setup-zookeeper curator ## install what the tests need (two to five minutes, once)

test: setup ## run the tests, on real ensembles (at most 15 minutes, and two to five more to install what they need, once)
	$(GO) run ./ensembles/labtest/suite/runsuite $(SUITE_ORDER) -alone '$(ALONE_TESTS)' -labs '$(LAB_TESTS)' -plain '$(PLAIN_TESTS)' -race '$(RACE_TESTS)'

test-race: image setup-race ## run the locks' tests with the race detector, on a copy of go-zookeeper without its own race
	$(GO) test -race -tags patched -modfile=$(RACE)/go.mod -p 1 -count=1 -timeout 40m ./recipes ./recipes/zksession ./recipes/zktest

# The faults conform on every kind of lab.
test-netns: lab setup-zookeeper ## run the tests of ensembles and faults in labs of network namespaces, as root or not
	LOCKLAB_TEST_LAB=netns $(GO) test -p 1 -count=1 -timeout 40m ./ensembles ./ensembles/netns ./chaos
	LOCKLAB_TEST_LAB=netns $(GO) test -count=1 -timeout 40m -run 'TestFaultsConform|TestStage$$' ./harness/run

test-process: lab setup-zookeeper ## run the tests of ensembles and faults in labs of child processes
	LOCKLAB_TEST_LAB=process $(GO) test -p 1 -count=1 -timeout 40m ./ensembles ./ensembles/process
	LOCKLAB_TEST_LAB=process $(GO) test -count=1 -timeout 40m -run TestFaultsConform ./harness/run

# A cluster of one or two nodes on this machine, from parts that are linked into one program and cached. If KUBECONFIG
# names a cluster, that one is used: it must have the images, and the namespace of `locklab manifests print`.
KUBERNETES := $(wildcard ensembles/kubernetes/testcluster/*.go ensembles/kubernetes/testcluster/*/*.go) \
	ensembles/kubernetes/testcluster/go.mod
KUBERNETES_VERSION = $(shell sed -n 's/^.*k8s.io\/kubernetes v//p' ensembles/kubernetes/testcluster/go.mod)
KUBERNETES_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/locklab
TEST_CLUSTER = $(KUBERNETES_CACHE)/testcluster-$(KUBERNETES_VERSION)-$(shell cat $(KUBERNETES) | sha256sum | cut -c1-12)
KUBERNETES_FLAG := -X k8s.io/component-base/version
KUBERNETES_LDFLAGS = -s -w $(KUBERNETES_FLAG).gitVersion=v$(KUBERNETES_VERSION) $(KUBERNETES_FLAG).gitMajor=1 \
	$(KUBERNETES_FLAG).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) $(KUBERNETES_FLAG).gitTreeState=clean \
	$(KUBERNETES_FLAG).gitCommit=0000000 $(KUBERNETES_FLAG).buildDate=1970-01-01T00:00:00Z
NODES ?= 1
SKEW ?= 0s
test-kubernetes: image ## run the tests of ensembles and faults in labs of pods: NODES=2 SKEW=100000s make test-kubernetes
	$(BUILD) -buildvcs=false -o bin/kubernetes/locklab ./harness/cmd/locklab
	@if [ -n "$${KUBECONFIG:-}" ]; then $(MAKE) --no-print-directory in-cluster; else \
		$(MAKE) --no-print-directory $(TEST_CLUSTER) && \
		docker save -o bin/kubernetes/zookeeper.tar "$$($(BIN) image)" && \
		$(TEST_CLUSTER) -nodes $(NODES) -skew $(SKEW) -archive bin/kubernetes/zookeeper.tar \
			-binary docker.io/locklab/pause:test=$(TEST_CLUSTER)-pause/pause \
			-binary "docker.io/locklab/host:$$(sha256sum bin/kubernetes/locklab | cut -c1-12)=bin/kubernetes/locklab" \
			-- $(MAKE) --no-print-directory own-cluster; fi

# Tests in a cluster of our own are made with no more rights than the manifests grant.
own-cluster:
	bin/kubernetes/locklab manifests print | $(TEST_CLUSTER) kubectl apply -f - >/dev/null
	@$(TEST_CLUSTER) kubectl config set-credentials locklab \
		--token="$$($(TEST_CLUSTER) kubectl -n locklab create token locklab --duration=8h)" >/dev/null
	$(TEST_CLUSTER) kubectl config set-context locklab --cluster=test --user=locklab >/dev/null
	LOCKLAB_KUBERNETES_CONTEXT=locklab LOCKLAB_ZOOKEEPER_IMAGE="$$($(BIN) image)" $(MAKE) --no-print-directory in-cluster

in-cluster:
	LOCKLAB_TEST_LAB=kubernetes $(GO) test -p 1 -count=1 -timeout 40m ./ensembles ./ensembles/kubernetes
	LOCKLAB_TEST_LAB=kubernetes $(GO) test -count=1 -timeout 40m -run 'TestFaultsConform|TestStage$$' ./harness/run
	LOCKLAB_TEST_LAB=kubernetes $(GO) test -count=1 -timeout 40m ./harness/incluster

$(TEST_CLUSTER):
	@$(call install,containerd,containerd)
	@$(call install-file,/usr/lib/cni/bridge,containernetworking-plugins)
	mkdir -p $(TEST_CLUSTER)-pause
	cd ensembles/kubernetes/testcluster && $(BUILD) -ldflags '-s -w' -o $(TEST_CLUSTER)-pause/pause ./pause && \
		nice env $(BUILD) -ldflags '$(KUBERNETES_LDFLAGS)' -o $@ .

# Nightly tests run on every kind of lab. The runs of the fuzzers are short, as their corpora are. By default a fuzzer
# makes each input that it keeps smaller for up to a minute, which would be all it does.
FUZZ := -run '^$$' -fuzztime 30s -fuzzminimizetime 10x -fuzz
test-all: kazoo ## run the nightly tests as well, on every kind of lab, catch every known bug, and run the fuzzers
	LOCKLAB_TEST_ALL=1 $(MAKE) --no-print-directory test
	$(GO) test -race -short -count=1 ./ensembles/kubernetes
	$(MAKE) --no-print-directory test-netns test-process gallery
	@if [ -e $(TEST_CLUSTER) ] || [ -n "$${KUBECONFIG:-}" ]; then $(MAKE) --no-print-directory test-kubernetes; \
		else echo "no test of labs in a cluster; make test-kubernetes builds one, once"; fi
	$(GO) test $(FUZZ) FuzzLoad ./harness/scenario
	$(GO) test $(FUZZ) FuzzDecode ./harness/history
	$(GO) test $(FUZZ) FuzzRead ./ensembles/txnlog
	$(GO) test $(FUZZ) FuzzRequest ./recipes/zktest

soak: image ## run the long suites: hundreds of kills and faults
	LOCKLAB_SOAK=1 $(GO) test -p 1 -timeout 3h -run 'Soak' -v ./harness/...

# LOCKLAB_SOAK_TIME=5m makes it shorter: so long for each session timeout, all three at the same time. The runs are
# kept in runs/_artifacts.
soak-advise: image ## compare advise with 25 minutes of pauses and crashes on three labs at once
	mkdir -p runs
	LOCKLAB_SOAK=1 $(GO) test -p 1 -count=1 -timeout 3h -run TestAdviseSoak -v -artifacts -outputdir $(CURDIR)/runs ./harness/series

lint: lint-readme lint-columns lint-lines ## check with gofmt, vet, modernizers, staticcheck, and what bounds the size
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "not gofmt-ed"; exit 1; }
	$(GO) vet ./...
	$(GO) fix -diff ./...
	$(GO) tool staticcheck ./...

# The first manual is short enough to be read to the end. Everything else is in the folders' manuals.
README_WORDS := 1500
lint-readme:
	@n=$$(wc -w < README.md); [ "$$n" -le $(README_WORDS) ] || \
		{ echo "README.md has $$n words; at most $(README_WORDS)"; exit 1; }

# grep counts characters, unlike awk, whose length counts bytes in some implementations.
lint-columns: ## check that no line of Go is longer than 120 columns
	@! LC_ALL=C.UTF-8 grep -rnE --include='*.go' '^.{121,}' . || { echo "longer than 120 columns"; exit 1; }

# What only tests use is no product: no package of locklab imports it, which a test checks. The aim is 80,000 lines.
TEST_SUPPORT := ensembles/kubernetes/testcluster ensembles/labtest harness/benchpeers harness/history/historytest \
	harness/run/testdata recipes/examples recipes/internal/wire reports/figures reports/gatecurve reports/internal
MOST_LINES := 107318
lint-lines: ## count the lines of Go outside tests and what only tests use
	@n=$$(git ls-files -z -- '*.go' ':!*_test.go' $(TEST_SUPPORT:%=':!%/') | xargs -0 cat -- 2>/dev/null | wc -l); \
	echo "$$n lines of Go outside tests; at most $(MOST_LINES)"; [ "$$n" -le $(MOST_LINES) ]

bench: image ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: image curator ## compare our mutex with zk.Lock and Curator's, from 1 to 1,000 clients (also in runs/bench-peers.json)
	CGO_ENABLED=0 $(GO) run -trimpath ./harness/benchpeers

# LOAD has flags: LOAD='--recipe zk-lock,mutex --choice uniform,dealt --rounds 10' measures all that is compared, in 50
# minutes; --connect host:port,… takes servers that are there, and --searches 5 compares the searches for the limit too.
LOAD ?=
bench-load: build setup-zookeeper ## compare the load that locklab makes with a thin program's, in ten minutes (also in runs/bench-load.json)
	CGO_ENABLED=0 $(GO) run -trimpath ./harness/benchpeers load $(LOAD)

# FIGURES=peers,shards names some of the figures, FOR=30m bounds the time, and MACHINE='hosted' names the machine. Each
# round is appended to the figure's records as soon as it is measured; a call goes on where the last one stopped. Commit
# the records and the manuals.
FIGURES ?=
figures: image curator kazoo ## measure what the manuals' tables lack, and write them: FIGURES=peers FOR=30m make figures
	CGO_ENABLED=0 $(GO) run -trimpath ./harness/benchpeers figures -only '$(FIGURES)' -for $(FOR) -machine '$(MACHINE)' \
		-kazoo $(KAZOO_IMAGE)
	$(GO) test -count=1 -run TestReadmeShowsTheFigures ./harness/cmd/locklab -update

# Each trial is kept as soon as it is made, and a call goes on where the last one stopped. Commit the records and the
# manual.
versions: images curator broken-lock ## try each version of ZooKeeper, each Curator with it, and upgrades: FOR=1h make versions
	CGO_ENABLED=0 $(GO) run -trimpath ./harness/benchpeers versions -for $(FOR)
	$(GO) test -count=1 -run TestReadmeShowsTheVersions ./harness/cmd/locklab -update

# Comparisons are added to those of the manual, whose table and picture are made again at the end, so they can be made in
# pieces; commit the file. CURVE=runs/mine.jsonl adds them to another file. No comparison begins that might not end in
# time. WEATHER=1 makes them under a load that comes and goes. MACHINE='4 cores, hosted' names the machine in the table.
FOR ?= 40m
CURVE ?= reports/gatecurve/testdata/comparisons.jsonl
WEATHER ?=
MACHINE ?=
gate-curve: image ## measure how often the gate is right on this machine: FOR=40m make gate-curve, as often as you like
	LOCKLAB_GATE_CURVE='$(abspath $(CURVE))' LOCKLAB_GATE_CURVE_FOR='$(FOR)' LOCKLAB_GATE_CURVE_WEATHER='$(WEATHER)' \
		LOCKLAB_GATE_CURVE_MACHINE='$(MACHINE)' $(GO) test -count=1 -timeout 0 -run TestSoakGateCurve -v ./harness/series/bench
	$(GO) test -count=1 -run TestReadmeShowsTheGateCurve ./harness/cmd/locklab -update

clean: ## remove bin/, dist/ and what killed runs left in the Docker engine
	-if [ -x $(BIN) ]; then $(BIN) clean; fi
	rm -rf bin $(DIST)
