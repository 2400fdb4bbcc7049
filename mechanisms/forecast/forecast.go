// Package forecast says beforehand, from public figures alone, how far a release may be from the statistic.
//
// [Of] gives what is known whatever the data: the ranks by which a quantile may be off, the noise of a count, the lead
// that a mode needs, the error of a mean. Who also describes how the values are distributed, with a [Shape], learns the
// error in the values' own unit. [Epsilon] and [Users] turn the question round: the ε or the number of users that an
// error takes.
//
// The error under a shape is that of the mechanism itself on random samples of the shape. It is the distance of the
// released value from the statistic of the users who are there, not from that of the shape: n users are a sample
// themselves, and by how much their own median is off is no fault of the mechanism. Where a quantile lies between two
// values, it is their midpoint. Samples and draws are functions of the random bits that they read; here they read the
// points of a lattice, spread evenly over all that the bits can be. So the answer is the same every time. It is off by
// 2 % in probability at most, as the simulations in the tests show, and every mechanism is covered by the code that
// draws: a new one takes nothing here but a look at how long it draws ([evaluations]).
package forecast

import (
	"math"

	"github.com/louver/louver/mechanisms"
)

// Public holds what is known about a window and group.
type Public struct {
	// Users are those expected; 0: unknown.
	Users int64
	// CountEpsilon is the ε of the count of users that is released as well; 0: none is.
	CountEpsilon float64
	// Shape says how the values are distributed; nil: nothing is known.
	Shape *Shape
}

// Figure is the forecast of one value. What is nil cannot be said of it.
type Figure struct {
	// Mechanism is the one that a draw from so many users is most likely to choose; "" where there is no choice, or the users
	// are unknown.
	Mechanism string `json:"mechanism,omitempty"`
	// RankError bounds the users between the value and the true quantile, with probability 95 %.
	RankError *float64 `json:"rank_error_95"`
	// Low and High are the shares of users between which the value lies, with probability 95 %.
	Low  *float64 `json:"p_low"`
	High *float64 `json:"p_high"`
	// CountError bounds the noise of a count, in users, with probability 95 %.
	CountError *int64 `json:"count_error_95"`
	// Lead is by how many users a value must be ahead of every other to be released as the mode with probability 95 %.
	Lead *int64 `json:"lead_95"`
	// ValueError bounds the error of a mean or sum in the unit of the values, with probability 95 % and whatever the data.
	// There is no such bound where values are cut to an interval found in the data.
	ValueError *float64 `json:"value_error_95"`
	// Quality is the value's expected quality if there are as many users as expected; "" if they or its error are
	// unknown.
	Quality mechanisms.Quality `json:"quality,omitempty"`
	// TypicalError and Error95 are not exceeded with probability 50 % and 95 % under the shape, in the unit of the values.
	// They are counted from the statistic of the users who are there.
	TypicalError *float64 `json:"typical_error,omitempty"`
	Error95      *float64 `json:"error_95,omitempty"`
}

// Of forecasts each value of a draw: one, or for several quantiles one for each p.
func Of(q mechanisms.Query, m mechanisms.Mechanism, public Public) ([]Figure, error) {
	figures, err := anyData(q, m, public)
	if err != nil || public.Shape == nil || public.Users == 0 || m.Counts() {
		return figures, err
	}
	return figures, shaped(figures, q, m, public)
}

// anyData is the part of the forecast that holds whatever the data.
func anyData(q mechanisms.Query, m mechanisms.Mechanism, public Public) ([]Figure, error) {
	users := public.count()
	likely := mechanisms.Likely(m, public.Users, users)
	// A count that is as good as exact says between which percentiles a value lies. A draw that goes by a count would be
	// another one with it.
	if users == nil && public.Users > 0 && q.Statistic != mechanisms.Quantiles && likely == m {
		users = &mechanisms.NoisyCount{Value: public.Users, Epsilon: 1e6}
	}
	bounds := likely.Errors(mechanisms.Public{Users: users})
	figures := make([]Figure, len(bounds))
	for i, b := range bounds {
		f := &figures[i]
		if public.Users > 0 && likely != m {
			f.Mechanism = likely.Name()
		}
		f.RankError, f.Low, f.High = finite(b.RankError95), finite(b.PLow), finite(b.PHigh)
		if f.Low == nil && f.RankError != nil && public.Users > 0 {
			p, off := q.Probabilities()[i].InexactFloat64(), *f.RankError/float64(public.Users)
			low, high := max(0, p-off), min(1, p+off)
			f.Low, f.High = &low, &high
		}
		f.Quality = quality(q, m, b, i, public)
	}
	epsilon := q.Epsilon.InexactFloat64()
	var err error
	switch {
	case m.Counts():
		figures[0].CountError = new(mechanisms.CountError95(epsilon))
	case q.Statistic.Family() == mechanisms.OfLeads:
		figures[0].Lead = new(mechanisms.Lead95(epsilon, q.Grid.Last()))
	case q.Statistic == mechanisms.Mean && public.Users > 0 && smooth(m):
		figures[0].ValueError, err = worstMean(q, m, public)
	case q.Statistic == mechanisms.Mean && public.Users > 0 && m.Name() == "two_sums":
		figures[0].ValueError = new(q.MeanError95(public.Users, public.count()))
	case q.Statistic == mechanisms.Sum && !mechanisms.Clips(m):
		figures[0].ValueError = finite(bounds[0].Error95)
	}
	return figures, err
}

// quality judges the i-th value as if the users expected were there.
func quality(q mechanisms.Query, m mechanisms.Mechanism, b mechanisms.Bound, i int, public Public) mechanisms.Quality {
	if public.Users == 0 {
		return ""
	}
	value := 0.
	switch {
	case !m.Counts():
		b.Error95 = math.NaN() // it is compared with the value, which is not known
	case q.CountsUsers():
		value = float64(public.Users)
	}
	q.ExpectedUsers = public.Users
	return q.Judge(b, i, value, public.count())
}

func (p Public) count() *mechanisms.NoisyCount {
	if p.CountEpsilon > 0 && p.Users > 0 {
		return &mechanisms.NoisyCount{Value: p.Users, Epsilon: p.CountEpsilon}
	}
	return nil
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
