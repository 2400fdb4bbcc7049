package offline

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
)

// release runs the command and returns what it prints.
func release(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	program := cli.Program{Commands: func() any {
		return &struct {
			Release ReleaseCommand `cmd:""`
		}{ReleaseCommand{QueryFlags: cli.NewQueryFlags()}}
	}}
	var out, errOut bytes.Buffer
	if code := program.Execute(t.Context(), append([]string{"release"}, args...), strings.NewReader(stdin), &out,
		&errOut); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	return out.String()
}

// At ε = 1000 a draw is the exact figure but with probability e^−200 and less.
func TestRepeatCounts(t *testing.T) {
	exactly := []string{"--lower", "0", "--upper", "100", "--step", "0.5", "--epsilon", "1000"}
	for _, n := range []int{1, 2, batch - 1, batch, batch + 1, 5*batch + 7} {
		args := slices.Concat(exactly, []string{"--repeat", fmt.Sprint(n)})
		got := release(t, "1 2 3", args...)
		if lines := strings.Count(got, "2\n"); lines != n || len(got) != 2*n {
			t.Errorf("--repeat %d gives %d lines: %q", n, lines, got)
		}
		got = release(t, "1 2 3",
			append(args, "--statistic", "quantiles", "--p", "0.4", "--p", "0.6", "--mechanism", "split")...)
		if lines := strings.Count(got, "\n"); lines != 2*n || strings.Count(got, "p40=2\np60=2\n") != n {
			t.Errorf("--repeat %d of two quantiles gives %d lines", n, lines)
		}
	}
}

// A histogram has a line for each bucket; the last one holds what is above the bounds.
func TestHistogram(t *testing.T) {
	args := []string{"--lower", "0", "--upper", "100", "--step", "1", "--epsilon", "1000", "--statistic", "histogram"}
	got := release(t, "1 2 3 40 70 170", append(args, "--buckets", "2,50")...)
	if want := "le=2 2\nle=50 2\nle=100 1\nle=+Inf 1\n"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	got = release(t, "1 2 3 40 70 170", append(args, "--buckets", "scale:0", "--json")...)
	const want = `"buckets":{"le":[0,1,2,4,8,16,32,64,100,null],"raw":[0,1,1,1,0,0,0,1,1,1],"coarse":[],"groups":0,` +
		`"count":[0,1,1,1,0,0,0,1,1,1]}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s; want %s", got, want)
	}
}

// On a terminal each value stands beside its error.
func TestErrorBesideTheValue(t *testing.T) {
	g, err := mechanisms.NewGrid(dec("0"), dec("100"), dec("1"))
	if err != nil {
		t.Fatal(err)
	}
	s := mechanisms.NewSample(g, []mechanisms.Point{{Index: 40, Count: 3}})
	for _, c := range []struct {
		q    mechanisms.Query
		want string
	}{
		{mechanisms.Query{Statistic: mechanisms.Count, Epsilon: dec("10")}, "3 ± 0\n"},
		{mechanisms.Query{Statistic: mechanisms.Sum, Clip: "none", Epsilon: dec("1000")}, "120 ± 0"},
		{mechanisms.Query{Statistic: mechanisms.Outside, Epsilon: dec("10")}, "0 (at most 0)\n"},
		{mechanisms.Query{Statistic: mechanisms.Mean, Epsilon: dec("1000")}, "; at most 0 users are outside "},
		{mechanisms.Query{Statistic: mechanisms.StdDev, Epsilon: dec("1000")}, "; at most 0 users are outside "},
		{mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("1000"), Prior: "uniform"},
			"40 (off by at most 1 user above or below)\n"},
		{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1"), Epsilon: dec("1000")},
			" (how far it is off depends on the data)\n"},
		{mechanisms.Query{Statistic: mechanisms.Histogram, Epsilon: dec("1000"),
			Buckets: &mechanisms.Bucketing{Ends: []decimal.Decimal{dec("50")}}},
			"le=50 3 ± 1\nle=100 0 (at most 1)\nle=+Inf 0 (at most 1)\n"},
	} {
		c.q.Grid = g
		m, err := mechanisms.New(c.q)
		if err != nil {
			t.Fatal(err)
		}
		for _, terminal := range []bool{true, false} {
			d := newDraws(c.q, m, s, false)
			d.beside = terminal
			lines, err := d.append(nil, rand.Reader)
			if err != nil || strings.Contains(string(lines), c.want) != terminal {
				t.Errorf("%s, terminal %v: %q, %v; want %q", c.q.Statistic, terminal, lines, err, c.want)
			}
		}
	}
}

type closedPipe struct{}

var errPipe = errors.New("broken pipe")

func (closedPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestRepeatStopsWhenNobodyListens(t *testing.T) {
	g, err := mechanisms.NewGrid(dec("0"), dec("5"), dec("1"))
	if err != nil {
		t.Fatal(err)
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("1"), Grid: g}
	m, err := mechanisms.New(q)
	if err != nil {
		t.Fatal(err)
	}
	app := &cli.App{Context: t.Context(), Out: closedPipe{}}
	if err := repeat(app, math.MaxInt, newDraws(q, m, mechanisms.NewSample[mechanisms.Point](g, nil), false)); !errors.Is(err, errPipe) {
		t.Errorf("%v, want %v", err, errPipe)
	}
}

func BenchmarkRepeat(b *testing.B) {
	g, err := mechanisms.NewGrid(dec("0"), dec("60000"), dec("1"))
	if err != nil {
		b.Fatal(err)
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("1"), Grid: g}
	m, err := mechanisms.New(q)
	if err != nil {
		b.Fatal(err)
	}
	var points []mechanisms.Point
	for i := range int64(1000) {
		points = append(points, mechanisms.Point{Index: i * i / 50, Count: 1})
	}
	var sink strings.Builder
	app := &cli.App{Context: b.Context(), Out: &sink}
	d := newDraws(q, m, mechanisms.NewSample(g, points), false)
	b.ReportAllocs()
	if err := repeat(app, b.N, d); err != nil {
		b.Fatal(err)
	}
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// A count says what was drawn before numbers below 0 were cut off, and a median, of which nothing is cut off, does not.
// Nobody is above 50: of 60 counts none is cut off with a probability of about 2^−60.
func TestRawOfCounts(t *testing.T) {
	args := []string{"--lower", "0", "--upper", "100", "--step", "1", "--epsilon", "0.01", "--json", "--repeat", "60"}
	below := 0
	for line := range strings.Lines(release(t, "1 2 3", append(args, "--statistic", "count", "--above", "50")...)) {
		var x struct{ Value, Raw *int64 }
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		if x.Raw == nil || *x.Value != max(0, *x.Raw) {
			t.Fatal(line)
		}
		if *x.Raw < 0 {
			below++
		}
	}
	if below == 0 {
		t.Error("nothing was cut off")
	}
	if got := release(t, "1 2 3", append(args, "--statistic", "median")...); strings.Contains(got, "raw") {
		t.Error(got)
	}
}
