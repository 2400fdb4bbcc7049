package decide

import (
	"fmt"
	"io"
	"math/big"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

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

// drawActive draws the numbers of a leaf that ends with the window of a settled entry.
//
// Crash: what is drawn is in the entry. If its transaction is aborted, the next session adopts the entry, and draws
// nothing again.
func drawActive(a *attendance.Active, step *ledger.Continual, e *ledger.Entry, random io.Reader, timed Timer) error {
	s, of := step.Active, a.Of()
	if !s.Finishes(*e) {
		return nil
	}
	if s.Leaf != a.Leaf() {
		return fmt.Errorf("active users %s of stream %s: leaf %d is to end, but leaf %d is open", step.Name, e.Stream,
			s.Leaf, a.Leaf())
	}
	draws := make([]*big.Int, len(a.Open()))
	for g, open := range a.Open() {
		done := timed(string(mechanisms.Count))
		drawn, err := of.Mechanism.Draw(open, s.Leaf, random)
		if err != nil {
			return err
		}
		draws[g] = drawn[0]
		done()
	}
	s.Draw(draws)
	return nil
}
