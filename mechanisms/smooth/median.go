package smooth

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
