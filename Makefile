# The project's commands. `make demo` needs Go alone; `make test` boots a real Kafka too where Java and Maven are there.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# How long the tests of one package may take, several times what they need on two quiet cores. A single wait ends after
# three minutes: a busy machine does not decide whether a test passes.
TEST_TIMEOUT ?= 15m

# Real data for some tests, if it is there; they skip and say so where it is not.
LOUVER_TEST_DATA ?= $(abspath ../shared/data)
export LOUVER_TEST_DATA

.PHONY: demo build test chaos mutate fuzz experiments pictures lint bench growth microbench clean

demo: build ## the whole service on an embedded broker, with simulated events
	./bin/louver demo

build: ## bin/louver
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/louver ./cmd/louver

# Tests are short: they need not collect garbage as often as a service does. What vet has seen, go test does not look
# at again.
test: export GOGC = 400
test: ## every test; many of them mostly wait, so more run at a time than there are cores
	$(GO) vet ./...
	$(GO) test -vet=off -timeout $(TEST_TIMEOUT) -p 4 -parallel 8 ./...
	cd deploy/helm && $(GO) test ./... # a module of its own: the program does not depend on Helm
	cd mechanisms/experiments && $(GO) vet ./... && $(GO) test -vet=off -timeout $(TEST_TIMEOUT) ./... # another: nor on what draws charts
	cd stream/bench && $(GO) vet ./... && $(GO) test -vet=off ./... # another: nor on other clients of Kafka

# Faults that `make chaos` does to a running service, drawn by the seed. `make test` does a dozen.
CHAOS_FAULTS ?= 500
CHAOS_SEED   ?= $(shell date +%s)

chaos: ## faults of every kind, on three brokers, while events of known truth come in
	CHAOS_FAULTS=$(CHAOS_FAULTS) CHAOS_SEED=$(CHAOS_SEED) $(GO) test -run '^TestChaos$$' -v -timeout 12h ./cmd/louver

# Only mutations with one of these words in their place or their description; all without.
MUTATIONS ?=

mutate: ## takes privacy away in some two hundred places, one at a time: a test must notice each
	$(GO) run ./mechanisms/internal/mutate $(MUTATIONS)

# How long each fuzz target runs, on how many cores, and which: those with this in their folder or name; all without.
FUZZTIME ?= 1m
FUZZCORES ?= 2
FUZZ ?=

fuzz: ## every decoder against made-up input, one target after another; what fails is kept in testdata/fuzz
	@failed=; ran=; \
	for at in $$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' budget cmd mechanisms stream windows | \
		sed 's|/[^/]*:func |:|' | sort | grep -e '$(FUZZ)'); do \
		echo "$$at"; \
		if $(GO) test -run '^$$' -fuzz "^$${at#*:}$$" -fuzztime $(FUZZTIME) -parallel $(FUZZCORES) "./$${at%:*}"; \
		then ran="$$ran $$at"; else failed="$$failed $$at"; fi; \
	done; \
	echo; echo "found nothing, in $(FUZZTIME) each:"; printf '  %s\n' $$ran; \
	if [ -n "$$failed" ]; then echo "failed:"; printf '  %s\n' $$failed; exit 1; fi

# What to run of the experiments, such as -only means; all without.
EXPERIMENTS ?=

experiments: ## repeats the papers' experiments, in about ten minutes on one core
	cd mechanisms/experiments && $(GO) run . $(EXPERIMENTS)

pictures: ## takes the README's pictures from a running demo, in about eight minutes; wants Chromium
	LOUVER_PICTURES=$(abspath deploy/pictures) $(GO) test -run '^TestPictures$$' -v -timeout 30m ./cmd/louver/internal/demo

lint: ## golangci-lint, built from source at a fixed version
	$(GO) run $(LINT) run ./...
	cd mechanisms/experiments && $(GO) run $(LINT) run ./...
	cd stream/bench && $(GO) run $(LINT) run ./...

# Which rows of the table, by words in their names, such as keyed,floor; all without. And how many events each reads.
BENCH ?=
BENCH_EVENTS ?= 2000000

bench: ## what an event costs on a real broker, beside clients that only fetch; about a minute a row on two quiet cores
	cd stream/bench && BENCH=$(BENCH) BENCH_EVENTS=$(BENCH_EVENTS) $(GO) test -count 1 -run '^TestBench$$' -v -timeout 12h .

# Which tables of growth, such as users,groups; all without. And up to how many events or users.
GROWTH ?=
GROWTH_MOST ?= 1000000

growth: ## how cost grows with events, users, groups, releases, overlap, streams and processes; several minutes a table
	cd stream/bench && GROWTH=$(GROWTH) GROWTH_MOST=$(GROWTH_MOST) $(GO) test -count 1 -run '^TestGrowth$$' -v -timeout 24h .

microbench: ## benchmarks of the parts, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./...

clean:
	rm -rf bin
