package forecast

import (
	"errors"
	"fmt"
	"sort"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// Unit is the unit in which an error is wanted.
type Unit int

// The units.
const (
	// Ranks counts users: those between a quantile and its release, a count's noise, or a mode's lead.
	Ranks Unit = iota
	// Share is the same as a fraction of all users, such as 0.02.
	Share
	// Value is the unit of the values: the error under the shape or, without one, that of a mean or sum of any data.
	Value
)

// Wanted is an error that no value of a release may exceed, each with a probability of 95 %.
type Wanted struct {
	Size float64
	In   Unit
}

// ErrUnknown says that the error cannot be forecast in the wanted unit.
var ErrUnknown = errors.New("such an error can't be forecast for this release")

// ErrUnreachable says that no ε up to 100, or no possible number of users, is enough.
var ErrUnreachable = errors.New("out of reach")

// of returns the size of a figure's error in the wanted unit, if it has one.
func (w Wanted) of(f Figure, users int64) (float64, bool) {
	switch {
	case w.In == Value && f.Error95 != nil:
		return *f.Error95, true
	case w.In == Value && f.ValueError != nil:
		return *f.ValueError, true
	case w.In == Value || w.In == Share && users == 0:
		return 0, false
	}
	ranks := 0.
	switch {
	case f.RankError != nil:
		ranks = *f.RankError
	case f.CountError != nil:
		ranks = float64(*f.CountError)
	case f.Lead != nil:
		ranks = float64(*f.Lead)
	default:
		return 0, false
	}
	if w.In == Share {
		return ranks / float64(users), true
	}
	return ranks, true
}

// reached reports whether no error of a release is larger than the wanted one.
func (w Wanted) reached(q mechanisms.Query, p *population) (bool, error) {
	m, err := mechanisms.New(q)
	if err != nil {
		return false, err
	}
	if w.In != Value {
		p.Shape = nil // errors in users do not depend on it, and it takes thousands of draws
	} else if p.Shape != nil && p.Users > 0 && !m.Counts() {
		if reached, sure, err := w.clearly(q, m, p); sure || err != nil {
			return reached, err
		}
	}
	figures, err := p.of(q, m)
	if err != nil {
		return false, err
	}
	for _, f := range figures {
		size, ok := w.of(f, p.Users)
		if !ok && f.Mechanism != "" { // the mechanism chosen for a smaller ε has no bound
			return false, nil
		}
		if !ok {
			return false, ErrUnknown
		}
		if size > w.Size {
			return false, nil
		}
	}
	return true, nil
}

// clearly answers reached from 256 errors if these leave no doubt. Suppose that 1 in 20 is beyond the wanted one. Then
// the binomial law has 31 or more of 256 beyond it with a probability of 6·10⁻⁶, and at most one with 3·10⁻⁵.
func (w Wanted) clearly(q mechanisms.Query, m mechanisms.Mechanism, p *population) (reached, sure bool, err error) {
	errors, err := shapedErrors(q, m, p, 256)
	if err != nil {
		return false, false, err
	}
	sure = true
	for _, e := range errors {
		if e.at(0.88) > w.Size {
			return false, true, nil
		}
		sure = sure && e.at(0.995) <= w.Size
	}
	return true, sure, nil
}

// Epsilon returns the least ε of two significant digits, from 0.0001 to 100, that achieves the wanted error. It ignores
// the query's own ε. It fails with [ErrUnknown] or [ErrUnreachable], or if the query is invalid.
func Epsilon(q mechanisms.Query, public Public, wanted Wanted) (decimal.Decimal, error) {
	p := &population{Public: public}
	epsilon, err := least(6*90, func(i int) (bool, error) {
		q.Epsilon = digits(i, -5)
		return wanted.reached(q, p)
	})
	if errors.Is(err, ErrUnreachable) {
		return decimal.Decimal{}, fmt.Errorf("even ε 100 is not enough: %w", err)
	}
	return digits(epsilon, -5), err
}

// Users returns the least number of users of two significant digits that achieves the wanted error, up to 2.6·10^8, or
// up to 10^6 under a shape. It ignores the number of users in public. It fails as [Epsilon] does.
func Users(q mechanisms.Query, public Public, wanted Wanted) (int64, error) {
	most := int64(mechanisms.MaxUsers)
	if public.Shape != nil && wanted.In == Value {
		most = MostUsers
	}
	n := func(i int) int64 { return digits(i, -1).Ceil().IntPart() }
	count := sort.Search(9*90, func(i int) bool { return n(i) > most })
	i, err := least(count, func(i int) (bool, error) {
		public.Users = n(i)
		return wanted.reached(q, &population{Public: public})
	})
	if errors.Is(err, ErrUnreachable) {
		return 0, fmt.Errorf("even %d users are not enough: %w", n(count-1), err)
	}
	return n(i), err
}

// digits returns the i-th number with two significant digits, starting at 10·10^exponent.
func digits(i, exponent int) decimal.Decimal {
	return decimal.New(int64(10+i%90), int32(exponent+i/90))
}

// least finds the first i < n for which reached holds, given that it then holds for all later i too.
func least(n int, reached func(i int) (bool, error)) (int, error) {
	var failed error
	i := sort.Search(n, func(i int) bool {
		if failed != nil {
			return true
		}
		ok, err := reached(i)
		failed = err
		return ok
	})
	if failed == nil && i == n {
		failed = ErrUnreachable
	}
	return i, failed
}
