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
	// Edge is what a window costs a person of whom only some events in it are removed. With the others the person may
	// count by another value, or in other groups.
	Edge []budget.Item
	// Watches are the most that counts in a period of the budget for watches, releases on change, running totals and
	// discoveries. Endless says that there is no such amount: the budget is for ever, and new periods of totals never
	// end.
	Watches []budget.Item
	Endless bool
	// Daily is the most that the same counts in any 24 hours. It matters if the budget's period is longer than that.
	Daily []budget.Item
	// Touched is what the same cost at most that one person has a part in during a stretch of time as long as the
	// budget's period, if the stretch is taken back and all else that the person does remains. The budget has a period.
	Touched []budget.Item
	// Turns say in which of its periods a person counts, for each discovery with max_windows. Longest is the longest
	// period of a discovery; 0 if there is none.
	Turns   []windows.CapRule
	Longest time.Duration
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
	return min(int64(sum/every+min(sum%every, 1)), s.Windows())
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
	return min(s.MaxWindows.ChangedBy(n), s.Windows())
}

// stretch returns what the windows cost that change if a person takes back what they do in a stretch of time, and how
// many windows the stretch overlaps at most.
//
// Windows that begin before the stretch or end after it may hold other things of that person. Taking back the rest of
// such a window removes the person from it, and adds the person again as what remains: the window costs Edge. Those
// that begin before it hold its first moment, and those that end after it hold its last, so at most 2·Overlapping(0)
// do. From all other windows the person is removed, or under max_windows added to them, which costs Items.
func (s Stream) stretch(length time.Duration) (windows int64, items []budget.Item) {
	windows = s.Overlapping(length)
	touched := windows // those in which the person counts
	if s.MaxWindows != nil {
		touched = s.MaxWindows.AtMostOf(windows)
	}
	edges := min(touched, 2*s.Overlapping(0))
	return windows, append(s.window(s.Changed(windows)-edges), budget.Times(s.Edge, edges)...)
}

// window returns what n windows cost a person who counts in all of them.
func (s Stream) window(n int64) []budget.Item { return budget.Times(s.Items, n) }
