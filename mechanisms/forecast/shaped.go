package forecast

import (
	"math"
	"slices"
	"strings"

	"github.com/louver/louver/mechanisms"
)

// shaped adds the errors under a shape. Of means and sums, it also adds the likely quality and how many users are
// outside the interval to which values are cut.
func shaped(figures []Figure, q mechanisms.Query, m mechanisms.Mechanism, of *population) error {
	all, err := shapedErrors(q, m, of, evaluations(m, of.Users))
	if err != nil {
		return err
	}
	for i, x := range all {
		f := &figures[i]
		f.TypicalError, f.Error95 = new(x.at(0.5)), new(x.at(0.95))
		if q.Statistic.Family() == mechanisms.OfAmounts {
			f.Quality = x.likely()
		}
		if len(x.outside) > 0 {
			f.OutsideShare = new(min(1, x.outside.at(0.5)/float64(of.Users)))
		}
	}
	return nil
}

// outcomes are what the draws of one value come to.
type outcomes struct {
	law         // of |value − statistic|
	outside law // of the most users that are outside, if values are cut
	quality map[mechanisms.Quality]int
}

// likely returns the quality that most draws have.
func (x *outcomes) likely() (quality mechanisms.Quality) {
	for _, q := range []mechanisms.Quality{mechanisms.Noise, mechanisms.Rough, mechanisms.Useful} {
		if x.quality[q] > x.quality[quality] {
			quality = q
		}
	}
	return quality
}

// law is a distribution: values of equal probability in ascending order.
type law []float64

// at returns the least value that is not exceeded with probability p.
func (l law) at(p float64) float64 {
	return l[min(max(int(math.Ceil(p*float64(len(l))))-1, 0), len(l)-1)]
}

// shapedErrors returns the outcomes of each value of a draw, in the unit of the values, over random samples of the
// shape, draws, and the noise of the released count.
func shapedErrors(q mechanisms.Query, m mechanisms.Mechanism, of *population, evaluations int) (all []outcomes,
	err error) {
	if err := of.prepare(q); err != nil {
		return nil, err
	}
	points, samples := newLattice(), of.sampler.affordable(evaluations)
	for i := range samples {
		x, err := of.sample(q, i)
		if err != nil {
			return nil, err
		}
		if all, err = appendErrors(all, q, m, x, points, (evaluations+samples-1)/samples); err != nil {
			return nil, err
		}
	}
	for _, x := range all {
		slices.Sort(x.law)
		slices.Sort(x.outside)
	}
	return all, nil
}

// appendErrors draws repeatedly from one sample, each time with the next point of the lattice.
func appendErrors(all []outcomes, q mechanisms.Query, m mechanisms.Mechanism, x drawn, points *lattice, draws int) (
	[]outcomes, error) {
	scale := q.Scale(m)
	if all == nil {
		all = make([]outcomes, len(x.truth))
		for i := range all {
			all[i].quality = map[mechanisms.Quality]int{}
		}
	}
	for range draws {
		draw, err := m.Draw(x.sample, mechanisms.Public{Users: x.users}, points.next())
		if err != nil {
			return nil, err
		}
		for i, v := range draw.Values {
			value, of := scale.Float(v.Number), &all[i]
			of.law = append(of.law, off(value, x.truth[i]))
			of.quality[q.Judge(v.Bound, i, value, x.users)]++
			if out := draw.Outside; out != nil {
				of.outside = append(of.outside, float64(out.Users95))
			}
		}
	}
	return all, nil
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
	all, err := appendErrors(nil, q, m, answered(q, x), newLattice(), evaluations(m, 1))
	if err != nil {
		return nil, err
	}
	slices.Sort(all[0].law)
	return new(all[0].at(0.975)), nil
}
