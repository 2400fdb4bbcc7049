package decide

import (
	"fmt"
	"io"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// A stream's watches and releases on change look at every window once its parts are merged. This includes windows whose
// figures the budget cannot pay: an armed instance is paid already. They look at everybody, whatever max_windows says.
// If a part of the window was lost, they look at what is left.
//
// An instance is armed in the entry of the first window that it looks at. This entry holds its charge, and its secret
// under a seal. It ends with the window in which it fires: the groups after the one that fired are not looked at,
// because another instance would have to be paid for them. So one person loses the ε of one instance, whatever happens
// in a window.
//
// Where groups are found, a watch looks at the list of each window, or at those of its groups that are always listed.
// Lists follow from what was published, so this is AboveThreshold with questions that are chosen adaptively.
//
// Privacy: fix everything that is published. That fixes every list, and so every question. An instance contributes one
// factor to the probability of what is published: the chance of its silences and its firing, over its secret ρ. The
// proof at [watch.Watch] compares this factor for two data sets that differ by one user, for any row of windows and
// groups. Its only condition is that one user changes the sum of a question by no more than one user may. It holds:
// given the list, which groups are theirs follows from their records alone (package windows). So this factor changes by
// e^ε at most, and the factors of discoveries and draws change by what these are charged. All charges add up, whichever
// of them chose what another one looked at.
//
// A window whose list is empty has no tests: an instance would be armed, and charged, for nothing.
//
// An instance that cannot be opened ends, and stays charged. It is never armed again with the same secret.

// watches arms the instances of watches and of releases on change, and has them look.
type watches struct {
	*Core
	seal sealer // nil if no stream has any
}

func newWatches(c *Core) (*watches, error) {
	ws := &watches{Core: c}
	if !slices.ContainsFunc(c.programs, func(p *program) bool {
		return slices.ContainsFunc(p.continual, func(s continual) bool { return s.tester != nil })
	}) {
		return ws, nil
	}
	var err error
	ws.seal, err = newSeal(c.App, c.WatchKey)
	return ws, err
}

// describe returns the part of an entry that follows from the definitions of a program's continual figures and the
// window. An instance ends with the last window of the stream, or of the last definition of the stream that has the
// figure.
func (ws *watches) describe(p *program, w windows.Window) (all []ledger.Continual) {
	_, more := p.Schedule.After(w.End)
	for _, of := range p.continual {
		s := of.describe(w)
		s.Last = !more && !slices.ContainsFunc(ws.editions[p.Stream.Name], func(o *program) bool {
			return o != p && ws.watching(o, p.Stream.Budget.Name, of.Name, of.Definition)
		})
		all = append(all, s)
	}
	return all
}

// resume opens the armed instances of a program. open has a place for each continual figure. ended are instances of
// the budget that look at no more windows. Their secret cannot be opened, or it is lost who has counted for them, or
// their definition is over.
func (ws *watches) resume(p *program) (open []instance, ended []ledger.Instance) {
	open = make([]instance, len(p.continual))
	for _, o := range ws.own.Books.OpenInstances(p.Stream.Budget.Name) {
		if !ws.watched(p.Stream.Budget.Name, o) {
			if ws.editions[o.Stream] != nil { // otherwise a worker with newer definitions has armed it
				ended = append(ended, o.Instance)
			}
			continue
		}
		if ws.attendance.Lost(o.Instance) {
			ended = append(ended, o.Instance)
			continue
		}
		for i, of := range p.continual {
			if of.tester == nil || o.Stream != p.Stream.Name || o.Name != of.Name || o.Definition != of.Definition {
				continue
			}
			secret, err := ws.seal.open(p.Stream.Budget.Name, o.Instance, o.Definition, o.Sealed)
			if err == nil {
				open[i].number = o.Number
				open[i].armed, err = of.Resume(secret)
			}
			if err != nil {
				ws.say(Line{Error, "the secret of a watch cannot be opened: this instance ends, and stays charged",
					[]Field{{"stream", o.Stream}, {"watch", o.Name}, {"instance", o.Number}}})
				ended = append(ended, o.Instance)
			}
		}
	}
	return open, ended
}

// watched reports whether an instance may still look at a window of some program.
func (ws *watches) watched(budget string, o ledger.OpenInstance) bool {
	return slices.ContainsFunc(ws.editions[o.Stream],
		func(p *program) bool { return ws.watching(p, budget, o.Name, o.Definition) })
}

// watching reports whether a program has windows left, this figure and this budget.
func (ws *watches) watching(p *program, budget, name, definition string) bool {
	if p.Stream.Budget.Name != budget ||
		!slices.ContainsFunc(p.continual,
			func(s continual) bool { return s.Name == name && s.Definition == definition }) {
		return false
	}
	_, more := p.lanes.Windows.Next()
	return more
}

// look has the tests of a settled entry look at everybody in its window, in the order of the groups.
func (ws *watches) look(p *program, e *ledger.Entry, open []instance, merged *windows.Merger) error {
	if !slices.ContainsFunc(e.Continual, func(s ledger.Continual) bool { return s.Tests() && s.Looks() }) {
		return nil
	}
	random := buffered(p.random)
	samples := make([]*mechanisms.Sample, len(e.Groups))
	for g := range samples {
		samples[g] = mechanisms.NewSample(p.Stream.Grid, merged.All(g))
	}
	for i := range e.Continual {
		if s := &e.Continual[i]; s.Tests() && s.Looks() {
			if err := ws.lookOnce(p.continual[i], e, s, open[i], samples, random); err != nil {
				return fmt.Errorf("%s %s of stream %s: %w", p.continual[i].noun, s.Name, e.Stream, err)
			}
		}
	}
	return nil
}

// lookOnce has one test look, after it has armed the instance if it is a new one.
func (ws *watches) lookOnce(of continual, e *ledger.Entry, s *ledger.Continual, open instance,
	samples []*mechanisms.Sample, random io.Reader) error {
	if s.Arms {
		var err error
		if open.armed, err = of.Arm(random); err != nil {
			return err
		}
		secret, err := open.MarshalText()
		if err != nil {
			return err
		}
		open.number = s.Instance
		name := ledger.Instance{Stream: e.Stream, Name: s.Name, Number: s.Instance}
		if s.Sealed, err = ws.seal.close(e.Budget, name, s.Definition, secret); err != nil {
			return err
		}
	}
	if open.armed == nil || open.number != s.Instance {
		return fmt.Errorf("instance %d is to look, but instance %d is open", s.Instance, open.number)
	}
	return of.kind.(looker).look(e, s, open, samples, random, ws.Timed)
}
