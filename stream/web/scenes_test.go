package web

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// The scenes are made-up services whose figures look like real ones: with noise, a gap, an incident and a window that
// lost input.

// services is a streams file of n services in three regions.
func services(n int, budget string) string {
	var b strings.Builder
	b.WriteString("version: 1\nstreams:\n")
	topics := []string{"checkout-latency", "search-latency", "basket-size", "login-time", "video-start", "upload-size"}
	for i := range n {
		name := topics[i%len(topics)]
		if i >= len(topics) {
			name = fmt.Sprintf("%s-%d", name, i/len(topics)+1)
		}
		fmt.Fprintf(&b, `
  - name: %s
    description: time to confirm an order
    input: {topic: in-%d, user: u, value: v, group: g}
    unit: ms
    groups: [eu, us, ap]
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 4000
    window: {size: 1m, grace: 5s, start: 2026-11-20T08:00:00Z}
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.05}
      - {name: top, statistic: mode, epsilon: 0.02}
      - {name: users, statistic: count, epsilon: 0.02}
      - {name: slow, statistic: count, above: 800, epsilon: 0.01}
    output: {topic: out}
    budget: %s
    on_exhausted: withhold
`, name, i, budget)
	}
	return b.String()
}

// regions is a streams file of n services in seven regions with long names.
func regions(n int, budget string) string {
	return strings.ReplaceAll(services(n, budget), "[eu, us, ap]",
		"[eu-central-frankfurt, us-east-virginia, ap-southeast-singapore, sa-east-saopaulo, af-south, "+
			"me-central, ca-west]")
}

// act makes the figures of services.
type act struct {
	*world
	streams []*config.Stream
	books   *ledger.Books
	first   time.Time // the start of the first window
	noise   *rand.Rand
	// change, if not nil, changes a window before it is published; window counts from 0.
	change func(window int, e *ledger.Entry)
}

// watch publishes what a watch says in a window: nothing before it is armed, that it is silent, or since when it fires.
func (a *act) watch(stream, group, name string, window int, reason string, since int) {
	a.Helper()
	a.instance(stream, group, name, window, func(r map[string]any) {
		r["statistic"], r["mechanism"], r["unit"], r["quality"] = record.StatisticWatch, record.MechanismWatch, "", nil
		r["epsilon"], r["instance"], r["excess_95"] = 1, 1, 26
		switch {
		case reason != "":
			r["value"], r["status"], r["reason"] = nil, "withheld", reason
		case since >= 0:
			r["value"], r["since"] = 1, a.end(since)
		}
	})
}

// held publishes what a figure on change says in a window: the value that was drawn in some window, or that it is
// withheld.
func (a *act) held(stream, group, name string, window int, value float64, drawn int, reason string) {
	a.Helper()
	a.instance(stream, group, name, window, func(r map[string]any) {
		r["statistic"], r["p"], r["mechanism"], r["unit"] = "median", 0.5, "margin", "ms"
		r["epsilon"], r["instance"], r["changed"] = 0.15, 1+drawn, drawn == window && reason == ""
		if r["value"], r["since"] = value, a.end(drawn); reason != "" {
			r["value"], r["since"], r["quality"], r["status"], r["reason"], r["epsilon"] = nil, nil, nil,
				"withheld", reason, 0
		}
	})
}

// end is the end of a window.
func (a *act) end(window int) time.Time { return a.first.Add(time.Duration(window+1) * time.Minute) }

// instance publishes a record of an instance of a watch or a figure on change.
func (a *act) instance(stream, group, name string, window int, change func(record map[string]any)) {
	a.Helper()
	r := map[string]any{}
	if err := json.Unmarshal([]byte(text(stream, group, name, 0, "0")), &r); err != nil {
		a.Fatal(err)
	}
	r["id"] = fmt.Sprintf("%s/%s/%s/%s", stream, group, a.end(window-1).Format(time.RFC3339), name)
	r["window_start"], r["window_end"], r["due_at"] = a.end(window-1), a.end(window), a.end(window).Add(5*time.Second)
	r["error_95"], r["users"], r["budget"] = nil, nil, stream
	change(r)
	value, err := json.Marshal(r)
	if err != nil {
		a.Fatal(err)
	}
	a.publish(0, string(value))
}

func newAct(t testing.TB, n int, budget string, first time.Time) *act {
	return &act{world: newWorld(t, 256<<20), streams: parsed(t, services(n, budget)), books: ledger.NewBooks(),
		first: first, noise: rand.New(rand.NewPCG(1, 2))}
}

// ample is a budget that pays every window.
const ample = "{epsilon: 400, per: 24h}"

// played is an act of n services with so many windows, the newest of which has just ended. changes change the windows.
func played(t testing.TB, n, windows int, changes ...func(window int, e *ledger.Entry)) *act {
	a := newAct(t, n, ample, recent(windows))
	for _, change := range changes {
		a.change = change
	}
	a.play(0, windows)
	return a
}

// play publishes the windows from one number to another.
func (a *act) play(from, to int) {
	for window := from; window < to; window++ {
		start := a.first.Add(time.Duration(window) * time.Minute)
		for i, s := range a.streams {
			a.draw(a.books, s, start, start.Add(time.Minute), true, func(e *ledger.Entry) {
				for g := range e.Groups {
					a.fill(e, g, window, 60*float64(1+i%6)*(1+0.4*float64(g)))
				}
				if a.change != nil {
					a.change(window, e)
				}
			})
		}
	}
}

// countedAs gives a group of an entry of services another number of users.
func countedAs(e *ledger.Entry, group int, users int64) {
	v := &e.Groups[group].Values[3]
	v.Value = new(decimal.NewFromInt(users))
	*v.Band.Low, *v.Band.High = decimal.NewFromInt(max(0, users-150)), decimal.NewFromInt(users+150)
}

// fill gives a group its values, around a level that goes up and down with the hours.
func (a *act) fill(e *ledger.Entry, group, window int, level float64) {
	level *= 1 + 0.15*math.Sin(float64(window)/40)
	users := int64(4000/(1+group)) + int64(60*a.noise.NormFloat64())
	e.Groups[group].Users = &users
	whole := func(x float64) *decimal.Decimal { return new(decimal.NewFromInt(int64(math.Round(x)))) }
	share := func(x float64) *decimal.Decimal { return new(decimal.NewFromFloat(x)) }
	band := func(low, high float64, basis record.Basis) *ledger.Band {
		return &ledger.Band{Low: whole(low), High: whole(high), Level: share(0.95), Basis: basis}
	}
	quantile := func(x, p, spread float64) ledger.Value {
		off := spread / 2 * a.noise.NormFloat64()
		value := whole(x + off)
		of := band(value.InexactFloat64()-spread, value.InexactFloat64()+spread, record.OfScatter)
		of.Usual95 = whole(1.4 * spread) // of the differences of two values
		return ledger.Value{Value: value, PLow: share(p - 0.04), PHigh: share(min(1, p+0.04)), Band: of,
			Quality: "useful", Smoothed: &ledger.Smoothed{Value: *whole(x + off/3)}}
	}
	count := func(n int64, error95 float64, quality string) ledger.Value {
		value := whole(max(0, float64(n)+error95/2*a.noise.NormFloat64()))
		low, high := value.InexactFloat64()-error95, value.InexactFloat64()+error95
		return ledger.Value{Value: value, Error95: whole(error95), Band: band(max(0, low), high, record.OfNoise),
			Quality: quality}
	}
	for _, r := range e.Releases {
		v := map[string]ledger.Value{
			"p50": quantile(level, 0.5, level/10),
			"p90": quantile(2.4*level, 0.9, level/2),
			"top": {Value: whole(level * (0.7 + 0.1*float64(a.noise.IntN(3)))), Quality: "useful"},
			"users": {Value: whole(float64(users)), Error95: whole(150), Quality: "useful", // as every record says
				Band: band(max(0, float64(users)-150), float64(users)+150, record.OfNoise)},
			"slow": count(90, 300, "noise"),
		}[r.Name]
		e.Groups[group].Values = append(e.Groups[group].Values, v)
	}
}
