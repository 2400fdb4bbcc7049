package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/txn"
)

// deed is an event that was sent to an input topic.
type deed struct {
	topic     string
	partition int
	user      string
	group     string
	value     int
	at        time.Time
	acked     time.Time // zero: nobody knows whether the brokers have it
	repeats   int       // how often it was sent again: it may be in the topic once more for each
}

// before says that d comes before o by the order of a policy: that of time for "last", of values for "max".
func (d deed) before(o deed, policy string) bool {
	if c := d.at.Compare(o.at); policy == "last" && c != 0 {
		return c < 0
	}
	return d.value < o.value
}

// load sends events until it is stopped, and remembers them.
type load struct {
	conn       *kafkaconn.Conn
	topics     []string
	probed     string       // the topic of the probes
	partitions atomic.Int32 // of each topic
	stop       context.CancelFunc
	senders    sync.WaitGroup
	mu         sync.Mutex
	sent       []deed
}

const (
	senders    = 4
	userCount  = 300
	upperBound = 1000 // values lie between 0 and that
)

// shortest is the size of the shortest windows.
const shortest = 3 * time.Second

// probes are users with a group each. They send to the topic of probes all the time, so that counts of their groups
// say in which windows they count.
var probes = []string{"probe-0", "probe-1", "probe-2", "probe-3"}

// startLoad sends to the topics, each of which has that many partitions. Probes send to the last.
func startLoad(conn *kafkaconn.Conn, seed uint64, partitions int, topics ...string) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{conn: conn, topics: topics, probed: topics[len(topics)-1], stop: stop}
	l.partitions.Store(int32(partitions))
	for i := range senders {
		random := rand.New(rand.NewPCG(seed, uint64(i)+1))
		l.senders.Go(func() { l.run(ctx, random) })
	}
	return l
}

// end stops sending. Events that are on their way then may have arrived.
func (l *load) end() []deed {
	l.stop()
	l.senders.Wait()
	return l.sent
}

func (l *load) run(ctx context.Context, random *rand.Rand) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		deeds := make([]deed, 3+random.IntN(7))
		topic, partition := l.topics[random.IntN(len(l.topics))], random.IntN(int(l.partitions.Load()))
		if topic == l.probed {
			deeds = append(deeds, make([]deed, len(probes))...)
		}
		var records []txn.Record
		for i := range deeds {
			user := random.IntN(userCount)
			// Some events reach the broker later than they happened, but all before their windows are due.
			at := time.Now().UTC().Add(-time.Duration(random.IntN(1000)) * time.Millisecond)
			deeds[i] = deed{topic: topic, partition: partition, user: fmt.Sprint("u", user),
				group: []string{"eu", "us"}[user%2], value: random.IntN(upperBound + 1), at: at}
			if probe := len(deeds) - 1 - i; topic == l.probed && probe < len(probes) {
				deeds[i].user, deeds[i].group = probes[probe], probes[probe]
			}
			records = append(records, deeds[i].record())
		}
		var repeats atomic.Int32
		err := txn.Send(ctx, l.conn.Client, records, txn.OnRetry(func(error) { repeats.Add(1) }))
		now := time.Now()
		for i := range deeds {
			if deeds[i].repeats = int(repeats.Load()); err == nil {
				deeds[i].acked = now
			}
		}
		l.mu.Lock()
		l.sent = append(l.sent, deeds...)
		l.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (d deed) record() txn.Record {
	value, err := json.Marshal(map[string]any{"user": d.user, "group": d.group, "value": d.value,
		"time": d.at.Format(time.RFC3339Nano)})
	if err != nil {
		panic(err) // strings and numbers
	}
	return txn.Record{Topic: d.topic, Partition: d.partition, Value: value, Time: d.at.UnixMilli()}
}

// truth is what the events say of one group of one window: the figures lie between low and high, which are the same
// unless events came so late that they may count or not.
type truth struct{ low, high map[string]float64 }

// slowAbove is the value of the stream's release "slow": it counts users above.
const slowAbove = 500

// truthOf computes the figures of a group of a window without any part of the service. certain tells whether an event
// counts for sure; one that does not may.
func truthOf(deeds []deed, policy string, certain func(deed) bool) truth {
	byUser := map[string][]deed{}
	for _, d := range deeds {
		byUser[d.user] = append(byUser[d.user], d)
	}
	t := truth{map[string]float64{"users": 0, "slow": 0}, map[string]float64{"users": 0, "slow": 0}}
	var values []int
	open := false
	for _, own := range byUser {
		sure, may := contributions(own, policy, certain)
		open = open || len(may) > 1 || sure == nil
		slow, fast := 0, 0
		for _, d := range may {
			if d.value > slowAbove {
				slow++
			} else {
				fast++
			}
		}
		t.high["users"]++
		if slow > 0 {
			t.high["slow"]++
		}
		if sure != nil {
			values = append(values, sure.value)
			t.low["users"]++
			if fast == 0 {
				t.low["slow"]++
			}
		}
	}
	t.low[spread], t.high[spread] = t.low["users"], t.high["users"]
	t.low[highs], t.high[highs] = t.low["slow"], t.high["slow"]
	if adds(policy) {
		t.low[spent], t.high[spent] = sums(byUser, policy, certain)
	}
	t.low["p50"], t.high["p50"] = 0, upperBound
	if n := len(values); n > 0 && !open {
		// The median of an even number is any value between the two in the middle.
		slices.Sort(values)
		t.low["p50"], t.high["p50"] = float64(values[(n+1)/2-1]), float64(values[n/2])
	}
	return t
}

// contributions are the events with which a user may count in a window. sure is the one that counts if no other one
// does; nil if the user may not count at all.
func contributions(own []deed, policy string, certain func(deed) bool) (sure *deed, may []deed) {
	for i, d := range own {
		if certain(d) && (sure == nil || sure.before(d, policy)) {
			sure = &own[i]
		}
	}
	for _, d := range own {
		if sure == nil || d == *sure || !certain(d) && !d.before(*sure, policy) {
			may = append(may, d)
		}
	}
	return sure, may
}

// spent is the release of the streams that add up what a user sends in a window.
const spent = "spent"

// adds says that a user counts with what all their events add up to.
func adds(policy string) bool { return policy == "sum" || policy == "count" }

// upperOf is the upper bound of what a user adds up to, so low that some users reach it.
func upperOf(policy string) int {
	if policy == "count" {
		return 2
	}
	return upperBound
}

// sums adds up what users sent, each of them up to the upper bound: what is certain to count, and all that may. An
// event that was sent again may be in the topic several times, and then counts so often.
func sums(byUser map[string][]deed, policy string, certain func(deed) bool) (low, high float64) {
	upper := upperOf(policy)
	for _, own := range byUser {
		least, most := 0, 0
		for _, d := range own {
			adds := d.value
			if policy == "count" {
				adds = 1
			}
			if most += adds * (1 + d.repeats); certain(d) {
				least += adds
			}
		}
		low, high = low+float64(min(least, upper)), high+float64(min(most, upper))
	}
	return low, high
}

func (t truth) String() string {
	var s []string
	for _, name := range slices.Sorted(maps.Keys(t.low)) {
		s = append(s, fmt.Sprintf("%s %v to %v", name, t.low[name], t.high[name]))
	}
	return strings.Join(s, ", ")
}
