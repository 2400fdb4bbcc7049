package offline

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/windows"
)

// ongoing draws an ongoing figure of a file. The ledger's own code computes the values, in memory, as those of a stream
// without groups. The command keeps no account: its budget pays for what is drawn.
type ongoing struct {
	of     config.Ongoing
	window time.Duration // the length of a window of the file
	limit  budget.Limit
	state  *ledger.State
	leaf   int64          // the number of the leaf that is not finished
	open   []running.Open // what its draws are made of, of each number
}

func newOngoing(of config.Ongoing, window time.Duration, limit budget.Limit) *ongoing {
	return &ongoing{of: of, window: window, limit: limit, state: ledger.NewState("offline", 0), leaf: 1,
		open: make([]running.Open, of.Numbers())}
}

// decide decides a window, or several that follow one another, and returns what is published at its end. It draws if a
// leaf ends there. Windows end at multiples of every.
func (o *ongoing) decide(w windows.Window, every time.Duration) ([]record.Value, error) {
	at := func(t int64) time.Time { return record.Whole(time.Unix(0, t)).Time }
	name := o.of.Heading().Name
	e := ledger.Entry{Stream: name, Budget: name, Output: name, WindowStart: at(w.Start), WindowEnd: at(w.End),
		Every: every, Limit: o.limit, Groups: []ledger.Group{{}}}
	e.Continual = []ledger.Continual{decide.Describe(o.of,
		windows.Window{Start: w.Start, End: w.Start + int64(o.window)})}
	if err := o.state.Settle(&e); err != nil {
		return nil, err
	}
	step := &e.Continual[0]
	if !step.Looks() {
		return nil, fmt.Errorf("the window that ends at %s is withheld as %s; want a budget that pays for it", stamp(w.End),
			step.Reason)
	}
	if _, ends := step.Leaf(e); ends {
		if err := o.draw(step); err != nil {
			return nil, err
		}
	}
	err := errors.Join(o.state.Finish(&e), o.state.Add(e, nil, -1))
	return e.Values(), err
}

// draw draws what ends with the leaf.
func (o *ongoing) draw(step *ledger.Continual) (err error) {
	law, _ := o.of.Law()
	draws := make([][]*big.Int, len(o.open))
	for i, open := range o.open {
		if draws[i], err = law.Draw(open, o.leaf, rand.Reader); err != nil {
			return err
		}
		law.Close(open, o.leaf)
	}
	step.Draw(draws)
	o.leaf++
	return nil
}

// boundBeside says how far off a value may be that it stands beside.
func boundBeside(f record.Value) string {
	bound := cli.BoundInWords(f)
	if strings.HasPrefix(bound, "at most") {
		bound = "(" + bound + ")"
	}
	return bound
}
