package check

import (
	"math"
	"sort"

	"github.com/louver/louver/mechanisms"
)

// reach says how many users a name needs to be found, if each of them counts for it with a probability: with 1/8 if a
// user has 8 names and counts for one of them.
type reach struct {
	*mechanisms.TruncatedGeometric
	counts float64
}

// found is the probability that a name with that many users is found, averaged over which of them count.
func (r reach) found(users int64) float64 {
	if r.counts >= 1 {
		return r.Found(users)
	}
	n, sum := float64(users), 0.
	mean, spread := n*r.counts, math.Sqrt(n*r.counts*(1-r.counts))
	// beyond this is less than 10⁻¹² of a binomial law (Bernstein's inequality)
	first, last := math.Max(0, math.Floor(mean-8*spread-20)), math.Min(n, math.Ceil(mean+8*spread+20))
	choose := logFactorial(n)
	for k := first; k <= last; k++ {
		p := math.Exp(choose - logFactorial(k) - logFactorial(n-k) + k*math.Log(r.counts) + (n-k)*math.Log1p(-r.counts))
		sum += p * r.Found(int64(k))
	}
	return min(sum, 1)
}

// users is the least number of them with which a name is found with a probability in (0, 1).
func (r reach) users(probability float64) int64 {
	most := int64(1)
	for r.found(most) < probability {
		most *= 2
	}
	return int64(sort.Search(int(most), func(n int) bool { return r.found(int64(n)) >= probability }))
}

func logFactorial(n float64) float64 {
	log, _ := math.Lgamma(n + 1)
	return log
}
