package ledger

import (
	"fmt"

	"github.com/louver/louver/budget"
)

// Seen is what the records of a step say of one of its instances.
type Seen struct {
	Number int64
	Cost   []budget.Item
	// From and To are the ends of the first and the last window that it looked at, in Unix nanoseconds.
	From, To int64
	// Until is when it ends at the latest; 0 if that is not known.
	Until int64
	// Over says that it looks at no more windows, Fired that it has fired. Withheld says that since then none may be
	// armed.
	Over, Fired, Withheld bool
}

// mostSeen bounds the gaps that a record can make.
const mostSeen = 1 << 20

// AddSeen adds the instances of a step, by number, for readers of output topics who do not see the ledger. Instances
// that are no longer seen leave gaps, which cost nothing.
func (b *Books) AddSeen(budget, stream, step string, all []Seen) error {
	name := stepName{budget, stream, step}
	for _, s := range all {
		if s.Number < int64(len(b.lasting.of[name]))+1 || s.Number > mostSeen {
			return fmt.Errorf("instance %s follows number %d", name.instance(s.Number), len(b.lasting.of[name]))
		}
		for int64(len(b.lasting.of[name])) < s.Number-1 {
			b.lasting.of[name] = append(b.lasting.of[name], &instance{Over: true})
		}
		b.lasting.withheld[name] = s.Withheld
		a := &instance{Cost: s.Cost, From: s.From, Looked: s.To, Until: s.Until, Over: s.Over}
		if s.Fired {
			a.Fired = new("")
		}
		if err := b.lasting.arm(b.open(budget), name, a); err != nil {
			return err
		}
	}
	return nil
}
