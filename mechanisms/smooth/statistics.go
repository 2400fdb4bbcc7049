package smooth

import (
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// quantile is the value of rank r = ⌈pn⌉, 0 < p < 1. With no values it is the middle of the grid.
type quantile struct{ p fraction }

func (q quantile) value(x *ranks) (num wide, den int64) {
	if x.n == 0 {
		return wideOf(x.last), 2
	}
	return wideOf(x.at(q.p.ceil(x.n))), 1
}

func (q quantile) smooth(x *ranks, l *largest) {
	atEmpty(x, l)
	l.search(quantileEdits{x, q.p})
}

// quantileEdits are the local sensitivities of a quantile.
//
// The axes are n', j1 and j2: j1 copies of the upper end and j2 of the lower were added and i = n − n' + j1 + j2 values
// removed, all within one gap, directly above or below the value of rank r = r(n'). A neighbour moves the quantile by
// one rank: up if adding a value raises r or removing one does not lower it, down if adding one does not raise it or
// removing one lowers it.
//
// n + 2 edits reach the whole range, with two values at opposite ends, so further edits do not matter.
type quantileEdits struct {
	*ranks
	p fraction
}

func (s quantileEdits) whole() region {
	return region{axes{1, 0, 0}, axes{2*s.n + 2, s.n + 2, s.n + 2}}
}

func (s quantileEdits) at(p axes, report func(term)) {
	size, j1, j2 := p[0], p[1], p[2]
	i := s.n - size + j1 + j2
	if i < 0 || i > s.n {
		return
	}
	gap := func(low int64) {
		report(term{i + j1 + j2, wideOf(s.ranks.at(low+1+i) - s.ranks.at(low)), 1})
	}
	r := s.p.ceil(size)
	more, less := s.p.ceil(size+1), s.p.ceil(size-1)
	if more == r+1 || size >= 2 && less == r {
		gap(r - j2)
	}
	if more == r || size >= 2 && less == r-1 {
		gap(r - 1 - j2)
	}
}

// bound relies on r and n' − r rising with n'.
func (s quantileEdits) bound(r region) term {
	k, ok := fewestEdits(s.n, r)
	if !ok {
		return term{}
	}
	rank := s.p.ceil(r.lo[0])
	high, low := s.ranks.at(s.n-(r.lo[0]-rank)+1+r.hi[1]), s.ranks.at(rank-1-r.hi[2])
	return term{k, wideOf(max(0, high-low)), 1}
}

// median is the midpoint median: the middle value, or halfway between the two middle values. With no values it is the
// middle of the grid. Its smooth sensitivity is half that of the lower median.
type median struct{}

func (median) value(x *ranks) (num wide, den int64) {
	if x.n == 0 {
		return wideOf(x.last), 2
	}
	return wideOf(x.at((x.n + 1) / 2)).Plus(wideOf(x.at(x.n/2 + 1))), 2
}

func (median) smooth(x *ranks, l *largest) {
	atEmpty(x, l)
	if x.n > 0 {
		l.search(medianEdits{x})
	}
}

// medianEdits are the local sensitivities of a midpoint median. The axis is k; all k edits remove values next to the
// middle and leave n' = n − k. A neighbour moves the midpoint by half the gap to the next value.
type medianEdits struct{ *ranks }

func (s medianEdits) whole() region { return region{hi: axes{s.n - 1, 0, 0}} }

func (s medianEdits) at(p axes, report func(term)) {
	k := p[0]
	gap := func(low, high int64) {
		report(term{k, wideOf(s.ranks.at(high)).Minus(wideOf(s.ranks.at(low))), 2})
	}
	if left := s.n - k; left%2 == 0 {
		gap(left/2, left/2+k+1)
	} else {
		c := (left + 1) / 2
		gap(c-1, c+k)
		gap(c, c+k+1)
	}
}

func (s medianEdits) bound(r region) term {
	k := r.hi[0]
	high, low := s.ranks.at((s.n+k)/2+2), s.ranks.at((s.n-k)/2-1)
	return term{r.lo[0], wideOf(high - low), 2}
}

// trimmed is the mean without the m = ⌊τn⌋ smallest and the m largest values, τ < ½; τ = 0 is the mean. With no values
// it is the middle of the grid.
type trimmed struct{ trim fraction }

func (t trimmed) value(x *ranks) (num wide, den int64) {
	if x.n == 0 {
		return wideOf(x.last), 2
	}
	m := t.trim.floor(x.n)
	return order{x, false}.sum(m+1, x.n-m), x.n - 2*m
}

func (t trimmed) smooth(x *ranks, l *largest) {
	atEmpty(x, l)
	if x.n > 0 {
		l.search(trimmedEdits{order{x, false}, t.trim})
		l.search(trimmedEdits{order{x, true}, t.trim})
	}
}

// atEmpty adds the local sensitivities next to the empty sample, whose statistic is the middle of the grid: half the
// range at n edits, and the distance of the last remaining value at n − 1.
func atEmpty(x *ranks, l *largest) {
	l.add(term{x.n, wideOf(x.last), 2})
	if x.n > 0 {
		for _, v := range []int64{x.at(1), x.at(x.n)} {
			l.add(term{x.n - 1, wideOf(max(2*v-x.last, x.last-2*v)), 2})
		}
	}
}

// trimmedEdits holds the upward local sensitivities of a trimmed mean; the downward ones are those of the mirrored
// values.
//
// The axes are n', j1 and j2: j1 copies of the upper end and j2 of the lower were added and i = n − n' + j1 + j2 values
// removed, next to the largest kept value. Let m = m(n') and let M = n' − 2m be the number of kept values. A neighbour
// differs by one value, and so keeps one more or one fewer:
//
//   - One more, t: the smallest of those cut at the top. The kept ones are M values with sum Σ. The mean rises from Σ/M
//     to (Σ+t)/(M+1), that is by (M·t − Σ)/(M(M+1)). Either a value was added at the top and m stayed the same, or a
//     value cut at the bottom was removed and m fell; the latter happens only if m would also stay the same (τ < ½).
//   - One fewer: this is the same read backwards, from M−1 kept values with sum Σ and the M-th, t. Either a value was
//     added and m rose, or one was removed and m stayed the same.
//
// The change is large if t is large and Σ and M are small; removals have the most effect directly below t. No sample
// exceeds half the range, which n edits reach, so further edits do not matter.
type trimmedEdits struct {
	order
	trim fraction
}

func (s trimmedEdits) whole() region {
	return region{axes{1, 0, 0}, axes{2 * s.n, s.n, s.n}}
}

func (s trimmedEdits) at(p axes, report func(term)) {
	size, j1, j2 := p[0], p[1], p[2]
	i := s.n - size + j1 + j2
	if i < 0 || i > s.n {
		return
	}
	m := s.trim.floor(size)
	kept := size - 2*m
	more := s.trim.floor(size + 1) // how many are cut at each end with one value more, and with one fewer
	less := s.trim.floor(size - 1)
	if more == m {
		s.report(i+j1+j2, kept, s.n-m+1+j1, m-j2+1, report)
	}
	if kept >= 2 && (more == m+1 || less == m) {
		s.report(i+j1+j2, kept-1, s.n-m+j1, m-j2+1, report)
	}
}

// report reports by how much the mean of width values, starting at rank from, changes when the value of rank top joins.
func (s trimmedEdits) report(k, width, top, from int64, report func(term)) {
	sum := s.sum(from, from+width-1)
	report(term{k, times(width, s.order.at(top)).Minus(sum), width * (width + 1)})
}

// bound relies on two facts: m and n' − m rise with n', and M falls by at most one.
func (s trimmedEdits) bound(r region) term {
	k, ok := fewestEdits(s.n, r)
	if !ok {
		return term{}
	}
	m := s.trim.floor(r.lo[0])
	from := m - r.hi[2] + 1
	to := max(from, r.lo[0]-m-1-r.hi[2])
	width := to - from + 1
	gap := times(width, s.order.at(s.n-m+1+r.hi[1])).Minus(s.sum(from, to))
	return term{k, gap, width * (max(1, r.lo[0]-2*m-2) + 1)}
}

// fewestEdits returns the least number of edits in a box over n', j1 and j2, if it holds possible edits.
func fewestEdits(n int64, r region) (int64, bool) {
	added, most := r.lo[1]+r.lo[2], r.hi[1]+r.hi[2]
	if added > r.hi[0] || most < r.lo[0]-n {
		return 0, false
	}
	return max(0, n-r.hi[0]+2*added, r.lo[0]-n, added), true
}

// replaceTrimmed is the trimmed mean if neighbours differ in one user's value and the number of users is public:
//
//	A_k = max_{0≤l≤k+1} (X(n−m+k+1−l) − X(m+1−l))/(n−2m)
//
// [Bun & Steinke 2019, Proposition 3].
type replaceTrimmed struct{ trimmed }

func (t replaceTrimmed) smooth(x *ranks, l *largest) {
	if m := t.trim.floor(x.n); x.n > 0 {
		l.search(replaceEdits{x, x.n - m, m + 1, x.n - 2*m})
	}
}

// replaceQuantile is the value of rank r = ⌈pn⌉ under the same neighbours:
//
//	A_k = max_{0≤t≤k+1} X(r+t) − X(r+t−k−1)
//
// [Nissim, Raskhodnikova & Smith 2007, Proposition 3.4].
type replaceQuantile struct{ quantile }

func (q replaceQuantile) smooth(x *ranks, l *largest) {
	if r := q.p.ceil(x.n); x.n > 0 {
		l.search(replaceEdits{x, r, r, 1})
	}
}

// replaceEdits holds the local sensitivities (X(high+u) − X(low−v))/width of samples k = u + v − 1 replacements away.
// The axes are u and v.
type replaceEdits struct {
	*ranks
	high, low, width int64
}

func (s replaceEdits) whole() region {
	return region{hi: axes{s.n + 1, s.n + 1, 0}}
}

func (s replaceEdits) at(p axes, report func(term)) {
	if k := p[0] + p[1] - 1; k >= 0 {
		report(term{k, wideOf(s.ranks.at(s.high+p[0]) - s.ranks.at(s.low-p[1])), s.width})
	}
}

func (s replaceEdits) bound(r region) term {
	gap := s.ranks.at(s.high+r.hi[0]) - s.ranks.at(s.low-r.hi[1])
	return term{max(0, r.lo[0]+r.lo[1]-1), wideOf(gap), s.width}
}

// fraction is a number num/den in [0, 1) with at most 18 decimals.
type fraction struct{ num, den uint64 }

func newFraction(name string, x decimal.Decimal) (fraction, error) {
	r := x.Rat()
	if r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) >= 0 || !r.Denom().IsUint64() || r.Denom().Uint64() > 1e18 {
		return fraction{}, parameter.Wrong(name, x, "a number of at least 0 and less than 1, of at most 18 decimals")
	}
	return fraction{r.Num().Uint64(), r.Denom().Uint64()}, nil
}

// floor returns ⌊f·n⌋, and 0 for n ≤ 0.
func (f fraction) floor(n int64) int64 {
	q, _ := f.of(n)
	return q
}

// ceil returns ⌈f·n⌉, and 0 for n ≤ 0.
func (f fraction) ceil(n int64) int64 {
	q, rest := f.of(n)
	if rest > 0 {
		q++
	}
	return q
}

func (f fraction) of(n int64) (int64, uint64) {
	hi, lo := bits.Mul64(f.num, uint64(max(n, 0)))
	q, rest := bits.Div64(hi, lo, f.den) // hi < den since num < den and n < 2^64
	return int64(q), rest
}
