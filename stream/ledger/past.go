package ledger

import (
	"slices"
	"strconv"
	"strings"
)

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
