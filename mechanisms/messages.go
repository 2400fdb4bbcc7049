package mechanisms

import (
	"math"
	"math/bits"

	"github.com/louver/louver/mechanisms/exact"
)

// messages draws from the law of [joint] by dynamic programming over c_j, the number of users left of o_j.
//
// Since Σ_j (n_j − w_j·N) = n − N, the sum of absolute values is |n − N| plus twice the sum of the parts that have the
// other sign. So the weight of a tuple is e^{−2κ·level} with the whole number
//
//	level = Σ_j max(0, −σ(q·n_j − w_j·q·N)),  σ the sign of n − N.
//
// All tuples with some c_j far from its ideal weigh next to nothing together, even if each had the best level that it
// can have. The messages leave them out. Messages are logarithms in float64 and only propose: a tuple drawn from them
// is kept with the probability that makes up for their errors, so that the law is exact.
//
// Proof. Let W(o) be the true weight of a tuple o, S the sum of the messages (over tuples within the windows) and A =
// S·e^{slack}. With probability ∝ A, a try takes a tuple within the windows: each o with the probability Q(o) that
// whole numbers made of the messages give it. It keeps the tuple with probability W(o)/(Q(o)·A). With probability ∝
// A/1024 it takes a tuple of m independent places instead, each o with probability Q'(o). If that is not within the
// windows, it keeps it with probability W(o)/(Q'(o)·A/1024). So it ends at any o with probability ∝ W(o), provided that
// these are probabilities. The first is, since Q(o) is at least W(o)/S·e^{−slack}: slack bounds what all roundings can
// do, see [messages.roundings]. The second is, since windows are widened until it is. Each try checks both once more:
// see [messages.keep].
type messages struct {
	*ranksLaw
	spread *spread
	rate   exact.Rate // 2κ
	n      int64
	zero   []int64 // penalty of n_j = 0
	excess int64   // −σ: 1 if too many users between two values cost, −1 if too few do
	users  int64   // N
	window []window
	limit  int64 // tuples not within the windows have a higher level
	slack  float64
	logA   float64
	err    error // a probability was more than 1, which must not happen
	// Working memory.
	memory  []float64
	sums    []uint64
	places  []int64
	factors []factor
}

// ranksLaw is the law of tuples before any sample is known.
type ranksLaw struct {
	q      int64
	p      []int64 // p_j·q
	shares []int64 // w_j·q, one more than p
	fine   *Measure
	// alone and counted are the rates 2κ without and with a released count.
	alone, counted exact.Rate
}

// window holds, for one j, the messages about the values lo ≤ c ≤ hi of c_j.
type window struct {
	lo, hi int64
	mass   []float64 // logarithm of the measure of the places with c users left of them
	in     []float64 // sum over what lies left, if c_{j−1} < c_j = c
	out    []float64 // sum over o_1 … o_j, if c_j = c < c_{j+1}
}

const (
	leastSlack = 1. / 256
	outermost  = 10 // the tuples outside weigh less than 2^−outermost
)

// begin computes the messages of a sample. The memory of an earlier one is used again.
func (x *messages) begin(m *ranksLaw, s *Sample, count *NoisyCount, places *spread) {
	x.ranksLaw, x.spread, x.rate, x.n, x.users, x.excess, x.err = m, places, m.alone, s.n, s.n, -1, nil
	if count != nil {
		x.rate = m.counted
		x.users = min(max(0, count.Value), 2*MaxUsers)
		if x.n < x.users {
			x.excess = 1
		}
	}
	x.zero = resized(x.zero, len(m.shares))
	for j := range x.zero {
		x.zero[j] = x.penalty(j, 0)
	}
	// ln V^m/m! is the mass of all tuples.
	k := float64(len(m.p))
	everything := k*math.Log(float64(m.fine.total())) - logFactorial(len(m.p))
	depth := 40.
	for {
		x.widen(depth)
		x.pass()
		missing := everything + (outermost+1)*math.Ln2 - x.logA - float64(x.limit)*x.rate.Float()
		if missing <= 0 || x.complete() {
			return
		}
		depth += missing + 1
	}
}

// penalty returns the part of the level that count users between o_j and o_{j+1} make.
func (x *messages) penalty(j int, count int64) int64 {
	return max(0, x.excess*(x.q*count-x.shares[j]*x.users))
}

// widen sets the windows so that all tuples outside have levels of more than depth e-foldings.
func (x *messages) widen(depth float64) {
	x.limit = int64(min(math.Ceil(depth/x.rate.Float()), 1<<60)) + 2*x.q*int64(len(x.shares))
	x.window = resized(x.window, len(x.p))
	cells := int64(0)
	for j := range x.window {
		w := &x.window[j]
		// Both c and n − c make a penalty of at most limit, as sums of the penalties left and right of o_j at least do.
		left, right := x.p[j]*x.users, (x.q-x.p[j])*x.users
		if x.excess > 0 {
			w.hi = floorDiv(left+x.limit, x.q)
			w.lo = x.n - floorDiv(right+x.limit, x.q)
		} else {
			w.lo = -floorDiv(x.limit-left, x.q)
			w.hi = x.n + floorDiv(x.limit-right, x.q)
		}
		w.lo, w.hi = max(0, w.lo), min(x.n, w.hi)
		cells += w.hi - w.lo + 1
	}
	if need := 6 * cells; int64(cap(x.memory)) < need {
		x.memory = make([]float64, need)
	}
	x.memory = x.memory[:0]
}

// complete reports whether no tuple is outside.
func (x *messages) complete() bool {
	for _, w := range x.window {
		if w.lo > 0 || w.hi < x.n {
			return false
		}
	}
	return true
}

func (x *messages) take(n int64) []float64 {
	at := len(x.memory)
	x.memory = x.memory[:at+int(n)]
	return x.memory[at : at+int(n) : at+int(n)]
}

// interval returns the places with c users left of them: from ≤ o < end.
func (x *messages) interval(c int64) (from, end int64) {
	end = x.fine.bounds[len(x.fine.bounds)-1]
	if c > 0 {
		from = x.spread.place(c) + 1
	}
	if c < x.n {
		end = x.spread.place(c+1) + 1
	}
	return from, end
}

func (x *messages) massOf(c int64) (from, mass uint64) {
	lo, hi := x.interval(c)
	from = x.fine.below(lo)
	return from, x.fine.below(hi) - from
}

// pass computes all messages from left to right, and logA.
func (x *messages) pass() {
	for j := range x.window {
		w := &x.window[j]
		size := w.hi - w.lo + 1
		w.mass, w.in, w.out = x.take(size), x.take(size), x.take(size)
		from, _ := x.interval(w.lo)
		before := x.fine.below(from)
		for c := w.lo; c <= w.hi; c++ {
			_, end := x.interval(c)
			upTo := x.fine.below(end)
			w.mass[c-w.lo] = math.Log(float64(upTo - before))
			before = upTo
		}
		if j == 0 {
			for i := range w.in {
				w.in[i] = -x.rate.Float() * float64(x.penalty(0, w.lo+int64(i)))
			}
		} else {
			x.step(j)
		}
		for i := range w.out {
			sum := math.Inf(-1)
			for run := 1; run <= j+1; run++ {
				sum = logAdd(sum, x.run(j, w.lo+int64(i), run))
			}
			w.out[i] = sum
		}
	}
	last := x.window[len(x.window)-1]
	sum := math.Inf(-1)
	for i, out := range last.out {
		sum = logAdd(sum, out+x.end(last.lo+int64(i)))
	}
	x.slack = leastSlack + x.roundings()
	x.logA = sum + x.slack
}

// roundings bounds by how much Q(o) may be less than W(o)/S, as a logarithm.
//
// A message is the end of a chain of sums. Each sum adds its own error and passes on the errors of its terms without
// making them larger: ln(e^a + e^b) moves by at most as much as a and b. A chain has at most three sums for each entry
// of a window, a few for each window, and one for each run of equal places. Each of them, with its products, errs by
// less than 2^−50 of the largest number in it. The offsets of a window, which may be much larger and cancel, come in 16
// times at most. Then [messages.pick] makes whole numbers of the weights, and loses less than one for each of them.
func (x *messages) roundings() float64 {
	chain, lost := 0., 0.
	fold := x.rate.Float() * float64(x.q)
	for j, w := range x.window {
		size, largest := float64(len(w.out)), 64.
		for i := range w.out {
			for _, v := range [3]float64{w.mass[i], w.in[i], w.out[i]} {
				if v = math.Abs(v); v > largest && !math.IsInf(v, 1) {
					largest = v
				}
			}
		}
		runs := float64(j + 1)
		offsets := fold * float64(x.n+x.users)
		chain += (3*size+8*runs+32)*(largest+2*fold*size) + 16*offsets
		lost += (size + runs + 2) / pickScale(max(len(w.out), len(x.window)))
	}
	return chain*0x1p-50 + 2*lost
}

// end is the logarithm of the weight of the users right of o_m.
func (x *messages) end(c int64) float64 {
	return -x.rate.Float() * float64(x.penalty(len(x.p), x.n-c))
}

// run is the logarithm of the weight of c_{j−run+1} = … = c_j = c, all that lies left included.
func (x *messages) run(j int, c int64, run int) float64 {
	first := j - run + 1
	w := &x.window[first]
	if c < w.lo || c > w.hi {
		return math.Inf(-1)
	}
	mass := w.mass[c-w.lo]
	if math.IsInf(mass, -1) {
		return mass
	}
	level := int64(0)
	for i := first + 1; i <= j; i++ {
		if c < x.window[i].lo || c > x.window[i].hi {
			return math.Inf(-1)
		}
		level += x.zero[i]
	}
	return w.in[c-w.lo] + float64(run)*mass - logFactorial(run) - x.rate.Float()*float64(level)
}

// step computes the messages into window j from those out of window j−1, the sums over c' < c of
// out(c')·e^{−2κ·penalty(c−c')}. The penalty of d = c − c' is 0 on one side of d = w_j·N and linear on the other. The
// sum over the far c' is a prefix sum. The sum over the near ones, c − length ≤ c' < c, slides along: blocks of that
// length are summed from both ends, and each range is the end of one block and the beginning of the next. Linear
// penalties turn into slopes: out(c') is multiplied with e^{slope·c'} and the sum with e^{−slope·c}.
func (x *messages) step(j int) {
	from, to := &x.window[j-1], &x.window[j]
	size := int64(len(from.out))
	fold := x.rate.Float() * float64(x.q)
	ideal := x.shares[j] * x.users
	length, nearSlope, farSlope := floorDiv(ideal, x.q), 0., fold
	if x.excess < 0 {
		length, nearSlope, farSlope = max(0, -floorDiv(-ideal, x.q)-1), -fold, 0
	}
	// Where the penalty is not 0, it is linear in d. This is the value of that line at d = 0.
	offset := x.rate.Float() * float64(ideal)
	mark := len(x.memory)
	far, ahead, back := x.take(size), x.take(size), x.take(size)
	sum := math.Inf(-1)
	for i, out := range from.out {
		sum = logAdd(sum, out+farSlope*float64(i))
		far[i] = sum
		ahead[i] = out + nearSlope*float64(i)
		if length > 0 && int64(i)%length != 0 {
			ahead[i] = logAdd(ahead[i-1], ahead[i])
		}
	}
	for i := size - 1; i >= 0; i-- {
		back[i] = from.out[i] + nearSlope*float64(i)
		if length > 0 && (i+1)%length != 0 && i+1 < size {
			back[i] = logAdd(back[i], back[i+1])
		}
	}
	for i := range to.in {
		at := to.lo + int64(i) - from.lo // c as an index of from
		sum := math.Inf(-1)
		if last := min(at-length-1, size-1); last >= 0 {
			sum = far[last] - farSlope*float64(at)
			if farSlope != 0 {
				sum += offset
			}
		}
		if length > 0 {
			near := nearSum(ahead, back, at-length, at-1, length)
			near -= nearSlope * float64(at)
			if nearSlope != 0 {
				near -= offset
			}
			sum = logAdd(sum, near)
		}
		to.in[i] = sum
	}
	x.memory = x.memory[:mark]
}

// nearSum returns the sum over lo ≤ i ≤ hi = lo + length − 1. A part of this range may lie outside the slices.
func nearSum(ahead, back []float64, lo, hi, length int64) float64 {
	size := int64(len(ahead))
	if hi < 0 || lo >= size {
		return math.Inf(-1)
	}
	if lo >= 0 && lo%length == 0 {
		return back[lo]
	}
	sum := math.Inf(-1)
	if lo >= 0 {
		sum = back[lo]
	}
	start := hi - hi%length
	if start < size {
		sum = logAdd(sum, ahead[min(hi, size-1)])
	}
	return sum
}

// logAdd returns ln(e^a + e^b).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || a-b > 60 {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

func logFactorial(n int) float64 {
	f, _ := math.Lgamma(float64(n + 1))
	return f
}

// floorDiv returns ⌊a/b⌋ for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// factor is a part of one over the probability of a proposal.
type factor struct{ num, den uint64 }

// pickScale is the whole number for the largest of n weights.
func pickScale(n int) float64 { return math.Ldexp(1, min(40, 61-bits.Len(uint(n)))) }
