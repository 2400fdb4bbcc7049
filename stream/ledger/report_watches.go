package ledger

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
	"github.com/shopspring/decimal"
)

// WatchFigures are the figures of one watch. Its JSON names are public.
type WatchFigures struct {
	Stream string `json:"stream"`
	Watch  string `json:"watch"`
	Budget string `json:"budget"`
	// Instances is how many have been armed, each of which was charged once.
	Instances int64 `json:"instances"`
	// State is what became of the last one: `armed`, `fired`, or `ended` without firing. It is `withheld` if that is
	// over and no other may be armed yet, because of `at_most` or the budget: then the watch looks at nothing.
	State string `json:"state"`
	// From and To are the ends of the first and the last window that it looked at. Epsilon is what it cost.
	From    record.Second `json:"from"`
	To      record.Second `json:"to"`
	Epsilon number        `json:"epsilon"`
	// EpsilonTotal is what all instances cost together: what one person in all of them can have lost.
	EpsilonTotal number `json:"epsilon_total"`
}

// watchFigures reports on all watches in the books.
func (b *Books) watchFigures() (figures []WatchFigures) {
	for _, name := range b.lasting.names() {
		instances := b.lasting.of[name]
		last := instances[len(instances)-1]
		moment := func(at int64) record.Second { return record.Whole(time.Unix(0, at)) }
		limit := b.accounts[name.budget].Limit()
		f := WatchFigures{
			Stream: name.stream, Watch: name.step, Budget: name.budget,
			Instances: int64(len(instances)), State: "armed",
			From: moment(last.From), To: moment(last.Looked), Epsilon: number{limit.Least(last.Cost).Epsilon},
		}
		switch {
		case last.Over && b.lasting.withheld[name]:
			f.State = "withheld"
		case last.Fired != nil:
			f.State = "fired"
		case last.Over:
			f.State = "ended"
		}
		var all []budget.Item
		together := limit.Least
		for _, a := range instances {
			if all = append(all, a.Cost...); a.Until == 0 { // what was drawn decides how many there are
				together = limit.Compose
			}
		}
		f.EpsilonTotal = number{together(all).Epsilon}
		figures = append(figures, f)
	}
	return figures
}

// number is a decimal written as a JSON number, exact.
type number struct{ decimal.Decimal }

// MarshalJSON writes every digit.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }
