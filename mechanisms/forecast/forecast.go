// Package forecast predicts, from public figures alone, how far a release may be from the statistic.
//
// [Of] gives the errors that hold for any data: how many ranks a quantile may be off, the noise of a count, the lead
// that a mode needs, the error of a mean. With a [Shape], which describes how the values are distributed, it also gives
// the error in the values' own unit. [Epsilon] and [Users] answer the reverse question: which ε or how many users an
// error needs.
//
// The error under a shape is the mechanism's own error on random samples of the shape. It is the distance between the
// released value and the statistic of the actual users, not that of the shape: n users are themselves a sample, and the
// mechanism is not to blame if their median differs from the shape's. If a quantile lies between two values, it is
// their midpoint. Samples and draws are functions of the random bits they read. Here they read the points of a lattice,
// spread evenly over all possible bits, so the answer is the same every time. In the simulations of the tests it is off
// by at most 2 % in probability. The code that draws also forecasts, so a new mechanism needs no code here, only a
// check of how long its draws take ([evaluations]).
package forecast

import (
	"math"

	"github.com/louver/louver/mechanisms"
)

// Public holds the public facts about a window and group.
type Public struct {
	// Users is the expected number of users, or 0 if it is unknown.
	Users int64
	// CountEpsilon is the ε of a count of users that is also released, or 0 if there is none. CountMechanism is the
	// count's mechanism, or "" for its default.
	CountEpsilon   float64
	CountMechanism string
	// Shape describes how the values are distributed. It is nil if that is unknown.
	Shape *Shape
}

// Figure is the forecast of one value. A nil field cannot be forecast.
type Figure struct {
	// Mechanism is the one that a draw from the expected users is most likely to choose. It is "" if there is no choice
	// or the number of users is unknown.
	Mechanism string `json:"mechanism,omitempty"`
	// RankError bounds the number of users between the value and the true quantile, with probability 95 %.
	RankError *float64 `json:"rank_error_95"`
	// The value lies between these shares of the users with probability 95 %.
	Low  *float64 `json:"p_low"`
	High *float64 `json:"p_high"`
	// CountError bounds the noise of a count, in users, with probability 95 %.
	CountError *int64 `json:"count_error_95"`
	// Lead is how many users a value must be ahead of every other to be released as the mode with probability 95 %.
	Lead *int64 `json:"lead_95"`
	// ValueError bounds the error of a mean or sum in the unit of the values, with probability 95 % and for any data.
	// There is no such bound if values are cut to an interval found in the data.
	ValueError *float64 `json:"value_error_95"`
	// Quality is the value's likely quality with the expected number of users. It is "" if that number or the error is
	// unknown. Without a count that is released, only Noise is foretold of figures that need one to be judged.
	Quality mechanisms.Quality `json:"quality,omitempty"`
	// OutsideShare is how many users, of all, a draw says at most to be outside the interval to which values are cut:
	// in half of the draws under the shape.
	OutsideShare *float64 `json:"outside_share_95,omitempty"`
	// TypicalError and Error95 are exceeded with probability at most 50 % and 5 % under the shape, in the unit of the
	// values. They are measured from the statistic of the actual users.
	TypicalError *float64 `json:"typical_error,omitempty"`
	Error95      *float64 `json:"error_95,omitempty"`
}

// Of forecasts each value of a draw: one value, or one for each p if there are several quantiles.
func Of(q mechanisms.Query, m mechanisms.Mechanism, public Public) ([]Figure, error) {
	return (&population{Public: public}).of(q, m)
}

// of is [Of] for a population.
func (p *population) of(q mechanisms.Query, m mechanisms.Mechanism) ([]Figure, error) {
	figures, err := anyData(q, m, p.Public)
	if err != nil || p.Shape == nil || p.Users == 0 || m.Counts() {
		return figures, err
	}
	return figures, shaped(figures, q, m, p)
}

// anyData forecasts the errors that hold for any data.
func anyData(q mechanisms.Query, m mechanisms.Mechanism, public Public) ([]Figure, error) {
	users := public.count()
	likely := mechanisms.Likely(m, public.Users, users)
	// A count that is as good as exact tells which percentiles a value lies between. A draw that depends on a count
	// would change with it.
	if users == nil && public.Users > 0 && q.Statistic != mechanisms.Quantiles && likely == m {
		users = mechanisms.StandIn(m, public.Users)
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
		figures[0].CountError = new(int64(bounds[0].Error95))
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

// quality rates the i-th value as if exactly the expected users were there.
func quality(q mechanisms.Query, m mechanisms.Mechanism, b mechanisms.Bound, i int, public Public) mechanisms.Quality {
	if public.Users == 0 {
		return ""
	}
	value := 0.
	switch {
	case !m.Counts():
		b.Error95 = math.NaN() // it is compared with the value, which is unknown here
	case q.OfEverybody():
		value = float64(public.Users)
	}
	users, released := public.count(), true
	if users == nil {
		users, released = &mechanisms.NoisyCount{Value: public.Users, Epsilon: 1e6}, false
	}
	likely := q.Foresee(b, i, value, users)
	if !released && !q.OfEverybody() && likely != mechanisms.Noise {
		return "" // nothing is called useful because of the users expected
	}
	return likely
}

func (p Public) count() *mechanisms.NoisyCount {
	if p.CountEpsilon > 0 && p.Users > 0 {
		return &mechanisms.NoisyCount{Value: p.Users, Epsilon: p.CountEpsilon, Mechanism: p.CountMechanism}
	}
	return nil
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
