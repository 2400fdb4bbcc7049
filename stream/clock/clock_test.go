package clock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// machine has a wall clock that can be set, and a broker with a clock of its own.
type machine struct {
	*Watch
	set, broker time.Duration // what the wall clocks are ahead of the true time
	answer      time.Duration // how long the broker takes
	silent      bool          // the broker does not tell the time
	failing     bool
	heard       []string
}

const limit = time.Second

func start(t *testing.T, change ...func(*machine)) *machine {
	t.Helper()
	m := &machine{}
	for _, f := range change {
		f(m)
	}
	m.Watch = New(limit, func(context.Context) (time.Time, error) {
		time.Sleep(m.answer)
		switch {
		case m.failing:
			return time.Time{}, errors.New("no broker")
		case m.silent:
			return time.Time{}, nil
		}
		return time.Now().Add(m.broker).Truncate(time.Millisecond), nil
	}, func(err error) {
		if err == nil {
			m.heard = append(m.heard, "right")
		} else {
			m.heard = append(m.heard, err.Error())
		}
	}, func() time.Time { return time.Now().Add(m.set).Round(0) })
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go m.Run(ctx)
	synctest.Wait()
	return m
}

// during looks at the clock as ingest does, and says whether it was relied upon all the time, never or now and then.
func (m *machine) during(d time.Duration) string {
	yes, no := 0, 0
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		if _, err := m.Now(); err == nil {
			yes++
		} else {
			no++
		}
	}
	switch {
	case no == 0:
		return "yes"
	case yes == 0:
		return "no"
	}
	return "both"
}

func (m *machine) want(t *testing.T, d time.Duration, relied string) {
	t.Helper()
	if got := m.during(d); got != relied {
		_, err := m.Now()
		t.Errorf("relied upon for %v: %s, want %s; now: %v", d, got, relied, err)
	}
}

func TestAStepAheadIsNotFollowed(t *testing.T) {
	for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour, 2 * time.Second, -2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := start(t)
			m.want(t, time.Minute, "yes")
			m.set += step
			m.want(t, time.Hour, "no") // for as long as it is wrong
			m.set -= step
			m.want(t, settle-time.Second, "no")
			m.during(5 * time.Second)
			m.want(t, time.Minute, "yes")
			if len(m.heard) != 2 || !strings.Contains(m.heard[0], "has stepped") || m.heard[1] != "right" {
				t.Errorf("heard %q, want one step and one return", m.heard)
			}
		})
	}
}

func TestAWokenMachineGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		m.want(t, time.Minute, "yes")
		// The monotonic clock stands still while a machine sleeps. The brokers' goes on.
		m.set, m.broker = time.Hour, time.Hour
		m.want(t, settle-time.Second, "no")
		m.during(5 * time.Second)
		m.want(t, time.Hour, "yes")
	})
}

func TestSlewingIsNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		for range 600 { // 500 ppm, the most that NTP does, for an hour
			m.set += 3 * time.Millisecond / 2
			m.broker += 3 * time.Millisecond / 2
			m.want(t, 3*time.Second, "yes")
		}
	})
}

// Steps that are small by themselves add up: the brokers tell.
func TestDriftIsNoticedByTheBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		for range 100 {
			m.set += 30 * time.Millisecond
			m.during(time.Second)
		}
		m.want(t, time.Minute, "no")
		if len(m.heard) != 1 || !strings.Contains(m.heard[0], "ahead of the brokers'") {
			t.Errorf("heard %q", m.heard)
		}
	})
}

func TestAClockThatIsWrongFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, func(m *machine) { m.set = -time.Hour })
		m.want(t, time.Minute, "no")
		m.set = 0
		m.during(settle + 5*time.Second)
		m.want(t, time.Minute, "yes")
	})
}

func TestASlowBrokerIsNoWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, func(m *machine) { m.answer = 9 * time.Second })
		m.during(10 * time.Second)
		m.want(t, 10*time.Minute, "yes")
	})
}

func TestABrokerThatDoesNotAnswerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, func(m *machine) { m.failing = true })
		m.want(t, time.Minute, "no") // never compared
		m.failing = false
		m.during(2 * time.Second)
		m.want(t, time.Minute, "yes")
		m.failing = true
		m.want(t, time.Hour, "yes")
		m.set = time.Hour
		m.want(t, time.Hour, "no")
	})
}

// Without the brokers' time a step can't be told from a machine that was asleep.
func TestWithoutTheBrokersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, func(m *machine) { m.silent = true })
		m.want(t, time.Minute, "yes")
		m.set = time.Hour
		m.want(t, settle-time.Second, "no")
		m.during(5 * time.Second)
		m.want(t, time.Minute, "yes")
		if !slices.Equal(m.heard[1:], []string{"right"}) {
			t.Errorf("heard %q", m.heard)
		}
	})
}

// due runs a clock of a certain speed for ten minutes and returns when each of the windows of ten seconds closed, by
// the true time after it was due.
func due(t *testing.T, speed float64) (closed []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		since := func() time.Duration { return time.Duration(speed * float64(time.Since(began))) }
		w := New(limit, func(ctx context.Context) (time.Time, error) {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
			return time.Now(), ctx.Err()
		}, func(error) {}, func() time.Time { return began.Add(since()).Round(0) })
		w.elapsed = since
		go w.Run(t.Context())
		next := began.Add(10 * time.Second)
		for time.Since(began) < 10*time.Minute {
			now, err := w.Now()
			if confirmed := w.Confirmed(next); err == nil && !now.Before(next) && confirmed {
				closed = append(closed, time.Since(next))
				next = next.Add(10 * time.Second)
			}
			time.Sleep(250 * time.Millisecond)
		}
	})
	return closed
}

func TestAFastClockClosesNoWindowEarly(t *testing.T) {
	for _, speed := range []float64{1.2, 1.01, 0.8} {
		for i, after := range due(t, speed) {
			if after < -limit {
				t.Errorf("a clock of speed %v closes window %d %v before it is due, want at most %v", speed, i,
					-after, limit)
			}
		}
	}
}

func TestConfirmationTakesNoTime(t *testing.T) {
	closed := due(t, 1)
	if len(closed) < 59 {
		t.Errorf("%d windows are closed in ten minutes, want 59", len(closed))
	}
	for i, after := range closed {
		if after < 0 || after > 250*time.Millisecond {
			t.Errorf("window %d closes %v after it is due, want less than 250ms", i, after)
		}
	}
}

func TestWithoutTheBrokersTimeNothingIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		m.failing = true
		m.during(70 * time.Second)
		if m.Confirmed(time.Now()) {
			t.Error("a window may close although no broker has confirmed that it is over")
		}
		m.during(time.Second)
		m.failing = false
		now := time.Now()
		m.Confirmed(now)
		m.during(time.Second)
		if !m.Confirmed(now) {
			t.Error("no window may close although a broker has confirmed that it is over")
		}
	})
}
