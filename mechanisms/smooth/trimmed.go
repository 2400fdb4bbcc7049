package smooth

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
