// Package clock says whether the wall clock can be trusted.
//
// A window closes by the wall clock, and its price is spent when it closes. A clock that steps a day ahead would close
// a day of windows before their events exist. They would be charged although they are empty, and all their events would
// be late.
//
// The time is trusted while
//
//   - it does not step: between two readings, the wall clock advances as much as the monotonic clock, within the limit;
//   - it agrees with the brokers: the time at which a broker appends a record lies between sending and acknowledgement,
//     within the limit.
//
// The limit is half the shortest grace, so an NTP client that slews by milliseconds or a slow broker does not matter.
// If either condition fails, windows stay open and the process is not ready. The clock is trusted again once both
// conditions have held for ten seconds, for example after a correction or when a suspended machine wakes up. If the
// brokers don't tell the time (the progress topic has no LogAppendTime), only the first condition applies.
//
// A clock that runs fast can get ahead between two comparisons. So a window closes only when a broker's own time has
// come to within the limit of the moment at which the window is due. The watch asks a broker shortly before.
package clock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Clock is the time by which windows close.
type Clock interface {
	// Now is the wall time. An error says why it cannot be trusted.
	Now() (time.Time, error)
	// Confirmed reports whether the brokers' time has reached t, within the limit. If no broker has said so and one may
	// say so now, one is asked soon, so the answer is worth asking for again.
	Confirmed(t time.Time) bool
	// Takes returns how long this clock takes to advance by d. Only a clock that does not keep real time takes another
	// time than d.
	Takes(d time.Duration) time.Duration
}

const (
	// settle is how long the clock has to be right before it is trusted again.
	settle = 10 * time.Second
	// checkEvery is how often it is compared with the brokers' clocks, and retryEvery how often while it is not
	// trusted.
	checkEvery = 30 * time.Second
	retryEvery = time.Second
	// askAgain is how soon a broker may be asked again to confirm a time.
	askAgain = 100 * time.Millisecond
)

// Watch is a wall clock that notices when it is wrong. It is safe for concurrent use.
type Watch struct {
	limit   time.Duration
	brokers func(context.Context) (time.Time, error)
	changed func(error)
	wall    func() time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	behind span          // at the last reading
	steps  int           // seen so far
	err    error         // nil while the clock is trusted
	fresh  bool          // nothing has been compared yet
	told   time.Time     // the broker's time of the last comparison; zero if it has none
	heard  time.Duration // when that was, by the monotonic clock
	asked  time.Duration // when a broker was asked last, whether it answered or not
	mute   bool          // the brokers don't tell the time
	ask    chan struct{} // asks for a comparison
	right  time.Duration // since when the clock has been right, by the monotonic clock; −1: it is not
}

// span bounds how far the monotonic clock is behind the wall clock: reading both takes a moment.
type span struct{ low, high time.Duration }

// New makes a watch with a limit for steps and for the difference from the brokers. brokers asks a broker for its time,
// and returns zero if it has none. changed is called with the reason when the clock is no longer trusted, and with nil
// when it is trusted again. wall is time.Now, except in tests. The clock is not trusted until Run has compared it once.
func New(limit time.Duration, brokers func(context.Context) (time.Time, error), changed func(error),
	wall func() time.Time) *Watch {
	start := time.Now()
	w := &Watch{limit: limit, brokers: brokers, changed: changed, wall: wall,
		elapsed: func() time.Duration { return time.Since(start) },
		err:     errors.New("the clock has not been compared with the brokers' yet"), fresh: true, right: -1,
		ask: make(chan struct{}, 1)}
	_, w.behind = w.read()
	return w
}

// read looks at both clocks.
func (w *Watch) read() (now time.Time, behind span) {
	before := w.elapsed()
	now = w.wall()
	after := w.elapsed()
	since := time.Duration(now.UnixNano()) // both count nanoseconds; only the difference matters
	return now, span{since - after, since - before}
}

// Now implements Clock.
func (w *Watch) Now() (time.Time, error) {
	now, report, err := w.look()
	report()
	return now, err
}

// Confirmed implements Clock.
func (w *Watch) Confirmed(t time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := t.Add(-w.limit)
	if w.mute || !w.told.Before(from) {
		return true
	}
	if at := w.elapsed(); at-w.asked >= askAgain && !w.told.Add(at-w.heard).Before(from) {
		select {
		case w.ask <- struct{}{}:
		default:
		}
	}
	return false
}

// Takes implements Clock.
func (w *Watch) Takes(d time.Duration) time.Duration { return d }

// look reads the time and notices a step.
func (w *Watch) look() (now time.Time, report func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, behind := w.read()
	step := max(behind.low-w.behind.high, w.behind.low-behind.high, 0)
	ahead := behind.low > w.behind.high
	w.behind = behind
	report = func() {}
	if step > w.limit {
		w.steps++
		direction := "back"
		if ahead {
			direction = "ahead"
		}
		report = w.distrust(fmt.Errorf("the clock of this machine has stepped %s by %s", direction,
			step.Round(time.Millisecond)))
	}
	return now, report, w.err
}

// distrust stops trusting the clock. The function that it returns reports the change, without the lock.
func (w *Watch) distrust(why error) (report func()) {
	relied := w.err == nil
	w.err, w.right = why, -1
	if relied {
		return func() { w.changed(why) }
	}
	return func() {}
}

// Run compares the clock with the brokers' until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for next := time.Duration(0); ; {
		if _, err := w.Now(); err != nil || w.elapsed() >= next {
			w.check(ctx)
			next = w.elapsed() + checkEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.ask:
			next = 0
		}
	}
}

// check compares once. A broker that does not answer changes nothing.
func (w *Watch) check(ctx context.Context) {
	sent, _ := w.Now()
	w.mu.Lock()
	steps := w.steps
	w.mu.Unlock()
	told, err := w.brokers(ctx)
	acknowledged, _ := w.Now()
	w.mu.Lock()
	report := func() {}
	w.asked = w.elapsed()
	if err == nil {
		w.told, w.heard, w.mute = told, w.asked, told.IsZero()
	}
	if err == nil && w.steps == steps {
		report = w.compare(sent, acknowledged, told)
	}
	w.mu.Unlock()
	report()
}

// compare uses a broker's time. The function that it returns reports a change, without the lock.
func (w *Watch) compare(sent, acknowledged, told time.Time) (report func()) {
	var off time.Duration
	if !told.IsZero() {
		off = max(sent.Sub(told), told.Sub(acknowledged), 0)
	}
	if off > w.limit {
		w.fresh = false
		side := "behind"
		if sent.After(told) {
			side = "ahead of"
		}
		return w.distrust(fmt.Errorf("the clock of this machine is %s %s the brokers'", off.Round(time.Millisecond),
			side))
	}
	if w.right < 0 {
		w.right = w.elapsed()
	}
	if w.err == nil || !w.fresh && w.elapsed()-w.right < settle {
		return func() {}
	}
	first := w.fresh
	w.err, w.fresh = nil, false
	if first {
		return func() {}
	}
	return func() { w.changed(nil) }
}
