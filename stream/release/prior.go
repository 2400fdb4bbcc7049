package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// epoch is how many windows lie between two fresh starts of the filters. A window's measure is computed from the
// entries of the epoch that it lies in and of the one before, so that it is the same function of the ledger on a worker
// that has run for a year and on one that has just read it, and takes a bounded time to compute again.
const epoch = 512

// prior learns base measures from what a stream has published: one filter for each group and release that asks for the
// adaptive measure. Its state is a function of the ledger and of the configuration, and of nothing else.
//
// It learns every entry in the ledger's order. Before a window is drawn, before computes the measures of its draws.
type prior struct {
	program *program
	series  []int // the draws that ask for it
	filters [][]*mechanisms.Filter

	from int64       // the window that the filters began with
	next int64       // the window that they are ready for
	past []published // entries from the epoch before on, in order
}

// published is what filters learn of a window: only what was published.
type published struct {
	window int64
	values [][]int64 // by group and series; −1: withheld
	users  []*mechanisms.NoisyCount
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

// number counts the windows of a schedule since 1970 by their ends.
func (a *prior) number(end int64) int64 { return end / int64(a.program.schedule.Every) }

// began is the window that the filters of a window begin with.
func began(window int64) int64 { return window - window%epoch - epoch }

// learn takes in an entry that is in the ledger, or will be unless this worker ends.
func (a *prior) learn(e ledger.Entry) {
	if len(a.series) == 0 {
		return
	}
	p := a.published(e)
	a.past = append(a.past, p)
	old := began(p.window)
	a.past = slices.DeleteFunc(a.past, func(q published) bool { return q.window < old })
}

func (a *prior) published(e ledger.Entry) published {
	p := published{window: a.number(e.WindowEnd.UnixNano())}
	for _, group := range a.program.stream.Groups {
		values, users := a.of(e, group)
		p.values, p.users = append(p.values, values), append(p.users, users)
	}
	return p
}

// of finds what an entry published of a group, by name: the configuration may have been another one then.
func (a *prior) of(e ledger.Entry, group string) (values []int64, users *mechanisms.NoisyCount) {
	values = make([]int64, len(a.series))
	for i := range values {
		values[i] = -1
	}
	at := slices.IndexFunc(e.Groups, func(g ledger.Group) bool { return g.Name == group })
	if at < 0 {
		return values, nil
	}
	g := e.Groups[at]
	for i, d := range a.series {
		name := a.program.releases[a.program.draws[d].first].Name
		r := slices.IndexFunc(e.Releases, func(r ledger.Release) bool { return r.Name == name })
		if r < 0 || r >= len(g.Values) || g.Values[r].Value == nil {
			continue
		}
		if x, err := a.program.stream.Grid.Parse([]byte(g.Values[r].Value.String())); err == nil {
			values[i] = min(max(x, 0), a.program.stream.Grid.Last())
		}
	}
	if g.Users != nil {
		users = &mechanisms.NoisyCount{Value: *g.Users, Epsilon: a.program.countEpsilon()}
	}
	return values, users
}

// before brings the filters to a window: everything before it is learnt, and nothing else. It returns what the measures
// were computed from, nil if no draw asks for one.
func (a *prior) before(w windows.Window) (*ledger.Prior, error) {
	if len(a.series) == 0 {
		return nil, nil
	}
	window := a.number(w.End)
	if from := began(window); from != a.from || window < a.next {
		a.from, a.next = from, from
		a.filters = make([][]*mechanisms.Filter, len(a.program.stream.Groups))
		for g := range a.filters {
			for _, d := range a.series {
				f, err := mechanisms.NewFilter(a.program.draws[d].query)
				if err != nil {
					return nil, fmt.Errorf("stream %s, release %s: %w", a.program.stream.Name, a.program.releases[a.program.draws[d].first].Name, err)
				}
				a.filters[g] = append(a.filters[g], f)
			}
		}
	}
	read := int64(0)
	for _, p := range a.past {
		if p.window >= window {
			continue
		}
		read++
		if p.window < a.next {
			continue // learnt before
		}
		a.predict(p.window)
		a.update(p)
		a.predict(p.window + 1)
	}
	a.predict(window)
	hash, err := a.hash()
	return &ledger.Prior{Upto: read, Hash: hash}, err
}

// hash is that of all measures.
func (a *prior) hash() (string, error) {
	sum := sha256.New()
	var b []byte
	for _, filters := range a.filters {
		for _, f := range filters {
			var err error
			if b, err = f.Measure().AppendBinary(b[:0]); err != nil {
				return "", err
			}
			sum.Write(b)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// predict lets windows pass of which nothing more is learnt.
func (a *prior) predict(until int64) {
	for ; a.next < until; a.next++ {
		for _, filters := range a.filters {
			for _, f := range filters {
				f.Predict()
			}
		}
	}
}

func (a *prior) update(p published) {
	for g, filters := range a.filters {
		for i, f := range filters {
			if x := p.values[g][i]; x >= 0 {
				f.Update(x, p.users[g])
			}
		}
	}
}

// measure is the base measure of a draw in a group; nil where the mechanism has its own.
func (a *prior) measure(group, draw int) *mechanisms.Measure {
	if i := slices.Index(a.series, draw); i >= 0 {
		return a.filters[group][i].Measure()
	}
	return nil
}

// smooth fills in the estimates from the releases of a drawn entry and of earlier ones. It costs nothing: all of it is
// published. The filters must stand at the entry's window.
func (a *prior) smooth(e *ledger.Entry) {
	if len(a.series) == 0 {
		return
	}
	p := a.published(*e)
	a.update(p)
	for g := range e.Groups {
		for i, d := range a.series {
			x := p.values[g][i]
			if x < 0 {
				continue
			}
			s := a.filters[g][i].Smoothed(x, p.users[g])
			if s == nil {
				continue
			}
			scale := a.program.draws[d].scale
			out := &ledger.Smoothed{Value: scale.Decimal(s.Value)}
			if s.Band {
				low, high := scale.Decimal(s.Low), scale.Decimal(s.High)
				out.Low, out.High = &low, &high
			}
			e.Groups[g].Values[a.program.draws[d].first].Smoothed = out
		}
	}
	a.predict(p.window + 1)
}
