package try

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/parse"
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
		return &cell{plan: plan{window: time.Duration(hours) * time.Hour}, figures: make([]record.Value, 100),
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

// The first and the last window count only if the file covers them, and are kept if there would be too few.
func TestRaggedWindows(t *testing.T) {
	const hour = int64(time.Hour)
	for name, c := range map[string]struct {
		first, last   int64 // minutes of the file
		begin, number int64 // hours
	}{
		"both are whole":   {2, 10*60 - 3, 0, 10},
		"the first is not": {30, 10*60 - 3, 1, 9},
		"the last is not":  {2, 9*60 + 10, 0, 9},
		"neither is":       {30, 9*60 + 10, 1, 8},
		"too few":          {30, 3*60 + 10, 0, 4},
		"one too many":     {30, 4*60 + 10, 1, 4},
	} {
		start := begin.UnixNano()
		e := events{first: start + c.first*hour/60, last: start + c.last*hour/60}
		w := config.Window{Size: time.Hour, Every: time.Hour, Start: start, End: start + (c.last/60+1)*hour}
		if from, number := e.whole(w); from != start+c.begin*hour || number != c.number {
			t.Errorf("%s: %d windows from hour %d on, want %d from %d on", name, number, (from-start)/hour, c.number, c.begin)
		}
	}
}

// A figure about the values counts as useful if its values are, and are not the bound.
func TestShareOf(t *testing.T) {
	figure := func(release, value string, quality record.Quality) record.Value {
		return record.Value{Release: release, Value: new(json.Number(value)), Quality: quality}
	}
	c := &cell{figures: []record.Value{figure("p90", "5", "useful"), figure("p90", "4.9", "useful"),
		figure("p90", "3", "rough"), figure("p90", "0", "useful"), figure("users", "3", "useful")}}
	if got := c.shareOf(p90, number(t, "0"), number(t, "5.0")); got != 0.25 {
		t.Errorf("%g of the values count, want a quarter", got)
	}
	if got := c.shareOf(mean, number(t, "0"), number(t, "5")); got != 0 {
		t.Errorf("%g of no values", got)
	}
}

// What is not chosen is in the file as a comment, with the same ε, and takes its place as it is.
func TestOtherFigures(t *testing.T) {
	d := draft{File: "a", Name: "a", Lower: number(t, "0"), Upper: number(t, "10"), Step: number(t, "1"),
		High: number(t, "5"), Columns: replayColumns, Groups: []string{"eu"}, Last: int64(48 * time.Hour)}
	counted := d
	counted.Columns.Value, counted.Upper = "", number(t, "100")
	for _, of := range []draft{d, counted} {
		for _, a := range of.abouts() {
			tryOthers(t, of, a)
		}
	}
}

func tryOthers(t *testing.T, d draft, a about) {
	t.Helper()
	p := plan{window: time.Hour, epsilon: number(t, "1"), about: a}
	s, _, err := d.stream(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.All[*config.Release](s)[2]; got.Name != a.String() || got.Query.Epsilon.String() != "0.5" {
		t.Errorf("%s: the release %+v", a, got)
	}
	text, err := d.write(p)
	if err != nil {
		t.Fatal(err)
	}
	others := strings.ReplaceAll(text, "# - {name:", "- {name:")
	f, err := parse.File("a", []byte(others), os.LookupEnv)
	if err == nil || !strings.Contains(err.Error(), "budget") { // three cost more than the budget has for one
		t.Errorf("%s: %v, %v\n%s", a, f, err, others)
	}
}
