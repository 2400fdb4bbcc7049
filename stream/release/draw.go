package release

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// draw is one configured release; its values begin at first among those of its stream.
type draw struct {
	mechanism mechanisms.Mechanism
	query     mechanisms.Query
	scale     mechanisms.Scale
	clips     mechanisms.Scale // for the interval that values are cut to
	first     int
	counting  bool // it releases the number of users, and the other draws may use that
}

func newDraw(r config.Release, first int) draw {
	return draw{mechanism: r.Mechanism, query: r.Query, scale: r.Query.Scale(r.Mechanism), clips: r.Query.ClipScale(r.Mechanism), first: first, counting: r.Query.CountsUsers()}
}

// Series describes the values that a stream releases for each group, in the order of the configuration.
func Series(s *config.Stream) (all []ledger.Release) {
	for _, r := range s.Releases {
		all = append(all, described(s, r)...)
	}
	return all
}

// WatchSeries describes the records of a stream's watches and releases on change, each with the ε of an instance, in the order of the configuration.
func WatchSeries(s *config.Stream) (all []ledger.Release) {
	for _, w := range s.Watches {
		if w.Release != nil {
			one := described(s, *w.Release)[0]
			lost := cost.Of(s.Budget.Limit, w.Price())
			one.Epsilon, one.Delta = lost.Epsilon, lost.Delta
			all = append(all, one)
			continue
		}
		all = append(all, ledger.Release{Name: w.Name, Statistic: record.StatisticWatch, Mechanism: record.MechanismWatch, Epsilon: w.Mechanism.Promise().Epsilon})
	}
	return all
}

// described lists the series of a configured release: one, or one for each p of a joint draw.
func described(s *config.Stream, r config.Release) (all []ledger.Release) {
	m := r.Mechanism
	promise := m.Promise()
	one := ledger.Release{Statistic: string(r.Query.Statistic.Each()), Mechanism: m.Name(), Unit: r.Query.Statistic.Unit(s.Unit), Epsilon: promise.Epsilon, Delta: promise.Delta}
	p := r.Query.Probabilities()
	for i, name := range r.Names() {
		one.Name = name
		if i < len(p) {
			one.P = &p[i]
		}
		all = append(all, one)
	}
	return all
}

// fill turns a draw into the ledger's values. users is the count released for the window and group, if one was drawn
// before.
func (d draw) fill(values []ledger.Value, drawn mechanisms.Draw, users *mechanisms.NoisyCount) {
	for i, x := range drawn.Values {
		v := &values[i]
		v.Mechanism = drawn.Mechanism
		figure := d.scale.Decimal(x.Number)
		v.Value = &figure
		v.RankError95 = ledger.RankError(x.RankError95)
		v.Error95 = ledger.Error(x.Error95)
		v.Quality = string(d.query.Judge(x.Bound, i, figure.InexactFloat64(), users))
		v.PLow = ledger.PercentileLow(x.PLow)
		v.PHigh = ledger.PercentileHigh(x.PHigh)
		if d.query.Interval != nil {
			v.Interval = &ledger.Interval{Level: *d.query.Interval, Low: d.scale.Decimal(drawn.Low), High: d.scale.Decimal(drawn.High)}
		}
		if c := drawn.Clip; c != nil {
			v.Clip = &[2]decimal.Decimal{d.clips.Decimal(c[0]), d.clips.Decimal(c[1])}
		}
	}
}
