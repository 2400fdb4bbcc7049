package health

import (
	"time"

	"github.com/louver/louver/stream/progress"
)

// Overdue is the work on a stream that is due and not finished by a stage of this process.
type Overdue struct {
	// Windows is how many windows are due and not finished.
	Windows int64
	// Wait is how long the oldest of them has been due; 0 if there is none.
	Wait time.Duration
}

// Overdue returns the overdue work on every stream in the stage's partitions. A stream of another process has none
// here.
func (s *Stage) Overdue() map[string]Overdue {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	return s.overdue(s.monitor.now())
}

func (s *Stage) overdue(now time.Time) map[string]Overdue {
	all := map[string]Overdue{}
	for name := range s.monitor.streams {
		all[name] = Overdue{}
	}
	for _, p := range s.partitions {
		for name, n := range p.next {
			if now.Before(n.due) {
				continue
			}
			o := Overdue{Windows: n.of.DueSince(n.window, now.UnixNano()), Wait: now.Sub(n.due)}
			for _, later := range s.monitor.streams[name] {
				if later.Start > n.of.Start {
					o.Windows += later.DueSince(later.First(), now.UnixNano())
				}
			}
			if o.Wait >= all[name].Wait {
				all[name] = o
			}
		}
	}
	return all
}

// Again says how a stream's windows wait in a partition whose broker was away, or with nil that they do not wait.
func (s *Stage) Again(at Partition, stream string, a *progress.Again) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	p := s.partitions[at]
	switch {
	case p == nil:
	case a == nil:
		delete(p.again, stream)
	default:
		if p.again == nil {
			p.again = map[string]progress.Again{}
		}
		p.again[stream] = *a
	}
}

// again returns the longest wait of a stream's windows for a broker that was away, and in how many partitions they
// wait. The caller holds the monitor's mutex.
func (s *Stage) again(stream string, now time.Time) (longest progress.Again, partitions int) {
	for _, p := range s.partitions {
		a, ok := p.again[stream]
		if !ok || !now.Before(a.Until) {
			continue
		}
		partitions++
		if a.Until.After(longest.Until) {
			longest = a
		}
	}
	return longest, partitions
}
