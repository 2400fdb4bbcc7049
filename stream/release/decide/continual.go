package decide

import (
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// continual is one of a stream's figures that one charge pays for in many windows. tester arms its instances, and kind
// is what differs between them.
type continual struct {
	*config.Head
	cost   config.Cost
	noun   string
	tester // nil for a total and for a number of active users
	kind   kind
}

// kind is a [watcher], a [changer], a [total], a [soFar] or an [active].
type kind interface {
	// describe fills in what only this kind has. The window has not been settled.
	describe(s *ledger.Continual, w windows.Window)
}

// looker is a [watcher] or a [changer].
type looker interface {
	kind
	// look has an open instance look at the samples of a settled entry's groups, and records what it finds.
	look(e *ledger.Entry, s *ledger.Continual, open armed, samples []*mechanisms.Sample, random io.Reader,
		timed Timer) error
}

// newContinual returns the continual figures of a stream, in the order of [config.Stream.Lasting].
func newContinual(s *config.Stream) (all []continual) {
	for _, f := range s.Lasting() {
		x := continual{Head: f.Heading(), cost: f.Cost(), noun: config.Kinds[f.Kind()].Noun}
		switch of := f.(type) {
		case config.Ongoing:
			x.kind = ongoing(of)
		case *config.Watch:
			x.tester, x.kind = testerOf{of.Mechanism}, watcher{of}
		case *config.Change:
			x.tester, x.kind = testerOf{of.Mechanism}, newChanger(s, of)
		}
		all = append(all, x)
	}
	return all
}

// describe returns the part of an entry that follows from the definition and the window. Settling adds to it.
func (c continual) describe(w windows.Window) ledger.Continual {
	s := ledger.Continual{Name: c.Name, Definition: c.Definition, Cost: c.cost.Items, AtMost: c.cost.AtMost}
	c.kind.describe(&s, w)
	return s
}

// Describe is the part of an entry that follows from the definition of an ongoing figure and the window.
func Describe(of config.Ongoing, w windows.Window) ledger.Continual {
	return continual{Head: of.Heading(), cost: of.Cost(), kind: ongoing(of)}.describe(w)
}

// ongoing is a [total], a [soFar] or an [active].
func ongoing(f config.Ongoing) kind {
	switch of := f.(type) {
	case *config.Active:
		return active{of}
	case *config.SoFar:
		return soFar{total{of.Adds()}, of}
	}
	return total{f.(config.Adder).Adds()}
}

// watcher records the group in which the instance fires.
type watcher struct{ of *config.Watch }

func (a watcher) describe(s *ledger.Continual, _ windows.Window) {
	s.Watch = &ledger.Watch{Excess95: ledger.Error(a.of.Mechanism.Excess95()), Hold: int64(a.of.Hold.Seconds()),
		Always: a.of.Always}
}

func (a watcher) look(e *ledger.Entry, s *ledger.Continual, open armed, samples []*mechanisms.Sample, random io.Reader,
	_ Timer) error {
	var names []string
	var looked []*mechanisms.Sample
	for g, of := range e.Groups {
		if s.Watch.LooksAt(*e, of.Name) {
			names, looked = append(names, of.Name), append(looked, samples[g])
		}
	}
	group, err := open.Look(looked, random)
	if err == nil && group >= 0 {
		s.Fire(names[group])
	}
	return err
}

// total describes a running total.
type total struct{ of *config.Total }

func (t total) describe(s *ledger.Continual, w windows.Window) {
	p, m := t.of.Query.Period, t.of.Mechanism
	since, until := t.of.Period(w)
	s.AtMost = 0 // the calendar limits the instances
	s.Total = &ledger.Total{Release: t.of.Drawn(), Leaves: p.Leaves, Longest: m.Longest(),
		Update: int64(t.of.Update.Seconds()), Most: m.Most, Unit: m.Scale.Length(1), MaxTotal: t.of.Query.MaxTotal,
		Since: record.Whole(time.Unix(0, since)), Until: record.Whole(time.Unix(0, until))}
}

// soFar describes a distribution so far.
type soFar struct {
	total
	of *config.SoFar
}

func (f soFar) describe(s *ledger.Continual, w windows.Window) {
	f.total.describe(s, w)
	s.SoFar = &ledger.SoFar{Total: *s.Total, Figures: f.of.Computed()}
	s.SoFar.Release, s.Total = f.of.Drawn(), nil
}

// active describes a number of active users.
type active struct{ of *config.Active }

func (a active) describe(s *ledger.Continual, _ windows.Window) {
	s.AtMost = 0 // the cap of the leaves limits what they cost
	s.Active = &ledger.Active{Release: a.of.Drawn(), Seconds: int64(a.of.Within.Seconds()), Windows: a.of.Windows(),
		Leaves: a.of.Query.Leaves, Update: int64(a.of.Update.Seconds()), Among: a.of.Query.Groups}
	if a.of.Query.Groups > 0 {
		s.Active.AtOnce = a.of.Groups
	}
}

// drawLeaf draws the leaf of an ongoing figure that ends with the window of a settled entry, if one does.
//
// Crash: what is drawn is in the entry. If its transaction is aborted, the next session adopts the entry, and draws
// nothing again.
func drawLeaf(l attendance.Looking, e *ledger.Entry, random io.Reader, timed Timer) error {
	leaf, ends := l.Step.Leaf(*e)
	if !ends {
		return nil
	}
	of := l.Of()
	if leaf != l.Leaf() {
		return fmt.Errorf("%s %s of stream %s: leaf %d is to end, but leaf %d is open", config.Kinds[of.Kind()].Noun,
			l.Step.Name, e.Stream, leaf, l.Leaf())
	}
	law, _ := of.Law()
	statistic := of.Drawn().Statistic
	draws := make([][]*big.Int, len(l.Open()))
	for i, open := range l.Open() {
		done := timed(statistic)
		var err error
		if draws[i], err = law.Draw(open, leaf, random); err != nil {
			return err
		}
		done()
	}
	l.Step.Draw(draws)
	return nil
}

// tester makes the instances of a test. testerOf makes one of a [watch.Watch]. Tests of this package have their own.
type tester interface {
	Arm(random io.Reader) (armed, error)
	Resume(secret []byte) (armed, error)
}

// armed is an armed instance, as [watch.Armed] is.
type armed interface {
	Look(groups []*mechanisms.Sample, random io.Reader) (group int, err error)
	LookFrom(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error)
	MarshalText() ([]byte, error)
}

type testerOf struct{ watch *watch.Watch }

func (a testerOf) Arm(random io.Reader) (armed, error) { return a.watch.Arm(random) }
func (a testerOf) Resume(secret []byte) (armed, error) { return a.watch.Resume(secret) }

// instance is an armed instance of a test, and its number.
type instance struct {
	number int64
	armed
}
