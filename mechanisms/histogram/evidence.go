package histogram

import "math"

// Evidence returns an excess that noise alone reaches with a probability of at most chance. The excess is the number of
// users above the end of a bucket beyond a share of all users, in the estimated sums of several windows. It is the
// least m with
//
//	min_s e^{−sm}·Π_k M(s·w_k)^windows ≤ chance,
//
// M is the moment generating function of a drawn number's noise, and w_k the number's weight in (1−share)·Σ_{>j} a −
// share·Σ_{≤j} a. This is Chernoff's bound, whatever the data.
//
// M(s) is (1−r)²/((1−re^s)(1−re^{−s})) for Laplace noise, and at most e^{s²σ²/2} for Gaussian noise (Canonne, Kamath,
// Steinke 2020, Fact 7). On two levels, m covers the rounding of the estimates as well. M is at least 1, so m is enough
// for fewer windows too.
//
// chance is greater than 0 and less than 1, share at least 0 and at most 1.
func (b *Buckets) Evidence(bucket int, share float64, noise Noise, windows int64, chance float64) float64 {
	weights := b.weights(bucket, share)
	most := 0.0
	for w := range weights {
		most = max(most, math.Abs(w))
	}
	margin := func(s float64) float64 {
		sum := -math.Log(chance)
		for w, times := range weights {
			sum += float64(windows) * times * noise.cumulant(s*w)
		}
		return sum / s
	}
	// The function falls and then rises. It is infinite from rate/most on, and a Gaussian one is least at
	// √(2·ln(1/chance)/variance of the sum).
	low, high := 0.0, noise.rate/most
	if noise.rate == 0 {
		high = 2 * math.Sqrt(-2*math.Log(chance)/(noise.Variance*most*most*float64(windows)))
	}
	const golden = 0.6180339887498949
	for range 200 {
		left, right := high-golden*(high-low), low+golden*(high-low)
		if margin(left) <= margin(right) {
			high = right
		} else {
			low = left
		}
	}
	return margin((low+high)/2) + b.rounding()*float64(windows)
}

// rounding is how far the sum of a window in [Buckets.Evidence] may be off because estimates are whole multiples of
// 2^−16: half of one for each bucket of a group.
func (b *Buckets) rounding() float64 {
	if b.groups == 0 {
		return 0
	}
	return float64(b.Len()) / (2 << fraction)
}

// Deviation returns the standard deviation of the noise in the excess of [Buckets.Evidence].
func (b *Buckets) Deviation(bucket int, share float64, noise Noise, windows int64) float64 {
	noise.Variance *= float64(windows)
	e := &Estimate{Buckets: b, noise: noise}
	return math.Sqrt(e.variance(bucket, -share, 1-share))
}

// weights returns how often each weight of a drawn number occurs in the sum of [Buckets.Evidence].
func (b *Buckets) weights(bucket int, share float64) map[float64]float64 {
	all := map[float64]float64{}
	above := func(i int) float64 {
		if i > bucket {
			return 1 - share
		}
		return -share
	}
	if b.groups == 0 {
		for i := range b.Len() {
			all[above(i)]++
		}
		return all
	}
	for g := range b.groups {
		from, to := b.within(g)
		sum := 0.0
		for i := from; i < to; i++ {
			sum += above(i)
		}
		part := sum / float64(to-from+1)
		for i := from; i < to; i++ {
			all[above(i)-part]++
		}
		all[part]++
	}
	return all
}

// cumulant is ln E e^{sZ}, or a little more.
func (n Noise) cumulant(s float64) float64 {
	if n.rate == 0 {
		return s * s * n.Variance / 2
	}
	if s = math.Abs(s); s >= n.rate {
		return math.Inf(1)
	}
	// ln((1−r)²/((1−re^s)(1−re^{−s})))
	return 2*math.Log(-math.Expm1(-n.rate)) - math.Log(-math.Expm1(s-n.rate)) - math.Log(-math.Expm1(-s-n.rate))
}
