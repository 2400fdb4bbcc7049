package smooth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// everyPoint reports all local sensitivities of a box within most edits.
func everyPoint(s sensitivity, most int64, report func(term)) {
	r := s.whole()
	for a := r.lo[0]; a <= r.hi[0]; a++ {
		for b := r.lo[1]; b <= min(most+1, r.hi[1]); b++ {
			for c := r.lo[2]; c <= min(most+1, r.hi[2]); c++ {
				s.at(axes{a, b, c}, func(t term) {
					if t.k <= most {
						report(t)
					}
				})
			}
		}
	}
}

// boxes lists the boxes that a statistic searches.
func boxes(s statistic, x *ranks) []sensitivity {
	switch s := s.(type) {
	case trimmed:
		return []sensitivity{trimmedEdits{order{x, false}, s.trim}, trimmedEdits{order{x, true}, s.trim}}
	case median:
		return []sensitivity{medianEdits{x}}
	case quantile:
		return []sensitivity{quantileEdits{x, s.p}}
	}
	panic("unknown statistic")
}

// Each A_k, k ≤ 6, is the largest local sensitivity within k edits; this is stronger than their smooth maximum.
func TestEachLocalSensitivity(t *testing.T) {
	u := newUniverse(4, 15)
	for name, s := range definitions() {
		a := u.local(func(h []int64) float64 { return s.plain(expand(h), u.points) }, 6)
		for i, h := range u.samples {
			n := int64(users(h))
			if n > 7 {
				continue
			}
			x := ranksOf(h)
			got := make([]float64, 7)
			note := func(t term) {
				if t.k < int64(len(got)) {
					got[t.k] = max(got[t.k], t.num.Float()/float64(t.den))
				}
			}
			empty := newLargest(0)
			atEmpty(x, &empty)
			for _, t := range empty.terms {
				note(t)
			}
			// At β = 0 only the largest is kept, but the last remaining value may have a smaller one.
			for _, v := range []int64{x.at(1), x.at(max(1, x.n))} {
				if n > 0 {
					note(term{n - 1, wideOf(max(2*v-x.last, x.last-2*v)), 2})
				}
			}
			if n > 0 || name[:1] == "q" {
				for _, box := range boxes(s.statistic, x) {
					everyPoint(box, 6, note)
				}
			}
			for k := range got {
				if k > 0 {
					got[k] = max(got[k], got[k-1])
				}
				if math.Abs(got[k]-a[k][i]) > 1e-12 {
					t.Fatalf("%s, %v: A_%d = %v, by search %v", name, h, k, got[k], a[k][i])
				}
			}
		}
	}
}

// Between neighbours, g differs by a factor of at most e^β, and T by at most the smaller g.
func TestSmoothness(t *testing.T) {
	u := newUniverse(4, 8)
	for name, s := range definitions() {
		for _, beta := range []float64{0.01, 0.125, 1} {
			value, g := make([]float64, len(u.samples)), make([]float64, len(u.samples))
			for i, h := range u.samples {
				x := ranksOf(h)
				num, den := s.value(x)
				value[i] = num.Float() / float64(den)
				l := newLargest(beta)
				s.smooth(x, &l)
				g[i] = l.near().hi
			}
			for i, others := range u.neighbours {
				for _, j := range others {
					if g[i] > math.Exp(beta)*g[j]*(1+1e-11) {
						t.Fatalf("%s, β = %v: g%v = %v, g%v = %v", name, beta, u.samples[i], g[i], u.samples[j], g[j])
					}
					if math.Abs(value[i]-value[j]) > g[i]*(1+1e-11) {
						t.Fatalf("%s, β = %v: T%v = %v, T%v = %v, g = %v", name, beta, u.samples[i], value[i],
							u.samples[j], value[j], g[i])
					}
				}
			}
		}
	}
}

// If all samples have n users and neighbours replace one value, the formulas also agree with the search.
func TestReplaceOneByBruteForce(t *testing.T) {
	for n := 1; n <= 7; n++ {
		all := newUniverse(4, n)
		u := &universe{points: 4, most: math.MaxInt / 2, position: all.position}
		at := map[int]int{}
		for i, h := range all.samples {
			if users(h) == n {
				at[i] = len(u.samples)
				u.samples = append(u.samples, h)
			}
		}
		u.neighbours = make([][]int, len(u.samples))
		for i, h := range all.samples {
			if users(h) != n {
				continue
			}
			for _, less := range all.neighbours[i] {
				for _, same := range all.neighbours[less] {
					if j, ok := at[same]; ok && users(all.samples[less]) < n {
						u.neighbours[at[i]] = append(u.neighbours[at[i]], j)
					}
				}
			}
		}
		for name, s := range definitions() {
			var replaced statistic
			switch s := s.statistic.(type) {
			case trimmed:
				replaced = replaceTrimmed{s}
			case quantile:
				replaced = replaceQuantile{s}
			default:
				continue
			}
			a := u.local(func(h []int64) float64 { return s.plain(expand(h), 4) }, n+1)
			for i, h := range u.samples {
				for _, beta := range []float64{1e-3, 0.02, 0.125, 0.4, 1, 3} {
					want := 0.0
					for k := range a {
						want = max(want, math.Exp(-beta*float64(k))*a[k][i])
					}
					l := newLargest(beta)
					replaced.smooth(ranksOf(h), &l)
					if got := l.near(); got.lo > want*(1+1e-12) || got.hi < want*(1-1e-12) {
						t.Fatalf("%s, %v, β = %v: g in [%v, %v], by search %v", name, h, beta, got.lo, got.hi, want)
					}
				}
			}
		}
	}
}

// Branch and bound misses nothing: it agrees with checking every point of the box, for larger samples of all shapes.
func TestSearchAgreesWithEveryPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, s := range definitions() {
		t.Run(name, func(t *testing.T) {
			for round := range 8 {
				n, last := 1+rng.IntN(30), []int64{3, 50, 1 << 20, 1 << 53}[round%4]
				x := make([]int64, n)
				for i := range x {
					x[i] = int64(float64(last) * math.Pow(rng.Float64(), float64(1+round)))
					if round%3 == 0 {
						x[i] = x[i] / 7 * 7
					}
				}
				values, counts := gather(x)
				ranks := NewValues(values, upTo(counts)).within(0, last, 1)
				for _, beta := range []float64{1e-6, 0.01, 0.05, 0.3, 1} {
					got := newLargest(beta)
					s.smooth(ranks, &got)
					want := newLargest(beta)
					atEmpty(ranks, &want)
					for _, box := range boxes(s.statistic, ranks) {
						everyPoint(box, int64(n)+2, want.add)
					}
					if g, w := got.near(), want.near(); g != w {
						t.Fatalf("n = %d, N = %d, β = %v: g in %v, over every point %v\n%v", n, last, beta, g, w, x)
					}
				}
			}
		})
	}
}

// The bound of a box covers every sample in it: it is no more edits away and has no smaller local sensitivity. Branch
// and bound finds the largest value even with many wrong bounds, because it goes to the best box first.
func TestBoundsCoverTheirBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	between := func(lo, hi int64) (int64, int64) {
		a, b := lo+rng.Int64N(hi-lo+1), lo+rng.Int64N(hi-lo+1)
		return min(a, b), max(a, b)
	}
	for name, s := range definitions() {
		covered := 0
		for range 30 {
			n, last := 1+rng.IntN(9), []int64{1, 3, 50, 1 << 53}[rng.IntN(4)]
			x := make([]int64, n)
			for i := range x {
				x[i] = rng.Int64N(last + 1)
			}
			values, counts := gather(x)
			ranks := NewValues(values, upTo(counts)).within(0, last, 1)
			all := boxes(s.statistic, ranks)
			switch s := s.statistic.(type) {
			case trimmed:
				m := s.trim.floor(ranks.n)
				all = append(all, replaceEdits{ranks, ranks.n - m, m + 1, ranks.n - 2*m})
			case quantile:
				r := s.p.ceil(ranks.n)
				all = append(all, replaceEdits{ranks, r, r, 1})
			}
			for _, edits := range all {
				for range 60 {
					r := edits.whole()
					for axis := range r.lo {
						r.lo[axis], r.hi[axis] = between(r.lo[axis], r.hi[axis])
						if rng.IntN(2) == 0 { // small boxes have tight bounds
							r.hi[axis] = min(r.hi[axis], r.lo[axis]+rng.Int64N(2))
						}
					}
					bound := edits.bound(r)
					for a := r.lo[0]; a <= r.hi[0]; a++ {
						for b := r.lo[1]; b <= r.hi[1]; b++ {
							for c := r.lo[2]; c <= r.hi[2]; c++ {
								edits.at(axes{a, b, c}, func(at term) {
									covered++
									if at.num != (wide{}) && !bound.covers(at) {
										t.Fatalf("%s, %T of %v up to %d, box %v: the bound %v does not cover %v at %v",
											name, edits, x, last, r, bound, at, axes{a, b, c})
									}
								})
							}
						}
					}
				}
			}
		}
		if covered == 0 {
			t.Errorf("%s: no box has a sample", name)
		}
	}
}

// The order statistics and their sums agree with the list of values, from either end.
func TestRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 31, 33, 200} {
		const last = 1 << 53
		x := make([]int64, n)
		for i := range x {
			x[i] = rng.Int64N(last + 1)
			if i%3 > 0 {
				x[i] = x[i-1]
			}
		}
		values, counts := gather(x)
		r := NewValues(values, upTo(counts)).within(0, last, 1)
		for _, o := range []order{{r, false}, {r, true}} {
			at := func(i int64) int64 {
				switch {
				case i < 1:
					return 0
				case i > int64(n):
					return last
				case o.mirrored:
					return last - x[int64(n)-i]
				}
				return x[i-1]
			}
			for from := int64(-5); from <= int64(n)+5; from++ {
				if got := o.at(from); got != at(from) {
					t.Fatalf("n = %d, %v: X(%d) = %d, want %d", n, o.mirrored, from, got, at(from))
				}
				var sum wide
				for to := from; to <= int64(n)+5; to++ {
					sum = sum.Plus(wideOf(at(to)))
					if got := o.sum(from, to); got != sum {
						t.Fatalf("n = %d, %v: sum from %d to %d = %v, want %v", n, o.mirrored, from, to, got, sum)
					}
				}
			}
		}
	}
}

func TestFractions(t *testing.T) {
	for _, text := range []string{"0.05", "0.333333333333333333", "0.999999999999999999", "0.25"} {
		f, err := newFraction("p", dec(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{-1, 0, 1, 2, 3, 4, 20, 1e7, 1 << 40} {
			want := dec(text).Mul(dec(fmt.Sprint(max(n, 0))))
			if got := f.floor(n); got != want.Floor().IntPart() {
				t.Errorf("⌊%s·%d⌋ = %d", text, n, got)
			}
			if got := f.ceil(n); got != want.Ceil().IntPart() {
				t.Errorf("⌈%s·%d⌉ = %d", text, n, got)
			}
		}
	}
}
