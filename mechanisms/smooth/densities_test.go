package smooth

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

func powerDensity(epsilon, beta float64) density {
	p := 1 + epsilon/beta
	return density{
		log:      func(z float64) float64 { return math.Log((p-1)/2) - p*math.Log1p(z) },
		survival: func(z float64) float64 { return math.Pow(1+z, 1-p) / 2 },
	}
}

func cauchyDensity(gamma float64) density {
	mass := 2 * math.Pi / gamma / math.Sin(math.Pi/gamma)
	return density{
		log: func(z float64) float64 {
			if z > 1 {
				return -gamma*math.Log(z) - math.Log1p(math.Pow(z, -gamma)) - math.Log(mass)
			}
			return -math.Log1p(math.Pow(z, gamma)) - math.Log(mass)
		},
		// With w = 1/(1+z^γ) this is the integral of the beta law.
		survival: func(z float64) float64 {
			return mathext.RegIncBeta(1-1/gamma, 1/gamma, 1/(1+math.Pow(z, gamma))) / 2
		},
	}
}

func studentDensity() density {
	const d = float64(studentDegrees)
	a, _ := math.Lgamma((d + 1) / 2)
	b, _ := math.Lgamma(d / 2)
	norm := a - b - math.Log(d*math.Pi)/2
	return density{
		log: func(z float64) float64 {
			if z > 1e100 {
				return norm - (d+1)*(math.Log(z)-math.Log(d)/2)
			}
			return norm - (d+1)/2*math.Log1p(z*z/d)
		},
		survival: func(z float64) float64 { return mathext.RegIncBeta(d/2, 0.5, d/(d+z*z)) / 2 },
	}
}

func laplaceDensity() density {
	return density{
		log:      func(z float64) float64 { return -math.Ln2 - z },
		survival: func(z float64) float64 { return math.Exp(-z) / 2 },
	}
}

func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 } // P(N > x)

// logTail is ln P(N > x). Below 10^−100 it uses the asymptotic series, whose first omitted term is 105/x⁸.
func logTail(x float64) float64 {
	if x < 21 {
		return math.Log(tail(x))
	}
	s := 1 / (x * x)
	return logNormalDensity(x) - math.Log(x) + math.Log1p(-s+3*s*s-15*s*s*s)
}

func logNormalDensity(x float64) float64 { return -x*x/2 - math.Log(2*math.Pi)/2 }

func gaussianDensity() density { return density{log: logNormalDensity, survival: tail} }

// overNormal integrates f against the standard normal law by the trapezoidal rule, which converges exponentially here:
// an f that is bounded within a distance a of the real line leaves an error of about e^{a²/2 − 2πa/step}. That of lln
// is bounded for a ≤ π/(2σ), more than 4: the error is less than 10⁻⁸⁰.
func overNormal(f func(x float64) float64) float64 {
	sum := 0.0
	const step = 1. / 8
	for x := -12.0; x <= 12; x += step {
		sum += f(x) * math.Exp(-x*x/2) * step
	}
	return sum / math.Sqrt(2*math.Pi)
}

// llnDensity: given N, Z is Laplace noise of scale e^{σN}. For large z the integrand of the density,
// e^{−σx − ze^{−σx} − x²/2}, peaks far from 0, so it is summed around its mode, relative to its value there.
func llnDensity(sigma float64) density {
	return density{
		log: func(z float64) float64 {
			exponent := func(x float64) float64 { return -sigma*x - z*math.Exp(-sigma*x) - x*x/2 }
			low, high := -10., 200. // the exponent is concave and its slope −σ + zσe^{−σx} − x falls
			for range 24 {          // so near to the mode no digit is lost
				if x := (low + high) / 2; -sigma+z*sigma*math.Exp(-sigma*x)-x > 0 {
					low = x
				} else {
					high = x
				}
			}
			// The exponent falls as fast as −(x − mode)²/2 at least, and nowhere on the table as fast as 49 times that:
			// the trapezoidal rule is off by about e^{−2π²/(49·step²)} < 10⁻¹⁰ of the sum, and what lies beyond 9 by
			// less.
			sum := 0.0
			const step = 1. / 8
			for x := low - 9; x <= low+9; x += step {
				sum += math.Exp(exponent(x)-exponent(low)) * step
			}
			return math.Log(sum/2/math.Sqrt(2*math.Pi)) + exponent(low)
		},
		survival: func(z float64) float64 {
			return overNormal(func(x float64) float64 { return math.Exp(-z*math.Exp(-sigma*x)) / 2 })
		},
	}
}

// ulnDensity: given N, Z is uniform on ±e^{σN}.
func ulnDensity(sigma float64) density {
	return density{
		log: func(z float64) float64 {
			return logTail(math.Log(z)/sigma+sigma) + sigma*sigma/2 - math.Ln2
		},
		survival: func(z float64) float64 {
			a := math.Log(z) / sigma
			if z == 0 {
				return 0.5
			}
			return (tail(a) - z*math.Exp(sigma*sigma/2)*tail(a+sigma)) / 2
		},
	}
}

func arsinhDensity(sigma float64) density {
	return density{
		log: func(z float64) float64 {
			return logNormalDensity(math.Asinh(sigma*z)/sigma) - math.Log1p(sigma*sigma*z*z)/2
		},
		survival: func(z float64) float64 { return tail(math.Asinh(sigma*z) / sigma) },
	}
}
