package decide

import (
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/ledger"
)

// These take the place of mechanisms, strategies and tests. What they draw follows a script and not the sample. Those
// that leak are exact.

// scripted takes the place of a mechanism. What it draws follows a script and not the sample. Bounds of errors and the
// like are computed from what it is given as public, as those of real mechanisms are.
type scripted struct {
	mechanisms.Mechanism
	query  mechanisms.Query
	script *rand.Rand
}

// most is above the min_users of the stream, so that some groups of a script have too few users.
const most = 120

func (m scripted) Draw(_ *mechanisms.Sample, given mechanisms.Public, _ io.Reader) (mechanisms.Draw, error) {
	values := max(1, len(m.query.P))
	seen := m.script.Float64()
	if given.Users != nil {
		seen += float64(given.Users.Value) + given.Users.Epsilon
	}
	if given.Measure != nil {
		b, err := given.Measure.AppendBinary(nil)
		if err != nil {
			return mechanisms.Draw{}, err
		}
		for i, x := range b {
			seen += float64(int(x) * (i % 97))
		}
	}
	seen = math.Mod(seen, 10) // small enough that figures are useful, rough or noise, as the number of users has it
	low, high := 1/(2+seen), 1-1/(2+seen)
	if m.script.IntN(2) == 0 {
		low, high = math.NaN(), math.NaN()
	}
	d := mechanisms.Draw{Mechanism: []string{"one", "other"}[m.script.IntN(2)], Low: m.script.Int64N(most),
		Clip: []int64{m.script.Int64N(most), m.script.Int64N(most)},
		Outside: &mechanisms.Outsiders{Users: -m.script.Int64N(most), Error95: m.script.Int64N(most),
			Users95: m.script.Int64N(most), Cut95: seen}}
	d.High = d.Low + m.script.Int64N(most)
	if b := mechanisms.Buckets(m.Mechanism); b != nil {
		for _, numbers := range []struct {
			of *[]int64
			n  int
		}{{&d.Raw, b.Len()}, {&d.Coarse, b.Groups()}} {
			for range numbers.n {
				*numbers.of = append(*numbers.of, m.script.Int64N(most)-most/3)
			}
		}
	}
	for range values {
		raw := m.script.Int64N(most) - most/4
		d.Values = append(d.Values, mechanisms.Value{Number: max(raw, 0), Raw: &raw,
			Bound: mechanisms.Bound{RankError95: seen, Error95: seen, PLow: low, PHigh: high}})
	}
	return d, nil
}

// scriptedTotal takes the place of a strategy. What it draws follows a script, or is exact.
type scriptedTotal struct {
	running.Strategy
	script *rand.Rand
	leaks  bool
}

func (s scriptedTotal) Draw(open running.Open, leaf int64, _ io.Reader) (draws []*big.Int, err error) {
	for l := range s.Draws(leaf) {
		y := s.script.Int64N(2000) - 20
		if s.leaks {
			if y = 0; l < len(open) {
				y = open[l]
			}
		}
		draws = append(draws, big.NewInt(y))
	}
	return draws, nil
}

// scriptedActive takes the place of a strategy. What it draws follows a script, or is exact.
type scriptedActive struct {
	running.Active
	script *rand.Rand
	leaks  bool
}

func (s scriptedActive) Draw(open running.Open, _ int64, _ io.Reader) ([]*big.Int, error) {
	y := s.script.Int64N(50_000) - 20 // beyond the error, at times
	if s.leaks {
		if y = 0; len(open) > 1 {
			y = open[1]
		}
	}
	return []*big.Int{new(big.Int).Lsh(big.NewInt(y), 24)}, nil
}

// scriptedTester takes the place of a watch. It fires by a script and not by the sample. The same script says whether
// its secrets can be opened. One that leaks fires by the exact number of users.
type scriptedTester struct {
	script *rand.Rand
	leaks  bool
}

func (a scriptedTester) Arm(io.Reader) (armed, error) { return a, nil }

func (a scriptedTester) Resume([]byte) (armed, error) {
	if a.script.IntN(6) == 0 {
		return nil, errors.New("by the script")
	}
	return a, nil
}

func (a scriptedTester) MarshalText() ([]byte, error) { return []byte{1, 2}[:1+a.script.IntN(2)], nil }

func (a scriptedTester) Look(groups []*mechanisms.Sample, _ io.Reader) (int, error) {
	if a.leaks {
		if groups[0].Users() > 49 {
			return 0, nil
		}
		return -1, nil
	}
	return a.script.IntN(5)%3 - 1, nil
}

func (a scriptedTester) LookFrom(groups []*mechanisms.Sample, _ []int64, random io.Reader) (int, error) {
	return a.Look(groups, random)
}

// openSeal hides nothing: sealed secrets differ each time.
type openSeal struct{}

func (openSeal) close(_ string, _ ledger.Instance, _ string, secret []byte) ([]byte, error) {
	return secret, nil
}

func (openSeal) open(_ string, _ ledger.Instance, _ string, sealed []byte) ([]byte, error) {
	return sealed, nil
}

// These are the streams of the test, each with other figures.

const everything = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    max_groups: 2
    unit: ms
    max_windows: {count: 100, per: 1h}
    bounds: {lower: 0, upper: 1000, step: 1, prior: adaptive}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 1}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 1}
      - {name: middle, statistic: median, interval: 0.9, epsilon: 1}
      - {name: tails, statistic: quantiles, p: [0.5, 0.9], epsilon: 1}
      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1}
      - {name: approximate, statistic: mean, mechanism: smooth_laplace, epsilon: 1, delta: 0.0000001}
      - {name: concentrated, statistic: mean, mechanism: smooth_lln, epsilon: 0.5}
      - {name: average, statistic: mean, epsilon: 1}
      - {name: total, statistic: sum, epsilon: 1}
      - {name: usual, statistic: mode, epsilon: 1}
      - {name: slow, statistic: count, above: 500, epsilon: 1}
      - {name: beyond, statistic: outside, epsilon: 1}
      - {name: shape, statistic: histogram, buckets: [100, 200, 700], levels: 2, epsilon: 1, rollup: [2m, 4m, 1d],
         zone: Europe/Berlin}
      - {name: mid, statistic: median, from: shape}
      - {name: part, statistic: share, above: 500, from: shape}
      - {name: few, statistic: count, below: 50, from: shape}
      - {name: peak, statistic: mode, from: shape}
      - {name: users, statistic: count, epsilon: 1}
    min_users: {count: 50, release: users}
    output: {topic: out}
    budget: {epsilon: 80, delta: 0.00001, order: 1.4, per: 24h} # for several windows, the later ones under learnt measures
    on_exhausted: withhold
`

const watched = oneStream + `
    groups: [a, b]
    max_groups: 2
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:08:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    watches:
      - {name: slow, above: 500, more_than: 0.1, epsilon: 2, false_alarms: {at_most: 0.05, per: 30d}, hold: 2m,
         at_most: 20}
      - {name: gone, users_below: 50, epsilon: 3, false_alarms: {at_most: 0.05, per: 30d}, hold: 1m, at_most: 2}
    budget: {epsilon: 23, per: 24h}
    on_exhausted: withhold
`

const redrawn = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    expected_users: 2000
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:08:00Z}
    releases:
      - {name: calm, statistic: median, epsilon: 0.5, publish: on_change, tolerance: 0.1, watch_epsilon: 2, at_most: 4}
      - {name: tail, statistic: quantile, p: 0.9, epsilon: 0.5, publish: on_change, tolerance: 0.05,
         watch_epsilon: 2, at_most: 3}
    budget: {epsilon: 15, per: 24h}
    on_exhausted: withhold
`

const totalled = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: today, statistic: count, since: hour, epsilon: 1}
      - {name: slow, statistic: count, above: 500, since: midnight, max_total: 3, epsilon: 0.5}
      - {name: amount, statistic: sum, since: monday, update: 2m, max_total: 5000, epsilon: 1}
    budget: {epsilon: 6, per: 24h}
    on_exhausted: withhold
`

const distributed = oneStream + `
    groups: [a, b]
    max_groups: 2
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: spread, statistic: histogram, since: hour, buckets: {scale: 0}, levels: 2, max_total: 2, epsilon: 1}
      - {name: p50, statistic: median, from: spread}
      - {name: bad, statistic: share, above: 500, from: spread}
    budget: {epsilon: 10, per: 24h}
    on_exhausted: withhold
`

const lately = oneStream + `
    groups: [a, b]
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:56:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: now, statistic: count, active: 2m, epsilon: 1}
      - {name: slow, statistic: count, active: 4m, above: 500, update: 2m, epsilon: 0.5}
    budget: {epsilon: 6, per: 24h}
    on_exhausted: withhold
`

// lastly pays for some of the windows that are decided, and withholds the rest.
const lastly = oneStream + `
    groups: [a, b]
    max_groups: 2
    together: all
    unit: ms
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: shape, statistic: histogram, buckets: [100, 200, 700], levels: 2, epsilon: 1, last: [3m, 5m]}
      - {name: mid, statistic: median, from: shape}
      - {name: slow, statistic: share, above: 200, objective: 0.95, from: shape}
    budget: {epsilon: 14, per: 24h}
    on_exhausted: withhold
`
