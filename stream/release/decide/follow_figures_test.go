package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// These tests give a stream that follows another one's list what has a state of its own: watches, roll-ups and draws
// that learn. The two streams have other records, other figures and another max_groups. So each test fails if the
// follower has the names that it would have found itself, or if it takes state, sensitivity or price from its source.

// relay decides the windows of two streams in sessions that end after each quarter. Each goes on from a checkpoint of
// the ledger and from the parts that are in the log.
type relay struct {
	t        *testing.T
	editions []config.Edition
	fold     *ledger.State // of all entries
	all      []ledger.Entry
	messages [][]byte
	written  []time.Time
}

// followerOf is following, whose follower has these figures, with further keys.
func followerOf(grace, releases, keys string) string {
	text := strings.Replace(following("15m", grace), "      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}\n",
		releases, 1)
	return strings.Replace(text, "    output:", keys+"    output:", 1)
}

func newRelay(t *testing.T, text string) *relay {
	streams := streamsOf(t, text)
	return &relay{t: t, editions: []config.Edition{editionOf(streams[0]), editionOf(streams[1])},
		fold: ledger.NewState("app", 0)}
}

// begins opens a session.
func (r *relay) begins() *decider {
	r.t.Helper()
	fold := ledger.NewState("app", 0)
	if n := len(r.all); n > 0 {
		text, err := r.fold.Checkpoint()
		if err == nil {
			fold, err = ledger.Restore(text, "app", 0)
		}
		if err == nil {
			err = fold.Add(r.all[n-1], r.value(r.all[n-1]), fold.From())
		}
		if err == nil {
			err = fold.Done()
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	d := decidingFrom(r.t, fold, r.editions...)
	for i, m := range r.messages {
		if d.messages[d.offset] = m; d.offset != int64(i) {
			r.t.Fatal("offsets have gaps")
		}
		if err := d.gather.Add(m, d.offset, r.written[i]); err != nil {
			r.t.Fatal(err)
		}
		d.offset++
	}
	return d
}

func (r *relay) value(e ledger.Entry) []byte {
	r.t.Helper()
	value, err := e.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return value
}

// quarters has a session for each of the first quarters, in which streams have sent records, and decides what is ready
// then.
func (r *relay) quarters(until int, sends func(stream string, n int) []sent) {
	r.t.Helper()
	for n := range until {
		d := r.begins()
		for _, p := range d.programs {
			if w := quarter(n); p.schedule.Start <= w.Start && (p.schedule.End == 0 || w.End <= p.schedule.End) {
				d.giveNames(p, w, sends(p.stream.Name, n))
			}
		}
		for i := int64(len(r.messages)); i < d.offset; i++ {
			r.messages, r.written = append(r.messages, d.messages[i]), append(r.written, time.Unix(0, quarter(n).End))
		}
		for _, e := range d.turns() {
			if err := r.fold.Add(e, r.value(e), int64(len(r.all))); err != nil {
				r.t.Fatal(err)
			}
			r.all = append(r.all, e)
		}
	}
}

// of lists the windows of a stream.
func (r *relay) of(stream string) (all []ledger.Entry) {
	for _, e := range r.all {
		if e.Stream == stream && e.Discovery == nil {
			all = append(all, e)
		}
	}
	return all
}

// audited audits the entries.
func (r *relay) audited() audit.Findings {
	r.t.Helper()
	a := audit.New()
	a.Learner = NewMeasures(r.editions)
	for i, e := range r.all {
		a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), r.value(e))
	}
	return a.Findings()
}

// charged checks what each window of a stream is charged, and that the stream has spent so much in all.
func (r *relay) charged(stream string, price budget.Item, spent int64) {
	r.t.Helper()
	var last ledger.Entry
	for _, last = range r.of(stream) {
		if len(last.Price) != 1 || last.Price[0].Times != price.Times || !last.Price[0].Epsilon.Equal(price.Epsilon) {
			r.t.Fatalf("%s costs %+v, want %+v", last.Name(), last.Price, price)
		}
	}
	if got := last.Standing.StreamSpent; got == nil || !got.Equal(decimal.NewFromInt(spent)) {
		r.t.Errorf("stream %s has spent %v, want %d", stream, got, spent)
	}
	if f := r.audited(); !f.OK {
		r.t.Errorf("audit: %+v", f.Faults)
	}
}

func pure(epsilon, times int64) budget.Item {
	return budget.Item{Promise: privacy.NewPure(decimal.NewFromInt(epsilon)), Times: times}
}

// twoWatches are those of watching: they follow their conditions exactly, except with a probability of less than 10⁻⁹
// for all tests.
const twoWatches = `    max_groups: 2
    watches:
      - {name: many, above: 50, users: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 5h, at_most: 2}
      - {name: gone, users_below: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: 2}
`

const countUsers = "      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}\n"

// TestWhatAFollowerLearns: each draw of a follower has learnt from what the follower itself has published of the group
// since that came to the list, and from nothing of its source.
func TestWhatAFollowerLearns(t *testing.T) {
	const median = "      - {name: p50, statistic: median, epsilon: 0.5}\n"
	text := strings.ReplaceAll(followerOf("20m", countUsers, ""), countUsers, median)
	r := newRelay(t, strings.ReplaceAll(text, "step: 1}", "step: 1, prior: adaptive}"))
	words := strings.Split("abcdef", "")
	r.quarters(64, func(stream string, n int) (records []sent) {
		hour := n / 4
		for i, name := range words { // some names in some hours: they come to the list, and leave it
			if stream == "f" || (hour/(i+1))%3 == i%3 {
				records = append(records, sentBy(uint64(10*i+1), 3, name)...)
			}
		}
		return records
	})
	query := newDraw(config.All[*config.Release](r.editions[0].Stream)[0], 0).query
	since := map[string][]int64{} // what each group has published since it came to the list
	joined, returned := 0, map[string]bool{}
	for _, e := range r.of("f") {
		if names, _ := listByHand(r.all, e.DueAt); !slices.Equal(e.GroupNames(), names) {
			t.Fatalf("%s has the groups %q, want %q", e.Name(), e.GroupNames(), names)
		}
		for name := range since {
			if !slices.Contains(e.GroupNames(), name) {
				delete(since, name)
				returned[name] = true
			}
		}
		sum := sha256.New()
		for _, g := range e.Groups {
			alone, err := mechanisms.NewFilter(query)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range since[g.Name] {
				alone.Update(x, nil)
				alone.Predict()
			}
			b, err := alone.Measure().AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(b)
			if since[g.Name] == nil {
				joined++
			}
			since[g.Name] = append(since[g.Name], g.Values[0].Value.IntPart())
		}
		if want := hex.EncodeToString(sum.Sum(nil)[:16]); e.Prior == nil || e.Prior.Hash != want {
			t.Fatalf("%s has learnt %+v, want %s", e.Name(), e.Prior, want)
		}
	}
	if joined < 10 || len(returned) < 3 {
		t.Errorf("%d groups have come, and %d have left; want more", joined, len(returned))
	}
	if f := r.audited(); !f.OK || f.Priors != 64+63 { // the last one of the follower is due after the next of its source
		t.Errorf("audit of %d windows that learn, want 127: %+v", f.Priors, f.Faults)
	}
	// Another value of the follower's, and only its own later windows have learnt something else.
	for i, e := range r.all {
		if e.Stream == "f" && len(e.Groups) > 3 {
			v := &r.all[i].Groups[0].Values[0]
			v.Value = new(v.Value.Add(decimal.NewFromInt(400)).Mod(decimal.NewFromInt(1000)))
			break
		}
	}
	f := r.audited()
	if f.OK || f.FaultCount < 3 {
		t.Errorf("another value: %+v", f)
	}
	for i, x := range f.Faults {
		want := audit.PriorDiffers
		if i == 0 {
			want = audit.BandDiffers // of the value itself
		}
		if x.Kind != want || !strings.Contains(x.What, `stream "f"`) {
			t.Errorf("another value of the follower: %v", x)
		}
	}
}
