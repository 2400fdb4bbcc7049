package forecast

import (
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// shaped adds the errors under a shape.
func shaped(figures []Figure, q mechanisms.Query, m mechanisms.Mechanism, public Public) error {
	x, err := public.Shape.ideal(q.Grid, public.Users)
	if err != nil {
		return err
	}
	errors, err := errorsOf(q, m, x, public.count(), evaluations(m, x.users()))
	if err != nil {
		return err
	}
	for i := range figures {
		figures[i].TypicalError, figures[i].Error95 = new(errors[i].at(0.5)), new(errors[i].at(0.95))
	}
	return nil
}

// law is a distribution: values of equal probability, ascending.
type law []float64

// at is the least value that is not exceeded with probability p.
func (l law) at(p float64) float64 {
	return l[min(max(int(math.Ceil(p*float64(len(l))))-1, 0), len(l)-1)]
}

// errorsOf is the law of |value − statistic| for each value of a draw, in the unit of the values.
func errorsOf(q mechanisms.Query, m mechanisms.Mechanism, x *sorted, users *mechanisms.NoisyCount, evaluations int) ([]law, error) {
	sample, truth, step := mechanisms.NewSample(q.Grid, x.points), x.truth(q), q.Grid.Step().InexactFloat64()
	laws := make([]law, len(truth))
	points := newLattice()
	for range evaluations {
		draw, err := m.Draw(sample, mechanisms.Public{Users: users}, points.next())
		if err != nil {
			return nil, err
		}
		for i, v := range draw.Values {
			laws[i] = append(laws[i], truth[i].off(float64(v))*step)
		}
	}
	for _, l := range laws {
		slices.Sort(l)
	}
	return laws, nil
}

// evaluations is how many points of the lattice are tried: fewer where a draw takes long.
func evaluations(m mechanisms.Mechanism, n int64) int {
	slow := n > 200_000
	switch {
	case slow && (m.Name() == "joint" || smooth(m)):
		return 512
	case slow || m.Name() == "joint":
		return 2048
	case smooth(m):
		return 4096
	}
	return 8192
}

func smooth(m mechanisms.Mechanism) bool { return strings.HasPrefix(m.Name(), "smooth_") }

// worstMean bounds the error of a mean by smooth sensitivity, whatever the data.
//
// No two neighbours within k edits of n users have means further apart than R/(n−k+1), since the larger of the two has
// at least n−k+1 users. The sample of n users at the lower end has such neighbours for every k: itself without k users,
// and one more at the upper end. So its smooth sensitivity is the largest. Half of its draws lie above the end, by the
// size of the noise, and those below are clamped to the end, so that 95 % of the noise is less than 97.5 % of the errors.
func worstMean(q mechanisms.Query, m mechanisms.Mechanism, public Public) (*float64, error) {
	if public.Users > maxUsers {
		return nil, nil
	}
	x := &sorted{points: []mechanisms.Point{{Index: 0, Count: public.Users}}, upTo: []int64{public.Users}}
	errors, err := errorsOf(q, m, x, nil, evaluations(m, 1))
	if err != nil {
		return nil, err
	}
	return new(errors[0].at(0.975)), nil
}

// maxUsers is the most users that a sample may have.
const maxUsers = 1 << 28

func decimalOf(n int64) decimal.Decimal { return decimal.NewFromInt(n) }
