package audit

import (
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
)

// lists compares the groups of windows, and what discoveries say about a list, with what was found before.
type lists struct {
	found *Findings
	of    map[string]*ledger.Lists // by budget
}

func newLists(found *Findings) *lists {
	return &lists{found: found, of: map[string]*ledger.Lists{}}
}

// begin takes over the lists of a partition's checkpoint.
func (l *lists) begin(f *ledger.State) {
	for _, budget := range f.Books.Budgets() {
		l.of[budget] = f.Lists()
	}
}

// under returns the lists of a budget. The entries of a budget are all in one partition.
func (l *lists) under(budget string) *ledger.Lists {
	if l.of[budget] == nil {
		l.of[budget] = ledger.NewLists()
	}
	return l.of[budget]
}

// compare compares the next entry with the entries before it, and adds it.
func (l *lists) compare(at Position, e ledger.Entry) {
	of := l.under(e.Budget)
	if stream := e.ListOf(); stream != "" {
		groups, end, err := of.Of(e.Budget, stream, e.List.Rules)
		got := e.GroupNames()
		switch {
		case err != nil:
			l.found.fault(EntryUnreadable, at, "%s: %v", e.Name(), err)
		case !slices.Equal(got, groups):
			l.found.fault(ListDiffers, at,
				"%s: its groups are not those of the list of stream %q: %d are missing, and %d are not on it", e.Name(),
				stream, missing(groups, got), missing(got, groups))
		case (end == nil) != (e.List.Of == nil) || end != nil && !end.Equal(e.List.Of.Time):
			l.found.fault(ListDiffers, at,
				"%s: its list of stream %q is that of %s; the entries before give that of %s", e.Name(), stream,
				e.List.Of, end)
		case len(e.List.Left) > 0 && !slices.Equal(e.List.Left, of.Gone(e)):
			l.found.fault(ListDiffers, at,
				"%s: it ends the series of %d groups; want the %d that the window before it had and it lacks",
				e.Name(), len(e.List.Left), len(of.Gone(e)))
		}
	}
	if e.Discovery != nil {
		l.discovery(at, of, e)
	}
	if err := of.Add(e); err != nil {
		l.found.fault(EntryUnreadable, at, "%v", err)
	}
}

// discovery compares what a discovery says with the entries before it.
func (l *lists) discovery(at Position, of *ledger.Lists, e ledger.Entry) {
	again, d := e, *e.Discovery
	again.Discovery = &d
	if err := of.Settle(&again); err != nil {
		l.found.fault(EntryUnreadable, at, "%v", err)
		return
	}
	was := e.Discovery
	for _, names := range []struct {
		which     string
		got, want []string
	}{
		{"joined", was.Joined, d.Joined}, {"left", was.Left, d.Left},
		{"were found and are not listed", was.Unlisted, d.Unlisted},
	} {
		if !slices.Equal(names.got, names.want) {
			l.found.fault(ListDiffers, at,
				"%s: the names that %s are not those that findings give: %d are missing, and %d are others", e.Name(),
				names.which, missing(names.want, names.got), missing(names.got, names.want))
		}
	}
	if d.Listed != was.Listed {
		l.found.fault(ListDiffers, at, "%s: %d names are listed; findings give %d", e.Name(), was.Listed, d.Listed)
	}
	p := e.Price[0]
	switch m, err := mechanisms.NewTruncatedGeometric(p.Epsilon, p.Delta, 1); {
	case err != nil:
		l.found.fault(EntryUnreadable, at, "%s: %v", e.Name(), err)
	case m.Threshold() > d.Threshold:
		l.found.fault(ListDiffers, at, "%s: its threshold is %d; its ε and δ take at least %d", e.Name(), d.Threshold,
			m.Threshold())
	}
}

// missing counts the names of x that are not in y.
func missing(x, y []string) (n int) {
	have := map[string]bool{}
	for _, name := range y {
		have[name] = true
	}
	for _, name := range x {
		if !have[name] {
			n++
		}
	}
	return n
}
