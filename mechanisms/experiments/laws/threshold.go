package laws

import (
	"math"
	"slices"
)

// Threshold is the above-threshold mechanism for the quantile alpha with public candidates (ascending indices). It
// stops at the first candidate x with
//
//	#(y < x) − αn + Exp(rate noise) ≥ Exp(rate rho) + offset,
//
// and takes a uniform point between the candidate before it and x, or takes the last index if it does not stop. It
// costs ε = rho·max(α, 1−α) + noise. P is an integral over the threshold's noise.
func Threshold(s *Sample, alpha, rho, noise, offset float64, candidates []int64) Law {
	law := make(Law, len(s.counts))
	goal := alpha*float64(s.Users()) + offset
	excess := make([]float64, len(candidates)) // #(y < x) − αn − offset
	ends := evenly(40/rho, 64)
	for i, x := range candidates {
		below, _ := slices.BinarySearch(s.Sorted, x)
		excess[i] = float64(below) - goal
		if excess[i] > 0 && excess[i] < 40/rho {
			ends = append(ends, excess[i]) // where the candidate's probability falls below 1
		}
	}
	slices.Sort(ends)
	share := make([]float64, len(candidates))
	none := 0.0
	integrate(ends, func(r, weight float64) {
		going := weight * rho * math.Exp(-rho*r)
		for i, f := range excess {
			if f >= r {
				share[i] += going
				going = 0
				break
			}
			stop := math.Exp(-noise * (r - f))
			share[i] += going * stop
			going *= 1 - stop
		}
		none += going
	})
	first := int64(0)
	for i, end := range candidates {
		for x := first; x < end; x++ {
			law[x] += share[i] / float64(end-first)
		}
		first = end
	}
	law[s.Last()] += none
	return normalise(law)
}
