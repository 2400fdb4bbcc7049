package budget

import (
	"fmt"
	"testing"
	"time"
)

// Charges one window after another, like a fold of the ledger and like a worker.
func BenchmarkAccount(b *testing.B) {
	items := []Item{boundedRange("0.05", 2), boundedRange("0.1", 1), pure("0.03", 1)}
	for _, c := range []struct {
		name  string
		limit Limit
	}{
		{"pure", Limit{Epsilon: dec("1000"), Per: 24 * time.Hour}},
		{"delta", Limit{Epsilon: dec("1000"), Delta: dec("0.000001"), Per: 24 * time.Hour}},
	} {
		a := NewAccount(c.limit)
		end := int64(0)
		next := func() Charge {
			end += int64(time.Minute)
			return Charge{Stream: "s", End: end, Items: items}
		}
		for range 1_000_000 {
			a.Add(next())
		}
		b.Run("add/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Add(next())
			}
		})
		b.Run("fits/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Fits(next())
			}
		})
	}
}

func BenchmarkRunway(b *testing.B) {
	minute := Schedule{Stream: "s", Size: time.Minute, Every: time.Minute, Items: []Item{boundedRange("0.1", 1)}}
	a := NewAccount(Limit{Epsilon: dec("144"), Per: 24 * time.Hour})
	for i := range int64(1440) {
		a.Add(Charge{Stream: "s", End: (i + 1) * int64(time.Minute), Items: minute.Items})
	}
	minute.Start = 1440 * int64(time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		a.Runway([]Schedule{minute})
	}
}

// BenchmarkRunwayOfTotals asks for a budget of 1,000 streams with a running total each, which just pays for all of them:
// any 24 hours hold 96 windows of each and touch two of its days.
func BenchmarkRunwayOfTotals(b *testing.B) {
	const day = int64(24 * time.Hour)
	a := NewAccount(Limit{Epsilon: dec("11600"), Per: 24 * time.Hour})
	var schedules []Schedule
	var expected []Held
	for i := range 1000 {
		s := Schedule{Stream: fmt.Sprint(i), Size: 15 * time.Minute, Every: 15 * time.Minute,
			Items: []Item{boundedRange("0.1", 1)}, Start: 10*day + day/3}
		for end := 8 * day; end <= s.Start; end += int64(s.Every) {
			a.Add(s.charge(end))
		}
		schedules = append(schedules, s)
	}
	for at := range int64(5) { // three days are charged, two are to come
		for _, s := range schedules {
			h := Held{ID: fmt.Sprint(s.Stream, at), Stream: s.Stream, From: (8+at)*day + int64(s.Size), To: Open,
				Items: []Item{pure("1", 1)}}
			if at >= 3 {
				expected = append(expected, h)
				continue
			}
			h.To = (9 + at) * day
			if err := a.Hold(h); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := a.Runway(schedules, expected...); !r.Pays {
			b.Fatalf("%+v", r)
		}
	}
}

// BenchmarkSharedBudget asks for windows, and how many are left, of one of many streams that share a budget, some of
// them under a cap, and some with a watch that is armed.
func BenchmarkSharedBudget(b *testing.B) {
	for _, streams := range []int{1, 1000} {
		for _, c := range []struct {
			name string
			cap  Cap
			held int
		}{{"plain", Cap{}, 0}, {"caps", Cap{Count: 8, Per: 24 * time.Hour}, 0}, {"watches", Cap{}, 2}} {
			left := func(a *Account, i int) int64 {
				return a.WindowsLeft(fmt.Sprintf("stream-%d", i%streams), c.cap, []Item{boundedRange("0.1", 1)},
					100*int64(time.Minute))
			}
			b.Run(fmt.Sprintf("%s/%d", c.name, streams), func(b *testing.B) {
				a := NewAccount(Limit{Epsilon: dec("1000000"), Per: 24 * time.Hour})
				items := []Item{boundedRange("0.1", 1)}
				name := func(i int) string { return fmt.Sprintf("stream-%d", i%streams) }
				for i := range streams {
					for end := range int64(100) {
						a.Add(Charge{Stream: name(i), End: (end + 1) * int64(time.Minute), Cap: c.cap, Items: items})
					}
					for n := range c.held {
						if err := a.Hold(Held{ID: fmt.Sprint(i, n), Stream: name(i), To: Open,
							Items: []Item{pure([]string{"1", "0.5"}[n], 1)}}); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					i++
					if !a.Fits(Charge{Stream: name(i), End: 101 * int64(time.Minute), Cap: c.cap, Items: items}) {
						b.Fatal("a window does not fit")
					}
					if left(a, i) < 1 {
						b.Fatal("no window is left")
					}
				}
			})
		}
	}
}

// BenchmarkManyInstances asks for a window of a budget that has paid for a year of watches: fifty streams, ten
// instances a day each.
func BenchmarkManyInstances(b *testing.B) {
	const instances = 50 * 10 * 365
	limit, items := Limit{Epsilon: dec("1000000"), Per: 24 * time.Hour}, []Item{pure("1", 1)}
	made := func() *Account {
		a := NewAccount(limit)
		for i := range instances {
			end := int64(i) * int64(365*24*time.Hour) / instances
			id, stream := fmt.Sprintf("stream-%d/slow/%d", i%50, i/50), fmt.Sprintf("stream-%d", i%50)
			if err := a.Hold(Held{ID: id, Stream: stream, From: end, To: Open, Items: items}); err != nil {
				b.Fatal(err)
			}
			if err := a.EndHeld(id, end+int64(time.Hour)); err != nil {
				b.Fatal(err)
			}
		}
		return a
	}
	b.Run("fold", func(b *testing.B) {
		for b.Loop() {
			made()
		}
	})
	a := made()
	next := Charge{Stream: "stream-0", End: int64(366 * 24 * time.Hour), Items: items}
	b.Run("fits", func(b *testing.B) {
		for b.Loop() {
			a.Fits(next)
		}
	})
	b.Run("spent", func(b *testing.B) {
		for b.Loop() {
			a.Spent(next.End, next)
		}
	})
	b.Run("total", func(b *testing.B) {
		for b.Loop() {
			a.StreamTotal("stream-0", next)
		}
	})
}
