package smooth

import "github.com/louver/louver/mechanisms/exact"

// one and two are constants in the formulas.
var (
	one = ratio(1, 1)
	two = ratio(2, 1)
)

// drawDisc puts a uniform point of the quarter disc into the first two numbers.
func drawDisc(s *exact.Source, v *variates) {
	for {
		v.u[0], v.u[1] = s.Uniform(), s.Uniform()
		if belowOne(
			squaredRadius(short{}, v),
			func(prec uint) exact.Interval { return squaredRadius(long{prec}, v) },
		) {
			return
		}
	}
}

func squaredRadius[R number[R], A arithmetic[R]](a A, v *variates) R {
	x, y := a.uniform(&v.u[0]), a.uniform(&v.u[1])
	return x.Mul(x).Add(y.Mul(y))
}

// halfNormal returns |N| of a standard normal N, from a point of the disc, by Marsaglia's polar method:
// x·√(−2 ln w/w), w = x² + y².
func halfNormal[R number[R], A arithmetic[R]](a A, v *variates) R {
	w := squaredRadius(a, v)
	zero := a.constant(one).Sub(a.constant(one))
	return a.uniform(&v.u[0]).Mul(a.sqrt(zero.Sub(w.Log()).Mul(a.constant(two)).Quo(w)))
}

// logNormal returns e^{σN} from a point of the disc and a sign.
func logNormal[R number[R], A arithmetic[R]](a A, v *variates, sigma R) R {
	exponent := halfNormal(a, v).Mul(sigma)
	if v.choice {
		exponent = a.constant(one).Sub(a.constant(one)).Sub(exponent)
	}
	return exponent.Exp()
}
