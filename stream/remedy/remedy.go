// Package remedy says how a figure that is only noise could be made readable.
package remedy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// Remedy is what would make a figure readable: more users, or a larger ε. Either is enough. Its JSON names are public.
type Remedy struct {
	// Users is how many users the window and group would need at today's ε, to two digits. nil: no number is known.
	Users *int64 `json:"users"`
	// Epsilon is the ε that the release would need with the users of this window, to two digits and at most 1. nil:
	// none is known, or the budget could not pay for all windows with it.
	Epsilon *json.Number `json:"epsilon"`
	// Sentence says both, such as "about 900 users or ε 0.4 would do".
	Sentence string `json:"sentence"`
}

// Of returns the remedy of a figure of one of the streams. It returns false if the figure is not noise, or if nothing
// is known that helps. The remedy follows from public figures alone: the definitions, and the count that was released
// with the figure or else expected_users. The rule is that of [mechanisms.Query.Judge], with the errors of a mechanism
// that has more users or a larger ε.
func Of(all []*config.Stream, f record.Value) (Remedy, bool) {
	at := slices.IndexFunc(all, func(s *config.Stream) bool { return s.Name == f.Stream })
	if at < 0 {
		return Remedy{}, false
	}
	s := all[at]
	if f.Quality != record.Quality(mechanisms.Noise) || f.Value == nil || f.Held() {
		return Remedy{}, false
	}
	named, i := s.Named(f.Release)
	release, ok := named.(*config.Release)
	if !ok {
		return Remedy{}, false
	}
	c := figure{query: release.Query, i: i, count: s.Counting()}
	c.value, _ = f.Value.Float64() // decoding has checked that it is a number
	if f.Error95 != nil {
		c.off, _ = f.Error95.Float64()
	}
	if band, ok := f.Band(); ok && release.Query.Statistic.Family() == mechanisms.OfRanks {
		c.half, c.basis = (band.High-band.Low)/2, mechanisms.Basis(band.Of)
	}
	c.users = s.ExpectedUsers
	if f.Users != nil {
		c.users = max(0, *f.Users)
	}
	c.pays = func(m mechanisms.Mechanism) bool {
		dearer := *s
		dearer.Figures = slices.Clone(s.Figures)
		drawn := *release
		drawn.Mechanism = m
		dearer.Figures[slices.Index(s.Figures, config.Figure(release))] = &drawn
		file := config.File{Streams: slices.Clone(all)}
		file.Streams[at] = &dearer
		return file.Payer(s.Budget, f.WindowEnd).Runway().Pays
	}
	return c.remedy()
}

// figure is one value of a draw.
type figure struct {
	query mechanisms.Query
	i     int
	value float64
	off   float64 // the published error of 95 %; 0: there is none
	half  float64 // of the band of a median or quantile; 0: it has none
	basis mechanisms.Basis
	users int64           // in its window and group; 0: unknown
	count *config.Release // of the users of a window and group; nil: there is none
	// pays says whether the budget could pay for all windows if this mechanism drew the figure.
	pays func(mechanisms.Mechanism) bool
}

func (f figure) remedy() (r Remedy, ok bool) {
	var words []string
	users, ok := least(1, 8, func(n decimal.Decimal) bool { return f.readable(f.query, n.IntPart()) })
	if n := users.IntPart(); ok && n > f.users {
		r.Users = &n
		words = append(words, fmt.Sprintf("about %d users", n))
	}
	if epsilon, ok := f.epsilon(); ok {
		r.Epsilon = new(json.Number(epsilon.String()))
		words = append(words, "ε "+epsilon.String())
	}
	r.Sentence = strings.Join(words, " or ") + " would do"
	return r, len(words) > 0
}

// epsilon returns a larger ε that is enough. A count of users that is noise has none: nobody knows for how many users ε
// would have to be enough.
func (f figure) epsilon() (decimal.Decimal, bool) {
	if f.users <= 0 || f.query.OfEverybody() {
		return decimal.Decimal{}, false
	}
	with := func(epsilon decimal.Decimal) mechanisms.Query {
		q := f.query
		q.Epsilon = epsilon
		return q
	}
	epsilon, ok := least(-4, 4, func(epsilon decimal.Decimal) bool { return f.readable(with(epsilon), f.users) })
	if !ok || !epsilon.GreaterThan(f.query.Epsilon) {
		return epsilon, false
	}
	m, err := mechanisms.New(with(epsilon))
	return epsilon, err == nil && f.pays(m)
}

// readable reports whether the figure would be more than noise in a window of n users, if a query drew it.
func (f figure) readable(q mechanisms.Query, n int64) bool {
	m, err := mechanisms.New(q)
	if err != nil {
		return false // not with this ε
	}
	var released *mechanisms.NoisyCount
	if c := f.count; c != nil {
		released = &mechanisms.NoisyCount{Value: n, Epsilon: c.Query.Epsilon.InexactFloat64(),
			Mechanism: c.Mechanism.Name()}
	}
	known := released
	if known == nil && q.Statistic != mechanisms.Quantiles {
		known = mechanisms.StandIn(m, n)
	}
	b := mechanisms.Likely(m, n, released).Errors(mechanisms.Public{Users: known})[f.i]
	// the error depends on the draw: that of a mean falls with ε·n
	if (math.IsNaN(b.Error95) || math.IsInf(b.Error95, 0)) && n > 0 {
		b.Error95 = f.off * float64(f.users) * f.query.Epsilon.InexactFloat64() /
			(float64(n) * q.Epsilon.InexactFloat64())
	}
	if f.half > 0 && f.users > 0 { // a rank is worth less among more users, and an e-folding is worth fewer ranks
		half := f.half * float64(f.users) * f.query.Epsilon.InexactFloat64() /
			(float64(n) * q.Epsilon.InexactFloat64())
		if q.JudgeBand(half, f.value, f.basis, released) == mechanisms.Noise {
			return false
		}
	}
	value := f.value
	switch {
	case q.OfEverybody():
		value = float64(n)
	case (m.Counts() || q.Statistic == mechanisms.Sum) && f.users > 0: // the value grows with the users
		value *= float64(n) / float64(f.users)
	}
	return q.Foresee(b, f.i, value, released) != mechanisms.Noise
}

// least returns the least number of two digits for which holds is true. It must then be true for all larger ones too.
// least tries numbers from 10^from on, through so many decades.
func least(from, decades int, holds func(decimal.Decimal) bool) (decimal.Decimal, bool) {
	//nolint:gosec // small
	number := func(i int) decimal.Decimal { return decimal.New(int64(10+i%90), int32(from-1+i/90)) }
	n := 90 * decades
	i := sort.Search(n+1, func(i int) bool { return holds(number(i)) })
	return number(i), i <= n
}
