package health

import (
	"slices"
	"time"

	"github.com/louver/louver/stream/episode"
)

// lack is a right that is missing, and when that was last noticed.
type lack struct {
	right string
	seen  time.Time
}

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

// lacked are the rights that are missing now. A worker that ends does not say whether it has got its right, so they lapse. The
// caller holds the monitor's mutex.
func (m *Monitor) lacked(now time.Time) (rights []string) {
	for _, l := range m.lacking {
		if now.Sub(l.seen) < episode.Refused.Lapse {
			rights = append(rights, l.right)
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}
