package demo

import (
	"fmt"
	"math"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
)

// alarm is what the first watch of a demo's stream says about a window.
type alarm struct {
	name string
	// group is the one in which the watch fires since a time; since is nil if it does not.
	group string
	since *time.Time
	// armed says that an instance is still looking. cost is what all instances have cost so far; counting is what
	// counts in every window would have cost that see as much.
	armed          bool
	cost, counting decimal.Decimal
}

// alarmOf returns nil if the stream has no watch.
func alarmOf(p picture) *alarm {
	alarms := config.All[*config.Watch](p.stream)
	if len(alarms) == 0 || len(p.watches) == 0 {
		return nil
	}
	w := alarms[0]
	a := &alarm{name: w.Name, armed: true,
		counting: decimal.NewFromFloat(countingCost(p.stream, w)).Mul(decimal.NewFromInt(int64(p.count))).RoundUp(1)}
	for _, r := range p.watches {
		if r.Release != w.Name {
			continue
		}
		a.cost = w.Query.Epsilon.Mul(decimal.NewFromInt(r.Instance))
		if r.Value == nil || r.Value.String() != "0" {
			a.armed = false
		}
		if r.Since != nil {
			a.group, a.since = r.Group, r.Since
		}
	}
	return a
}

// countingCost is the ε that a count in each window and group needs to see as much as a watch does: the same excess in
// the first window with a probability of 95 %, with as few false alarms.
//
// A count with ε has noise beyond x with probability ½·e^{−ε·x} (about: the exact distribution is on whole numbers). An
// alarm at c users too many has at most η false alarms in N windows of G groups if N·G·½·e^{−ε·c} = η. It sees x users
// too many with a probability of 95 % if ½·e^{−ε·(x−c)} = 0.05. Together: ε·x = ln(N·G/2η) + ln(1/0.1).
func countingCost(s *config.Stream, w *config.Watch) float64 {
	comparisons := float64(w.Query.Windows) * float64(len(s.Groups))
	return (math.Log(comparisons/(2*w.Query.FalseAlarms.InexactFloat64())) + math.Log(10)) / w.Mechanism.Excess95()
}

// String is the state of the alarm in one line, short enough for 80 characters.
func (a *alarm) String() string {
	cost := fmt.Sprintf("(ε %s so far; by counting: ε %s)", a.cost, a.counting)
	switch {
	case a.since != nil:
		return fmt.Sprintf("Watch %s fires in %s since %s %s.", a.name, a.group, a.since.Format(minutes), cost)
	case a.armed:
		return fmt.Sprintf("Watch %s is armed and silent %s.", a.name, cost)
	}
	return fmt.Sprintf("Watch %s is not armed %s.", a.name, cost)
}

// minutes is how the screen writes a time.
const minutes = "15:04"

// watchKeys names the records of watches in a stream's window, in the order of the streams file.
func watchKeys(s *config.Stream) (keys []string) {
	for _, g := range s.Groups {
		for _, f := range s.Lasting() {
			if f.About().Since == "" { // totals are figures
				keys = append(keys, outputs.Record{Stream: s.Name, Group: g, Release: f.Heading().Name}.Key())
			}
		}
	}
	return keys
}
