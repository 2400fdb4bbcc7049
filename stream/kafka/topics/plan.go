package topics

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/config"
)

// Topic is one topic as a streams file needs it.
type Topic struct {
	Name string `json:"topic"`
	// Use says what the topic is for.
	Use string `json:"use"`
	// Partitions is how many partitions Louver creates it with. −1 means the broker's default, 0 that Louver does not
	// create it.
	Partitions int `json:"partitions"`
	// Cleanup is the cleanup.policy that it must have; "" means any.
	Cleanup string `json:"cleanup,omitempty"`
	// MinRetention is the shortest retention.ms that loses nothing. Forever requires −1; 0 requires nothing.
	MinRetention time.Duration `json:"-"`
	// Backfilled topics get records with old timestamps, the ends of windows. They are created so that no record is
	// deleted for its age.
	Backfilled bool `json:"-"`
	// Erased topics get segments of one hour, because a broker erases deleted records only with their whole segment.
	Erased bool `json:"-"`
	// AppendTime topics have the broker's time on every record. This process checks its own clock against it.
	AppendTime bool `json:"-"`
	// Personal topics hold what individuals sent.
	Personal bool `json:"personal"`
	// Operations are the rights on the topic, as Kafka's ACLs name them. The right to read or write includes the right
	// to describe.
	Operations []string `json:"operations"`
}

// Own says that a topic is the app's own.
func (t Topic) Own() bool { return t.Cleanup != "" }

// ownRights are the rights on the app's own topics.
var ownRights = []string{"Read", "Write", "Create", "DescribeConfigs"}

// Forever as a retention means that nothing is ever deleted.
const Forever = time.Duration(-1)

// Plan lists every topic of the streams, internal ones first, each once.
func Plan(app string, streams []*config.Stream) []Topic {
	n := Names{app}
	plan := []Topic{
		{Name: n.Control(), Use: "user-hash key, definitions and budgets of streams", Partitions: 1, Cleanup: "compact",
			Personal:   true,
			Operations: ownRights},
		{Name: n.Partials(), Use: "parts of open windows", Partitions: Partitions, Cleanup: "delete",
			MinRetention: partialsRetention(streams), Personal: true, Erased: true,
			Operations: append(slices.Clone(ownRights), "Delete")},
		{Name: n.Progress(), Use: "how far each worker has come", Partitions: Partitions, Cleanup: "compact",
			AppendTime: true,
			Operations: ownRights},
		{Name: n.Ledger(), Use: "charges and values", Partitions: Partitions, Cleanup: "delete", MinRetention: Forever,
			Operations: ownRights},
	}
	if slices.ContainsFunc(streams, (*config.Stream).Remembers) {
		plan = append(plan, Topic{Name: n.State(), Use: "who has counted, for max_windows and totals",
			Partitions: Partitions, Cleanup: "compact,delete", MinRetention: max(stateRetention(streams),
				partialsRetention(streams)), Personal: true, Erased: true, Operations: ownRights})
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
		add(Topic{Name: s.Output, Use: "releases out", Partitions: -1, Backfilled: !s.Window.StartNow,
			Operations: []string{"Read", "Write", "Create"}})
		if s.Rejects != "" {
			add(Topic{Name: s.Rejects, Use: "bad records", Partitions: -1, Personal: true,
				Operations: []string{"Write", "Create"}})
		}
		if s.Late != "" {
			add(Topic{Name: s.Late, Use: "late records", Partitions: -1, Personal: true,
				Operations: []string{"Write", "Create"}})
		}
	}
	return plan
}

// stateRetention is how long a release stage may be off and still go on counting where it stopped. It is at least twice
// the longest period of a total. The last snapshots of streams that were removed are kept for as long.
func stateRetention(streams []*config.Stream) time.Duration {
	keep := 30 * 24 * time.Hour
	for _, s := range streams {
		for _, f := range s.Figures {
			if since := f.About().Since; since != "" {
				keep = max(keep, 2*since.Nominal())
			}
		}
	}
	return keep
}

// partialsRetention is how long parts must be kept. A weekend without a release stage must lose none. And it is at
// least twice the longest window together with the earlier windows that decide who counts in it, and twice the longest
// period of a discovery together with the earlier periods that decide the same.
func partialsRetention(streams []*config.Stream) time.Duration {
	keep := 7 * 24 * time.Hour
	for _, s := range streams {
		need := s.Window.Size + s.Window.Grace
		if s.MaxWindows != nil {
			need += time.Duration(s.MaxWindows.By.Reach()) * s.Window.Every
		}
		for _, f := range s.Figures {
			if !config.Kinds[f.Kind()].Finds {
				continue
			}
			every, before := f.About().Update, time.Duration(0)
			if turns := f.Cost().Cap; turns != nil {
				before = time.Duration(turns.By.Reach()) * every
			}
			need = max(need, before+every+s.Window.Grace)
		}
		keep = max(keep, 2*need)
	}
	return keep
}

// Right lists what the service must be allowed to do with one resource, or with all resources whose names have a
// prefix.
type Right struct {
	// Resource is "topic", "group" or "transactional-id".
	Resource, Name string
	// Prefixed rights hold for every name that begins with Name.
	Prefixed   bool
	Operations []string
}

// Rights lists what the service must be allowed to do with the app's own resources, whose names begin with its id and a
// dot, and with the topics of the plan. Without Delete on the partials it works, but keeps personal data longer than
// necessary. It needs all the others.
func Rights(app string, plan []Topic) []Right {
	own := app + "."
	rights := []Right{
		{"topic", own, true, ownRights},
		{"group", own, true, []string{"Read"}},
		{"transactional-id", own, true, []string{"Write"}},
	}
	for _, t := range plan {
		operations := t.Operations
		if strings.HasPrefix(t.Name, own) {
			own := func(o string) bool { return slices.Contains(ownRights, o) }
			operations = slices.DeleteFunc(slices.Clone(operations), own)
		}
		if len(operations) > 0 {
			rights = append(rights, Right{"topic", t.Name, false, operations})
		}
	}
	return rights
}

// Sizes remembers how many partitions the output topics have. It is safe for concurrent use.
type Sizes struct {
	Client *kafka.Client

	known sync.Map // topic → partitions
}

// Of returns the number of partitions of a topic. If it does not know, it asks the broker once.
func (s *Sizes) Of(ctx context.Context, topic string) (int, error) {
	if n, ok := s.known.Load(topic); ok {
		return n.(int), nil
	}
	have, err := Counts(ctx, s.Client, []Topic{{Name: topic, Operations: []string{"Write"}}})
	if err != nil {
		return 0, err
	}
	s.known.Store(topic, have[topic])
	return have[topic], nil
}

// Forget makes the next Of ask again: the topic may have been deleted or recreated.
func (s *Sizes) Forget(topic string) { s.known.Delete(topic) }

// Export lists the topics that an export of figures reads, and the rights that it needs: to read these, and to be in
// its consumer group.
func Export(group string, streams []*config.Stream) (plan []Topic, rights []Right) {
	read := []string{"Read"}
	rights = append(rights, Right{"group", group, false, read})
	seen := map[string]bool{}
	for _, s := range streams {
		if !seen[s.Output] {
			seen[s.Output] = true
			plan = append(plan, Topic{Name: s.Output, Use: "releases out", Operations: read})
			rights = append(rights, Right{"topic", s.Output, false, read})
		}
	}
	return plan, rights
}
