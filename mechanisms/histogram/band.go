package histogram

import (
	"math"
	"math/big"
)

// variance is the exact variance of the noise in inside·Σ_{≤j} a + outside·Σ_{>j} a.
//
// With v the variance of a drawn number, the sum of a group's m buckets has V = v·m/(m+1). The rest of the noise of its
// buckets is independent of that: the sum of the first i has v·i(m−i)/m more than (i/m)²V.
func (e *Estimate) variance(j int, inside, outside float64) (sum float64) {
	v := e.noise.Variance
	if e.groups == 0 {
		n := float64(j + 1)
		return v * (inside*inside*n + outside*outside*(float64(e.Len())-n))
	}
	own := e.Group(j)
	from, to := e.within(own)
	m, i := float64(to-from), float64(j-from+1)
	before, after := e.wholes[own], e.wholes[e.groups]-e.wholes[own+1]
	sum = v * (inside*inside*before + outside*outside*after)
	mean, whole := (inside*i+outside*(m-i))/m, v*m/(m+1)
	sum += (inside-outside)*(inside-outside)*v*i*(m-i)/m + mean*mean*whole
	return sum
}

// reach is what the noise of a sum with this variance exceeds on one side with a probability of 2.5 % at most.
func (e *Estimate) reach(variance float64) float64 { return e.noise.Reach*math.Sqrt(variance) + 0.5 }

// Count estimates the number of the users in some buckets, at least 0, with its error at 95 % confidence.
func (e *Estimate) Count(in func(bucket int) bool) (n int64, error95 float64) {
	var sum int64
	for i := range e.Len() {
		if in(i) {
			sum += e.best[i]
			if i > 0 {
				sum -= e.best[i-1]
			}
		}
	}
	return max(0, nearest(sum, 1<<fraction)), math.Ceil(e.reach(e.countVariance(in)))
}

func (e *Estimate) countVariance(in func(bucket int) bool) (sum float64) {
	v := e.noise.Variance
	count := func(from, to int) (n float64) {
		for i := from; i < to; i++ {
			if in(i) {
				n++
			}
		}
		return n
	}
	if e.groups == 0 {
		return v * count(0, e.Len())
	}
	for g := range e.groups {
		from, to := e.within(g)
		m, i := float64(to-from), count(from, to)
		sum += v*i*(m-i)/m + (i/m)*(i/m)*v*m/(m+1)
	}
	return sum
}

// interval returns the first and the last bucket that may hold the quantile p: those with
//
//	D_{b−1} < t_{b−1} and D_b > −t_b,  D_j = Σ_{≤j} a − p·N.
//
// For the bucket that holds the true quantile D_{b−1} ≤ 0 ≤ D_b without noise, so each of the two errs with a
// probability of 2.5 % at most. Only one bucket is the true one, so their number needs no correction.
func (e *Estimate) interval(p float64) (first, last int) {
	n, end := e.users(), e.Len()-1
	first = -1
	before, off := -p*n, 0.0 // D_{b−1} and t_{b−1}; nothing is below the first bucket, whatever the noise
	for b := 0; b <= end; b++ {
		possible := b == 0 || before < off
		before, off = e.upTo(b)-p*n, e.reach(e.variance(b, 1-p, -p))
		if possible && (b == end || before > -off) {
			if first < 0 {
				first = b
			}
			last = b
		}
	}
	return first, last
}

// Share is an estimated share of the users, with a band that holds the true one with 95 % confidence.
type Share struct{ Value, Low, High float64 }

// ShareAbove estimates the share of the users above the end of a bucket.
//
// Its band has all shares s that the numbers do not contradict: |D_j(1−s)| ≤ t_j(1−s), with D of [Estimate.interval].
// It is [0, 1] if there may be no users at all.
func (e *Estimate) ShareAbove(bucket int) Share {
	n := e.users()
	at := Share{Value: 0, Low: 0, High: 1}
	if n <= 0 {
		return at
	}
	value := (n - e.upTo(bucket)) / n
	at.Value = min(max(value, 0), 1)
	if n <= e.reach(e.variance(e.Len()-1, 1, 1)) {
		return at
	}
	against := func(s float64) bool {
		d := e.upTo(bucket) - (1-s)*n
		return math.Abs(d) > e.reach(e.variance(bucket, s, s-1))
	}
	at.Low, at.High = edge(against, value, 0), edge(against, value, 1)
	return at
}

// edge returns how far a band reaches from an estimate towards an end of [0, 1].
func edge(against func(s float64) bool, from, end float64) float64 {
	if (from < end) != (end == 1) || !against(end) {
		return end
	}
	within, beyond := from, end
	for range 60 {
		if mid := (within + beyond) / 2; against(mid) {
			beyond = mid
		} else {
			within = mid
		}
	}
	return min(max(beyond, 0), 1)
}

func ceiling(x *big.Rat) int64 {
	q, r := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}
