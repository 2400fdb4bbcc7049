package running

import "math"

// apart bounds the probability that the totals of two periods after the same leaf differ by more than a distance in one
// direction, although the true ones do not differ in that direction. Each total is the truth with independent noise of
// the same law, rounded. Both roundings together are 1 at most, and those of estimates add less than a hundredth. A
// count that is cut at 0 only comes nearer.
//
// cumulant is the logarithm of E e^{λN} of the noise N of one total, or more. The noise is symmetric, so the difference
// D of two has twice that, and by Chernoff P(D > x) ≤ e^{2·cumulant(λ) − λx} for each λ > 0. The bound is the least
// over some λ around 1/scale, where scale is about a standard deviation of N.
func apart(distance int64, scale float64, cumulant func(lambda float64) float64) float64 {
	const rounding = 1.01
	least := 0.0
	for lambda := 1 / (4 * scale); lambda < 16/scale; lambda *= 1.1 {
		least = min(least, 2*cumulant(lambda)-lambda*(float64(distance)-rounding))
	}
	return math.Exp(least)
}

// laplaceCumulant is that of discrete Laplace noise of a variance v = 2q/(1−q)²: E e^{λZ} = 1/(1 − v·(cosh λ − 1)), and
// infinite where that is not positive.
func laplaceCumulant(variance, lambda float64) float64 {
	half := math.Sinh(lambda / 2)
	if left := 1 - 2*variance*half*half; left > 0 { // cosh λ − 1 = 2 sinh²(λ/2)
		return -math.Log(left)
	}
	return math.Inf(1)
}

// Apart implements [Strategy].
func (t *tree) Apart(leaf, distance int64) float64 {
	return apart(distance, float64(t.Error95(leaf))/2, func(lambda float64) (sum float64) {
		left := leaf
		for l := len(t.levels) - 1; l >= 0; l-- {
			if nodes := left / t.levels[l].size; nodes > 0 {
				sum += float64(nodes) * t.cumulant(l, lambda)
			}
			left %= t.levels[l].size
		}
		return sum
	})
}

// cumulant is the cumulant of the noise in the estimate of a node, a·Z + (1−a)·Σ of the estimates below.
func (t *tree) cumulant(level int, lambda float64) float64 {
	a, _ := t.levels[level].weight.Float64()
	sum := laplaceCumulant(t.noise(t.levels[level].rate), a*lambda)
	if level > 0 {
		sum += float64(t.branching) * t.cumulant(level-1, (1-a)*lambda)
	}
	return sum
}

// Apart implements [Strategy]. A discrete Gaussian of variance parameter σ² has E e^{λZ} ≤ e^{λ²σ²/2} (Canonne, Kamath,
// Steinke 2020), and the noise of a total is a weighted sum of them.
func (s *squareRoot) Apart(leaf, distance int64) float64 {
	sigma := s.errors[min(leaf, s.Longest())-1]
	return apart(distance, sigma, func(lambda float64) float64 { return lambda * lambda * sigma * sigma / 2 })
}
