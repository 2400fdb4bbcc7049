package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// prior learns base measures from what a stream has published. It has one filter for each group and release that asks
// for the adaptive measure. Its state depends on the ledger and the configuration only.
//
// Where groups are found, a group's filters begin with the window in which it joined the list, and a window without the
// group ends them. So a group that was away begins anew.
//
// Call upTo ahead of each window: it computes the measures of the window's draws.
type prior struct {
	program *program
	series  []int                           // the draws that ask for it
	fresh   []*mechanisms.Filter            // of each series, one that has learnt nothing
	filters map[string][]*mechanisms.Filter // of each group of the window
	groups  []string                        // of the window, in order

	from int64 // the window that the filters began with
	next int64 // the window that they are ready for
}

// published holds what the filters of a group learn from a window: published values only.
type published struct {
	values []int64 // by series; −1: withheld
	users  *int64
}

func newPrior(p *program) *prior {
	a := &prior{program: p, from: -1}
	for i, d := range p.draws {
		if d.query.Adaptive() {
			a.series = append(a.series, i)
		}
	}
	return a
}

// number numbers the windows of a schedule by their ends, from 1970 on.
func (a *prior) number(end int64) int64 { return end / int64(a.program.Schedule.Every) }

// published returns what a window published for the present series in each group. The configuration may have been
// different then.
func (a *prior) published(w ledger.Past) func(group string) published {
	figures := w.Figures(a.names())
	return func(group string) published {
		users, texts := figures(group)
		p := published{values: make([]int64, len(a.series))}
		for i, text := range texts {
			p.values[i] = -1
			if x, err := a.program.Stream.Grid.Parse([]byte(text)); err == nil {
				p.values[i] = min(max(x, 0), a.program.Stream.Grid.Last())
			}
		}
		if n, err := strconv.ParseInt(users, 10, 64); err == nil {
			p.users = &n
		}
		return p
	}
}

// names lists the releases of the series.
func (a *prior) names() (all []string) {
	for _, d := range a.series {
		all = append(all, a.program.releases[a.program.draws[d].first].Name)
	}
	return all
}

// upTo brings the filters to a window with some groups: they learn everything in past that comes before it, and
// nothing else. past is what the stream published lately, in the order of the ledger. upTo returns what the measures
// were computed from, or nil if no draw asks for one.
func (a *prior) upTo(w windows.Window, groups []string, past []ledger.Past) (*ledger.Prior, error) {
	if len(a.series) == 0 {
		return nil, nil
	}
	window := a.number(w.End)
	if from := ledger.LearnsFrom(window); from != a.from || window < a.next {
		a.from, a.next, a.filters = from, from, map[string][]*mechanisms.Filter{}
	}
	if err := a.take(groups); err != nil {
		return nil, err
	}
	read := int64(0)
	for _, w := range past {
		at := a.number(w.End)
		if at >= window {
			continue
		}
		read++
		if at < a.next {
			continue // learnt before
		}
		a.predict(at)
		a.learn(w)
		a.predict(at + 1)
	}
	a.predict(window)
	hash, err := a.hash()
	return &ledger.Prior{Upto: read, Hash: hash}, err
}

// take gives each group of a window its filters. It drops the filters of all other groups: when such a group comes
// back, it begins anew after this window without it.
func (a *prior) take(groups []string) error {
	if a.fresh == nil {
		for _, d := range a.series {
			f, err := mechanisms.NewFilter(a.program.draws[d].query)
			if err != nil {
				return fmt.Errorf("stream %s, release %s: %w", a.program.Stream.Name,
					a.program.releases[a.program.draws[d].first].Name, err)
			}
			a.fresh = append(a.fresh, f)
		}
	}
	before := a.filters
	a.groups, a.filters = groups, make(map[string][]*mechanisms.Filter, len(groups))
	for _, group := range groups {
		if a.filters[group] = before[group]; before[group] == nil {
			a.begin(group)
		}
	}
	return nil
}

// begin gives a group filters that have learnt nothing.
func (a *prior) begin(group string) {
	filters := make([]*mechanisms.Filter, len(a.fresh))
	for i, f := range a.fresh {
		filters[i] = f.Clone()
	}
	a.filters[group] = filters
}

// learn learns what a window published.
func (a *prior) learn(w ledger.Past) {
	of := a.published(w)
	for _, group := range a.groups {
		if a.program.Stream.Found != nil && !w.Has(group) {
			a.begin(group)
			continue
		}
		a.update(group, of(group))
	}
}

// hash returns the hash of all measures.
func (a *prior) hash() (string, error) {
	sum := sha256.New()
	var b []byte
	for _, group := range a.groups {
		for _, f := range a.filters[group] {
			var err error
			if b, err = f.Measure().AppendBinary(b[:0]); err != nil {
				return "", err
			}
			sum.Write(b)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// predict moves the filters on to a window from which they may learn. However many windows are in between, that is one
// step for a filter.
func (a *prior) predict(until int64) {
	if a.next >= until {
		return
	}
	a.next = until
	for _, filters := range a.filters {
		for _, f := range filters {
			f.Predict()
		}
	}
}

func (a *prior) update(group string, p published) {
	for i, f := range a.filters[group] {
		if x := p.values[i]; x >= 0 {
			f.Update(x, p.users)
		}
	}
}

// measure returns the base measure of a draw in a group, or nil if the mechanism has its own.
func (a *prior) measure(group string, draw int) *mechanisms.Measure {
	if i := slices.Index(a.series, draw); i >= 0 {
		return a.filters[group][i].Measure()
	}
	return nil
}

// smooth fills in what the releases of a drawn entry and of earlier ones say of its adaptive draws: smoothed values,
// bands and the quality that follows. It costs nothing, because all of it is published. The filters must be at the
// entry's window.
func (a *prior) smooth(e *ledger.Entry) {
	if len(a.series) == 0 {
		return
	}
	of := a.published(ledger.NewPast(*e))
	for g, group := range e.Groups {
		p, filters := of(group.Name), a.filters[group.Name]
		for i, d := range a.series {
			if x := p.values[i]; x >= 0 {
				draw := a.program.draws[d]
				draw.refine(&e.Groups[g].Values[draw.first], x, filters[i], a.program.count(p.users))
			}
		}
	}
	a.predict(a.number(e.WindowEnd.UnixNano()) + 1)
}
