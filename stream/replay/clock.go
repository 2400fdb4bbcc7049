package replay

import (
	"context"
	"time"

	"github.com/louver/louver/stream/codec"
)

// clock moves event times and says when events are due.
type clock struct {
	begun   bool
	first   time.Time     // the first event's time in the file
	started time.Time     // when it was yielded
	elapsed time.Duration // from the first event to the current one, by their times in the file
}

// move goes to the next event and returns its time in the record.
func (c *clock) move(at time.Time, o Options) time.Time {
	if !c.begun {
		c.begun, c.first, c.started = true, at, time.Now()
	}
	c.elapsed = at.Sub(c.first)
	if o.From.IsZero() {
		return at
	}
	if o.Speed > 0 {
		return o.From.UTC().Add(atSpeed(c.elapsed, o.Speed))
	}
	return o.From.UTC().Add(c.elapsed)
}

// wait waits until the current event is due.
func (c *clock) wait(ctx context.Context, speed float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if speed == 0 {
		return nil
	}
	left := atSpeed(c.elapsed, speed) - time.Since(c.started)
	if left <= 0 {
		return nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atSpeed returns how long a duration takes in a replay at a speed, at most 146 years.
func atSpeed(d time.Duration, speed float64) time.Duration {
	const most = 1 << 62
	return time.Duration(min(max(float64(d)/speed, -most), most))
}

// Formats of dates in files, in addition to those that streams accept. Without zone they are UTC; fractions of seconds
// may follow.
var layouts = []string{
	"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04", "2006-01-02",
}

func parseTime(text []byte) (time.Time, bool) {
	if ns, ok := codec.ParseTime(text); ok {
		return time.Unix(0, ns).UTC(), true
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t.UTC(), t.Year() >= 1970 && t.Year() < 2262
		}
	}
	return time.Time{}, false
}
