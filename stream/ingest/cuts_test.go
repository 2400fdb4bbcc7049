package ingest

import (
	"testing"
	"time"
)

// A fetch waits until the first window of any route is due. A window that is due already has to wait for something
// else, and one that never comes is not waited for.
func TestFetchesWaitUntilAWindowIsDue(t *testing.T) {
	const long = time.Hour
	early, late, over := testRoute(t, testStream(t)), testRoute(t, testStream(t)), testRoute(t, testStream(t))
	late.through += 2 * second
	over.schedule.End = over.schedule.First().End
	over.through = over.schedule.End
	due := early.nextDue()
	for _, c := range []struct {
		routes []*route
		before int64 // due
		want   time.Duration
	}{
		{[]*route{early}, int64(5 * time.Millisecond), 5 * time.Millisecond},
		{[]*route{over, late, early}, 1, 1},
		{[]*route{early, late}, 0, 2 * time.Second},
		{[]*route{late, early}, -second, time.Second},
		{[]*route{early}, 0, long},
		{[]*route{over}, 1, long},
		{nil, 1, long},
	} {
		got := untilDue(c.routes, due-c.before)
		if got > long {
			got = long
		}
		if got != c.want {
			t.Errorf("%s before the first of %d routes is due: it waits %s, want %s", time.Duration(c.before),
				len(c.routes), got, c.want)
		}
	}
}
