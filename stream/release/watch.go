package release

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// A stream's watches look at every window once its parts are merged, also at one whose figures the budget cannot pay:
// an armed instance is paid already. They look at everybody, whatever max_windows says, and at a window of which part
// was lost they look as it is.
//
// An instance is armed in the entry of the first window that it looks at. This entry holds its charge, and its secret under
// a seal. It ends with the window in which it fires: the groups after the one that fired are not looked at, because
// another instance would have to be paid for them. So one person loses the ε of one instance, whatever happens in a window.
//
// An instance that cannot be opened ends, and stays charged. It is never armed again with the same secret.

// watches describes the watches of a program for a window, before they are settled. An instance ends with the last window of
// the stream, or of the last definition of the stream that has the watch.
func (s *session) watches(p *program, w windows.Window) (all []ledger.Watch) {
	_, more := p.schedule.After(w.End)
	for i := range p.stream.Watches {
		of := &p.stream.Watches[i]
		all = append(all, ledger.Watch{Name: of.Name, Definition: of.Definition, Cost: of.Price(), Excess95: ledger.Error(of.Mechanism.Excess95()),
			AtMost: of.AtMost, Hold: int64(of.Hold.Seconds()), Release: p.figures[i].release, First: of.First(),
			Last: !more && !slices.ContainsFunc(s.editions[p.stream.Name], func(o *program) bool {
				return o != p && s.watching(o, p.stream.Budget.Name, of.Name, of.Definition)
			})})
	}
	return all
}

// alarm makes the instances of a watch. [mechanisms.Watch] does, by way of alarmOf; tests have others.
type alarm interface {
	Arm(random io.Reader) (armed, error)
	Resume(secret []byte) (armed, error)
}

// armed is an armed instance, as [mechanisms.Armed] is.
type armed interface {
	Look(groups []*mechanisms.Sample, random io.Reader) (group int, err error)
	LookFrom(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error)
	MarshalText() ([]byte, error)
}

type alarmOf struct{ watch *mechanisms.Watch }

func (a alarmOf) Arm(random io.Reader) (armed, error) { return a.watch.Arm(random) }
func (a alarmOf) Resume(secret []byte) (armed, error) { return a.watch.Resume(secret) }

// instance is an armed instance of a watch, and its number.
type instance struct {
	number int64
	armed
}

// resume opens the instances of a program that are armed. ended are instances of the budget that look at no more windows:
// those that cannot be opened, and those of definitions that are over. open has a place for each watch of the program.
func (s *session) resume(p *program) (open []instance, ended []ledger.Instance) {
	open = make([]instance, len(p.stream.Watches))
	for _, o := range s.own.fold.Books.Open(p.stream.Budget.Name) {
		if !s.watched(p.stream.Budget.Name, o) {
			if s.editions[o.Stream] != nil { // else a worker with newer definitions has armed it
				ended = append(ended, o.Instance)
			}
			continue
		}
		for i, w := range p.stream.Watches {
			if o.Stream != p.stream.Name || o.Watch != w.Name || o.Definition != w.Definition {
				continue
			}
			secret, err := s.seal.open(p.stream.Budget.Name, o.Instance, o.Definition, o.Sealed)
			if err == nil {
				open[i].number = o.Number
				open[i].armed, err = p.alarms[i].Resume(secret)
			}
			if err != nil {
				s.Log.Error("the secret of a watch cannot be opened: this instance ends, and stays charged", zap.String("stream", o.Stream), zap.String("watch", o.Watch), zap.Int64("instance", o.Number))
				ended = append(ended, o.Instance)
			}
		}
	}
	return open, ended
}

// watched reports whether an instance may still look at a window of some program.
func (s *session) watched(budget string, o ledger.Open) bool {
	return slices.ContainsFunc(s.editions[o.Stream], func(p *program) bool { return s.watching(p, budget, o.Watch, o.Definition) })
}

// watching reports whether a program has windows left, this watch and this budget.
func (s *session) watching(p *program, budget, watch, definition string) bool {
	if p.stream.Budget.Name != budget ||
		!slices.ContainsFunc(p.stream.Watches, func(w config.Watch) bool { return w.Name == watch && w.Definition == definition }) {
		return false
	}
	_, more := p.schedule.After(s.decided(p))
	return more
}

// look has the watches of a settled entry look at everybody in its window, in the order of the groups.
func (s *session) look(p *program, e *ledger.Entry, open []instance, merged *windows.Merger) error {
	if !e.Looks() {
		return nil
	}
	random := bufio.NewReader(p.random)
	samples := make([]*mechanisms.Sample, len(e.Groups))
	for g := range samples {
		samples[g] = mechanisms.NewSample(p.stream.Grid, merged.Everybody(g))
	}
	for i := range e.Watches {
		w := &e.Watches[i]
		if !w.Looks() {
			continue
		}
		if err := s.lookOnce(p, i, e, open[i], samples, random); err != nil {
			return fmt.Errorf("watch %s of stream %s: %w", w.Name, e.Stream, err)
		}
	}
	return nil
}

// lookOnce has one watch look, after it has armed the instance if it is a new one.
func (s *session) lookOnce(p *program, watch int, e *ledger.Entry, open instance, samples []*mechanisms.Sample, random io.Reader) error {
	w := &e.Watches[watch]
	if w.Arms {
		var err error
		if open.armed, err = p.alarms[watch].Arm(random); err != nil {
			return err
		}
		secret, err := open.MarshalText()
		if err != nil {
			return err
		}
		open.number = w.Instance
		if w.Sealed, err = s.seal.close(e.Budget, ledger.Instance{Stream: e.Stream, Watch: w.Name, Number: w.Instance}, w.Definition, secret); err != nil {
			return err
		}
	}
	if open.armed == nil || open.number != w.Instance {
		return fmt.Errorf("instance %d is to look, but instance %d is open", w.Instance, open.number)
	}
	if w.Release != nil {
		return p.lookForChange(watch, e, open, samples, random, s.Metrics)
	}
	group, err := open.Look(samples, random)
	if err != nil {
		return err
	}
	if group >= 0 {
		w.Fire(*e, e.Groups[group].Name)
	}
	return nil
}
