package decide

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// adaptive has two releases that learn.
var adaptive = twoGroups("lower: 0, upper: 60000, step: 1, prior: adaptive", `
      - {name: p50, statistic: median, epsilon: 0.5}
      - {name: users, statistic: count, epsilon: 0.5}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 0.5}
    min_users: {count: 60, release: users}
`)

// TestMeasuresAreAFunctionOfTheLedger draws windows one after another, and at random moments computes the measures anew
// from the encoded entries, or from a checkpoint of them, as a worker does that takes over: the same bits, also beyond
// fresh starts, gaps and withheld windows. The bands of what it draws are the same, too.
func TestMeasuresAreAFunctionOfTheLedger(t *testing.T) {
	p := programOf(t, adaptive)
	random := rand.New(rand.NewPCG(1, 2))
	hasher := windows.NewHasher([16]byte{})
	const block = 512 // windows between two fresh starts
	running, fold := newPrior(p), ledger.NewState("app", 0)
	var log [][]byte
	var decoded []ledger.Entry
	anew := func() []ledger.Past {
		again := ledger.NewState("app", 0)
		for i, e := range decoded {
			if err := again.Add(e, log[i], int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		return again.Recent(p.Stream.Name)
	}
	restored := func() []ledger.Past {
		text, err := fold.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ledger.Restore(text, "app", 0)
		if err != nil {
			t.Fatal(err)
		}
		return again.Recent(p.Stream.Name)
	}
	window, compared, smoothed := p.Schedule.First(), 0, 0
	bases := map[record.Basis]int{}
	for i := range 3*block/2 + 100 {
		entry := p.entry("app", window)
		entry.ReleasedAt = entry.DueAt
		entry.Standing = ledger.Standing{StreamSpent: &decimal.Zero, BudgetSpent: &decimal.Zero}
		if random.IntN(10) == 0 {
			entry.Reason = record.BudgetExhausted
		} else {
			var err error
			if entry.Prior, err = running.upTo(window, p.Stream.Groups, fold.Recent(p.Stream.Name)); err != nil {
				t.Fatal(err)
			}
			var other *prior // of a worker that takes over
			if i > 0 && random.IntN(30) == 0 || i >= 3*block/2+90 {
				past := anew()
				if !reflect.DeepEqual(past, restored()) {
					t.Fatalf("window %d: the checkpoint restores another past", i)
				}
				other = newPrior(p)
				again, err := other.upTo(window, p.Stream.Groups, past)
				if err != nil {
					t.Fatal(err)
				}
				if *again != *entry.Prior {
					t.Fatalf("window %d: a new worker has %+v, the old one %+v", i, again, entry.Prior)
				}
				compared++
			}
			spec := windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: 1, Policy: windows.Last, Window: window,
				Hasher: hasher}
			bag, merger := windows.NewBag(spec), windows.NewMerger(spec, 1<<20)
			for range 200 {
				bag.Add(windows.UserHash{random.Uint64(), random.Uint64()}, random.IntN(4)/3, window.Start,
					int64(100+random.ExpFloat64()*40))
			}
			for merger.Pass() {
				if err := merger.Add(bag.Seal(), window); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := p.draw(&entry, merger, running, untimed); err != nil {
				t.Fatal(err)
			}
			same := entry
			same.Groups = slices.Clone(entry.Groups)
			for g := range same.Groups {
				same.Groups[g].Values = slices.Clone(entry.Groups[g].Values)
			}
			running.smooth(&entry)
			if other != nil {
				if other.smooth(&same); !reflect.DeepEqual(same, entry) {
					t.Fatalf("window %d: a new worker says\n%+v\nof what it drew, the old one\n%+v", i, same, entry)
				}
				for _, g := range entry.Groups {
					for _, v := range g.Values {
						if v.Band != nil {
							bases[v.Band.Basis]++
						}
					}
				}
			}
			if entry.Groups[0].Values[0].Smoothed != nil {
				smoothed++
			}
		}
		value, err := entry.Encode()
		if err == nil {
			err = fold.Add(entry, value, int64(i))
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := ledger.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		log, decoded = append(log, value), append(decoded, again)
		next, _ := p.Schedule.Next(window)
		if random.IntN(50) == 0 { // windows that nobody decided
			next, _ = p.Schedule.After(next.End + random.Int64N(40)*int64(time.Minute))
		}
		window = next
	}
	if compared < 20 || smoothed == 0 || bases[record.OfScatter] < 5 || bases[record.OfNoise] < 20 {
		t.Errorf("only %d comparisons, %d smoothed values, bands %v", compared, smoothed, bases)
	}
}

// What a worker says that it holds grows with the figures of its streams: a process of a thousand streams may use more
// memory than one of a single stream before the garbage collector begins to work hard.
func TestMemoryGrowsWithFigures(t *testing.T) {
	text := strings.NewReplacer("EPSILON", "1", "LIMIT", "1000", "ATMOST", "2").Replace(alarmed)
	one, other := editionsOf(t, text), editionsOf(t, text)
	other[0].Stream.Name = "other"
	d := playing(t, one)
	figures := len(d.programs[0].draws) * len(one[0].Stream.Groups)
	if got := d.figures(); got != figures || got == 0 {
		t.Errorf("%d figures, want %d", got, figures)
	}
	if d := playing(t, append(one, other...)); d.figures() != 2*figures {
		t.Errorf("%d figures of two streams, want %d", d.figures(), 2*figures)
	}
}
