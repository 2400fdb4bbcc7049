package health

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Report says how the process is doing, at one moment.
type Report struct {
	// Ready says that it does its work.
	Ready bool
	// Reasons say why it is not ready. Public: they hold no figure that depends on a person.
	Reasons []string
	// Facts are one line for Kafka, each broker, each stage and each stream that waits here.
	Facts []string
}

// String is the text of /readyz: the service first, with the reasons if it is not ready, then all facts.
func (r Report) String() string {
	first := "service: ok"
	if !r.Ready {
		first = "service: not ready: " + strings.Join(r.Reasons, "; ")
	}
	return strings.Join(append([]string{first}, r.Facts...), "\n") + "\n"
}

func (r *Report) fact(format string, args ...any) {
	r.Facts = append(r.Facts, fmt.Sprintf(format, args...))
}

// problem is a fact that makes the process unready.
func (r *Report) problem(format string, args ...any) {
	r.fact(format, args...)
	r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
}

// Report says how the process is doing now.
func (m *Monitor) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, at := time.Now(), m.now() // windows may close by a clock of their own
	var r Report
	if m.stopped {
		r.Reasons = append(r.Reasons, "stopping")
	}
	if m.waiting != "" {
		r.Reasons = append(r.Reasons, m.waiting)
	}
	m.kafka(&r, now)
	if m.clock != nil {
		if _, err := m.clock(); err != nil {
			r.problem("clock: %v: no window closes", err)
		} else {
			r.fact("clock: ok")
		}
	}
	for _, right := range m.lacked(now) {
		r.fact("rights: %s is missing", right)
	}
	overdue, behind, again := map[string]string{}, map[string]int64{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m.stages)) {
		m.stages[name].report(&r, now, at, m.waiting == "", overdue)
		for stream, o := range m.stages[name].overdue(at) {
			behind[stream] = max(behind[stream], o.Windows)
			if a, n := m.stages[name].again(stream, now); n > 0 {
				again[stream] = fmt.Sprintf("%v (%s, partitions: %d)", a, name, n)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.streams)) {
		if why, ok := overdue[name]; ok {
			r.problem("stream %s: %s", name, why)
		} else if why, ok := again[name]; ok {
			r.fact("stream %s: %s", name, why)
		} else if n := behind[name]; n > 1 { // one has just become due
			r.fact("stream %s: ok, catching up with %d windows", name, n)
		} else {
			r.fact("stream %s: ok", name)
		}
	}
	r.Ready = len(r.Reasons) == 0
	return r
}

func (m *Monitor) kafka(r *Report, now time.Time) {
	switch {
	case m.lost != nil:
		r.problem("kafka: lost %s ago: %s", episode.Round(now.Sub(m.lost.since)), m.lost.reason)
	case m.brokers != nil:
		r.fact("kafka: ok")
	}
	if m.brokers == nil {
		return
	}
	for _, b := range m.brokers() {
		var away *kafkaconn.AwayError
		switch {
		case errors.As(b.Failure, &away):
			r.fact("%v", away)
		case b.Failure != nil:
			r.fact("broker %s: cannot be reached: %v", b.Addr, b.Failure)
		case b.Heard.IsZero() && b.Tried.IsZero(): // it was not needed yet
		case b.Heard.IsZero():
			r.fact("broker %s: has not answered yet", b.Addr)
		default:
			r.fact("broker %s: heard %s ago", b.Addr, now.Sub(b.Heard).Truncate(time.Second))
		}
	}
}

// report adds the stage's facts, now, and at that time of the clock by which windows close. It adds to overdue, by
// stream, a line about windows that wait too long.
func (s *Stage) report(r *Report, now, at time.Time, started bool, overdue map[string]string) {
	if !started {
		r.fact("%s: not begun", s.name)
		return
	}
	var stuck []string
	for _, of := range slices.SortedFunc(maps.Keys(s.partitions), Partition.compare) {
		p := s.partitions[of]
		if waited := now.Sub(p.assigned); !p.opened && waited > Patience {
			stuck = append(stuck, fmt.Sprintf("%s/%d not opened for %s", of.Topic, of.Number, episode.Round(waited)))
		}
		for stream, n := range p.next {
			if why, ok := n.overdue(at, later(s.monitor.back, p.again[stream].Until)); ok && overdue[stream] == "" {
				overdue[stream] = fmt.Sprintf("%s (%s, %s/%d)", why, s.name, of.Topic, of.Number)
			}
		}
	}
	stands := append(s.blockedFacts(now), s.unreadFacts(now)...)
	if r.Facts = append(r.Facts, stands...); s.only {
		r.Reasons = append(r.Reasons, stands...)
	}
	if s.left != nil {
		r.fact("%s: leaves its partitions to other processes, because %v", s.name, s.left)
		return
	}
	joining := now.Sub(s.joining)
	if !s.joining.IsZero() && (!s.member || joining > rejoinPatience) {
		r.problem("%s: joining its consumer group for %s", s.name, episode.Round(joining))
		return
	}
	work := fmt.Sprintf("%d partitions", len(s.partitions))
	if len(s.partitions) == 1 {
		work = "1 partition"
	}
	switch {
	case len(stuck) > 0:
		r.problem("%s: %s", s.name, strings.Join(stuck, ", "))
	case !s.joining.IsZero():
		r.fact("%s: %s, joining again for %s", s.name, work, episode.Round(joining))
	default:
		r.fact("%s: %s", s.name, work)
	}
}

// later returns the later of two moments.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// overdue reports whether a window has waited too long. Until held, it had to wait because its broker was away.
func (n next) overdue(now, held time.Time) (string, bool) {
	waits := later(later(n.due, n.since), held)
	if now.Sub(waits) <= Patience+n.of.Grace {
		return "", false
	}
	return fmt.Sprintf("the window that was due %s is %s overdue", n.due.UTC().Format(time.RFC3339),
		episode.Round(now.Sub(n.due))), true
}
