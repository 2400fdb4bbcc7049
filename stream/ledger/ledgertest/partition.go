package ledgertest

import (
	"bytes"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
)

// Partition is one of a ledger: entries as records, each at an offset with gaps, as transactions leave them.
type Partition struct {
	Entries []ledger.Entry
	Values  [][]byte
	Offsets []int64
}

// PartitionNumber and App are where the states of a [Partition] are.
const (
	App             = "louver"
	PartitionNumber = 3
)

// Add appends an entry.
func (p *Partition) Add(t T, e ledger.Entry) {
	t.Helper()
	value := Encode(t, e)
	offset := int64(0)
	if n := len(p.Offsets); n > 0 {
		offset = p.Offsets[n-1] + 1 + int64(n%3)
	}
	p.Entries, p.Values, p.Offsets = append(p.Entries, e), append(p.Values, value), append(p.Offsets, offset)
}

// Read gives a new or restored state the entries from its offset on, decoded, and ends the reading.
func (p *Partition) Read(f *ledger.State) error {
	from := f.From()
	for i, at := range p.Offsets {
		if at < from {
			continue
		}
		e, err := ledger.Decode(p.Values[i])
		if err == nil {
			err = f.Add(e, p.Values[i], at)
		}
		if err != nil {
			return err
		}
	}
	return f.Done()
}

// State reads the first n entries.
func (p *Partition) State(t T, n int) *ledger.State {
	t.Helper()
	f := ledger.NewState(App, PartitionNumber)
	for i, e := range p.Entries[:n] {
		if err := f.Add(e, p.Values[i], p.Offsets[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Cut returns the state after all entries, and one that goes on from a checkpoint after n of them. Both have to have
// the same checkpoint, byte for byte.
func (p *Partition) Cut(t T, n int) (whole, restored *ledger.State) {
	t.Helper()
	restored, err := ledger.Restore(Checkpoint(t, p.State(t, n)), App, PartitionNumber)
	if err == nil {
		err = p.Read(restored)
	}
	if err != nil {
		t.Fatal(err)
	}
	whole = p.State(t, len(p.Entries))
	if a, b := Checkpoint(t, restored), Checkpoint(t, whole); !bytes.Equal(a, b) {
		t.Fatal(fmt.Sprintf("from the checkpoint after %d entries:\n%s\nfrom the first:\n%s", n, a, b))
	}
	return whole, restored
}

// Checkpoint is the state's checkpoint.
func Checkpoint(t T, f *ledger.State) []byte {
	t.Helper()
	text, err := f.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// History returns n entries of several kinds of streams: paid and withheld, with a count or without, learning or not,
// in budgets that are shared, continued or changed.
func History(t *rapid.T, n int) *Partition {
	p, live := &Partition{}, ledger.NewBooks()
	plans := []Plan{
		{Stream: "s", Budget: "b", Epsilon: "0.3", Limit: Limit("1", 4*time.Minute)},
		{Stream: "u", Budget: "b", Epsilon: "0.25", Limit: Limit("1", 4*time.Minute)},
		{Stream: "v", Budget: "c", Epsilon: "0.1", Limit: Limit("2", 0), Continues: "b"},
		{Stream: "capped", Budget: "c", Epsilon: "0.1", Limit: Limit("2", 0), Continues: "b",
			Cap: budget.Cap{Count: 2, Per: time.Hour}},
		{Stream: "ordered", Budget: "o", Epsilon: "0.2", Limit: budget.Limit{Epsilon: Dec("1"), Delta: Dec("0.000001"),
			Per: 40 * time.Minute, Order: Dec("31")}},
		{Stream: "gone", Budget: "elsewhere", Epsilon: "0.1", Limit: Limit("2", 0), Continues: "nowhere"},
	}
	next := map[string]int{}
	for range n {
		plan := rapid.SampledFrom(plans).Draw(t, "plan")
		e := plan.Entry(next[plan.Stream])
		next[plan.Stream] += rapid.SampledFrom([]int{1, 1, 1, 2, 700}).Draw(t, "step")
		e.Epoch = uint32(next[plan.Stream] / 1000)
		if plan.Stream == "capped" {
			e.Cap.Era = int64(e.Epoch) + rapid.Int64Range(0, 1).Draw(t, "era")
		}
		if rapid.IntRange(0, 5).Draw(t, "limit") == 0 {
			e.Limit = Limit("1.5", plan.Limit.Per)
		}
		if err := live.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if e.Reason == "" {
			e.Groups = []ledger.Group{{Users: new(int64(next[plan.Stream])),
				Values: []ledger.Value{{Value: Some("12.50")}}}}
			if plan.Stream != "u" {
				e.Prior = &ledger.Prior{}
			}
		}
		if err := live.Add(e); err != nil {
			t.Fatal(err)
		}
		p.Add(t, e)
	}
	return p
}

// Steady is a ledger of n windows of a minute in one budget.
func Steady(t T, n int, change ...func(int, *ledger.Entry)) *Partition {
	t.Helper()
	p, b := &Partition{}, ledger.NewBooks()
	for i := range n {
		e := Plan{Stream: "s", Budget: "b", Epsilon: "0.5", Limit: Limit("1000000", 0)}.Entry(i)
		e.Groups = []ledger.Group{{Values: []ledger.Value{{Value: Some("1")}}}}
		e.Prior = &ledger.Prior{}
		for _, f := range change {
			f(i, &e)
		}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		p.Add(t, e)
	}
	return p
}
