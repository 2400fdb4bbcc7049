package ledger

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
)

// storedWatch is a watch and all its instances, in the order of their numbers.
type storedWatch struct {
	Stream    string           `json:"stream"`
	Watch     string           `json:"watch"`
	Instances []storedInstance `json:"instances"`
	Withheld  bool             `json:"withheld,omitempty"`
}

// storedInstance is an instance. Times are Unix seconds.
type storedInstance struct {
	Definition string        `json:"definition"`
	Cost       []budget.Item `json:"cost"`
	From       int64         `json:"from"`
	Looked     int64         `json:"looked"`
	Over       bool          `json:"over,omitempty"`
	Sealed     []byte        `json:"sealed,omitempty"`
	Fired      *string       `json:"fired,omitempty"`
	Begins     bool          `json:"begins,omitempty"`
	Values     []Drawn       `json:"values,omitempty"`
}

func (b *Books) storedWatches(budget string) (all []storedWatch) {
	for _, name := range b.watches.names() {
		if name.budget != budget {
			continue
		}
		w := storedWatch{Stream: name.stream, Watch: name.watch, Withheld: b.watches.withheld[name]}
		for _, a := range b.watches.of[name] {
			w.Instances = append(w.Instances, storedInstance{
				Definition: a.definition, Cost: a.cost, From: a.from / int64(time.Second), Looked: a.looked / int64(time.Second),
				Over: a.over, Sealed: a.sealed, Fired: a.fired, Begins: a.begins, Values: a.values,
			})
		}
		all = append(all, w)
	}
	return all
}

func (b *Books) restoreWatches(budget string, all []storedWatch) error {
	account := b.open(budget)
	for _, w := range all {
		name := watchName{budget, w.Stream, w.Watch}
		b.watches.withheld[name] = w.Withheld
		if b.watches.of[name] != nil {
			return fmt.Errorf("watch %s of stream %s is listed twice", w.Watch, w.Stream)
		}
		for i, s := range w.Instances {
			a := &instance{definition: s.Definition, cost: s.Cost,
				from: s.From * int64(time.Second), looked: s.Looked * int64(time.Second),
				over: s.Over, sealed: s.Sealed, fired: s.Fired, begins: s.Begins, values: s.Values}
			if len(a.cost) == 0 || a.looked < a.from {
				return fmt.Errorf("instance %s costs nothing, or ends before it begins", name.instance(int64(i+1)))
			}
			if err := b.watches.arm(account, name, a); err != nil {
				return err
			}
		}
	}
	return nil
}
