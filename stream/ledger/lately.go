package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// priorWindows is how many windows there are between two fresh starts of adaptive learning.
const priorWindows = 512

// LearnsFrom returns the first window from which the draws of a window learn. Windows are numbered from 1970. At every
// 512th window the draws forget all but the 512 windows before it. So learning takes a bounded time, and a worker that
// has run for a year has learnt the same as one that has just read the ledger.
func LearnsFrom(window int64) int64 { return window - window%priorWindows - priorWindows }

// Lately is what streams have published lately: everything that their next draws may learn from. It follows from the
// entries of a partition, in the order of the ledger. It is not safe for concurrent use.
type Lately struct {
	streams map[string]*recent
	entries int64
}

// recent holds what a stream has published lately, in the order of the ledger.
type recent struct {
	windows  []Past
	every    time.Duration
	released time.Time // when its last entry was made
}

// NewLately begins before the first entry of a partition.
func NewLately() *Lately { return &Lately{streams: map[string]*recent{}} }

// Of lists what a stream has published lately, in the order of the ledger.
func (l *Lately) Of(stream string) []Past {
	if r := l.streams[stream]; r != nil {
		return r.windows
	}
	return nil
}

// Add adds what the next entry published.
func (l *Lately) Add(e Entry) {
	l.keep(e)
	if l.entries++; l.entries%forgetEvery == 0 {
		forget(l.streams, func(r *recent) time.Time { return r.released })
	}
}

// keep adds an entry of a stream whose draws have learnt. Entries of other streams are not kept.
func (l *Lately) keep(e Entry) {
	r := l.streams[e.Stream]
	switch {
	case e.Lane != "": // nothing learns from it
		return
	case e.unlisted(): // what was learnt of any group ends here
		if r == nil {
			return
		}
	case e.Reason == "" && e.Prior == nil:
		delete(l.streams, e.Stream)
		return
	case r == nil && e.Reason != "":
		return
	case r == nil:
		r = &recent{}
		l.streams[e.Stream] = r
	}
	var names *series
	if n := len(r.windows); n > 0 {
		names = r.windows[n-1].of
	}
	p := newPast(e, names)
	r.windows, r.every, r.released = append(r.windows, p), e.Every, e.ReleasedAt
	if from := r.from(p.End); r.windows[0].End < from {
		r.windows = slices.DeleteFunc(r.windows, func(p Past) bool { return p.End < from })
	}
}

// from returns the end of the first window from which the draws of the window with this end learn.
func (r *recent) from(end int64) int64 { return LearnsFrom(end/int64(r.every)) * int64(r.every) }

// Past holds what a window published, as far as later draws of its stream may learn from it.
type Past struct {
	// End is the end of the window, in Unix nanoseconds.
	End int64
	of  *series
	// text holds the figures, separated by commas: for each group the count of users, if one was drawn, and its values,
	// "" for a withheld one. It is "" for a window that was withheld whole. In this form a hundred thousand windows fit
	// in a few megabytes.
	text string
}

// series holds the names of a window's groups and releases.
type series struct {
	Groups   []string `json:"groups"`
	Releases []string `json:"releases"`

	places map[string]int // of the groups, once they are asked for
}

// place returns the place of a group, or −1.
func (s *series) place(group string) int {
	if s.places == nil {
		s.places = make(map[string]int, len(s.Groups))
		for i, name := range s.Groups {
			s.places[name] = i
		}
	}
	if at, ok := s.places[group]; ok {
		return at
	}
	return -1
}

func (s *series) equal(t *series) bool {
	return slices.Equal(s.Groups, t.Groups) && slices.Equal(s.Releases, t.Releases)
}

// NewPast returns what an entry published.
func NewPast(e Entry) Past { return newPast(e, nil) }

// newPast is NewPast, but shares the names with an earlier window if they are the same.
func newPast(e Entry, before *series) Past {
	of := &series{}
	for _, g := range e.Groups {
		of.Groups = append(of.Groups, g.Name)
	}
	for _, r := range e.Releases {
		of.Releases = append(of.Releases, r.Name)
	}
	if before != nil && before.equal(of) {
		of = before
	}
	p := Past{End: e.WindowEnd.UnixNano(), of: of}
	if e.Reason != "" {
		return p
	}
	var cells []string
	for _, g := range e.Groups {
		users := ""
		if g.Users != nil {
			users = strconv.FormatInt(*g.Users, 10)
		}
		cells = append(cells, users)
		for i := range e.Releases {
			value := ""
			if v := g.Values[i].Value; v != nil {
				value = v.String()
			}
			cells = append(cells, value)
		}
	}
	p.text = strings.Join(cells, ",")
	return p
}

// Has reports whether the window had a group, whatever it published of it.
func (p Past) Has(group string) bool { return p.of.place(group) >= 0 }

// Figures returns a function that says what was published about a group: the count of users, and the value of each of
// the releases. Each is written as in the ledger, or "" if there is none.
func (p Past) Figures(releases []string) func(group string) (users string, values []string) {
	cells := strings.Split(p.text, ",")
	width := 1 + len(p.of.Releases)
	return func(group string) (users string, values []string) {
		values = make([]string, len(releases))
		g := p.of.place(group)
		if g < 0 || len(cells) != width*len(p.of.Groups) {
			return "", values
		}
		own := cells[g*width : (g+1)*width]
		for i, release := range releases {
			if at := slices.Index(p.of.Releases, release); at >= 0 {
				values[i] = own[1+at]
			}
		}
		return own[0], values
	}
}
