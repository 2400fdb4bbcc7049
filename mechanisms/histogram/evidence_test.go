package histogram

import (
	"math"
	"testing"
)

// law is the law of a whole multiple of a step: P(X = (i − len/2)·step).
type law []float64

// rate is that of the noise whose tails are computed.
const rate = 0.5

// laplaceLaw is the law of weight·Z, Z discrete Laplace of that rate, cut where less than 10^−18 is left.
func laplaceLaw(weight int) law {
	r := math.Exp(-rate)
	reach := int(42/rate) * max(weight, -weight)
	l := make(law, 2*reach+1)
	for z := -reach; z <= reach; z++ {
		if weight != 0 && z%weight == 0 {
			l[reach+z] = (1 - r) / (1 + r) * math.Pow(r, math.Abs(float64(z/weight)))
		}
	}
	return l
}

// plus is the law of the sum of independent numbers, without the tails that hold less than 10^−20.
func (l law) plus(o law) law {
	sum := make(law, len(l)+len(o)-1)
	for i, p := range l {
		if p == 0 {
			continue
		}
		for j, q := range o {
			sum[i+j] += p * q
		}
	}
	cut := 0
	for below := sum[0] + sum[len(sum)-1]; cut < len(sum)/2 && below < 1e-20; {
		cut++
		below += sum[cut] + sum[len(sum)-1-cut]
	}
	return sum[cut : len(sum)-cut]
}

// times is the law of the sum of n such numbers.
func (l law) times(n int) law {
	sum := law{1}
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			sum = sum.plus(l)
		}
		l = l.plus(l)
	}
	return sum
}

// beyond is the probability of more than x steps.
func (l law) beyond(x float64) (p float64) {
	for i := len(l) - 1; i >= 0 && float64(i-len(l)/2) > x; i-- {
		p += l[i]
	}
	return p
}

// The margin bounds the exact tail of the noise, and not by much: Chernoff's bound is larger by about √(2π) times the
// number of σ. A margin for an ε that is three tenths too large would not be enough.
//
// Weights are tenths: 0.9 for each of two buckets above the limit, and −0.1 for the one below.
func TestEvidenceBoundsTheExactTail(t *testing.T) {
	const share, windows = 0.1, 24
	b := listBuckets(t, 1000, 1, 800)
	noise := laplaceLaw(9).times(2 * windows).plus(laplaceLaw(-1).times(windows))
	for _, chance := range []float64{1e-3, 1e-6, 1e-9} {
		m := b.Evidence(0, share, Laplace(rate), windows, chance)
		if p := noise.beyond(10 * m); p > chance || p < chance/30 {
			t.Errorf("chance %g: noise passes %.1f users with %g; want at most the chance and hardly less", chance, m,
				p)
		}
		wrong := b.Evidence(0, share, Laplace(1.3*rate), windows, chance)
		if p := noise.beyond(10 * wrong); p <= chance {
			t.Errorf("chance %g: the margin of an ε that is three tenths too large is still enough: %g", chance, p)
		}
	}
}

// On two levels the estimate of a bucket takes all numbers of its group of two. With no share, those of the first
// group, of which one bucket is above the limit, have the weights −1/3, 2/3 and, the group's own, 1/3. Those of the
// second group, which is above it whole, have 1/3, 1/3 and 2/3.
func TestEvidenceOfTwoLevels(t *testing.T) {
	const windows = 12
	b := listBuckets(t, 1000, 2, 100, 800)
	noise := laplaceLaw(2).times(2 * windows).plus(laplaceLaw(1).times(4 * windows))
	for _, chance := range []float64{1e-3, 1e-6} {
		m := b.Evidence(0, 0, Laplace(rate), windows, chance)
		if p := noise.beyond(3 * m); p > chance || p < chance/30 {
			t.Errorf("chance %g: noise passes %.1f users with %g; want at most the chance and hardly less", chance, m,
				p)
		}
		wrong := b.Evidence(0, 0, Laplace(1.3*rate), windows, chance)
		if p := noise.beyond(3 * wrong); p <= chance {
			t.Errorf("chance %g: the margin of an ε that is three tenths too large is still enough: %g", chance, p)
		}
	}
}

// Fewer windows have less noise, so a margin for a whole stretch holds if some of its windows are withheld.
func TestEvidenceOfFewerWindows(t *testing.T) {
	b := listBuckets(t, 1000, 2, 100, 800)
	for windows := int64(2); windows < 50; windows++ {
		more, fewer := b.Evidence(1, 0.01, Laplace(0.1), windows, 1e-7), b.Evidence(1, 0.01,
			Laplace(0.1), windows-1, 1e-7)
		if fewer >= more {
			t.Errorf("%d windows need %v, one less needs %v", windows, more, fewer)
		}
	}
}

// The weights of drawn numbers are those of the estimate, found in another way: the variance of their sum is what
// [Estimate.variance] says. That of a number is the second derivative of its cumulant at 0.
func TestDeviationIsThatOfTheWeights(t *testing.T) {
	const s = 1e-5
	for _, b := range []*Buckets{listBuckets(t, 1000, 1, 800), listBuckets(t, 1000, 2, 100, 250, 800),
		nativeBuckets(t, 3, "0", "60000", "1")} {
		for _, noise := range []Noise{Laplace(0.1), Gaussian(200)} {
			for _, bucket := range []int{0, b.Len() / 2, b.Len() - 2} {
				sum := 0.0
				for w, times := range b.weights(bucket, 0.01) {
					sum += 7 * times * noise.cumulant(s*w) * 2 / (s * s)
				}
				if got, want := b.Deviation(bucket, 0.01, noise, 7), math.Sqrt(sum); math.Abs(got/want-1) > 1e-3 {
					t.Errorf("%d buckets, bucket %d: a deviation of %v; want %v", b.Len(), bucket, got, want)
				}
			}
		}
	}
}

// What is above the end of a bucket follows from the estimate of each bucket, and those of several windows add up.
func TestAboveAddsUp(t *testing.T) {
	b := listBuckets(t, 1000, 2, 100, 800)
	one := b.Estimate([]int64{5, -3, 4, 1}, []int64{1, 9}, Laplace(1), 1)
	// The groups have 2 and 5, and their own numbers say 1 and 9. Each bucket of the first moves by −1/3, and of the
	// second by 4/3.
	bad, all := one.Above(1)
	if got, want := float64(bad)*Unit, 4+1+2*4.0/3; math.Abs(got-want) > 2*Unit {
		t.Errorf("%v users above; want %v", got, want)
	}
	if got, want := float64(all)*Unit, 7+2*4.0/3-2/3.0; math.Abs(got-want) > 4*Unit {
		t.Errorf("%v users; want %v", got, want)
	}
	two := b.Estimate([]int64{10, -6, 8, 2}, []int64{2, 18}, Laplace(1), 2)
	if twice, _ := two.Above(1); math.Abs(float64(twice-2*bad)) > 4 {
		t.Errorf("two windows together have %v above, and each %v", twice, bad)
	}
}
