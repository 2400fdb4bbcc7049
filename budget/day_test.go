package budget

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Schedules are decided window by window under any limit. No stretch costs more than Most. If nothing is withheld and
// all prices are pure, some stretch costs exactly that much.
func TestMostAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit().Draw(t, "limit")
		d := time.Duration(rapid.Int64Range(1, 30).Draw(t, "stretch"))
		var schedules []Schedule
		for i := range rapid.IntRange(1, 3).Draw(t, "streams") {
			schedules = append(schedules, Schedule{
				Stream: string(rune('a' + i)),
				Size:   time.Duration(rapid.Int64Range(1, 6).Draw(t, "size")),
				Every:  time.Duration(rapid.Int64Range(1, 6).Draw(t, "every")),
				Cap:    anyCap().Draw(t, "cap"),
				Items:  []Item{anyItem().Draw(t, "item")},
			})
		}
		most, capped := limit.Most(d, schedules), false
		for _, p := range schedules {
			capped = capped || !p.Cap.none()
		}
		paid, withheld, next := NewAccount(limit), false, make([]int64, len(schedules))
		for {
			i, end := earliest(schedules, next)
			if end > 150 {
				break
			}
			next[i]++
			if c := schedules[i].charge(end); paid.Fits(c) {
				paid.Add(c)
			} else {
				withheld = true
			}
		}
		stretch, worst := paid.clone(), dec("0")
		stretch.SetLimit(Limit{Epsilon: limit.Epsilon, Delta: limit.Delta, Per: d})
		for at := int64(0); at <= 150; at++ {
			s := stretch.Spent(at)
			// The cost of a cap is bounded once for each period of the limit, and once for the whole stretch. The sum
			// over the periods can be smaller.
			if (!capped || !withheld) && !most.Unbounded && s.Epsilon.Cmp(most.Epsilon) > 0 {
				t.Fatalf("the stretch that ends at %d costs %s, want at most %s", at, s.Epsilon, most.Epsilon)
			}
			if s.Epsilon.Cmp(worst) > 0 {
				worst = s.Epsilon
			}
		}
		// A single stream reaches its fullest stretch; several streams may never reach theirs together.
		if len(schedules) == 1 && !withheld && !worst.Equal(most.Epsilon) {
			t.Fatalf("the worst stretch costs %s, want %s", worst, most.Epsilon)
		}
	})
}

func TestMostInADay(t *testing.T) {
	quarter := Schedule{Stream: "s", Size: 15 * time.Minute, Every: 15 * time.Minute, Items: []Item{pure("0.05", 1)}}
	for _, c := range []struct {
		limit, per, want string
	}{{"33.6", "168h", "4.8"}, {"2", "168h", "2"}, {"2", "forever", "2"}, {"0.1", "1h", "2.4"}, {"1", "1h", "4.8"}} {
		per, err := ParsePer(c.per)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Limit{Epsilon: dec(c.limit), Per: per}).Most(24*time.Hour, []Schedule{quarter}); !got.Epsilon.Equal(dec(c.want)) {
			t.Errorf("ε %s per %s: %s in a day, want %s", c.limit, c.per, got.Epsilon, c.want)
		}
	}
}
