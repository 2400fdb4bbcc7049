package cost

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows"
)

// Stream is what the loss of one person through a stream depends on.
type Stream struct {
	// Schedule says when windows end, and what one costs a person who counts in it.
	budget.Schedule
	// Grace is how long a window waits after its end.
	Grace time.Duration
	// Topic is the input.
	Topic string
	// MaxWindows says in which windows a person counts; nil: in all.
	MaxWindows *windows.CapRule
	// Watches are the most that counts in a period of the budget for watches, releases on change, running totals and
	// discoveries. Endless says that there is no such amount: the budget is for ever, and new periods of totals never
	// end.
	Watches []budget.Item
	Endless bool
	// Turns are the discoveries with max_windows, which are among the watches.
	Turns []Turns
}

// Turns are the periods of a discovery in which users take turns.
type Turns struct {
	Rule windows.CapRule
	// Items are what a period costs a person who counts in it. AtMost is for how many periods a person is charged at
	// most, in one period of the budget.
	Items  []budget.Item
	AtMost int64
}

// more returns what the periods cost that change with what one person does in a stretch of time, beyond those for which
// the person is charged in two periods of the budget. The stretch reaches into one period more than it holds.
func (t Turns) more(stretch time.Duration) []budget.Item {
	n := int64((stretch-1)/t.Rule.Every()) + 2
	return budget.Times(t.Items, max(0, t.Rule.ChangedBy(n)-2*t.AtMost))
}

// Ended is a stream of a topic that has no windows any more.
func Ended(topic string) Stream {
	return Stream{Topic: topic, Schedule: budget.Schedule{Size: 1, Every: 1, End: 1}}
}

// Overlapping returns the largest number of windows that can overlap a stretch of time. A stretch of 0 is one moment.
//
// A window that starts at k·every overlaps [t, t+stretch) if k lies in an interval of length (stretch + size)/every.
func (s Stream) Overlapping(stretch time.Duration) int64 {
	sum, every := uint64(stretch)+uint64(s.Size), uint64(s.Every)
	return int64(sum/every + min(sum%every, 1))
}

// Counts returns the most windows in which one person counts, of those that end in any half-open stretch of time. The
// books of a budget may count more.
func (s Stream) Counts(stretch time.Duration) int64 {
	n, _ := s.Most(stretch)
	if s.MaxWindows != nil && n > 0 {
		n = min(n, s.MaxWindows.AtMostOf(int64((stretch-1)/s.Every)+1))
	}
	return n
}

// Changed returns the most windows whose figures can change with what one person has in n consecutive windows. Under
// max_windows these are more than the windows in which the person counts: see [windows.CapRule.ChangedBy].
func (s Stream) Changed(n int64) int64 {
	if s.MaxWindows == nil {
		return n
	}
	return s.MaxWindows.ChangedBy(n)
}

// window returns what n windows cost a person who counts in all of them.
func (s Stream) window(n int64) []budget.Item { return budget.Times(s.Items, n) }
