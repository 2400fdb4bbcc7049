package smooth

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
