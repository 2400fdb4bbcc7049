package parse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// shape and listed are histograms without mistakes, and ofShape are figures from the first.
const (
	shape  = "{name: shape, statistic: histogram, buckets: {scale: 3}, epsilon: 0.05, rollup: [1h, 1d]}"
	listed = "{name: shape, statistic: histogram, buckets: [100, 250, 800], levels: 2, epsilon: 0.05}"
)

var ofShape = []string{"{name: tail, statistic: quantile, p: 0.99, from: shape}",
	"{name: slower, statistic: share, above: 800.5, from: shape}", "{name: peak, statistic: mode, from: shape}",
	"{name: quick, statistic: count, below: 90, from: shape}", "{name: mid, statistic: median, from: shape}"}

// withHistogram is right with a histogram, and figures from it, in place of the median.
func withHistogram(histogram string, figures ...string) string {
	return strings.Replace(right, p50, strings.Join(append([]string{histogram}, figures...), "\n      - "), 1)
}

func TestHistogram(t *testing.T) {
	f := parse(t, withHistogram(shape, ofShape...))
	s := f.Streams[0]
	if len(config.All[*config.Release](s)) != 4 || len(config.All[*config.Computed](s)) != 5 {
		t.Fatalf("%d releases and %d figures from a histogram; want 4 and 5", len(config.All[*config.Release](s)),
			len(config.All[*config.Computed](s)))
	}
	b := mechanisms.Buckets(config.All[*config.Release](s)[0].Mechanism)
	if b.Len() != 114 || b.Groups() != 11 { // 112, and those that end at 800 and 89
		t.Errorf("%d buckets in %d groups; want 114 in 11", b.Len(), b.Groups())
	}
	for _, end := range []int64{800, 89} {
		if _, found := b.EndAt(end); !found {
			t.Errorf("no bucket ends at %d", end)
		}
	}
	// 0.05 for the histogram as for the median before: figures from it are free.
	now := time.Now()
	if got, want := f.Payer(f.Budgets[0], now).InAnyDay(), parse(t, right); got.Epsilon.Cmp(
		want.Payer(want.Budgets[0], now).InAnyDay().Epsilon) != 0 {
		t.Errorf("ε %s in any day; want that of the file with a median", got.Epsilon)
	}
	var names []string
	for _, one := range s.Series() {
		if one.From != "" && (one.From != "shape" || !one.Epsilon.IsZero()) {
			t.Errorf("%s is from %q, for ε %s", one.Name, one.From, one.Epsilon)
		}
		names = append(names, one.Name)
	}
	if got := fmt.Sprint(s.Series()[0].Rollups); got != "[1h 1d]" {
		t.Errorf("it is added up over %s", got)
	}
	if got := strings.Join(names, " "); got != "shape p90 users slow tail slower peak quick mid" {
		t.Errorf("the figures are %s", got)
	}
	again, err := Definition(s.Definition)
	if err != nil || len(config.All[*config.Computed](again)) != 5 ||
		mechanisms.Buckets(config.All[*config.Release](again)[0].Mechanism).Len() != 114 {
		t.Errorf("%+v, %v; want the same from the stream's definition", again, err)
	}
}

func TestHistogramWithDelta(t *testing.T) {
	text := strings.Replace(withHistogram(shape, ofShape...), "epsilon: 24,", "epsilon: 24, delta: 0.000001,", 1)
	s := parse(t, text).Streams[0]
	if got := config.All[*config.Release](s)[0].Mechanism.Name(); got != "gaussian_histogram" ||
		config.All[*config.Computed](s)[0].Series()[0].Mechanism != got {
		t.Errorf("the mechanisms are %s and %s; want gaussian_histogram", got,
			config.All[*config.Computed](s)[0].Series()[0].Mechanism)
	}
}

// withLast has a histogram that is also added up over the newest hour and day, and all groups together.
func withLast() string {
	return strings.NewReplacer("rollup: [1h, 1d]", "rollup: [1h, 1d], last: [1h, 1d]", "    groups: [eu, us, ap]\n",
		"    groups: [eu, us, ap]\n    together: all\n").Replace(withHistogram(shape, ofShape...))
}

func TestLastAndTogether(t *testing.T) {
	s := parse(t, withLast()).Streams[0]
	r := config.All[*config.Release](s)[0]
	if s.Together != "all" || !slices.Equal(r.Last, []time.Duration{time.Hour, 24 * time.Hour}) ||
		!slices.Equal(r.Series()[0].Last, []string{"1h", "1d"}) ||
		!slices.Contains(s.SeriesNames(), "tail.last_1d") {
		t.Errorf("together %q, last %v, and the series %v", s.Together, r.Last, s.SeriesNames())
	}
	const together = "    groups: [eu, us, ap]\n    together: all\n"
	foundTogether := func(name string) string {
		text := strings.NewReplacer(p50, shape, "max: 900", "max: 100").Replace(withFound(found))
		return strings.Replace(text, "    max_groups:", "    together: "+name+"\n    max_groups:", 1)
	}
	for want, text := range map[string]string{
		`together: "all", but the stream has no groups; want it removed, or groups`: strings.NewReplacer(together,
			"    together: all\n", "      group: region\n", "").Replace(withLast()),
		`together: "all", but no release is a histogram of windows, and nothing else is added up`: strings.Replace(right,
			"    groups: [eu, us, ap]\n", together, 1),
		// The distribution so far is no histogram of windows.
		`together: "all", but no release is a histogram of windows, and nothing else is added up; want it removed, or ` +
			`a release with statistic: histogram and without since`: strings.Replace(withTotals(spread),
			"    groups: [eu, us, ap]\n", together, 1),
		`together: "(other)" is groups.other; want`:    foundTogether("(other)"),
		`together: "/login" is in groups.always; want`: foundTogether("/login"),
	} {
		if _, err := File("s.yaml", []byte(text), noVariables); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	// No group that is found has the name.
	if f := parse(t, foundTogether("/all")).Streams[0].Found; f.May("/all") || !f.May("/al") {
		t.Errorf("may be found: /all %v, /al %v", f.May("/all"), f.May("/al"))
	}
}

// The days of a zone are those of the first window's moment, whole windows long. Shorter roll-ups have no zone, and UTC
// is as none.
func TestRollupsOfLocalDays(t *testing.T) {
	of := func(rollup string) *config.Release {
		text := strings.Replace(withHistogram(shape), "rollup: [1h, 1d]", rollup, 1)
		return config.All[*config.Release](parse(t, text).Streams[0])[0]
	}
	if got := of("rollup: [1h, 1d], zone: UTC").Days; got != nil {
		t.Errorf("UTC has days of its own: %v", got)
	}
	const day, quarter = 24 * time.Hour, 15 * time.Minute
	r := of("rollup: [1h, 1d, 7d], zone: Europe/Berlin")
	at := func(text string) windows.Window {
		start, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return windows.Window{Start: start.UnixNano(), End: start.Add(quarter).UnixNano()}
	}
	if _, _, local := r.LocalPeriod(time.Hour, at("2026-03-29T12:00:00Z")); local {
		t.Error("an hour is of local days")
	}
	for _, c := range []struct {
		rollup      time.Duration
		start, want string
	}{
		{day, "2026-03-28T22:45:00Z", "2026-03-27T23:00 24h"},
		{day, "2026-03-28T23:00:00Z", "2026-03-28T23:00 23h"},
		{day, "2026-03-29T21:45:00Z", "2026-03-28T23:00 23h"},
		{day, "2026-10-25T22:45:00Z", "2026-10-24T22:00 25h"},
		{7 * day, "2026-10-25T22:45:00Z", "2026-10-21T22:00 169h"},
	} {
		since, until, local := r.LocalPeriod(c.rollup, at(c.start))
		got := fmt.Sprintf("%s %dh", time.Unix(0, since).UTC().Format("2006-01-02T15:04"),
			(until-since)/int64(time.Hour))
		if got != c.want || !local {
			t.Errorf("%s at %s: %s; want %s", c.rollup, c.start, got, c.want)
		}
	}
	before := parse(t, withHistogram(shape)).Streams[0].Definition
	if parse(t, strings.Replace(withHistogram(shape), "1d]", "1d], zone: Europe/Berlin",
		1)).Streams[0].Definition == before {
		t.Error("a zone changes no definition")
	}
}

// manyGroups are the names of so many groups.
func manyGroups(n int) (groups []string) {
	for i := range n {
		groups = append(groups, fmt.Sprint("g", i))
	}
	return groups
}

func TestHistogramTooLarge(t *testing.T) {
	text := strings.Replace(withHistogram(shape), "groups: [eu, us, ap]",
		"groups: ["+strings.Join(manyGroups(900), ", ")+"]", 1)
	_, err := File("s.yaml", []byte(text), noVariables)
	const want = `releases: 112 buckets of "shape" in 900 groups make an entry of about 2789 kB in the ledger for each ` +
		"window; want at most 512 kB: fewer buckets or groups"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want %s", err, want)
	}
}

// An objective is part of the definition, because the ledger adds up what it needs: all processes must agree on that.
func TestObjectives(t *testing.T) {
	with := func(objective string, edits ...string) string {
		text := strings.Replace(withHistogram(shape, ofShape...), "above: 800.5,", "above: 800.5, "+objective, 1)
		return strings.NewReplacer(edits...).Replace(text)
	}
	s, without := parse(t, with("objective: 0.999,")).Streams[0], parse(t, with("")).Streams[0]
	if !strings.Contains(string(s.Definition), "objective: 0.999") || s.Definition == without.Definition {
		t.Errorf("an objective changes no definition: %s", s.Definition)
	}
	if len(without.Objectives()) != 0 || len(s.Objectives()) != 1 {
		t.Fatalf("%d objectives and %d; want 1 and none", len(s.Objectives()), len(without.Objectives()))
	}
	o := s.Objectives()[0]
	if o.Name() != "checkout/slower" || o.Limit() != "above 800.5 ms" || o.Bad().String() != "0.001" {
		t.Errorf("%s: %s of %s", o.Name(), o.Bad(), o.Limit())
	}
	b, bucket, _ := o.Buckets()
	if b.Ends()[bucket] != 800 {
		t.Errorf("bad are those above %d; want 800, the last point that is not above 800.5", b.Ends()[bucket])
	}
	// Windows of 15 minutes: four are an hour.
	var burns []string
	for _, of := range o.Burns() {
		burns = append(burns, fmt.Sprintf("%s %s %s %v", of.Times, of.Long, of.Short, of.Page))
	}
	if got := strings.Join(burns, ", "); got != "14.4 1h0m0s 15m0s true, 6 6h0m0s 30m0s true, 3 24h0m0s 2h0m0s false, "+
		"1 72h0m0s 6h0m0s false" {
		t.Errorf("the burns are %s", got)
	}
	for _, c := range []struct{ text, want string }{
		{with("objective: 0.999,", "size: 15m, every: 15m", "size: 24h", "[1h, 1d]", "[7d]"),
			"[slower].objective: the longest alert looks at 3d, which has 3 windows of 24h; want at least 4: " +
				"window.every of 18h or less"},
		{with("objective: 0.999,", "every: 15m", "every: 5m", ", rollup: [1h, 1d]", ""),
			"[slower].objective: windows overlap: one is 15m long and begins 5m after the one before; want " +
				"window.every as window.size"},
		{with("objective: 0.999,", "[eu, us, ap]", "["+strings.Join(manyGroups(2400), ", ")+"]", "{scale: 3}", "[800]"),
			"[slower].objective: the objectives of this stream keep 2030400 numbers of the windows that they add up; want " +
				"at most 2000000: longer windows, or fewer groups"},
	} {
		_, err := File("s.yaml", []byte(c.text), noVariables)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
