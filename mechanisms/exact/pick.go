package exact

import "sort"

// block is how many weights are added up at a time.
const block = 64

// sumOf adds up weights, four at a time: one addition need not wait for the one before.
func sumOf(weights []float64) float64 {
	var a, b, c, d float64
	for ; len(weights) >= 4; weights = weights[4:] {
		a, b, c, d = a+weights[0], b+weights[1], c+weights[2], d+weights[3]
	}
	for _, w := range weights {
		a += w
	}
	return a + b + c + d
}

// Pick returns i with probability proportional to the i-th weight. The weights are positive real numbers.
//
// weights holds at most 2^20 of them as float64, each with a relative error of at most slack. Those less than 10^−40 of
// the largest may be 0. A uniform number falls into one of the weights' shares. If it is too close to the border of two
// shares for float64 to decide, long encloses the true weights with prec bits and decides.
func (s *Source) Pick(weights []float64, slack float64, long func(prec uint) []Interval) int {
	u, total := s.Uniform(), 0.0
	for rest := weights; len(rest) > 0; rest = rest[min(block, len(rest)):] {
		total += sumOf(rest[:min(block, len(rest))])
	}
	x, sum, first := u.Float()*total, 0.0, 0
	for ; first+block < len(weights); first += block {
		upTo := sum + sumOf(weights[first:first+block])
		if x < upTo {
			break
		}
		sum = upTo
	}
	// In whatever order weights are added, each addition rounds by at most 2^−53 of the total, x is off by at most
	// slack + 2^−52 + 2^−64 of it, and the omitted weights are less than 10^−33 of it.
	margin := total * (4*slack + float64(len(weights)+4)*0x1p-51)
	for i := first; i < len(weights); i++ {
		before, w := sum, weights[i]
		sum += w
		if x >= sum && i < len(weights)-1 {
			continue
		}
		if (i == 0 || x-margin > before) && (i == len(weights)-1 || x+margin < sum) {
			return i
		}
		break
	}
	s.refined++
	for prec := uint(firstPrec); ; prec *= 2 {
		upTo := long(prec)
		total := FromInt(0, prec)
		for i, w := range upTo {
			total = total.Add(w)
			upTo[i] = total
		}
		x := u.Interval(prec).Mul(total)
		i := sort.Search(len(upTo)-1, func(i int) bool { return x.Before(upTo[i]) })
		if i == 0 || upTo[i-1].Before(x) {
			return i
		}
	}
}
