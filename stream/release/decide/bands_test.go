package decide

import (
	"testing"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// everyKind has a release of each basis.
const everyKind = `
      - {name: p50, statistic: median, epsilon: 1}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 1}
      - {name: paid, statistic: median, interval: 0.9, epsilon: 1}
      - {name: tails, statistic: quantiles, p: [0.5, 0.9], epsilon: 1}
      - {name: unlearnt, statistic: median, mechanism: duff, epsilon: 1}
      - {name: average, statistic: mean, epsilon: 1}
      - {name: total, statistic: sum, clip: none, epsilon: 1}
      - {name: usual, statistic: mode, epsilon: 1}
      - {name: slow, statistic: count, above: 500, epsilon: 1}
      - {name: beyond, statistic: outside, epsilon: 1}
      - {name: shape, statistic: histogram, buckets: [100, 200, 700], epsilon: 1}
      - {name: mid, statistic: median, from: shape}
      - {name: part, statistic: share, above: 700, from: shape}
      - {name: few, statistic: count, below: 101, from: shape}
`

// Every value says what its band rests on. Medians and quantiles under the adaptive measure have a band of heavy tails
// at first, and then one of the scatter.
func TestEveryValueSaysItsBasis(t *testing.T) {
	d := playing(t, editionsOf(t, twoGroups("lower: 0, upper: 1000, step: 1", everyKind+`
      - {name: users, statistic: count, epsilon: 1}
`)))
	want := map[string]record.Basis{"paid": record.OfInterval, "tails.p50": record.OfRanks, "tails.p90": record.OfRanks,
		"unlearnt": record.OfRanks, "average": record.OfClipped, "total": record.OfNoise, "usual": "",
		"slow": record.OfNoise, "beyond": record.OfNoise, "shape": record.OfNoise, "mid": record.OfHistogram,
		"part": record.OfHistogram, "few": record.OfHistogram, "users": record.OfNoise}
	seen := map[string]map[record.Basis]bool{"p50": {}, "p90": {}}
	for range 12 {
		e := d.next(append(users(1000, "a", 200), users(1, "b", 200)...))
		for i, r := range e.Releases {
			v := e.Groups[0].Values[i]
			basis := record.Basis("")
			if v.Band != nil {
				basis = v.Band.Basis
			}
			if seen[r.Name] != nil {
				seen[r.Name][basis] = true
				if (basis == record.OfScatter) != (v.Band.Usual95 != nil) {
					t.Errorf("%s of basis %s has the usual difference %v", r.Name, basis, v.Band.Usual95)
				}
			} else if basis != want[r.Name] {
				t.Errorf("%s has the basis %q, want %q", r.Name, basis, want[r.Name])
			}
			if basis != "" && basis != record.OfRanks &&
				(v.Band.Low.GreaterThan(*v.Value) || v.Band.High.LessThan(*v.Value)) {
				t.Errorf("%s = %s is not between %s and %s", r.Name, v.Value, v.Band.Low, v.Band.High)
			}
			if s := v.Smoothed; s != nil && seen[r.Name] != nil && (s.Low == nil || !s.Low.Equal(*v.Band.Low) ||
				!s.High.Equal(*v.Band.High)) {
				t.Errorf("%s is smoothed to %+v with the band %+v", r.Name, s, v.Band)
			}
		}
		for i, r := range e.Releases { // two users at most
			if v := e.Groups[1].Values[i]; seen[r.Name] != nil && v.Band.Basis != record.OfRanks {
				t.Errorf("%s of hardly anybody has the basis %s", r.Name, v.Band.Basis)
			}
		}
	}
	for name, bases := range seen {
		if len(bases) != 2 || !bases[record.OfShape] || !bases[record.OfScatter] {
			t.Errorf("%s had the bases %v, want shape and scatter", name, bases)
		}
	}
}

// Three users are never useful, whatever number the file expects. A paid interval and a sum of all values hold for any
// number of users, and are wide.
func TestExpectedUsersMakeNothingUseful(t *testing.T) {
	d := playing(t, editionsOf(t, twoGroups("lower: -1000, upper: 1000, step: 1",
		everyKind+"    expected_users: 10000\n")))
	for range 60 {
		e := d.next(users(3, "a", 200))
		for _, g := range e.Groups {
			for i, v := range g.Values {
				if v.Quality == string(mechanisms.Useful) {
					t.Fatalf("%s = %s of three users is useful: %+v", e.Releases[i].Name, v.Value, v)
				}
			}
		}
	}
}

// BenchmarkFigure draws a median of 1,000 users under a learnt measure, and says its band and its quality. It should
// not take more than 60 µs.
func BenchmarkFigure(b *testing.B) {
	p := programOf(b, twoGroups("lower: 0, upper: 60000, step: 1", `
      - {name: p50, statistic: median, epsilon: 0.1}
      - {name: users, statistic: count, epsilon: 0.1}
`))
	var points []windows.Point
	for i := range int64(500) {
		points = append(points, windows.Point{Index: 50 + i/2 + i*i/400, Count: 2})
	}
	sample, count := mechanisms.NewSample(p.Stream.Grid, points), int64(1000)
	d, random, values := p.draws[0], buffered(p.random), make([]ledger.Value, 1)
	f, err := mechanisms.NewFilter(d.query)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		public := mechanisms.Public{Measure: f.Measure(), Users: p.count(&count)}
		drawn, err := d.mechanism.Draw(sample, public, random)
		if err != nil {
			b.Fatal(err)
		}
		d.fill(values, drawn, public.Users)
		d.refine(&values[0], drawn.Values[0].Number, f, public.Users)
		f.Predict()
	}
	if values[0].Band == nil || values[0].Band.Low == nil {
		b.Errorf("no band: %+v", values[0])
	}
}
