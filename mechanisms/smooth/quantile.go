package smooth

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
