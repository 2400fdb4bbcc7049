// Package dptest checks mechanisms on domains small enough to try everything: the privacy of a law over every pair of
// neighbours, a utility against a search over all edits, and a sampler against its law.
//
// A sample is a histogram here: h[i] users hold grid index i.
package dptest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Law is the exact distribution of a mechanism's outcomes 0, 1, 2 … on one sample.
type Law func(h []int64) []float64

// Samples calls f with every histogram of at most users users on the given number of grid points. f must not keep h.
func Samples(points, users int, f func(h []int64)) {
	h := make([]int64, points)
	var fill func(i int, left int64)
	fill = func(i int, left int64) {
		if i == points {
			f(h)
			return
		}
		for h[i] = 0; h[i] <= left; h[i]++ {
			fill(i+1, left-h[i])
		}
		h[i] = 0
	}
	fill(0, int64(users))
}

// MaxLogRatio returns the largest |ln(P(x|h)/P(x|h'))| over all samples h of at most users users, all h' with one user
// more and all outcomes x. A law that is ε-DP has at most ε. It is +Inf if an outcome has probability 0 on one side
// only.
func MaxLogRatio(points, users int, law Law) float64 {
	return logRatio(points, users, math.Inf(1), law)
}

// logRatio is [MaxLogRatio], but stops at a pair whose ratio is more than enough.
func logRatio(points, users int, enough float64, law Law) float64 {
	worst := 0.0
	neighbours(points, users, law, func(p, q []float64) bool {
		for x := range p {
			if p[x] == 0 && q[x] == 0 {
				continue
			}
			worst = max(worst, math.Abs(math.Log(p[x]/q[x])))
		}
		return worst <= enough
	})
	return worst
}

// MaxRange returns the largest spread, over outcomes, of ln(P(x|h)/P(x|h')): an ε-bounded-range law has at most ε.
func MaxRange(points, users int, law Law) float64 {
	worst := 0.0
	Neighbours(points, users, law, func(p, q []float64) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for x := range p {
			if p[x] == 0 && q[x] == 0 {
				continue
			}
			r := math.Log(p[x] / q[x])
			lo, hi = min(lo, r), max(hi, r)
		}
		worst = max(worst, hi-lo)
	})
	return worst
}

// Neighbours calls f with the laws of every sample of at most users users and of every sample of one user more.
func Neighbours(points, users int, law Law, f func(p, q []float64)) {
	neighbours(points, users, law, func(p, q []float64) bool {
		f(p, q)
		return true
	})
}

// neighbours is [Neighbours] until f returns false.
func neighbours(points, users int, law Law, f func(p, q []float64) bool) {
	known := map[string][]float64{}
	key := make([]byte, 0, 2*points)
	lookUp := func(h []int64) []float64 {
		key = key[:0]
		for _, users := range h {
			key = binary.AppendUvarint(key, uint64(users))
		}
		p, ok := known[string(key)]
		if !ok {
			p = law(h)
			known[string(key)] = p
		}
		return p
	}
	going := true
	Samples(points, users, func(h []int64) {
		if !going {
			return
		}
		p := lookUp(h)
		for i := range h {
			h[i]++
			going = going && f(p, lookUp(h))
			h[i]--
		}
	})
}

// CheckPrivacy fails the test unless law(ε), for samples of at most users users, costs at most ε, and at least tight·ε
// (a mechanism that wastes its ε is a defect too). As a negative control, law(2ε) must be found to cost more than ε.
func CheckPrivacy(t testing.TB, name string, points, users int, epsilon, tight float64, law func(epsilon float64) Law) {
	t.Helper()
	got := MaxLogRatio(points, users, law(epsilon))
	t.Logf("%s: ε = %v, largest log ratio %.9f ε", name, epsilon, got/epsilon)
	if got > epsilon*(1+1e-9) {
		t.Errorf("%s: ε = %v is promised, %v is lost", name, epsilon, got)
	}
	if got < tight*epsilon {
		t.Errorf("%s: ε = %v is spent, only %v is used", name, epsilon, got)
	}
	if doubled := logRatio(points, users, epsilon*(1+1e-9), law(2*epsilon)); doubled <= epsilon*(1+1e-9) {
		t.Errorf("%s: the check does not notice a doubled ε: %v", name, doubled)
	}
}

// Distances returns the utility that a statistic defines: for each sample and outcome, the fewest users to add and
// remove until the statistic is that outcome. It searches all samples of at most users users, which must be enough for
// the nearest ones. statistic returns a negative outcome where it is not defined.
func Distances(points, users int, statistic func(h []int64) int) func(h []int64) []int64 {
	var reachable [][]int64
	var outcome []int
	outcomes := 0
	Samples(points, users, func(h []int64) {
		if x := statistic(h); x >= 0 {
			reachable = append(reachable, append([]int64(nil), h...))
			outcome = append(outcome, x)
			outcomes = max(outcomes, x+1)
		}
	})
	return func(h []int64) []int64 {
		d := make([]int64, outcomes)
		for i := range d {
			d[i] = math.MaxInt64
		}
		for i, other := range reachable {
			edits := int64(0)
			for j := range h {
				edits += max(h[j]-other[j], other[j]-h[j])
			}
			d[outcome[i]] = min(d[outcome[i]], edits)
		}
		return d
	}
}

// Normalise returns the law proportional to the weights.
func Normalise(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	p := make([]float64, len(weights))
	for i, w := range weights {
		p[i] = w / sum
	}
	return p
}

// Counts tallies n draws, each of which has one of k outcomes.
func Counts(n, k int, draw func() int) []int64 {
	counts := make([]int64, k)
	for range n {
		counts[draw()]++
	}
	return counts
}

// ChiSquare returns Pearson's statistic of the counts against the law, and the value that it exceeds with probability
// 10⁻⁷ if the counts come from the law. Outcomes expected fewer than 25 times are taken together, so that the
// asymptotic quantile is safe: true false-alarm rates stay below 10⁻⁶.
func ChiSquare(counts []int64, law []float64) (statistic, threshold float64) {
	n, observed := 0.0, make([]float64, len(counts))
	for x, c := range counts {
		observed[x] = float64(c)
		n += observed[x]
	}
	f := compare(observed, n, law)
	if f.rareExpected < 25 &&
		f.rareObserved > f.rareExpected+40+6*math.Sqrt(f.rareExpected) { // Poisson with mean below 25: 10⁻⁹
		return math.Inf(1), f.threshold()
	}
	return f.statistic, f.threshold()
}

// fit compares what n draws observed with a law. Rare outcomes are a cell together if 25 of them are expected.
type fit struct {
	statistic                  float64
	cells                      int
	rareObserved, rareExpected float64
}

func compare(observed []float64, n float64, law []float64) (f fit) {
	add := func(observed, expected float64) {
		f.statistic += (observed - expected) * (observed - expected) / expected
		f.cells++
	}
	for x, c := range observed {
		if expected := n * law[x]; expected >= 25 {
			add(c, expected)
		} else {
			f.rareObserved += c
			f.rareExpected += expected
		}
	}
	if f.rareExpected >= 25 {
		add(f.rareObserved, f.rareExpected)
	}
	return f
}

// threshold is what the statistic exceeds with probability 10⁻⁷.
func (f fit) threshold() float64 {
	if f.cells < 2 {
		return 25
	}
	return distuv.ChiSquared{K: float64(f.cells - 1)}.Quantile(1 - 1e-7)
}

// CheckSampler fails the test if the counts do not fit law(1), or if they fit law(0.7) or law(1.3) as well: law(f) is
// the mechanism's law at f times the ε that was drawn with. The sample must be one on which ε matters.
func CheckSampler(t testing.TB, name string, counts []int64, law func(factor float64) []float64) {
	t.Helper()
	checkSampler(t, name, counts, law(1), [2][]float64{law(wrongFactors[0]), law(wrongFactors[1])})
}

// wrongFactors multiply the ε of laws that a check must tell from the right one.
var wrongFactors = [2]float64{0.7, 1.3}

// CheckDraws is [CheckSampler] for as many draws as it takes to tell the right law from the wrong ones, most at most.
//
// The draws are as many as make the expected counts themselves exceed the thresholds of the wrong laws eightfold. The
// statistic of n draws against a wrong law has a mean of about nλ, λ = Σ(p−q)²/q, and a standard deviation of about
// 2√(nλ). With nλ eight times a threshold, which is 25 at least, it falls below the threshold only if it is more than
// (7/8)·√(200)/2 = 6 deviations off. Where most draws are fewer than that, they are made.
func CheckDraws(t testing.TB, name string, most int, law func(factor float64) []float64, draw func() int) {
	t.Helper()
	right, wrong := law(1), [2][]float64{law(wrongFactors[0]), law(wrongFactors[1])}
	checkSampler(t, name, Counts(enough(most, right, wrong), len(right), draw), right, wrong)
}

// enough returns the number of draws for [CheckDraws].
func enough(most int, right []float64, wrong [2][]float64) int {
	expected := make([]float64, len(right))
	tell := func(n int) bool {
		for x, p := range right {
			expected[x] = float64(n) * p
		}
		for _, q := range wrong {
			if f := compare(expected, float64(n), q); f.statistic < 8*f.threshold() {
				return false
			}
		}
		return true
	}
	n := 1000
	for n < most && !tell(n) {
		n += n / 4
	}
	return min(n, most)
}

func checkSampler(t testing.TB, name string, counts []int64, right []float64, wrong [2][]float64) {
	t.Helper()
	statistic, threshold := ChiSquare(counts, right)
	t.Logf("%s: χ² %.1f, threshold %.1f", name, statistic, threshold)
	if statistic > threshold {
		t.Errorf("%s: the draws do not follow the law: χ² = %.1f > %.1f", name, statistic, threshold)
	}
	for i, law := range wrong {
		if statistic, threshold := ChiSquare(counts, law); statistic <= threshold {
			t.Errorf("%s: the check does not notice %v ε: χ² = %.1f ≤ %.1f", name, wrongFactors[i], statistic, threshold)
		}
	}
}

// FlipLaw returns permute-and-flip's law over groups of mass candidates, each of which is a head with probability
// e^{−level}: a candidate wins with probability e^{−level}·E[1/(1 + heads among all others)]. The best level must be 0.
func FlipLaw(mass []int, level []float64) []float64 {
	law := make([]float64, len(mass))
	for g := range mass {
		heads := []float64{1} // probability of each number of heads
		for other := range mass {
			n := mass[other]
			if other == g {
				n--
			}
			p := math.Exp(-level[other])
			for range n {
				next := make([]float64, len(heads)+1)
				for k, q := range heads {
					next[k] += q * (1 - p)
					next[k+1] += q * p
				}
				heads = next
			}
		}
		for k, q := range heads {
			law[g] += float64(mass[g]) * math.Exp(-level[g]) * q / float64(k+1)
		}
	}
	return law
}

// FirstLaw returns the law of permute-and-flip over candidates of the given weights, by its second form: candidate x
// comes at a uniform time in [0, 1/w_x], and the first one wins. With coins c = w/max w
//
//	P(x) = c_x·∫₀¹ Π_{y≠x} (1 − c_y·t) dt.
//
// Gauss and Legendre's rule is exact for such a polynomial, and all that it adds up is positive: no digits cancel.
func FirstLaw(weights []float64) []float64 {
	times, shares := legendre(len(weights)/2 + 1)
	most := slices.Max(weights)
	law := make([]float64, len(weights))
	for i, t := range times {
		nobody := 1.
		for _, w := range weights {
			nobody *= 1 - w/most*t
		}
		for x, w := range weights {
			c := w / most
			law[x] += shares[i] * c * nobody / (1 - c*t)
		}
	}
	return law
}

// legendre returns the n points in (0, 1) and the weights by which Σ w_i·f(t_i) is the integral over [0, 1] of every
// polynomial f of a degree below 2n: the zeros of Legendre's polynomial, by Newton's method.
func legendre(n int) (points, weights []float64) {
	points, weights = make([]float64, n), make([]float64, n)
	for i := range points {
		x, slope := math.Cos(math.Pi*(float64(i)+0.75)/(float64(n)+0.5)), 0.
		for range 6 {
			value, before := 1., 0.
			for k := 1.; k <= float64(n); k++ {
				value, before = ((2*k-1)*x*value-(k-1)*before)/k, value
			}
			slope = float64(n) * (x*value - before) / (x*x - 1)
			x -= value / slope
		}
		points[i], weights[i] = (1+x)/2, 1/((1-x*x)*slope*slope)
	}
	return points, weights
}

// Vectors reads what another program computed, from a JSON file in testdata.
func Vectors[T any](t testing.TB, file string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
