package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

const (
	// tick is how often the brokers are checked. They answer a busy process several times a second, an idle one at each
	// heartbeat (every second), and one that still waits for topics at least every five seconds.
	tick = time.Second
	// silentTicks without a word from any broker mean that Kafka is lost; refusedTicks are enough if a connection could
	// not be opened meanwhile. They count ticks, not seconds, because a process that was itself stopped misses ticks.
	silentTicks  = 7
	refusedTicks = 3
)

// kafkaLost is the key and the rule of the lines about it.
const kafkaLost = "kafka lost"

var lostRule = episode.Rule{Every: time.Minute}

// A broker that the cluster names and that cannot be reached has a line of its own while others can. Those that have
// just stopped are named for some ten seconds more, so a broker that was reached before has that long.
const (
	neverReached  = 2 * time.Second
	reachedBefore = 15 * time.Second
)

// Watch checks the brokers until ctx ends. It logs when Kafka is lost and when it is back, and which broker alone
// cannot be reached. brokers may be [kafkaconn.Conn.Known].
func (m *Monitor) Watch(ctx context.Context, brokers func() []kafkaconn.Broker) {
	m.mu.Lock()
	m.brokers = brokers
	m.mu.Unlock()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began := time.Now()
	var heard time.Time
	silent := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		all := brokers()
		latest, failure := contacts(all)
		if latest.After(heard) {
			heard, silent = latest, 0
			m.found()
			m.single(all)
			continue
		}
		silent++
		if silent >= silentTicks || silent >= refusedTicks && failure != nil {
			since := heard
			if since.IsZero() {
				since = began
			}
			m.lose(since, failure)
		}
	}
}

// contacts sums up the brokers: when any last answered, and why one could not be reached. An address that was given may
// answer although none of those that the cluster names does. Then nothing can be read or written, and the answer does
// not count.
func contacts(brokers []kafkaconn.Broker) (heard time.Time, failure error) {
	named, reachable := false, false
	for _, b := range brokers {
		named, reachable = named || b.Named, reachable || b.Named && b.Failure == nil
	}
	for _, b := range brokers {
		if b.Heard.After(heard) && (b.Named || reachable || !named) {
			heard = b.Heard
		}
		if b.Failure != nil && (failure == nil || b.Given) {
			failure = b.Failure
		}
	}
	return heard, failure
}

// single tells of brokers that cannot be reached while others can.
func (m *Monitor) single(brokers []kafkaconn.Broker) {
	for _, b := range brokers {
		var away *kafkaconn.AwayError
		key := "broker " + b.Addr
		switch {
		case b.Named && errors.As(b.Failure, &away):
			rule := episode.Rule{After: neverReached}
			if away.Before {
				rule.After = reachedBefore
			}
			m.Episodes.On(key, rule, away.Error())
		case b.Failure == nil && !b.Heard.IsZero():
			m.Episodes.Over(key, "the broker at "+b.Addr+" can be reached")
		}
	}
}

func (m *Monitor) lose(since time.Time, failure error) {
	reason := fmt.Sprintf("no broker has answered for %s", episode.Round(time.Since(since)))
	if failure != nil {
		reason = failure.Error()
	}
	m.mu.Lock()
	m.lost = &outage{since: since, reason: reason}
	m.mu.Unlock()
	m.Episodes.On(kafkaLost, lostRule, "Kafka lost: "+reason)
}

func (m *Monitor) found() {
	m.mu.Lock()
	lost := m.lost
	m.lost = nil
	late := 0
	if lost != nil {
		m.away, m.back = lost.since, time.Now()
		late = m.due(lost.since, time.Now())
	}
	m.mu.Unlock()
	if lost == nil {
		return
	}
	message := fmt.Sprintf("Kafka back after %s", episode.Round(time.Since(lost.since)))
	switch late {
	case 0:
	case 1:
		message += ", 1 window was late"
	default:
		message += fmt.Sprintf(", %d windows were late", late)
	}
	m.Episodes.Forget(kafkaLost)
	m.log.Info(message)
}

// Away returns when the last outage, in which no broker answered, began and ended. Both are zero if there was none.
// During an outage back is now.
func (m *Monitor) Away() (since, back time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return m.lost.since, time.Now()
	}
	return m.away, m.back
}

// due counts the windows of all streams that were due after from and no later than to.
func (m *Monitor) due(from, to time.Time) int {
	n := 0
	for _, schedules := range m.streams {
		for _, s := range schedules {
			if w, ok := s.After(from.UnixNano() - int64(s.Grace)); ok {
				n += int(s.DueSince(w, to.UnixNano()))
			}
		}
	}
	return n
}
