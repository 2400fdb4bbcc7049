package ledger

import (
	"fmt"

	"github.com/louver/louver/budget"
)

// Seen is what the records of a watch say of one of its instances.
type Seen struct {
	Number int64
	Cost   []budget.Item
	// From and To are the ends of the first and the last window that it looked at, in Unix nanoseconds.
	From, To int64
	// Over says that it looks at no more windows, Fired that it has fired. Withheld says that since then none may be
	// armed.
	Over, Fired, Withheld bool
}

// mostSeen bounds the gaps that a record can make.
const mostSeen = 1 << 20

// AddSeen adds the instances of a watch, by number, for readers of output topics who do not see the ledger. Instances
// that are not seen any more leave gaps, which cost nothing.
func (b *Books) AddSeen(budget, stream, watch string, all []Seen) error {
	name := watchName{budget, stream, watch}
	for _, s := range all {
		if s.Number < int64(len(b.watches.of[name]))+1 || s.Number > mostSeen {
			return fmt.Errorf("instance %s follows number %d", name.instance(s.Number), len(b.watches.of[name]))
		}
		for int64(len(b.watches.of[name])) < s.Number-1 {
			b.watches.of[name] = append(b.watches.of[name], &instance{over: true})
		}
		b.watches.withheld[name] = s.Withheld
		a := &instance{cost: s.Cost, from: s.From, looked: s.To, over: s.Over}
		if s.Fired {
			a.fired = new("")
		}
		if err := b.watches.arm(b.open(budget), name, a); err != nil {
			return err
		}
	}
	return nil
}
