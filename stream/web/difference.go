package web

import "math"

// noise is the public law of a value's error.
type noise struct {
	law   law
	scale float64 // of the law; above 0
}

type law int

const (
	// geometric: P(Z = z) ∝ e^{−|z|/scale} on whole numbers, the law of counts. The scale is 1/ε.
	geometric law = iota
	// laplace: density ∝ e^{−|z|/scale}. It also stands for exponential and geometric tails.
	laplace
	// normal: scale is the standard deviation.
	normal
)

// chance is the probability that two values whose truth is the same differ by at least d > 0 through noise alone:
// P(|X − Y| ≥ d) for independent errors X and Y. ok is false for errors of different kinds.
//
// Normal errors: X − Y is normal with variance σ² = a² + b², and the chance is erfc(d/(σ√2)).
//
// Laplace errors of scales a ≠ b: the characteristic function of X − Y is 1/((1+a²t²)(1+b²t²)), in partial fractions
// (a²/(1+a²t²) − b²/(1+b²t²))/(a² − b²). So its law is that mixture of two Laplace laws, and the chance is
// (a²e^{−d/a} − b²e^{−d/b})/(a² − b²). For a → b this becomes (1 + d/2a)·e^{−d/a}.
//
// Geometric errors with p = e^{−1/a} ≠ q = e^{−1/b}: summing P(X = j)·P(Y = j − m) over j < 0, 0 ≤ j ≤ m and j > m gives
// P(X − Y = m) = c·[(p^m + q^m)·pq/(1−pq) + (p^{m+1} − q^{m+1})/(p − q)] for m ≥ 0 with c = (1−p)(1−q)/((1+p)(1+q)), and
// for p = q it gives c·p^m·(m + (1+p²)/(1−p²)). The chance is twice its sum over m ≥ d. Counts are whole numbers, so d is
// rounded up. A count is also cut at 0, which brings two counts of the same truth nearer to each other: the chance is
// then a bound.
func chance(x, y noise, d float64) (p float64, ok bool) {
	if x.law != y.law {
		return 0, false
	}
	switch x.law {
	case geometric:
		return geometricChance(math.Exp(-1/x.scale), math.Exp(-1/y.scale), math.Ceil(d)), true
	case normal:
		return math.Erfc(d / math.Hypot(x.scale, y.scale) / math.Sqrt2), true
	}
	a, b := x.scale, y.scale
	if math.Abs(a-b) < 1e-6*a {
		return (1 + d/(2*a)) * math.Exp(-d/a), true
	}
	return (a*a*math.Exp(-d/a) - b*b*math.Exp(-d/b)) / (a*a - b*b), true
}

func geometricChance(p, q, d float64) float64 {
	if d <= 0 {
		return 1
	}
	tail := func(r float64) float64 { return math.Pow(r, d) / (1 - r) } // Σ r^m over m ≥ d
	c := (1 - p) * (1 - q) / ((1 + p) * (1 + q))
	if math.Abs(p-q) < 1e-6*(1-p) {
		return 2 * c * tail(p) * (d + p/(1-p) + (1+p*p)/(1-p*p)) // Σ m·p^m over m ≥ d is tail·(d + p/(1−p))
	}
	return 2 * c * ((tail(p)+tail(q))*p*q/(1-p*q) + (p*tail(p)-q*tail(q))/(p-q))
}

// ofReach returns the scale of a law under which |Z| exceeds reach with probability 1 − level.
func ofReach(l law, reach, level float64) noise {
	if l == normal {
		return noise{normal, reach / (math.Sqrt2 * math.Erfinv(level))}
	}
	return noise{laplace, reach / -math.Log1p(-level)}
}
