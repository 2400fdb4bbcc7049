package mechanisms

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/shopspring/decimal"
)

// offer is a mechanism that serves a statistic.
type offer struct {
	name  string
	build func(q *Query) (Mechanism, error)
	takes string // the names of the optional parameters it understands
}

// clips says that the mechanism looks for an interval to cut values to.
func (o offer) clips() bool { return strings.HasPrefix(o.name, "clipped") }

// offers returns what serves a statistic, the default first.
func offers(s Statistic) []offer {
	switch s {
	case Median, Quantile:
		return append([]offer{{"permute_and_flip", newFlip, ""}, {"above_threshold", newAboveThreshold, ""}, {"margin", newMargin, "tilt interval"}, {"duff", newDuff, ""}, {"rank", newRank, "replace_one"}, {"mid_rank", newMidRank, ""}, {"piecewise_laplace", newPiecewiseLaplace, ""}}, smoothOffers()...)
	case Quantiles:
		return []offer{{"joint", newJoint, ""}, {"split", newSplit, ""}}
	case Mode:
		return []offer{{"duff", newMode, ""}, {"permute_and_flip", newModeFlip, ""}}
	case Mean:
		return append([]offer{{"clipped", newClippedMean, ""}, {"two_sums", newTwoSums, ""}, {"clipped_gaussian", newClippedMeanGaussian, ""}}, append(smoothOffers(), offer{"duff", newMeanDuff, ""}, offer{"laplace", newMeanLaplace, ""})...)
	case Sum:
		return []offer{{"clipped", newClippedSum, ""}, {"laplace", newWholeSum, ""}, {"clipped_gaussian", newClippedSumGaussian, ""}}
	case TrimmedMean:
		return append([]offer{{"clipped", newClippedTrimmed, ""}}, smoothOffers()...)
	case Count, Outside:
		return []offer{{"geometric", newGeometric, ""}}
	}
	return nil
}

// Available returns the names of the mechanisms that serve a statistic, the default first; none if there is no such
// statistic.
func Available(s Statistic) []string {
	var names []string
	for _, o := range offers(s) {
		names = append(names, o.name)
	}
	return names
}

// New checks a query and returns its mechanism. The errors name the parameter, its value and the rule that it breaks.
func New(q Query) (Mechanism, error) {
	list := offers(q.Statistic)
	if len(list) == 0 {
		return nil, fmt.Errorf("statistic %q is not known: one of %s, %s, %s, %s, %s, %s, %s, %s, %s", string(q.Statistic),
			Median, Quantile, Quantiles, Mode, Mean, Sum, TrimmedMean, Count, Outside)
	}
	if q.Grid == nil {
		return nil, fmt.Errorf("grid: bounds and step are required")
	}
	chosen := list[0]
	switch at := slices.IndexFunc(list, func(o offer) bool { return o.name == q.Mechanism }); {
	case at >= 0:
		chosen = list[at]
	case q.Mechanism != "":
		return nil, fmt.Errorf("mechanism %q is not available for statistic %s; available: %s", q.Mechanism, q.Statistic, strings.Join(Available(q.Statistic), ", "))
	case q.Statistic == Median || q.Statistic == Quantile:
		chosen = q.byDefault()
	case q.Clip == "none":
		chosen = list[max(0, slices.IndexFunc(list, func(o offer) bool { return !o.clips() }))]
	}
	if err := q.check(chosen); err != nil {
		return nil, err
	}
	return chosen.build(&q)
}

// check looks at the parameters that several mechanisms share and refuses those that the chosen one does not take.
func (q *Query) check(chosen offer) error {
	if _, _, err := positive(q.Epsilon); err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		given bool
		value any
		takes bool
	}{
		{"p", len(q.P) > 0, q.P, q.Statistic == Quantile || q.Statistic == Quantiles},
		{"trim", !q.Trim.IsZero(), q.Trim, q.Statistic == TrimmedMean},
		{"above", q.Above != nil, q.Above, q.Statistic == Count},
		{"below", q.Below != nil, q.Below, q.Statistic == Count},
		{"clip", q.Clip != "", q.Clip, q.Statistic == Mean || q.Statistic == Sum || q.Statistic == TrimmedMean},
	} {
		if p.given && !p.takes {
			return fmt.Errorf("%s %v is not a parameter of statistic %s", p.name, p.value, q.Statistic)
		}
	}
	for _, p := range []struct {
		name  string
		given bool
		value any
	}{
		{"calibration", q.Calibration != "", q.Calibration},
		{"tilt", q.Tilt != [2]int64{}, q.Tilt},
		{"delta", !q.Delta.IsZero(), q.Delta},
		{"beta", !q.Beta.IsZero(), q.Beta},
		{"gamma", !q.Gamma.IsZero(), q.Gamma},
		{"interval", q.Interval != nil, q.Interval},
		{"replace_one", q.ReplaceOne, q.ReplaceOne},
	} {
		if p.given && !strings.Contains(" "+chosen.takes+" ", " "+p.name+" ") {
			return fmt.Errorf("%s %v is not a parameter of mechanism %s", p.name, p.value, chosen.name)
		}
	}
	if q.Calibration != "" && q.Calibration != "published" {
		return fmt.Errorf("calibration %q is not known: published, or none for the tightest", q.Calibration)
	}
	switch {
	case q.Clip != "" && q.Clip != "none":
		return fmt.Errorf("clip %q is not known: none, or nothing for an interval that the mechanism finds", q.Clip)
	case q.Clip == "none" && chosen.clips():
		return fmt.Errorf("clip none does not go with mechanism %s, which finds an interval: leave out one of the two", chosen.name)
	}
	switch q.Prior {
	case "", "tapered", "cells", "uniform", "adaptive":
	default:
		return fmt.Errorf("prior %q is not known: tapered, cells, uniform or adaptive", q.Prior)
	}
	if q.ExpectedUsers < 0 {
		return fmt.Errorf("expected_users %d must be at least 0", q.ExpectedUsers)
	}
	return nil
}

// positive returns an ε > 0 as num/den in lowest terms, each at most 10^18.
func positive(epsilon decimal.Decimal) (num, den uint64, err error) {
	if epsilon.Sign() <= 0 {
		return 0, 0, fmt.Errorf("epsilon %s must be greater than 0", shown(epsilon))
	}
	limit := big.NewInt(1e18)
	if epsilon.Exponent() >= -200 && epsilon.Exponent() <= 18 {
		r := epsilon.Rat()
		if r.Num().Cmp(limit) <= 0 && r.Denom().Cmp(limit) <= 0 {
			return r.Num().Uint64(), r.Denom().Uint64(), nil
		}
	}
	return 0, 0, fmt.Errorf("epsilon %s has too many digits: at most 18 before and after the point together", shown(epsilon))
}

// shown prints a decimal that may have an absurd exponent.
func shown(d decimal.Decimal) string {
	if d.Exponent() > 100 || d.Exponent() < -200 {
		return fmt.Sprintf("%se%d", d.Coefficient(), d.Exponent())
	}
	return d.String()
}

// fraction returns a probability in (0, 1) as p/q in lowest terms, q ≤ 10^9.
func fraction(d decimal.Decimal) (p, q int64, err error) {
	if d.Sign() <= 0 || d.Cmp(decimal.NewFromInt(1)) >= 0 {
		return 0, 0, fmt.Errorf("p %s must lie between 0 and 1, both excluded", shown(d))
	}
	if d.Exponent() >= -200 {
		if r := d.Rat(); r.Denom().Cmp(big.NewInt(1e9)) <= 0 {
			return r.Num().Int64(), r.Denom().Int64(), nil
		}
	}
	return 0, 0, fmt.Errorf("p %s has too many digits: at most 9 after the point", shown(d))
}

// measure returns the base measure that the query names, with some binary digits for the points of a cell. An adaptive
// one begins with the tapered one.
func (q *Query) measure(digits int) *Measure {
	bounds := q.Grid.cells()
	switch q.Prior {
	case "uniform":
		return Uniform(q.Grid)
	case "cells":
		return cellMeasure(bounds, evenMass(bounds), digits)
	}
	return cellMeasure(bounds, taperedMass(bounds, q.Grid.anchor), digits)
}

// rate returns ε/divisor.
func (q *Query) rate(divisor int64) exact.Rate {
	return exact.NewRate(new(big.Rat).Quo(q.Epsilon.Rat(), big.NewRat(divisor, 1)))
}

// header is what all mechanisms have in common.
type header struct {
	name    string
	promise Promise
}

func (h header) Name() string     { return h.name }
func (h header) Promise() Promise { return h.promise }
func (h header) Counts() bool     { return false }

// maxUsers is the largest sample: below it, the utilities fit into 62 bits.
const maxUsers = 1 << 28

func (s *Sample) check() error {
	if s.n > maxUsers {
		return fmt.Errorf("sample: more than 2^28 users")
	}
	return nil
}
