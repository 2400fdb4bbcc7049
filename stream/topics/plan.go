package topics

import (
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
)

// Topic is one topic as a streams file needs it.
type Topic struct {
	Name string `json:"topic"`
	// Use says what the topic is for.
	Use string `json:"use"`
	// Partitions it is created with; −1 is the broker's default, 0 that Louver does not create it.
	Partitions int `json:"partitions"`
	// Cleanup is the cleanup.policy that it must have; "" is any.
	Cleanup string `json:"cleanup,omitempty"`
	// MinRetention is the shortest retention.ms that loses nothing; Forever asks for −1, 0 for nothing.
	MinRetention time.Duration `json:"-"`
	// Backfilled topics get records whose timestamps lie long ago, windows' ends; they are created so that none is deleted
	// for its age.
	Backfilled bool `json:"-"`
	// AppendTime topics get the broker's time on every record, by which this process checks its own clock.
	AppendTime bool `json:"-"`
	// Personal topics hold what individuals sent.
	Personal bool `json:"personal"`
	// Operations are the rights on the topic, as Kafka's ACLs name them. Who may read or write may describe too.
	Operations []string `json:"operations"`
}

// internal says that a topic is the app's own.
func (t Topic) internal() bool { return t.Cleanup != "" }

// ownRights are the rights on the app's own topics.
var ownRights = []string{"Read", "Write", "Create", "DescribeConfigs"}

// Forever as a retention means that nothing is ever deleted.
const Forever = time.Duration(-1)

// Plan lists every topic of the streams, internal ones first, each once.
func Plan(app string, streams []*config.Stream) []Topic {
	n := Names{app}
	plan := []Topic{
		{Name: n.Control(), Use: "user-hash key, definitions and budgets of streams", Partitions: 1, Cleanup: "compact", Personal: true,
			Operations: ownRights},
		{Name: n.Partials(), Use: "parts of open windows", Partitions: Partitions, Cleanup: "delete", MinRetention: partialsRetention(streams), Personal: true,
			Operations: ownRights},
		{Name: n.Progress(), Use: "how far each worker has come", Partitions: Partitions, Cleanup: "compact", AppendTime: true,
			Operations: ownRights},
		{Name: n.Ledger(), Use: "charges and values", Partitions: Partitions, Cleanup: "delete", MinRetention: Forever,
			Operations: ownRights},
	}
	seen := map[string]int{}
	for i, t := range plan {
		seen[t.Name] = i
	}
	add := func(t Topic) {
		i, ok := seen[t.Name]
		if !ok {
			seen[t.Name] = len(plan)
			plan = append(plan, t)
			return
		}
		plan[i].MinRetention = max(plan[i].MinRetention, t.MinRetention)
		plan[i].Backfilled = plan[i].Backfilled || t.Backfilled
	}
	for _, s := range streams {
		add(Topic{Name: s.Input.Topic, Use: "events in", Personal: true, MinRetention: s.Window.Size + s.Window.Grace,
			Operations: []string{"Read", "DescribeConfigs"}})
	}
	for _, s := range streams {
		add(Topic{Name: s.Output, Use: "releases out", Partitions: -1, Backfilled: !s.Window.StartNow, Operations: []string{"Read", "Write", "Create"}})
		if s.Rejects != "" {
			add(Topic{Name: s.Rejects, Use: "bad records", Partitions: -1, Personal: true, Operations: []string{"Write", "Create"}})
		}
		if s.Late != "" {
			add(Topic{Name: s.Late, Use: "late records", Partitions: -1, Personal: true, Operations: []string{"Write", "Create"}})
		}
	}
	return plan
}

// partialsRetention is how long parts must be kept: long enough for a release stage that was off for a weekend, and for
// the longest window twice over.
func partialsRetention(streams []*config.Stream) time.Duration {
	keep := 7 * 24 * time.Hour
	for _, s := range streams {
		keep = max(keep, 2*(s.Window.Size+s.Window.Grace))
	}
	return keep
}

// Right is what the service must be allowed to do with one resource, or with all whose names begin alike.
type Right struct {
	// Resource is "topic", "group" or "transactional-id".
	Resource, Name string
	// Prefixed rights are for every name that begins with Name.
	Prefixed   bool
	Operations []string
}

// Rights lists what the service must be allowed to do: with all that is the app's own, whose names begin with its id and a
// dot, and with the topics of the plan. None of them can be left out.
func Rights(app string, plan []Topic) []Right {
	own := app + "."
	rights := []Right{
		{"topic", own, true, ownRights},
		{"group", own, true, []string{"Read"}},
		{"transactional-id", own, true, []string{"Write"}},
	}
	for _, t := range plan {
		if !strings.HasPrefix(t.Name, own) {
			rights = append(rights, Right{"topic", t.Name, false, t.Operations})
		}
	}
	return rights
}
