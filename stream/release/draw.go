package release

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// draw is one configured release. Its values begin at place first among those of its stream.
type draw struct {
	mechanism mechanisms.Mechanism
	query     mechanisms.Query
	scale     mechanisms.Scale
	clips     mechanisms.Scale // for the interval that values are cut to
	first     int
	counts    bool // it releases the number of all users, and is drawn before the other draws
	serves    bool // these use its number
}

func newDraw(r config.Release, first int) draw {
	return draw{mechanism: r.Mechanism, query: r.Query, scale: r.Query.Scale(r.Mechanism),
		clips: r.Query.ClipScale(r.Mechanism), first: first, counts: r.Query.CountsUsers()}
}

// fill turns a draw into the ledger's values. users is the count released for the window and group, if one was drawn
// before.
func (d draw) fill(values []ledger.Value, drawn mechanisms.Draw, users *mechanisms.NoisyCount) {
	for i, x := range drawn.Values {
		v := &values[i]
		v.Mechanism = drawn.Mechanism
		figure := d.scale.Decimal(x.Number)
		v.Value = &figure
		if x.Raw != nil {
			v.Raw = new(d.scale.Decimal(*x.Raw))
		}
		v.RankError95 = ledger.RankError(x.RankError95)
		v.Error95 = ledger.Error(x.Error95)
		v.Quality = string(d.query.Judge(x.Bound, i, figure.InexactFloat64(), users))
		v.PLow = ledger.PercentileLow(x.PLow)
		v.PHigh = ledger.PercentileHigh(x.PHigh)
		if d.query.Interval != nil {
			v.Interval = &ledger.Interval{Level: *d.query.Interval, Low: d.scale.Decimal(drawn.Low),
				High: d.scale.Decimal(drawn.High)}
		}
		if drawn.Raw != nil {
			v.Numbers = &ledger.Numbers{Raw: drawn.Raw, Coarse: drawn.Coarse}
		}
		if c := drawn.Clip; c != nil {
			v.Clip = &[2]decimal.Decimal{d.clips.Decimal(c[0]), d.clips.Decimal(c[1])}
		}
		if o := drawn.Outside; o != nil {
			v.Outside = &ledger.Outside{Value: o.Users, Error95: o.Error95, Most: o.Users95, Cut95: ledger.Error(o.Cut95)}
		}
	}
}
