package remedy_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/remedy"
)

// stream has a release of each kind, all with one ε.
func stream(t *testing.T, epsilon string) *config.Stream {
	t.Helper()
	f, err := parse.File("s.yaml", []byte(strings.ReplaceAll(`
version: 1
streams:
  - name: s
    input: {topic: in, user: u, value: v}
    unit: ms
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 1m, grace: 5s}
    releases:
      - {name: users, statistic: count, epsilon: 0.5}
      - {name: p50, statistic: median, epsilon: EPSILON}
      - {name: tail, statistic: quantiles, p: [0.5, 0.99], epsilon: EPSILON}
      - {name: average, statistic: mean, epsilon: EPSILON}
      - {name: plain, statistic: mean, clip: none, epsilon: EPSILON}
      - {name: top, statistic: mode, epsilon: EPSILON}
      - {name: slow, statistic: count, above: 800, epsilon: EPSILON}
    output: {topic: out}
    budget: {epsilon: 100000, per: 24h}
    on_exhausted: withhold
`, "EPSILON", epsilon)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams[0]
}

// noise is a figure that is noise. The error of a mean falls with the users.
func noise(release, value string, users int64) record.Value {
	f := record.Value{Stream: "s", Release: release, Users: &users, Value: new(json.Number(value)),
		Quality: record.Quality(mechanisms.Noise)}
	if release == "plain" {
		f.Error95 = new(json.Number(strconv.FormatFloat(300*100/float64(users), 'f', -1, 64)))
	}
	return f
}

// A median may be noise by its band alone, while the odds of its percentiles are those of a rough one. Half the width
// of a band is proportional to 1/(ε·users): to be below the value of 100, half of 400 has to shrink by four.
func TestNoiseByItsBandHasARemedy(t *testing.T) {
	t.Parallel()
	f := noise("p50", "100", 1000)
	number := func(text string) *json.Number { return new(json.Number(text)) }
	f.BandFields = &record.BandFields{Low: number("0"), High: number("800"), Level: number("0.95"), Basis: record.OfScatter}
	got, ok := remedy.Of([]*config.Stream{stream(t, "0.1")}, f)
	if !ok || got.Sentence != "about 4100 users or ε 0.41 would do" {
		t.Errorf("%+v, %t", got, ok)
	}
}

// With the users or the ε that a remedy names, the rule of quality says that the figure is no longer noise, and a tenth
// less is not enough.
func TestRemediesAreEnoughAndNotTooMuch(t *testing.T) {
	for _, name := range []string{"p50", "tail.p50", "average", "plain", "top", "slow"} {
		s := stream(t, "0.02")
		const users = 200
		r, ok := remedy.Of([]*config.Stream{s}, noise(name, "20", users))
		if !ok || r.Users == nil || r.Epsilon == nil {
			t.Errorf("%s: %+v; want a number of users and an ε", name, r)
			continue
		}
		at := func(epsilon string, n int64) bool { // there is a remedy as long as it is noise
			value := "20"
			if name == "slow" {
				value = decimal.NewFromInt(n).Div(decimal.NewFromInt(users / 20)).String()
			}
			of := stream(t, epsilon)
			f := noise(name, value, n)
			if f.Error95 != nil { // and with ε
				f.Error95 = new(json.Number(decimal.RequireFromString(f.Error95.String()).
					Mul(decimal.RequireFromString("0.02")).Div(decimal.RequireFromString(epsilon)).String()))
			}
			again, ok := remedy.Of([]*config.Stream{of}, f)
			return !ok || again.Users == nil
		}
		least := decimal.RequireFromString(r.Epsilon.String())
		tenth := decimal.RequireFromString("0.9")
		if !at("0.02", *r.Users) || at("0.02", *r.Users*9/10) {
			t.Errorf("%s: %d users are not enough, or fewer are", name, *r.Users)
		}
		if !at(least.String(), users) || at(least.Mul(tenth).String(), users) {
			t.Errorf("%s: ε %s is not enough, or less is", name, least)
		}
	}
}

// The released count itself is noise: no ε of another release helps. What is no noise needs nothing.
func TestWhatCannotBeHelped(t *testing.T) {
	s := stream(t, "0.02")
	if r, ok := remedy.Of([]*config.Stream{s}, noise("p50", "20", 3)); !ok || r.Epsilon != nil ||
		!strings.HasPrefix(r.Sentence, "about ") ||
		strings.Contains(r.Sentence, "ε") {
		t.Errorf("%+v; want users alone", r)
	}
	if r, ok := remedy.Of([]*config.Stream{s}, noise("tail.p99", "20", 100)); !ok || r.Epsilon != nil ||
		r.Users == nil {
		t.Errorf("%+v; want users alone: ε would have to be larger than 1", r)
	}
	// ± 6
	if r, ok := remedy.Of([]*config.Stream{s}, noise("users", "3", 3)); !ok || *r.Users != 10 || r.Epsilon != nil {
		t.Errorf("%+v; want 10 users, and no ε for as many users as nobody knows", r)
	}
	s.Budget.Epsilon = decimal.NewFromInt(1440) // 1 for a window of a minute, which costs 0.62
	if r, ok := remedy.Of([]*config.Stream{s}, noise("p50", "20", 200)); !ok || r.Epsilon == nil {
		t.Errorf("%+v; want an ε that the budget can pay", r)
	}
	other := *s // of the same budget, which cannot pay more than both of them
	s.Budget.Epsilon = decimal.RequireFromString("1785.6")
	if r, ok := remedy.Of([]*config.Stream{s, &other}, noise("p50", "20", 200)); !ok || r.Epsilon != nil ||
		r.Users == nil {
		t.Errorf("%+v; want users alone: the budget could not pay for a larger ε", r)
	}
	useful := noise("p50", "20", 100)
	useful.Quality = record.Quality(mechanisms.Useful)
	if r, ok := remedy.Of([]*config.Stream{s}, useful); ok {
		t.Errorf("%+v for a useful figure", r)
	}
	if r, ok := remedy.Of([]*config.Stream{s}, noise("unknown", "20", 100)); ok {
		t.Errorf("%+v for a release that is not defined", r)
	}
}
