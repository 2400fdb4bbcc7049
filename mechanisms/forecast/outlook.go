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
	// Useful is the number of users from which it is mostly [mechanisms.Useful]. It is 0 if that depends on how many
	// users share a bucket: then only a shape tells.
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

// information is how much of ε·n·min(p, 1−p) a quantile p needs, in the tails and in the middle. Between 0.1 and 0.5 of
// min(p, 1−p) it is taken to grow evenly. Gaussian histograms need half. These numbers come from simulations: of
// lognormal values of σ 0.6 and 1.5 in buckets of scale 2 and 3, most draws have the quality that they foretell from
// half to one and a half times as many users on.
const (
	tailNoise, middleNoise   = 4, 12
	tailUseful, middleUseful = 30, 50
)

// leastScale is the scale of the widest native buckets that rarely decide whether a quantile is useful. In wider ones
// so many users share a bucket that more of them do not help.
const leastScale = 2

// OutlookOf returns the outlook of a figure that is computed from a histogram, from the histogram's noise alone. A share,
// or a count of some of the users, is taken to be of a tenth of them or fewer. ok is false for a mode, which has no
// quality. The error is that of [mechanisms.NewFree].
func OutlookOf(q mechanisms.Query, m mechanisms.Mechanism, of mechanisms.Query) (o Outlook, ok bool, err error) {
	buckets, epsilon := mechanisms.Buckets(m), q.Epsilon.InexactFloat64()
	noise := mechanisms.HistogramNoise(m.Name(), epsilon, buckets.Levels())
	of.Grid = q.Grid
	f, err := mechanisms.NewFree(of, buckets)
	if err != nil {
		return o, false, err
	}
	empty := buckets.Estimate(make([]int64, buckets.Len()), make([]int64, buckets.Groups()), noise, 1)
	_, everybody := empty.Users() // a histogram of no more users than this may be one of nobody
	switch of.Statistic.Family() {
	case mechanisms.OfRanks:
		p := of.Probabilities()[0].InexactFloat64()
		o = ranked(min(p, 1-p), epsilon, q.ZCDP)
		if b := q.Buckets; !b.Native || b.Scale < leastScale {
			o.Useful = 0
		}
	case mechanisms.OfUsers:
		v, _ := f.Of(empty)
		part := 1. // of the users: what the error is compared with
		if !of.CountsUsers() {
			part = 0.1
		}
		o = compared(v.Error95.InexactFloat64(), part)
	default:
		if of.Statistic != mechanisms.Share {
			return o, false, nil
		}
		// the error of a share of n users is that of a number of them, over n; it is compared with a tenth at least
		off := 0.
		for _, share := range []float64{0, 0.1} {
			off = max(off, noise.Reach*buckets.Deviation(f.Bucket(), share, noise, 1)+0.5)
		}
		o = compared(off, 0.1)
	}
	o.Noise = max(o.Noise, int64(everybody)+1)
	if o.Useful > 0 {
		o.Useful = max(o.Useful, o.Noise)
	}
	return o, true, nil
}

// ranked is the outlook of a quantile with this share of the users on its smaller side.
func ranked(side, epsilon float64, gaussian bool) Outlook {
	if side <= 0 || epsilon <= 0 {
		return Outlook{}
	}
	middle := (min(max(side, 0.1), 0.5) - 0.1) / 0.4
	if gaussian {
		epsilon *= 2
	}
	users := func(tail, half float64) int64 { return atLeast((tail + middle*(half-tail)) / (epsilon * side)) }
	return Outlook{users(tailNoise, middleNoise), users(tailUseful, middleUseful)}
}

// compared is the outlook of a figure that is off by so many users. It is judged by that part of all users.
func compared(off, part float64) Outlook {
	return Outlook{atLeast(off / part), atLeast(10 * off / part)}
}

// atLeast rounds a number of users up to two digits.
func atLeast(users float64) int64 {
	if users < 100 {
		return int64(math.Ceil(users - 1e-9))
	}
	places := int32(math.Floor(math.Log10(users))) - 1
	return decimal.NewFromFloat(users * (1 - 1e-9)).RoundCeil(-places).IntPart()
}
