package laws

import "math"

// Noise is a law for smooth sensitivity: the release is T + (g/α)·Z for the β-smooth sensitivity g.
type Noise struct {
	Name        string
	Alpha, Beta float64
	// Tail is P(|Z| > z), or nil if it has no closed form.
	Tail func(z float64) float64
	// Mean and Variance are E|Z| and E Z².
	Mean, Variance float64
}

// Clamped is E min(scale·|Z|, bound)^power, the moment of noise that is cut off at the bounds.
func (n Noise) Clamped(scale, bound, power float64) float64 {
	if scale == 0 || bound == 0 {
		return 0
	}
	ends := []float64{0}
	for z := min(scale/100, bound); z < bound; z *= 1.5 {
		ends = append(ends, z)
	}
	sum := 0.0
	integrate(append(ends, bound), func(z, weight float64) {
		sum += weight * power * math.Pow(z, power-1) * n.Tail(z/scale)
	})
	return sum
}

// normalMixture returns z ↦ E f(z·e^{−σN}), N standard normal.
func normalMixture(sigma float64, f func(z float64) float64) func(z float64) float64 {
	var factors, weights []float64
	ends := evenly(14, 7)
	for i := range ends {
		ends[i] -= 7
	}
	integrate(ends, func(x, weight float64) {
		factors = append(factors, math.Exp(-sigma*x))
		weights = append(weights, weight*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	})
	return func(z float64) float64 {
		sum := 0.0
		for i, w := range weights {
			sum += w * f(z*factors[i])
		}
		return sum
	}
}

// Power has the density (p−1)/2·(1+|z|)^−p, p = 1 + ε/β.
func Power(epsilon float64) Noise { return PowerAt(epsilon, epsilon/8) }

// PowerAt takes any β < ε/2, for which the variance is finite.
func PowerAt(epsilon, beta float64) Noise {
	p := 1 + epsilon/beta
	return Noise{
		Name: "smooth_power", Beta: beta,
		Alpha:    min(math.Expm1(epsilon/p), math.Exp(beta)*math.Expm1((epsilon-beta)/p)),
		Tail:     func(z float64) float64 { return math.Pow(1+z, 1-p) },
		Mean:     1 / (p - 2),
		Variance: 2 / ((p - 2) * (p - 3)),
	}
}

// Cauchy is the Cauchy law, with the published calibration α = β = ε/6 or the tight one at β = ε/8.
func Cauchy(epsilon float64, published bool) Noise {
	n := CauchyAt(epsilon, epsilon/8)
	if published {
		n.Name, n.Alpha, n.Beta = "smooth_cauchy published", epsilon/6, epsilon/6
	}
	return n
}

// CauchyAt is the tight calibration for any β < ε.
func CauchyAt(epsilon, beta float64) Noise {
	return Noise{
		Name: "smooth_cauchy", Beta: beta,
		Alpha: math.Sqrt(min(2*math.Exp(beta)*(math.Cosh(epsilon)-math.Cosh(beta)), 2*(math.Cosh(epsilon)-1))),
		Tail:  func(z float64) float64 { return 2 / math.Pi * math.Atan2(1, z) },
		Mean:  math.Inf(1), Variance: math.Inf(1),
	}
}

// Student is Student's t with 3 degrees of freedom, ε = dβ + α(d+1)/(2√d); published: ε = (d+1)β + …
func Student(epsilon float64, published bool) Noise { return StudentAt(epsilon, epsilon/8, published) }

// StudentAt takes any β; α ≤ 0 if β is too large.
func StudentAt(epsilon, beta float64, published bool) Noise {
	const d = 3.0
	n := Noise{Name: "smooth_student_t", Beta: beta}
	left := epsilon - d*n.Beta
	if published {
		n.Name, left = "smooth_student_t published", epsilon-(d+1)*n.Beta
	}
	n.Alpha = left * 2 * math.Sqrt(d) / (d + 1)
	n.Tail = func(z float64) float64 {
		y := z / math.Sqrt(d)
		return max(0, 2/math.Pi*(math.Atan2(1, y)-1/(y+1/y)))
	}
	n.Mean, n.Variance = 2*math.Sqrt(3)/math.Pi, 3
	return n
}

// Laplace is (ε, δ) with the given β: α = min(ε, ε + β − (e^β−1)·ln(1/δ), e^β(ε−β)). α ≤ 0 if β is too large.
func Laplace(epsilon, delta, beta float64) Noise {
	return Noise{
		Name: "smooth_laplace", Beta: beta,
		Alpha: min(min(epsilon, epsilon+beta-math.Expm1(beta)*math.Log(1/delta)),
			math.Exp(beta)*(epsilon-beta)),
		Tail: func(z float64) float64 { return math.Exp(-z) },
		Mean: 1, Variance: 2,
	}
}

// Gaussian is (ε, δ) as in Nissim, Raskhodnikova & Smith (2007).
func Gaussian(epsilon, delta float64) Noise {
	l := math.Log(2 / delta)
	return Noise{
		Name: "smooth_gaussian", Beta: epsilon / (4 * (1 + l)), Alpha: epsilon / (5 * math.Sqrt(2*l)),
		Tail: func(z float64) float64 { return math.Erfc(z / math.Sqrt2) },
		Mean: math.Sqrt(2 / math.Pi), Variance: 1,
	}
}

// LLN is Laplace·e^{σN}, ½ε²-zCDP, with the σ that minimises the variance: 5(ε/β)σ³ − 5σ² − 1 = 0.
func LLN(epsilon, beta float64) Noise {
	low, high := 0.0, 2.0
	for range 60 {
		if mid := (low + high) / 2; 5*epsilon/beta*mid*mid*mid-5*mid*mid-1 < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	s2 := high * high
	return Noise{
		Name: "smooth_lln", Beta: beta, Alpha: math.Exp(-1.5*s2) * (epsilon - beta/high),
		Tail: normalMixture(high, func(z float64) float64 { return math.Exp(-z) }),
		Mean: math.Exp(s2 / 2), Variance: 2 * math.Exp(2*s2),
	}
}

// ULN is Uniform(±1)·e^{σN} with σ = √2, ½ε²-zCDP.
func ULN(epsilon, beta float64) Noise {
	return Noise{
		Name: "smooth_uln", Beta: beta, Alpha: (epsilon - beta/math.Sqrt2) * math.Sqrt(math.Pi) * math.Exp(-3),
		Tail: func(z float64) float64 { // E max(0, 1 − z·e^{−σN})
			if z == 0 {
				return 1
			}
			above := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
			least := math.Log(z) / math.Sqrt2
			return max(0, above(least)-z*math.E*above(least+math.Sqrt2))
		},
		Mean: math.E / 2, Variance: math.Exp(4) / 3,
	}
}

// Arsinh is sinh(σN)/σ, ½ε²-zCDP, with σ = 2/√3 as published; α ≤ 0 if β is too large.
func Arsinh(epsilon, beta float64) Noise {
	sigma := 2 / math.Sqrt(3)
	s2 := sigma * sigma
	return Noise{
		Name: "smooth_arsinh", Beta: beta,
		Alpha:    (epsilon - math.Sqrt(beta*(beta/s2+1/sigma+2))) / (2/(3*sigma) + sigma/2),
		Tail:     func(z float64) float64 { return math.Erfc(math.Asinh(sigma*z) / (sigma * math.Sqrt2)) },
		Mean:     math.Exp(s2/2) * math.Erf(sigma/math.Sqrt2) / sigma,
		Variance: math.Expm1(2*s2) / (2 * s2),
	}
}

// Smooth is the law of centre + (g/α)·Z, clamped and rounded to the grid; centre and g are in grid steps.
func Smooth(last int64, centre, g float64, noise Noise) Law {
	law := make(Law, last+1)
	scale := g / noise.Alpha
	upTo := func(x float64) float64 { // P(release ≤ x)
		switch {
		case scale == 0 && x >= centre:
			return 1
		case scale == 0:
			return 0
		case x >= centre:
			return 1 - noise.Tail((x-centre)/scale)/2
		}
		return noise.Tail((centre-x)/scale) / 2
	}
	before := 0.0
	for x := range law {
		upTo := upTo(float64(x) + 0.5)
		if int64(x) == last {
			upTo = 1
		}
		law[x] = upTo - before
		before = upTo
	}
	return law
}

// SmoothMedian returns the β-smooth sensitivity of the midpoint median, with users added or removed, and the median.
func SmoothMedian(s *Sample, beta float64) (g, median float64) {
	n := s.Users()
	gap := func(low, high int64) float64 { return float64(s.At(high)-s.At(low)) / 2 }
	for k := int64(0); k < n; k++ {
		decay := math.Exp(-beta * float64(k))
		if decay*float64(s.Last())/2 < g {
			break
		}
		if left := n - k; left%2 == 0 {
			g = max(g, decay*gap(left/2, left/2+k+1))
		} else {
			c := (left + 1) / 2
			g = max(g, decay*max(gap(c-1, c+k), gap(c, c+k+1)))
		}
	}
	return max(g, empty(s, beta)), float64(s.At((n+1)/2)+s.At(n/2+1)) / 2
}

// empty adds the sample without users, whose statistic is the middle of the grid, and the samples with one user.
func empty(s *Sample, beta float64) float64 {
	n, last := s.Users(), float64(s.Last())
	g := math.Exp(-beta*float64(n)) * last / 2
	for _, v := range []int64{s.At(1), s.At(n)} {
		g = max(g, math.Exp(-beta*float64(n-1))*math.Abs(float64(v)-last/2))
	}
	return g
}

// SmoothQuantile is the β-smooth sensitivity of X(⌈pn/q⌉), with users added or removed. After i users next to the
// quantile are removed and j are added at one end, a neighbour moves the quantile over a gap of i+1 ranks. Results
// below a millionth of a grid step count as a millionth.
func SmoothQuantile(s *Sample, p, q int64, beta float64) float64 {
	n := s.Users()
	rank := func(n int64) int64 { return (p*n + q - 1) / q }
	g, width, fade := max(empty(s, beta), negligible), float64(s.Last()), math.Exp(-beta)
	removed := 1.0
	for i := int64(0); i <= n && removed*width >= g; i, removed = i+1, removed*fade {
		decay := removed
		for j := int64(0); j <= n+2 && decay*width >= g; j, decay = j+1, decay*fade {
			size := n - i + j
			if size < 1 {
				continue
			}
			r, more, less := rank(size), rank(size+1), rank(size-1)
			gap := func(low int64) {
				if a := decay * float64(s.At(low+1+i)-s.At(low)); a > g {
					g = a
				}
			}
			for _, down := range [2]int64{0, j} {
				if more == r+1 || size >= 2 && less == r {
					gap(r - down)
				}
				if more == r || size >= 2 && less == r-1 {
					gap(r - down - 1)
				}
			}
		}
	}
	return g
}

// negligible is a sensitivity, in grid steps, so small that rounding always gives the true value.
const negligible = 1e-6

// SmoothTrimmed is the β-smooth sensitivity of the mean without m values at each end, in the change-one relation with
// public n: A_k = max_{0≤l≤k+1} (X(n−m+k+1−l) − X(m+1−l))/(n−2m) (Bun & Steinke 2019). m = (n−1)/2 is the median of an
// odd number of values. X may be any order statistics with X(r < 1) = lower end and X(r > n) = upper end.
func SmoothTrimmed(x func(r int64) float64, n, m int64, beta float64) float64 {
	g := 0.0
	width := x(n+1) - x(0)
	for k := int64(0); k <= n; k++ {
		decay := math.Exp(-beta * float64(k))
		if decay*width < g {
			break
		}
		most := 0.0
		for l := int64(0); l <= k+1; l++ {
			most = max(most, x(n-m+k+1-l)-x(m+1-l))
		}
		g = max(g, decay*most)
	}
	return g / float64(n-2*m)
}
