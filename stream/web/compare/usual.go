package compare

import (
	"math"
	"slices"
)

// mostKnown is how many distances are taken to tell a scale, at most. Distances of neighbours depend on each other, and
// heavy tails need room. The law of usual_95 has as many (mechanisms.Apart).
const mostKnown = 17

// variation is how far the figures of a stretch of time lie from each other by noise and by what usually happens.
type variation struct {
	// scale is the mean of a usual distance, and of is how many distances tell it.
	scale, of float64
}

// variationOf returns what some distances between neighbours tell, of which there is at least one. The largest
// twentieth of them is left out.
func variationOf(far []float64) variation {
	slices.Sort(far)
	far = far[:len(far)-len(far)/20]
	v := variation{of: min(mostKnown, float64(len(far)))}
	for _, d := range far {
		v.scale += d / float64(len(far))
	}
	return v
}

// apart is the probability of a distance of d or more, if the distances so far were exponential ones of an unknown
// scale. It is (1 + d/(n·scale))^−n, a Lomax law: the ratio of a new distance to the sum of n others. A scale of 0
// explains nothing.
func (v variation) apart(d float64) float64 { return math.Pow(1+d/(v.of*v.scale), -v.of) }

// median returns the middle of some values, or the middle between the two middle ones. It changes their order.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return values[(n-1)/2]/2 + values[n/2]/2
}
