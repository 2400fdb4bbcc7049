package web

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"

	"github.com/louver/louver/stream/groupname"
)

// parameters are the query of a request. Reading them records the first mistake.
type parameters struct {
	values url.Values
	err    error
}

// query returns the parameters of a request. Others than these names are a mistake.
func query(r *http.Request, names ...string) *parameters {
	p := &parameters{values: r.URL.Query()}
	for name := range p.values {
		if !slices.Contains(names, name) {
			p.refuse("%s means nothing here; want %s", name, cmp.Or(strings.Join(names, ", "), "no parameters"))
		}
	}
	return p
}

// mistake returns the answer to a request whose parameters are wrong; nil if they are not.
func (p *parameters) mistake() error {
	if p.err != nil {
		return invalid(p.err)
	}
	return nil
}

// refuse records a mistake, unless there is one already.
func (p *parameters) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// names returns the values of a repeatable parameter. It ignores empty ones.
func (p *parameters) names(name string) []string {
	return slices.DeleteFunc(slices.Clone(p.values[name]), func(v string) bool { return v == "" })
}

// seconds reads a time. 0 means that none is given.
func (p *parameters) seconds(name string) int64 {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.refuse("%s=%q; want a time such as 2026-11-20T08:15:00Z", name, text)
	}
	return at.Unix()
}

// number reads a whole number of at least 1.
func (p *parameters) number(name string, absent, most int) int {
	text := p.values.Get(name)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.refuse("%s=%q; want a whole number from 1 to %d", name, text, most)
	}
	return n
}

// flag reads true or false. A parameter that is absent is false.
func (p *parameters) flag(name string) bool {
	text := p.values.Get(name)
	if text != "" && text != "true" && text != "false" {
		p.refuse("%s=%q; want true or false", name, text)
	}
	return text == "true"
}

// csv reads whether the client wants CSV instead of JSON. The parameter counts more than the header Accept.
func (p *parameters) csv(r *http.Request) bool {
	switch format := p.values.Get("format"); format {
	case "":
		return goautoneg.Negotiate(r.Header.Get("Accept"), []string{"application/json", csvType}) == csvType
	case "json", "csv":
		return format == "csv"
	default:
		p.refuse("format=%q; want json or csv", format)
		return false
	}
}

// stretch reads which series and which of their windows are wanted.
func (p *parameters) stretch() selection {
	want := p.selection()
	want.from, want.to, want.last = p.seconds("from"), p.seconds("to"), p.number("last", 0, mostWindows)
	return want
}

// selection reads which series are wanted.
func (p *parameters) selection() selection {
	return selection{streams: p.names("stream"), groups: p.names("group"), releases: p.names("release")}
}

// selection says which records a request wants. The zero value means all.
type selection struct {
	streams, groups, releases []string // any of these; empty: all
	from, to                  int64    // Unix seconds: windows within; to 0 means no end
	last                      int      // the newest windows of each series; 0 means all
	readable                  bool     // only points that are more than noise; needs last: 1
}

func (s selection) wants(e *series) bool {
	in := func(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	return in(s.streams, e.stream) && in(s.groups, e.group) && in(s.releases, e.release)
}

// of returns the wanted points of a series.
func (s selection) of(e *series) []*point {
	if !s.wants(e) {
		return nil
	}
	points := e.points
	if s.to != 0 {
		n, _ := slices.BinarySearchFunc(points, s.to, func(f *point, to int64) int {
			if f.end <= to {
				return -1
			}
			return 1
		})
		points = points[:n]
	}
	if s.from != 0 {
		n, _ := slices.BinarySearchFunc(points, s.from,
			func(f *point, from int64) int { return cmp.Compare(f.end, from) })
		points = points[n:]
		for len(points) > 0 && points[0].start < s.from {
			points = points[1:]
		}
	}
	for s.readable && len(points) > 0 && !points[len(points)-1].readable() {
		points = points[:len(points)-1]
	}
	if s.last > 0 {
		points = points[max(0, len(points)-s.last):]
	}
	return points
}

// mark is the place of a record in an answer. Records are sorted by the ends of their windows, then by series.
type mark struct {
	end, start int64
	series     [3]string // stream, group, release
	// asOf is the end of the newest wanted window when the first page was answered; 0 if the request asks for all
	// windows. The newest windows of later pages are those of that moment.
	asOf int64
}

func (f *point) mark() mark {
	return mark{end: f.end, start: f.start, series: [3]string{f.series.stream, f.series.group, f.series.release}}
}

func (m mark) compare(o mark) int {
	return cmp.Or(cmp.Compare(m.end, o.end), cmp.Compare(m.start, o.start), slices.Compare(m.series[:], o.series[:]))
}

// cursor encodes the mark for an address.
func (m mark) cursor() string {
	text := fmt.Appendf(nil, "%d/%d", m.end, m.start)
	for _, name := range m.series {
		text = fmt.Appendf(text, "/%s", groupname.Escape(name))
	}
	if m.asOf != 0 {
		text = fmt.Appendf(text, "/%d", m.asOf)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (m mark, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "/")
	if err == nil && len(parts) == 6 {
		m.asOf, err = strconv.ParseInt(parts[5], 10, 64)
		parts = parts[:5]
	}
	if err == nil && len(parts) == 5 {
		for i, name := range parts[2:] {
			if m.series[i], err = groupname.Unescape(name); err != nil {
				break
			}
		}
	}
	if err == nil && len(parts) == 5 {
		if m.end, err = strconv.ParseInt(parts[0], 10, 64); err == nil {
			m.start, err = strconv.ParseInt(parts[1], 10, 64)
		}
	}
	if err != nil || len(parts) != 5 {
		return m, fmt.Errorf("cursor=%q; want the `next` of an earlier answer", text)
	}
	return m, nil
}

// find returns at most limit of the wanted records after a mark, in order. more says that others follow after next.
func (s *Store) find(want selection, after *mark, limit int) (found []*point, next mark, more bool) {
	if after != nil && after.asOf != 0 && (want.to == 0 || after.asOf < want.to) {
		want.to = after.asOf
	}
	s.mu.RLock()
	for _, e := range s.series {
		for _, f := range want.of(e) {
			if after == nil || f.mark().compare(*after) > 0 {
				found = append(found, f)
			}
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(found, func(a, b *point) int { return a.mark().compare(b.mark()) })
	if len(found) <= limit {
		return found, next, false
	}
	next = found[limit-1].mark()
	if want.last > 0 {
		next.asOf = found[len(found)-1].end
		if after != nil && after.asOf != 0 {
			next.asOf = after.asOf
		}
	}
	return found[:limit], next, true
}

// latest returns the newest records of the wanted series, by series.
func (s *Store) latest(want selection) []*point {
	want.last = 1
	found, _, _ := s.find(want, nil, math.MaxInt)
	slices.SortStableFunc(found, func(a, b *point) int {
		x, y := a.mark(), b.mark()
		return slices.Compare(x.series[:], y.series[:])
	})
	return found
}

// all returns the points of a series.
func (s *Store) all(stream, group, release string) []*point {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.series[keyOf(stream, group, release)]; e != nil {
		return slices.Clone(e.points)
	}
	return nil
}

// record returns the point of a series whose window starts at start, or nil if it is not in memory.
func (s *Store) record(stream, group, release string, start int64) *point {
	for _, f := range s.all(stream, group, release) {
		if f.named == start {
			return f
		}
	}
	return nil
}
