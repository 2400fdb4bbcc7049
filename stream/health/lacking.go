package health

import (
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// lacks notes that something is retried for want of a right, or with "" that it is not.
func (m *Monitor) lacks(problem, right string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if right == "" {
		delete(m.lacking, problem)
		return
	}
	if m.lacking == nil {
		m.lacking = map[string]lack{}
	}
	m.lacking[problem] = lack{right, time.Now()}
}

// lacked are the rights that are missing now. A worker that ends does not say whether it has got its right, so they
// lapse. The caller holds the monitor's mutex.
func (m *Monitor) lacked(now time.Time) (rights []string) {
	for _, l := range m.lacking {
		if now.Sub(l.seen) < episode.Refused.Lapse {
			rights = append(rights, l.right)
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}

// Tells reports whether the cause of an error has a line of its own: Kafka is lost, or a broker cannot be reached at
// the address that it names.
func (m *Monitor) Tells(err error) bool {
	var away *kafkaconn.AwayError
	return m.Lost() || errors.As(err, &away)
}

// Retrying makes a hook for retries, as [episode.Log.Retrying] does. It is silent about what [Monitor.Tells].
func (m *Monitor) Retrying(problem, solved string) func(error) {
	hook := m.Episodes.Retrying(problem, solved)
	return func(err error) {
		m.lacks(problem, kafkaconn.Missing(err))
		if err != nil && m.Tells(err) {
			m.Episodes.Forget(problem)
			return
		}
		if kafkaconn.Unauthorised(err) {
			m.Episodes.On(problem, episode.Refused, problem, zap.Error(err))
			return
		}
		hook(err)
	}
}
