package stream

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// What a service says of the windows that are ahead.

// schedules returns the schedules of each stream's definitions, in order.
func schedules(editions []config.Edition) map[string][]windows.Schedule {
	all := map[string][]windows.Schedule{}
	for _, e := range editions {
		all[e.Stream.Name] = append(all[e.Stream.Name], e.Schedule)
	}
	return all
}

// upcoming says when the next window of any stream closes. Windows that are over may still be published: it does not
// know which of them were.
func upcoming(editions []config.Edition, now time.Time) string {
	first, over := int64(math.MaxInt64), int64(0)
	for _, e := range editions {
		over += e.Schedule.DueSince(e.Schedule.First(), now.UnixNano())
		if w, ok := e.Schedule.After(now.UnixNano() - int64(e.Schedule.Grace)); ok {
			first = min(first, e.Schedule.Due(w))
		}
	}
	if first == math.MaxInt64 {
		return fmt.Sprintf("all windows are over (%s), and those that are not published yet are published now",
			humanize.Comma(over))
	}
	return "the next window closes at " + time.Unix(0, first).UTC().Format(time.RFC3339)
}

// tellOver logs once that no window is ahead any more, a minute after the start or after the last one is due: what
// happens to the last windows is told before. The service goes on: it publishes what is not published yet, shows the
// past, and reads changed files on SIGHUP. Without the line nobody could tell a service that has nothing to do from one
// that hangs. It returns when it has logged, when ctx ends, or at once if a stream has no end.
func tellOver(ctx context.Context, editions []config.Edition, log *zap.Logger) {
	last := int64(math.MinInt64)
	for _, e := range editions {
		if e.Schedule.End == 0 {
			return
		}
		last = max(last, e.Schedule.End+int64(e.Schedule.Grace))
	}
	due := time.NewTimer(max(0, time.Until(time.Unix(0, last))) + time.Minute)
	defer due.Stop()
	select {
	case <-ctx.Done():
	case <-due.C:
		log.Warn("no more windows are to come: the last one of every stream is over. This process goes on, and shows "+
			"what is published. For more figures give a stream a later end, or none, and send SIGHUP",
			zap.Time("last_due", time.Unix(0, last).UTC()))
	}
}
