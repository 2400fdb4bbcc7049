package smooth

import (
	"math"
	"testing"
)

// density holds what a test knows about a noise: its log density and P(Z > z), both for z ≥ 0.
type density struct {
	log      func(z float64) float64
	survival func(z float64) float64
}

// noiseOf makes a noise like New and also returns α and β.
func noiseOf(t testing.TB, s Spec) (m *Mechanism, alpha, beta float64) {
	t.Helper()
	if s.Statistic == "" {
		s.Statistic, s.Last = "median", 100
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if m.nearAlpha.hi-m.nearAlpha.lo > 1e-14*m.nearAlpha.lo {
		t.Fatalf("α in %v is not sharp", m.nearAlpha)
	}
	return m, m.nearAlpha.hi, m.nearBeta
}

// loss is the privacy loss at y ≥ 0 under dilation by e^t and then an outward shift by c = αe^min(t,0). Densities fall
// in |z|, so no other shift up to α and no y < 0 loses more.
func (d density) loss(y, t, alpha float64) float64 {
	return d.log(y) - d.log(math.Exp(t)*y+alpha*math.Exp(min(t, 0))) - t
}

// reach is ln(1+y) up to which a loss is checked point by point. For y > e^25, a shift changes ln(1+y') by less than
// α·e^−25, so the loss by less than slope·α·10^−10, and the dilation's loss has its limit to the same accuracy.
const reach = 25

// purelyAdmissible reports whether the loss is at most limit for all y, |t| ≤ β and |s| ≤ α, and returns the largest
// seen.
//
// It is a proof up to rounding: with v = ln(1+y), boxes of (v, t) are halved until the loss at the centre plus the
// box's Lipschitz bound is at most limit. slope bounds |d ln f(z)/dz|·(1+|z|). Then |∂loss/∂v| ≤ slope·(1 + e^β(1+α)),
// since y' = e^t y + c and (1+y)e^t ≤ (1+y')·e^β, and |∂loss/∂t| ≤ slope·(1+α) + 1.
func (d density) purelyAdmissible(alpha, beta, slope, limit float64) (bool, float64) {
	byV, byT := slope*(1+math.Exp(beta)*(1+alpha)), slope*(1+alpha)+1
	worst := math.Inf(-1)
	var certify func(v0, v1, t0, t1 float64) bool
	certify = func(v0, v1, t0, t1 float64) bool {
		v, t := (v0+v1)/2, (t0+t1)/2
		at := d.loss(math.Expm1(v), t, alpha)
		worst = max(worst, at)
		dv, dt := byV*(v1-v0)/2, byT*(t1-t0)/2
		switch {
		case !(at <= limit) || dv+dt < 1e-12:
			return false
		case at+dv+dt <= limit:
			return true
		case dv > dt:
			return certify(v0, v, t0, t1) && certify(v, v1, t0, t1)
		}
		return certify(v0, v1, t0, t) && certify(v0, v1, t, t1)
	}
	// Most calibrations are tight at the corners.
	for _, t := range []float64{-beta, 0, beta} {
		for _, v := range []float64{0, reach} {
			worst = max(worst, d.loss(math.Expm1(v), t, alpha))
		}
	}
	return worst <= limit && certify(0, reach, -beta, beta), worst
}

// checkPure shows that a noise's calibration keeps its ε and wastes no more than tight allows. It also shows that the
// check notices an α multiplied by control, which means that much less noise.
func checkPure(t *testing.T, s Spec, d density, slope, tight, control float64) {
	t.Helper()
	_, alpha, beta := noiseOf(t, s)
	epsilon := s.Epsilon.InexactFloat64()
	ok, worst := d.purelyAdmissible(alpha, beta, slope, epsilon*1.002)
	t.Logf("ε = %v, α = %.5f, β = %.5f: largest loss %.5f ε", epsilon, alpha, beta, worst/epsilon)
	if !ok {
		t.Errorf("ε = %v: a loss of %v or more", epsilon, worst)
	}
	if worst < tight*epsilon {
		t.Errorf("ε = %v: only %v is lost", epsilon, worst)
	}
	if worst > epsilon*(1+1e-9) {
		t.Errorf("ε = %v: a loss of %v", epsilon, worst)
	}
	if ok, _ := d.purelyAdmissible(control*alpha, beta, slope, epsilon*1.002); ok {
		t.Errorf("ε = %v: the check does not notice %v times less noise", epsilon, control)
	}
}

// hockeyStick returns ∫(p − e^ε q)₊ for the density p of Z and q of the dilated and shifted Z, t and c as in loss:
// q(y) = e^t f(e^t y + c). The set where p > e^ε q is found by its border points, which lie between the given points,
// between any two of which the loss is monotone; its probabilities are exact.
func (d density) hockeyStick(epsilon, t, c float64, monotone []float64) float64 {
	loss := func(y float64) float64 { return d.log(math.Abs(y)) - d.log(math.Abs(math.Exp(t)*y+c)) - t }
	cdf := func(z float64) float64 {
		if z < 0 {
			return d.survival(-z)
		}
		return 1 - d.survival(z)
	}
	between := func(a, b float64) float64 { // P(a < Z < b) without cancellation in the upper tail
		if a > 0 {
			return d.survival(a) - d.survival(b)
		}
		return cdf(b) - cdf(a)
	}
	sum := 0.0
	for i := 1; i < len(monotone); i++ {
		a, b := monotone[i-1], monotone[i]
		la, lb := loss(a), loss(b)
		if la <= epsilon && lb <= epsilon {
			continue
		}
		if (la > epsilon) != (lb > epsilon) {
			lo, hi := a, b
			for range 60 {
				if mid := (lo + hi) / 2; (loss(mid) > epsilon) == (la > epsilon) {
					lo = mid
				} else {
					hi = mid
				}
			}
			if la > epsilon {
				b = lo
			} else {
				a = hi
			}
		}
		sum += between(a, b) - math.Exp(epsilon)*between(math.Exp(t)*a+c, math.Exp(t)*b+c)
	}
	return sum
}

// mostDelta returns a bound of ∫(p − e^ε q)₊ over |t| ≤ β and |s| ≤ α, and the largest value seen. It stops early if
// that is more than the limit.
//
// Only the largest shift matters: 1 − ∫ min(p, e^ε q) grows with it, for the sets where p and q exceed a level are
// intervals around their centres, whose overlap shrinks as the centres part. In t the L¹ distance of q changes at a
// rate of at most 2 + 2α (∫|d(yf)/dy| ≤ 2 and ∫|f'| = 2f(0) ≤ 1), so that the result is larger by at most e^ε(2+2α)
// times the distance from a t that was tried. Intervals of t are halved until that leaves no doubt about the limit, or
// they are shorter than the 20,000th part of 2β.
func (d density) mostDelta(epsilon, alpha, beta, limit float64,
	monotone func(t, c float64) []float64) (bound, seen float64) {
	rate := math.Exp(epsilon) * (2 + 2*alpha)
	var search func(from, to float64)
	search = func(from, to float64) {
		t, off := (from+to)/2, (to-from)/2
		c := alpha * math.Exp(min(t, 0))
		at := d.hockeyStick(epsilon, t, c, monotone(t, c))
		seen = max(seen, at)
		switch most := at + rate*off; {
		case seen > limit:
			bound = math.Inf(1)
		case most <= limit || off < beta/20000:
			bound = max(bound, most)
		default:
			search(from, t)
			search(t, to)
		}
	}
	search(-beta, beta)
	return bound, seen
}

// renyi holds what Rényi divergences of p from the dilated and shifted q are integrated from, t and c as in loss:
// ln p, ln q and ln dy/dv at the points of the trapezoidal rule in v, y = sinh v. The integrand is continuous and
// piecewise smooth, so the error falls with the square of the step.
type renyi struct{ p, q, slope []float64 }

const renyiStep = 8e-3

// integrated returns the points with all that depends on y alone.
func (d density) integrated() (y []float64, r renyi) {
	for i := range int(2*reachConcentrated/renyiStep) + 1 {
		v := float64(i)*renyiStep - reachConcentrated
		y = append(y, math.Sinh(v))
		r.p = append(r.p, d.log(math.Abs(y[i])))
		r.slope = append(r.slope, math.Log(math.Cosh(v)))
	}
	r.q = make([]float64, len(y))
	return y, r
}

// divergence returns the divergence of order a, ln(∫ p^a q^{1−a})/(a−1), of p from q, or of q from p if p and q are
// swapped, by every stride-th point.
func (r renyi) divergence(a float64, swap bool, stride int) float64 {
	p, q := r.p, r.q
	if swap {
		p, q = q, p
	}
	exponent := func(i int) float64 { return a*p[i] + (1-a)*q[i] + r.slope[i] }
	most, sum := math.Inf(-1), 0.0 // the integral is sum·e^most
	for i := 0; i < len(p); i += stride {
		most = max(most, exponent(i))
	}
	for i := 0; i < len(p); i += stride {
		if x := exponent(i) - most; x > -60 { // all that is left out is less than 10⁻²¹ of the largest
			sum += math.Exp(x)
		}
	}
	return (math.Log(sum*renyiStep*float64(stride)) + most) / (a - 1)
}

// reachConcentrated is how far |ln z| goes: an order a moves the bulk of the integrand by about a·β in ln z, and the
// log-normal laws have e^{±12σ} around it.
const reachConcentrated = 45.

// checkConcentrated shows D_a ≤ ½ε²·a for orders from least to most, at the corners of all shifts and dilations and
// inside, both ways. The difference to half the step bounds the integration error. It also checks that a hundred times
// the α is noticed: the theorems are far from tight at all orders that were tried, but no closer ones are known.
//
// This is numerical evidence, not a proof. It is meant to catch a wrong density or a gross mistake.
// [TestPublishedCalibrations] shows that the calibration is the theorem's.
func checkConcentrated(t *testing.T, s Spec, d density, least, most float64) {
	t.Helper()
	d.log = tabulated(d.log)
	_, alpha, beta := noiseOf(t, s)
	epsilon := s.Epsilon.InexactFloat64()
	y, r := d.integrated()
	largest := func(alpha float64, strides ...int) []float64 {
		worst := make([]float64, len(strides))
		for _, tt := range []float64{-beta, 0, beta / 2, beta} {
			for _, share := range []float64{0.5, 1} {
				c := share * alpha * math.Exp(min(tt, 0))
				dilation := math.Exp(tt)
				for i := range y {
					r.q[i] = d.log(math.Abs(dilation*y[i]+c)) + tt
				}
				for a := least; a <= most; a *= 2.2 {
					for _, swap := range []bool{false, true} {
						for i, stride := range strides {
							worst[i] = max(worst[i], r.divergence(a, swap, stride)/a)
						}
					}
				}
			}
		}
		return worst
	}
	both := largest(alpha, 1, 2)
	fine, coarse := both[0], both[1]
	bound := fine + math.Abs(fine-coarse)
	t.Logf("ε = %v, α = %.5f, β = %.5f: largest D_a/a is %.5f of ½ε² (± %.1e)", epsilon, alpha, beta,
		fine/(epsilon*epsilon/2), math.Abs(fine-coarse))
	if bound > epsilon*epsilon/2*(1+1e-6) {
		t.Errorf("ε = %v: ρ = %v, want at most %v", epsilon, bound, epsilon*epsilon/2)
	}
	if control := largest(100*alpha, 2)[0]; control <= epsilon*epsilon/2 {
		t.Errorf("ε = %v: the check does not notice a hundred times less noise: %v", epsilon, control)
	}
}
