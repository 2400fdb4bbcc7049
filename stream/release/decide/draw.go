package decide

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
	limits    ledger.Limits
	first     int
	counts    bool // it releases the number of all users, and is drawn before the other draws
	serves    bool // the other draws use its number
}

func newDraw(r *config.Release, first int) draw {
	d := draw{mechanism: r.Mechanism, query: r.Query, scale: r.Query.Scale(r.Mechanism),
		clips: r.Query.ClipScale(r.Mechanism), first: first, counts: r.Query.CountsUsers()}
	d.limits.Least, d.limits.Most = r.Query.Limits()
	return d
}

// values returns how many values a draw has.
func (d draw) values() int { return max(1, len(d.query.P)) }

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
			v.Outside = &ledger.Outside{Value: o.Users, Error95: o.Error95, Most: o.Users95,
				Cut95: ledger.Error(o.Cut95)}
		}
		v.Band = ledger.NewBand(*v, false, d.limits)
		v.Quality = string(d.query.Judge(x.Bound, i, figure.InexactFloat64(), users))
	}
}

// refine fills in what earlier values of the same series add to a drawn value: a smoothed value and a band, and the
// quality that follows.
func (d draw) refine(v *ledger.Value, x int64, f *mechanisms.Filter, users *mechanisms.NoisyCount) {
	var released *int64
	if users != nil {
		released = &users.Value
	}
	band := f.Update(x, released)
	if smoothed, ok := f.Smoothed(x, released); ok {
		v.Smoothed = &ledger.Smoothed{Value: d.scale.Decimal(smoothed)}
	}
	if band.Basis == mechanisms.BasisRanks {
		return
	}
	v.Band = ledger.ScatterBand(band, d.scale)
	if v.Smoothed != nil {
		v.Smoothed.Low, v.Smoothed.High = v.Band.Low, v.Band.High
	}
	half := d.scale.Length(band.High-band.Low).InexactFloat64() / 2
	v.Quality = string(d.query.JudgeBand(half, v.Value.InexactFloat64(), band.Basis, users))
}
