package ledger

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
)

// partition is one of a ledger: entries as records, each at an offset with gaps, as transactions leave them.
type partition struct {
	entries []Entry
	values  [][]byte
	offsets []int64
}

func (p *partition) add(t interface {
	Helper()
	Fatal(...any)
}, e Entry) {
	t.Helper()
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	offset := int64(0)
	if n := len(p.offsets); n > 0 {
		offset = p.offsets[n-1] + 1 + int64(n%3)
	}
	p.entries, p.values, p.offsets = append(p.entries, e), append(p.values, value), append(p.offsets, offset)
}

// read gives a fold the entries from its offset on, decoded, and ends the reading.
func (p *partition) read(f *Fold) error {
	for i, at := range p.offsets {
		if at < f.From() && f.awaits || !f.awaits && f.entries > int64(i) {
			continue
		}
		e, err := Decode(p.values[i])
		if err == nil {
			err = f.Add(e, p.values[i], at)
		}
		if err != nil {
			return err
		}
	}
	return f.Done()
}

// fold reads the first n entries.
func (p *partition) fold(t interface {
	Helper()
	Fatal(...any)
}, n int) *Fold {
	t.Helper()
	f := NewFold("louver", 3)
	for i, e := range p.entries[:n] {
		if err := f.Add(e, p.values[i], p.offsets[i]); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func write(t interface {
	Helper()
	Fatal(...any)
}, f *Fold) []byte {
	t.Helper()
	text, err := f.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// history returns the entries of several kinds of streams: paid and withheld, with a count or without, learning or not,
// in budgets that are shared, continued or changed.
func history(t *rapid.T, n int) *partition {
	p, live := &partition{}, NewBooks()
	plans := []plan{
		{stream: "s", budget: "b", epsilon: "0.3", limit: limit("1", 4*time.Minute)},
		{stream: "u", budget: "b", epsilon: "0.25", limit: limit("1", 4*time.Minute)},
		{stream: "v", budget: "c", epsilon: "0.1", limit: limit("2", 0), continues: "b"},
		{stream: "capped", budget: "c", epsilon: "0.1", limit: limit("2", 0), continues: "b", cap: budget.Cap{Count: 2, Per: time.Hour}},
		{stream: "gone", budget: "elsewhere", epsilon: "0.1", limit: limit("2", 0), continues: "nowhere"},
	}
	next := map[string]int{}
	for range n {
		plan := rapid.SampledFrom(plans).Draw(t, "plan")
		e := plan.entry(next[plan.stream])
		next[plan.stream] += rapid.SampledFrom([]int{1, 1, 1, 2, 700}).Draw(t, "step")
		e.Epoch = uint32(next[plan.stream] / 1000)
		if plan.stream == "capped" {
			e.Cap.Era = int64(e.Epoch) + rapid.Int64Range(0, 1).Draw(t, "era")
		}
		if rapid.IntRange(0, 5).Draw(t, "limit") == 0 {
			e.Limit = limit("1.5", plan.limit.Per)
		}
		if err := live.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if e.Reason == "" {
			e.Groups = []Group{{Users: ptr(int64(next[plan.stream])), Values: []Value{{Value: some("12.50")}}}}
			if plan.stream != "u" {
				e.Prior = &Prior{}
			}
		}
		if err := live.Add(e); err != nil {
			t.Fatal(err)
		}
		p.add(t, e)
	}
	return p
}

// steady is a ledger of n windows of a minute in one budget.
func steady(t testing.TB, n int, change ...func(int, *Entry)) *partition {
	p, b := &partition{}, NewBooks()
	for i := range n {
		e := plan{stream: "s", budget: "b", epsilon: "0.5", limit: limit("1000000", 0)}.entry(i)
		e.Groups = []Group{{Values: []Value{{Value: some("1")}}}}
		e.Prior = &Prior{}
		for _, f := range change {
			f(i, &e)
		}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		p.add(t, e)
	}
	return p
}
