package try

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/replay"
)

var replayColumns = replay.Columns{User: "u", Value: "v", Time: "t", Group: "g"}

func number(t *testing.T, text string) decimal.Decimal {
	t.Helper()
	d, err := decimal.NewFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The shortest windows with most figures useful are chosen, with care for people first.
func TestChoose(t *testing.T) {
	tried := func(hours int, day string, useful int) *cell {
		return &cell{plan: plan{window: time.Duration(hours) * time.Hour}, figures: make([]record.Figure, 100),
			useful: useful, day: cost.Loss{Spending: budget.Spending{Epsilon: number(t, day)}}}
	}
	for name, c := range map[string]struct {
		rows [][]*cell
		want string // ε in any 24 hours
	}{
		"the shortest":           {[][]*cell{{tried(1, "0.5", 59), tried(1, "0.9", 60)}, {tried(3, "0.3", 99)}}, "0.9"},
		"the least ε":            {[][]*cell{{tried(1, "0.4", 70), tried(1, "0.9", 80)}}, "0.4"},
		"care first":             {[][]*cell{{tried(1, "4", 80)}, {tried(3, "1", 60)}}, "1"},
		"people can still hide":  {[][]*cell{{tried(1, "5", 90), tried(1, "4", 80)}, {tried(3, "1", 59)}}, "4"},
		"none has most":          {[][]*cell{{tried(1, "0.5", 30), tried(1, "3", 50)}, {tried(3, "24", 90)}}, "3"},
		"hardly any with care":   {[][]*cell{{tried(1, "3", 33), tried(1, "72", 90)}, {tried(3, "24", 60)}}, "24"},
		"none has most at all":   {[][]*cell{{tried(1, "0.5", 0), tried(1, "72", 20)}, {tried(3, "24", 40)}}, "24"},
		"nothing is ever useful": {[][]*cell{{tried(1, "0.5", 0), tried(1, "24", 0)}}, "0.5"},
	} {
		if got := choose(c.rows); got.day.Epsilon.String() != c.want {
			t.Errorf("%s: ε %s in any 24 hours, want %s", name, got.day.Epsilon, c.want)
		}
	}
}

// Windows that are tried are 4 to 500 in the file, and of six lengths at most.
func TestSizes(t *testing.T) {
	for span, want := range map[time.Duration]int{time.Second: 1, time.Minute: 6, 24 * time.Hour: 6,
		3650 * 24 * time.Hour: 6} {
		d := draft{First: begin.UnixNano(), Last: begin.Add(span).UnixNano()}
		sizes := d.sizes()
		if len(sizes) == 0 || len(sizes) > want {
			t.Errorf("%s: %v", span, sizes)
		}
		for i, size := range sizes {
			start, end := d.span(size)
			if n := (end - start) / int64(size); n > mostWindows || i > 0 && (n < fewestWindows || size <= sizes[i-1]) {
				t.Errorf("%s: %d windows of %s", span, n, size)
			}
		}
	}
}
