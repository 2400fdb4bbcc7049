package laws

import (
	"math"
	"slices"
)

// Utility rates a point by how many users hold less, the same and more. The exponential mechanism uses κ = ε/d with its
// divisor d.
type Utility struct {
	Level   func(below, equal, above int64) int64
	Divisor int64
}

// Margin is max(A(pn − qC), B(qc − pn)) for c users below a point and C at or below it.
func Margin(p, q, a, b int64) Utility {
	return Utility{
		Level: func(below, equal, above int64) int64 {
			n := below + equal + above
			return max(a*(p*n-q*(below+equal)), b*(q*below-p*n))
		},
		Divisor: max(a*p, b*(q-p)) + max(b*p, a*(q-p)),
	}
}

// Tilt returns the pair of side weights that the library uses for the quantile p/q.
func Tilt(p, q int64) (a, b int64) {
	switch {
	case 4*p > 3*q:
		return 1, 2
	case 4*p < q:
		return 2, 1
	}
	return 1, 1
}

// Tail is min(3·max(l, r), 2·max(l, 2r) + p(n − few)), l = pn − qC and r = qc − pn, for p/q > ¾, and its mirror image
// for p/q < ¼.
func Tail(p, q, few int64) Utility {
	return Utility{
		Level: func(below, equal, above int64) int64 {
			n := below + equal + above
			l, r := p*n-q*(below+equal), q*below-p*n
			if 2*p < q {
				return min(3*max(l, r), 2*max(2*l, r)+(q-p)*(n-few))
			}
			return min(3*max(l, r), 2*max(l, 2*r)+p*(n-few))
		},
		Divisor: 6 * max(p, q-p),
	}
}

// Default is the utility of the library's default: [Tail] above ¾ and below ¼, otherwise the margin 1:1.
func Default(p, q int64, epsilon float64) Utility {
	if 4*max(p, q-p) <= 3*q {
		return Margin(p, q, 1, 1)
	}
	return Tail(p, q, min(1e8, FewUsers(30, p, q, epsilon)))
}

// FewUsers returns the least n for which ε·n·min(p, q−p)/q is at least information.
func FewUsers(information float64, p, q int64, epsilon float64) int64 {
	// This is less than any step of an ε with a few digits, and more than the error of float64.
	return int64(math.Ceil(information*float64(q)/float64(min(p, q-p))/epsilon - 1e-6))
}

// FewProbability is the probability of n + Z ≤ limit, P(Z = z) ∝ e^{−rate·|z|}.
func FewProbability(n, limit int64, rate float64) float64 {
	a := math.Exp(-rate)
	if n <= limit {
		return 1 - math.Pow(a, float64(limit-n+1))/(1+a)
	}
	return math.Pow(a, float64(n-limit)) / (1 + a)
}

// Mix is the law a with probability p, otherwise b.
func Mix(p float64, a, b Law) Law {
	law := make(Law, len(a))
	for x := range law {
		law[x] = p*a[x] + (1-p)*b[x]
	}
	return law
}

// Duff is the distance of Gillenwater & Muñoz Medina (2020) with ties: the fewest users to add or remove until the
// quantile p/q is the point.
func Duff(p, q int64) Utility {
	r := q - p
	return Utility{
		Level: func(below, equal, above int64) int64 {
			e := int64(0)
			if equal == 0 {
				e = 1
			}
			u, w := p*above-r*(below+equal), r*below-p*(equal+above)
			switch {
			case u > 0 && 2*p >= q:
				return e + ceil(max(0, u-r*e), p)
			case u > 0:
				return ceil(u, r)
			case below >= 1 && w >= 0 && 2*p >= q:
				return w/p + 1
			case below >= 1 && w >= 0 && w >= p*e:
				return e + (w-p*e)/r + 1
			}
			return e
		},
		Divisor: 2,
	}
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// Rank is the rank utility ⌈max(0, U, W)/max(p, q−p)⌉.
func Rank(p, q int64) Utility {
	return Utility{
		Level: func(below, equal, above int64) int64 {
			return ceil(max(0, p*above-(q-p)*(below+equal), (q-p)*below-p*(equal+above)), max(p, q-p))
		},
		Divisor: 2,
	}
}

// MidRank is |(q−p)L − pG|.
func MidRank(p, q int64) Utility {
	return Utility{
		Level: func(below, _, above int64) int64 {
			d := (q-p)*below - p*above
			return max(d, -d)
		},
		Divisor: 2 * max(p, q-p),
	}
}

// levels returns the level of every point.
func (u Utility) levels(s *Sample) []int64 {
	levels := make([]int64, len(s.counts))
	below, n := int64(0), s.Users()
	for x, equal := range s.counts {
		if x > 0 && equal == 0 && s.counts[x-1] == 0 {
			levels[x] = levels[x-1]
			continue
		}
		levels[x] = u.Level(below, equal, n-below-equal)
		below += equal
	}
	return levels
}

// Exponential is the exponential mechanism with a utility and the base measure mu.
func Exponential(s *Sample, u Utility, epsilon float64, mu []float64) Law {
	return exponential(u.levels(s), epsilon/float64(u.Divisor), mu)
}

// Replace is the distance for the value of rank r among n, both public, if neighbours differ in one value: the fewest
// values to replace until X(r) is the point.
func Replace(r, n int64) Utility {
	return Utility{
		Level: func(below, equal, above int64) int64 {
			e := int64(0)
			if equal == 0 {
				e = 1
			}
			return max(below-r+1, above-n+r, e)
		},
		Divisor: 2,
	}
}

// MeanOverGaps is E|x − target| of the exponential mechanism on the real numbers between the ends of the grid, where
// single points have no mass.
func MeanOverGaps(s *Sample, u Utility, epsilon, target float64) float64 {
	n := s.Users()
	best := int64(math.MaxInt64)
	for i := range n + 1 {
		best = min(best, u.Level(i, 0, n-i))
	}
	mass, sum := 0.0, 0.0
	for i := range n + 1 {
		lo, hi := float64(s.At(i)), float64(s.At(i+1))
		weight := math.Exp(-epsilon / float64(u.Divisor) * float64(u.Level(i, 0, n-i)-best))
		mass += weight * (hi - lo)
		// ∫|x − t| over the gap is half the difference of the signed squares.
		square := func(d float64) float64 { return d * math.Abs(d) / 2 }
		sum += weight * (square(hi-target) - square(lo-target))
	}
	return sum / mass
}

// Flip is permute-and-flip (McKenna & Sheldon 2020) with coins p_x in proportion to μ(x)·e^{−ε·level(x)/d}, the largest
// of them 1: P(x) = p_x·∫₀¹ Π_{y≠x}(1 − p_y·t) dt, by quadrature.
func Flip(s *Sample, u Utility, epsilon float64, mu []float64) Law {
	levels := u.levels(s)
	best := slices.Min(levels)
	type kind struct {
		level int64
		mu    float64
	}
	type group struct{ coin, mass, share float64 }
	byKind, kinds := map[kind]*group{}, make([]*group, len(levels))
	most := 0.0
	var groups []*group
	for x, level := range levels {
		k := kind{level, mu[x]}
		if x > 0 && level == levels[x-1] && mu[x] == mu[x-1] {
			kinds[x] = kinds[x-1]
		} else if kinds[x] = byKind[k]; kinds[x] == nil {
			g := &group{coin: mu[x] * math.Exp(-epsilon/float64(u.Divisor)*float64(level-best))}
			byKind[k], kinds[x], groups = g, g, append(groups, g)
			most = max(most, g.coin)
		}
		kinds[x].mass++
	}
	heads := 0.0
	for _, g := range groups {
		g.coin /= most
		heads += g.coin * g.mass
	}
	// Coins that come up heads less often than once in 10^16 draws do not matter.
	groups = slices.DeleteFunc(groups, func(g *group) bool { return g.coin*g.mass < 1e-16 })
	integrate(evenly(min(1, 48/heads), 24), func(t, weight float64) {
		log := 0.0
		for _, g := range groups {
			log += g.mass * math.Log1p(-g.coin*t)
		}
		none := weight * math.Exp(log)
		for _, g := range groups {
			g.share += none * g.coin / (1 - g.coin*t)
		}
	})
	law := make(Law, len(levels))
	for x := range levels {
		law[x] = kinds[x].share
	}
	return law
}

// Piecewise is the exponential mechanism of the interpolated distance: φ rises linearly from k−1 to k between the ends
// of the hulls of {d ≤ k−1} and {d ≤ k}.
func Piecewise(s *Sample, u Utility, epsilon float64) Law {
	levels := u.levels(s)
	best := slices.Min(levels)
	law := make(Law, len(levels))
	// hull[x] is the least k such that x is in the hull of {d ≤ k}, seen from one side.
	side := func(from, to, step int) {
		hull := make([]int64, len(levels))
		outer := int64(math.MaxInt64)
		for x := to; x != from-step; x -= step {
			outer = min(outer, levels[x])
			hull[x] = outer
		}
		for x := from; x != to+step; {
			end := x
			for end != to && hull[end+step] == hull[x] {
				end += step
			}
			width := (end-x)*step + 1
			for i := 1; i <= width; i++ {
				phi := float64(hull[x] - best)
				if phi > 0 {
					phi += float64(i)/float64(width) - 1
				}
				law[x+(i-1)*step] = math.Exp(-epsilon / float64(u.Divisor) * phi)
			}
			x = end + step
		}
	}
	core := slices.Index(levels, best)
	side(core, len(levels)-1, 1)
	side(core, 0, -1)
	return normalise(law)
}

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
