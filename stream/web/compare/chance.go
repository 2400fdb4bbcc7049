package compare

import "math"

// noise is the public law of a value's error.
type noise struct {
	law   law
	scale float64 // of the law; above 0
}

type law int

const (
	// geometric: P(Z = z) ∝ e^{−|z|/scale} on whole numbers, the law of counts by geometric. The scale is 1/ε.
	geometric law = iota
	// laplace: density ∝ e^{−|z|/scale}. It also stands for exponential and geometric tails.
	laplace
	// normal: scale is the standard deviation.
	normal
	// gaussian: P(Z = z) ∝ e^{−z²/(2·scale²)} on whole numbers, the law of counts by gaussian. The scale is 1/ε.
	gaussian
	// mixed: a sum of some errors of the other laws, of which only the reach is known. scale is the standard deviation
	// that it would have if it were normal.
	mixed
)

// chance is the probability that two values whose truth is the same differ by at least d > 0 through noise alone:
// P(|X − Y| ≥ d) for independent errors X and Y. ok is false for errors of different kinds.
//
// Normal errors: X − Y is normal with variance σ² = a² + b², and the chance is erfc(d/(σ√2)).
//
// Gaussian errors of counts: nearly erfc((d − ½)/(σ√2)) with d rounded up, because the sum over the whole numbers from
// d on is nearly the integral from d − ½ on.
//
// Laplace errors of scales a ≠ b: the characteristic function of X − Y is 1/((1+a²t²)(1+b²t²)), in partial fractions
// (a²/(1+a²t²) − b²/(1+b²t²))/(a² − b²). So its law is that mixture of two Laplace laws, and the chance is
// (a²e^{−d/a} − b²e^{−d/b})/(a² − b²). For a → b this becomes (1 + d/2a)·e^{−d/a}.
//
// Geometric errors with p = e^{−1/a} ≠ q = e^{−1/b}: summing P(X = j)·P(Y = j − m) over j < 0, 0 ≤ j ≤ m and j > m
// gives P(X − Y = m) = c·[(p^m + q^m)·pq/(1−pq) + (p^{m+1} − q^{m+1})/(p − q)] for m ≥ 0 with c =
// (1−p)(1−q)/((1+p)(1+q)), and for p = q it gives c·p^m·(m + (1+p²)/(1−p²)). The chance is twice its sum over m ≥ d.
// Counts are whole numbers, so d is rounded up. A count is also cut at 0, which brings two counts of the same truth
// nearer to each other. The chance is then an upper bound.
//
// The law of several errors lies between a single one and a normal law. Both are taken to have its reach, and the
// larger chance counts.
func chance(x, y noise, d float64) (p float64, ok bool) {
	if x.law != y.law {
		return 0, false
	}
	switch x.law {
	case geometric:
		return geometricChance(math.Exp(-1/x.scale), math.Exp(-1/y.scale), math.Ceil(d)), true
	case normal:
		return math.Erfc(d / math.Hypot(x.scale, y.scale) / math.Sqrt2), true
	case mixed:
		single, _ := chance(x.single(), y.single(), d)
		return max(single, math.Erfc(d/math.Hypot(x.scale, y.scale)/math.Sqrt2)), true
	case gaussian:
		return math.Erfc((math.Ceil(d) - 0.5) / math.Hypot(x.scale, y.scale) / math.Sqrt2), true
	}
	a, b := x.scale, y.scale
	if math.Abs(a-b) < 1e-6*a {
		return (1 + d/(2*a)) * math.Exp(-d/a), true
	}
	return (a*a*math.Exp(-d/a) - b*b*math.Exp(-d/b)) / (a*a - b*b), true
}

// chanceOfAny is [chance] for two values, and [chanceOfMeans] for more.
func chanceOfAny(x, y []noise, d float64) (p float64, ok bool) {
	if len(x) == 1 && len(y) == 1 {
		return chance(x[0], y[0], d)
	}
	return chanceOfMeans(x, y, d), true
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

// level is the confidence of the errors that records tell.
const level = 0.95

// ofReach returns the scale of a law under which |Z| exceeds reach with probability 5 %.
func ofReach(l law, reach float64) noise {
	if l == laplace {
		return noise{laplace, reach / -math.Log1p(-level)}
	}
	return noise{l, reach / (math.Sqrt2 * math.Erfinv(level))}
}

// single returns a single Laplace error with the reach of several.
func (e noise) single() noise { return ofReach(laplace, e.scale*math.Sqrt2*math.Erfinv(level)) }

// chanceOfMeans is the probability that the means of two sets of values differ by at least d through independent errors
// alone.
//
// The difference Z is a sum of symmetric errors, of Laplace scales s and a normal part of variance σ². Its
// characteristic function is φ(t) = e^{−σ²t²/2}·∏ 1/(1+s²t²). On a circle of length T its law is that of Z up to what
// lies beyond, and P(|Z| < d) = hd/π + (2/π)·Σ φ(hk)·sin(hkd)/k over k ≥ 1, with h = 2π/T (Poisson's summation
// formula).
//
// Beyond: let V be the variance of Z, m its largest s and λ = 1/max(√V, 2m). For λs ≤ 1/2 a Laplace error has
// E e^{λX} = 1/(1−λ²s²) ≤ e^{4λ²s²/3}, so P(|Z| > far) ≤ 2·e^{2λ²V/3−λ·far} ≤ 4·e^{−λ·far}, which is below 2e-9 for
// far = 22/λ.
//
// A geometric error counts as a Laplace error of the same scale: that is a geometric error plus an independent
// symmetric one, so the chance is rather too high. A Gaussian error of a count counts as a normal one.
func chanceOfMeans(x, y []noise, d float64) float64 {
	variance, largest := 0.0, 0.0 // of the normal part at first
	scales := map[float64]float64{}
	for _, side := range [][]noise{x, y} {
		for _, e := range side {
			s := e.scale / float64(len(side))
			if e.law == normal || e.law == gaussian || e.law == mixed { // of the same reach it varies more than laplace
				variance += s * s
				continue
			}
			s = math.Pow(grain, math.Ceil(math.Log(s)/math.Log(grain))) // few different ones, each a little too large
			scales[s]++
			largest = max(largest, s)
		}
	}
	part := variance / 2
	for s, n := range scales {
		variance += 2 * n * s * s
	}
	far := 22 * max(math.Sqrt(variance), 2*largest)
	if d >= far {
		return 0
	}
	const negligible, most = 1e-9, 200000
	step := math.Pi / (d + far)
	sum := step * d / 2
	for k := 1.0; k < most; k++ {
		t := step * k
		exponent := part * t * t
		for s, n := range scales {
			exponent += n * math.Log1p(s*s*t*t)
		}
		height := math.Exp(-exponent)
		if height < negligible {
			break
		}
		sum += height * math.Sin(t*d) / k
	}
	return min(1, max(0, 1-2/math.Pi*sum))
}

// beyond is what an error exceeds with this probability, on one side. The error is Laplace or normal.
func (e noise) beyond(miss float64) float64 {
	if e.law == normal {
		return e.scale * math.Sqrt2 * math.Erfinv(1-2*miss)
	}
	return e.scale * math.Log(1/(2*miss))
}

// tail is the probability of an error of at least d, on either side.
func (e noise) tail(d float64) float64 {
	switch e.law {
	case geometric:
		p := math.Exp(-1 / e.scale)
		return min(1, 2*math.Pow(p, math.Ceil(d))/(1+p))
	case gaussian:
		return math.Erfc((math.Ceil(d) - 0.5) / e.scale / math.Sqrt2)
	case normal, mixed:
		return math.Erfc(d / e.scale / math.Sqrt2)
	}
	return math.Exp(-d / e.scale)
}

// grain is the ratio of neighbouring scales: larger numbers are faster, and give chances that are a little higher.
const grain = 1.001
