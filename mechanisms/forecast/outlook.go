package forecast

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// Outlook says with how many users a figure that is computed from a histogram becomes good for something.
type Outlook struct {
	// Noise is the number of users below which the figure is mostly [mechanisms.Noise].
	Noise int64
	// Useful is the number of users from which it is mostly [mechanisms.Useful]. It is 0 for a quantile: that depends
	// on how far the values lie apart, and only a shape tells.
	Useful int64
}

// Of returns the likely quality with so many users. It is "" if the outlook does not tell.
func (o Outlook) Of(users int64) mechanisms.Quality {
	switch {
	case users < o.Noise:
		return mechanisms.Noise
	case o.Useful == 0:
		return ""
	case users < o.Useful:
		return mechanisms.Rough
	}
	return mechanisms.Useful
}

// information is the ε·n·min(p, 1−p) below which a quantile of a histogram is mostly noise. Gaussian histograms need
// half of it. It comes from simulations: of lognormal values of σ 0.3 to 1.5 in buckets of scale 2 to 5, it lies
// between 12 and 40. From where on quantiles are useful depends on how far the values lie apart: from 40 to 440.
const information = 25

// OutlookOf returns the outlook of a figure that is computed from a histogram, from the histogram's noise alone. A
// share, or a count of some of the users, is taken to be of half of them or fewer. ok is false for a mode, which has no
// quality. The error is that of [mechanisms.NewComputed].
func OutlookOf(q mechanisms.Query, m mechanisms.Mechanism, of mechanisms.Query) (o Outlook, ok bool, err error) {
	buckets, epsilon := mechanisms.Buckets(m), q.Epsilon.InexactFloat64()
	noise := mechanisms.HistogramNoise(m.Name(), epsilon, buckets.Levels())
	of.Grid = q.Grid
	f, err := mechanisms.NewComputed(of, buckets)
	if err != nil {
		return o, false, err
	}
	empty := buckets.Estimate(make([]int64, buckets.Len()), make([]int64, buckets.Groups()), noise, 1)
	_, everybody := empty.Users() // a histogram of no more users than this may be one of nobody
	switch of.Statistic.Family() {
	case mechanisms.OfRanks:
		p := of.Probabilities()[0].InexactFloat64()
		if q.ZCDP {
			epsilon *= 2
		}
		o = Outlook{Noise: atLeast(information / (epsilon * min(p, 1-p)))}
	case mechanisms.OfUsers:
		v, _ := f.Of(empty)
		off := v.Error95.InexactFloat64()
		if o = some(off); of.CountsUsers() {
			o = Outlook{atLeast(off), atLeast(10 * off)}
		}
	default:
		if of.Statistic != mechanisms.Share {
			return o, false, nil
		}
		// the error of a share of n users is that of a number of them, over n
		off := 0.
		for _, share := range []float64{0, 0.1} {
			off = max(off, noise.Reach*buckets.Deviation(f.Bucket(), share, noise, 1)+0.5)
		}
		o = some(off)
	}
	o.Noise = max(o.Noise, int64(everybody)+1)
	if o.Useful > 0 {
		o.Useful = max(o.Useful, o.Noise)
	}
	return o, true, nil
}

// some is the outlook of a number of some users, or of the share that they are, which is off by so many users. It is
// compared with all users: see [mechanisms.Query.Judge].
func some(off float64) Outlook { return Outlook{atLeast(2 * off), atLeast(20 * off)} }

// atLeast rounds a number of users up to two digits.
func atLeast(users float64) int64 {
	if users < 100 {
		return int64(math.Ceil(users - 1e-9))
	}
	places := int32(math.Floor(math.Log10(users))) - 1
	return decimal.NewFromFloat(users * (1 - 1e-9)).RoundCeil(-places).IntPart()
}
