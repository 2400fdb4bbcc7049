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
	// Watches are what a period of the budget counts at most for watches, releases on change and running totals. Endless
	// says that there is no such amount: the budget is for ever, and periods of totals begin for ever.
	Watches []budget.Item
	Endless bool
}

// Ended is a stream of a topic that has no windows any more.
func Ended(topic string) Stream {
	return Stream{Topic: topic, Schedule: budget.Schedule{Size: 1, Every: 1, End: 1}}
}

// Overlapping returns the greatest number of windows that can overlap a stretch of time. A stretch of 0 is one moment.
//
// A window that starts at k·every overlaps [t, t+stretch) if k lies in an interval of length (stretch + size)/every.
func (s Stream) Overlapping(stretch time.Duration) int64 {
	sum, every := uint64(stretch)+uint64(s.Size), uint64(s.Every)
	return int64(sum/every + min(sum%every, 1))
}

// Counts returns in how many windows one person counts at most, of those that end in any half-open stretch of time. It
// is as the person's windows are; the books of a budget may count more.
func (s Stream) Counts(stretch time.Duration) int64 {
	n, _ := s.Most(stretch)
	if s.MaxWindows != nil && n > 0 {
		n = min(n, s.MaxWindows.AtMostOf(int64((stretch-1)/s.Every)+1))
	}
	return n
}

// Changed returns of how many windows the figures can change at most with what one person has in n windows in a row.
// Under max_windows these are more than the windows in which the person counts: see [windows.CapRule.ChangedBy].
func (s Stream) Changed(n int64) int64 {
	if s.MaxWindows == nil {
		return n
	}
	return s.MaxWindows.ChangedBy(n)
}

// window returns what n windows cost a person who counts in all of them.
func (s Stream) window(n int64) []budget.Item { return budget.Times(s.Items, n) }
