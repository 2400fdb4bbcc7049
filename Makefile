# The project's commands. `make demo` needs only Go. `make test` also boots a real Kafka if Java and Maven are installed.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
SUMMARY := gotest.tools/gotestsum@v1.13.0

# How long the tests of one package may take: several times what they need on two quiet cores. Each wait in them may last
# three minutes, so that a busy machine fails no test.
TEST_TIMEOUT ?= 15m

# Real data for some tests. Without it they are skipped, and say so.
LOUVER_TEST_DATA ?= $(abspath ../shared/data)
export LOUVER_TEST_DATA

.PHONY: demo build share test otlp chaos mutate fuzz experiments pictures lint bench profile growth microbench clean

demo: build ## the whole service on an embedded broker, with simulated events
	./bin/louver demo

build: ## bin/louver
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/louver ./cmd/louver

share: build ## bin/share: the manual page, and what makes the Tab key complete in bash, zsh and fish
	mkdir -p bin/share/man/man1 bin/share/completions
	bin/louver man >bin/share/man/man1/louver.1
	bin/louver completion bash >bin/share/completions/louver.bash
	bin/louver completion zsh >bin/share/completions/louver.zsh
	bin/louver completion fish >bin/share/completions/louver.fish

# Tests are short, so they need not collect garbage as often as a service, nor be compiled by the program's profile. go
# vet runs once, before them. Packages whose tests mostly wait come first, so those that compute fill the gaps.
test: export GOGC = 400
test: export GOFLAGS += -pgo=off
# Modules of their own: the program depends neither on Helm, nor on what draws charts, nor on other Kafka clients. The last
# lines name each test that was skipped, and what would run it.
test: ## every test; more run at a time than there are cores
	for module in . deploy/helm mechanisms/experiments stream/bench; do (cd $$module && $(GO) vet ./...) || exit 1; done
	$(GO) run $(SUMMARY) --format pkgname --raw-command -- sh -c 'failed=0; run() { (cd $$1 && shift && \
		$(GO) test -json -vet=off -timeout $(TEST_TIMEOUT) "$$@") || failed=1; }; \
		run . -p 4 -parallel 12 ./cmd/... ./stream/... ./...; \
		run deploy/helm ./...; run mechanisms/experiments ./...; run stream/bench ./...; exit $$failed'

# The first time, compiling them takes two minutes of a core.
otlp: ## against the real OpenTelemetry Collector and the real Prometheus
	cd stream/otlptest && $(GO) test -count 1 -timeout $(TEST_TIMEOUT) ./...

# How many faults `make chaos` inflicts on a running service. The seed draws them. `make test` does a dozen.
CHAOS_FAULTS ?= 500
CHAOS_SEED   ?= $(shell date +%s)

chaos: ## faults of every kind, on three brokers, while known events come in; checks every figure and charge
	CHAOS_FAULTS=$(CHAOS_FAULTS) CHAOS_SEED=$(CHAOS_SEED) $(GO) test -run '^TestChaos$$' -v -timeout 12h ./cmd/louver

# Only mutations with one of these words in their place or their description. Empty: all.
MUTATIONS ?=

mutate: ## breaks the code in hundreds of places, one at a time: a test must notice each
	$(GO) run ./mechanisms/internal/mutate $(MUTATIONS)

# How long each fuzz target runs, on how many cores, and which targets: those with FUZZ in their folder or name. Empty: all.
FUZZTIME ?= 1m
FUZZCORES ?= 2
FUZZ ?=

# Go shortens each input that reaches new code, for up to a minute, and tries no others meanwhile. Ten tries are enough.
fuzz: ## every decoder against made-up input, one target after another; what fails is kept in testdata/fuzz
	@failed=; ran=; \
	for at in $$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' budget cmd mechanisms stream windows | \
		sed 's|/[^/]*:func |:|' | sort | grep -e '$(FUZZ)'); do \
		echo "$$at"; \
		if $(GO) test -run '^$$' -fuzz "^$${at#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x \
			-parallel $(FUZZCORES) "./$${at%:*}"; \
		then ran="$$ran $$at"; else failed="$$failed $$at"; fi; \
	done; \
	echo; echo "found nothing, in $(FUZZTIME) each:"; printf '  %s\n' $$ran; \
	if [ -n "$$failed" ]; then echo "failed:"; printf '  %s\n' $$failed; exit 1; fi

# Which experiments to run, such as -only means. Empty: all.
EXPERIMENTS ?=

experiments: ## repeats the papers' experiments, in about ten minutes on one core
	cd mechanisms/experiments && $(GO) run . $(EXPERIMENTS)

pictures: ## takes the README's pictures, one of which moves, from a running demo, in about ten minutes; needs Chromium
	LOUVER_PICTURES=$(abspath deploy/pictures) $(GO) test -run '^TestPictures$$' -v -timeout 30m ./cmd/louver/internal/demo

lint: ## golangci-lint, built from source at a fixed version
	$(GO) run $(LINT) run ./...
	cd mechanisms/experiments && $(GO) run $(LINT) run ./...
	cd stream/bench && $(GO) run $(LINT) run ./...
	cd stream/otlptest && $(GO) run $(LINT) run ./...

# Which rows of the table, by words in their names, such as keyed,floor (empty: all), and how many events each reads.
BENCH ?=
BENCH_EVENTS ?= 2000000

bench: ## what an event costs on a real broker, beside clients that only fetch; about a minute a row on two quiet cores
	cd stream/bench && BENCH=$(BENCH) BENCH_EVENTS=$(BENCH_EVENTS) $(GO) test -count 1 -run '^TestBench$$' -v -timeout 12h .

# From this profile the compiler knows where a service spends its time, and inlines there. It may be older than the code.
profile: ## writes cmd/louver/default.pgo, from a service that reads all kinds of events, in about a minute
	rm -rf bin/profiles && mkdir -p bin/profiles
	cd stream/bench && BENCH=keyed/un,csv,avro,otlp,windows/5,streams/20,groups/1000 BENCH_EVENTS=5000000 \
		BENCH_PROFILE=$(abspath bin/profiles) $(GO) test -count 1 -run '^TestBench$$' -v -timeout 1h .
	$(GO) tool pprof -proto bin/profiles/*.pprof >cmd/louver/default.pgo

# Which tables of growth, such as users,groups (empty: all), and up to how many events or users.
GROWTH ?=
GROWTH_MOST ?= 1000000

growth: ## how cost grows with events, users, groups, releases, overlap, streams and processes; several minutes a table
	cd stream/bench && GROWTH=$(GROWTH) GROWTH_MOST=$(GROWTH_MOST) $(GO) test -count 1 -run '^TestGrowth$$' -v -timeout 24h .

microbench: ## benchmarks of the parts, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./...

clean:
	rm -rf bin
