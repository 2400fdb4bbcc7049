package forecast

import (
	"math"
	"slices"
	"strings"

	"github.com/louver/louver/mechanisms"
)

// shaped adds the errors under a shape.
func shaped(figures []Figure, q mechanisms.Query, m mechanisms.Mechanism, of *population) error {
	errors, err := shapedErrors(q, m, of, evaluations(m, of.Users))
	if err != nil {
		return err
	}
	for i := range figures {
		figures[i].TypicalError, figures[i].Error95 = new(errors[i].at(0.5)), new(errors[i].at(0.95))
	}
	return nil
}

// law is a distribution: values of equal probability in ascending order.
type law []float64

// at returns the least value that is not exceeded with probability p.
func (l law) at(p float64) float64 {
	return l[min(max(int(math.Ceil(p*float64(len(l))))-1, 0), len(l)-1)]
}

// shapedErrors returns the law of |value − statistic| for each value of a draw, in the unit of the values, over random
// samples of the shape, draws, and the noise of the released count.
func shapedErrors(q mechanisms.Query, m mechanisms.Mechanism, of *population, evaluations int) (laws []law, err error) {
	if err := of.prepare(q); err != nil {
		return nil, err
	}
	points, samples := newLattice(), of.sampler.affordable(evaluations)
	for i := range samples {
		x, err := of.sample(q, i)
		if err != nil {
			return nil, err
		}
		if laws, err = appendErrors(laws, q, m, x, points, (evaluations+samples-1)/samples); err != nil {
			return nil, err
		}
	}
	for _, l := range laws {
		slices.Sort(l)
	}
	return laws, nil
}

// appendErrors draws repeatedly from one sample, each time with the next point of the lattice.
func appendErrors(laws []law, q mechanisms.Query, m mechanisms.Mechanism, x drawn, points *lattice, draws int) (
	[]law, error) {
	scale := q.Scale(m)
	if laws == nil {
		laws = make([]law, len(x.truth))
	}
	for range draws {
		draw, err := m.Draw(x.sample, mechanisms.Public{Users: x.users}, points.next())
		if err != nil {
			return nil, err
		}
		for i, v := range draw.Values {
			laws[i] = append(laws[i], off(scale.Float(v.Number), x.truth[i]))
		}
	}
	return laws, nil
}

// evaluations returns how many lattice points to try: fewer if a draw takes long.
func evaluations(m mechanisms.Mechanism, n int64) int {
	slow := n > 200_000
	switch {
	case slow && (m.Name() == "joint" || smooth(m)):
		return 512
	case m.Name() == "joint":
		return 2048
	case smooth(m), mechanisms.Clips(m):
		return 4096
	}
	return 8192
}

func smooth(m mechanisms.Mechanism) bool { return strings.HasPrefix(m.Name(), "smooth_") }

// worstMean bounds the error of a mean by smooth sensitivity for any data.
//
// No two neighbours within k edits of n users have means further apart than R/(n−k+1), since the larger of the two has
// at least n−k+1 users. The sample of n users at the lower end has such neighbours for every k: itself without k users,
// and one more at the upper end. So its smooth sensitivity is the largest. Half of its draws lie above the end, by the
// size of the noise. The others are clamped to the end. So the error that 97.5 % of the draws keep to is the size that
// 95 % of the noise keeps to.
func worstMean(q mechanisms.Query, m mechanisms.Mechanism, public Public) (*float64, error) {
	if public.Users > mechanisms.MaxUsers {
		return nil, nil
	}
	x := &sorted{points: []mechanisms.Point{{Index: 0, Count: public.Users}}, upTo: []int64{public.Users}}
	errors, err := appendErrors(nil, q, m, answered(q, x), newLattice(), evaluations(m, 1))
	if err != nil {
		return nil, err
	}
	slices.Sort(errors[0])
	return new(errors[0].at(0.975)), nil
}
