package chaostest

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/shopspring/decimal"
)

// Run inflicts faults on a service of several processes on a cluster of three brokers. Meanwhile events come in; it is
// known what they are and when they were acknowledged. Then it reads everything that is left, judges it and prints the
// verdict. The seed says which faults.
func Run(t *testing.T, faults int, seed uint64) {
	t.Helper()
	c := newChaos(t, seed)
	for range fewestProcesses + 1 {
		c.start()
	}
	c.wait(time.Until(c.from))
	c.load = startLoad(c.broker.Conn, seed, 3, c.streams[0].input, c.streams[2].input, c.streams[6].input,
		c.streams[3].input)
	defer c.load.stop()
	c.wait(c.between(2, 4))
	for range faults {
		c.draw()
		c.wait(c.between(0, 6))
	}
	c.repair()
	deeds := c.load.end()
	c.finish(deeds)
}

func newChaos(t *testing.T, seed uint64) *chaos {
	t.Helper()
	c := &chaos{t: t, broker: kafkatest.Cluster(t, 3, processUser), random: rand.New(rand.NewPCG(seed, 0)),
		began: time.Now(), revision: 1, over: make(chan struct{})}
	c.names = topics.Names{App: kafkatest.Name(t)}
	c.logIn()
	input, other, third, pages := c.broker.Topic(t, 3, nil), c.broker.Topic(t, 3, nil), c.broker.Topic(t, 3, nil),
		c.broker.Topic(t, 3, nil)
	c.output = kafkatest.Name(t)
	c.createOutput()
	const size, grace = shortest, 2 * time.Second
	c.from = soon()
	plenty := budget.Limit{Epsilon: decimal.New(1, 15), Per: 24 * time.Hour}
	scarce := budget.Limit{Epsilon: decimal.NewFromInt(2), Per: time.Minute}
	figures := definition{budget: "plenty", size: size, every: size, grace: grace, groups: []string{"eu", "us"},
		releases: []string{"users", "slow", "p50"},
		epsilon:  decimal.NewFromInt(1_000_000), limit: plenty, exact: true}
	hopping := figures
	hopping.size, hopping.groups = 2*size, []string{""}
	capped, alarmed, adding := figures, figures, figures
	adding.releases = []string{spent}
	lately := figures
	lately.budget, lately.releases = "lately", []string{spread, highs}
	lately.recent = recent{last: 12 * time.Second, active: 12 * time.Second}
	hazy := lately // its figures are all but noise, and its budget cannot pay for all windows
	hazy.budget, hazy.epsilon, hazy.exact = "hazy", decimal.New(5, -1), false
	hazy.limit = budget.Limit{Epsilon: decimal.NewFromInt(8), Per: time.Minute}
	capped.groups, capped.releases, capped.exact, capped.cap = probes, []string{"users"}, false, 4
	alarmed.releases, alarmed.alarm = []string{"users"}, 14
	visits := figures
	visits.groups, visits.releases, visits.exact, visits.total = probes, []string{"users"}, false, 9
	listed := figures
	listed.budget, listed.limit.Delta = "listed", decimal.New(1, -2)
	listed.groups, listed.releases, listed.finds = nil, []string{"users"}, true
	c.streams = []promised{
		{name: "tumbling", account: "plenty", input: input, policy: "last", definitions: []definition{figures}},
		{name: "hopping", account: "plenty", input: input, policy: "max", definitions: []definition{hopping}},
		// Its figures are all but noise: two draws of one window would differ.
		{name: "scarce", account: "scarce", input: other, policy: "last",
			definitions: []definition{{budget: "scarce", size: size, every: size, grace: grace,
				groups: []string{"eu", "us"}, releases: []string{"p50"}, epsilon: decimal.New(2, -1), limit: scarce}}},
		{name: "capped", account: "plenty", input: third, policy: "last", definitions: []definition{capped}},
		{name: "alarmed", account: "plenty", input: third, policy: "last", definitions: []definition{alarmed}},
		{name: "visits", account: "plenty", input: third, policy: "last", definitions: []definition{visits}},
		{name: "found", account: "listed", input: pages, policy: "last", definitions: []definition{listed}},
		{name: "spent", account: "plenty", input: input, policy: "sum", definitions: []definition{adding}},
		{name: "events", account: "plenty", input: input, policy: "count", definitions: []definition{adding}},
		{name: "lately", account: "lately", input: input, policy: "last", definitions: []definition{lately}},
		{name: "hazy", account: "hazy", input: input, policy: "last", definitions: []definition{hazy}},
	}
	c.file = filepath.Join(t.TempDir(), "streams.yaml")
	c.configure()
	t.Cleanup(func() { c.keepLogs(seed) })
	return c
}
