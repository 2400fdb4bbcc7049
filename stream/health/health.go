// Package health answers one question: does this process work? The stages report facts, the connections to Kafka are
// watched, and [Monitor.Report] makes the answer of /readyz from both.
//
// A process judges only what it owns: the partitions that its consumer groups assigned to it, and the windows that are
// decided there. A process without partitions is ready.
//
// It is not ready
//   - until every stage has joined its group, and when rejoining takes longer than a rebalance;
//   - while no broker answers, which is noticed within eight seconds;
//   - while the clock by which windows close cannot be trusted;
//   - while a partition has not been opened for half a minute after it was assigned;
//   - while a due window waits for longer than its grace plus half a minute. The time starts again with each window
//     that its stream finishes, so a process that works off a backlog is ready. It also starts again when Kafka is
//     back;
//   - while the one output of a stage takes no figures or cannot be read: see [Stage.Only];
//   - from the moment it is asked to stop.
package health

import (
	"cmp"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

const (
	// Patience is how long work may wait before it counts as stuck. For a window, its grace is added.
	Patience = 30 * time.Second
	// rejoinPatience is how long a member may take to join again: a rebalance waits for other members for up to the
	// session timeout of 10 s.
	rejoinPatience = 15 * time.Second
)

// Monitor knows how the process is doing. It is safe for concurrent use.
type Monitor struct {
	// Episodes logs lasting conditions.
	Episodes *episode.Log

	log     *zap.Logger
	mu      sync.Mutex
	waiting string // what the stages wait for before they begin; empty once they run
	stopped bool
	stages  map[string]*Stage
	streams map[string][]windows.Schedule
	brokers func() []kafkaconn.Broker // nil: not watched
	lost    *outage                   // nil while a broker answers
	away    time.Time                 // when the last outage that is over began
	back    time.Time                 // and when it ended
	lacking map[string]lack           // by problem
	clock   func() (time.Time, error) // by which windows close, and why it is not trusted; nil: time.Now
}

// New makes the monitor of a process that runs these stages.
func New(log *zap.Logger, stages ...string) *Monitor {
	m := &Monitor{Episodes: episode.New(log), log: log, waiting: "starting", stages: map[string]*Stage{}}
	for _, name := range stages {
		m.stages[name] = &Stage{monitor: m, name: name, joining: time.Now(), partitions: map[Partition]*partition{}}
	}
	return m
}

// Stage returns the handle through which a stage reports.
func (m *Monitor) Stage(name string) *Stage { return m.stages[name] }

// Waiting says what has to happen before the stages can begin, such as "connecting to Kafka".
func (m *Monitor) Waiting(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = what
}

// Started says that the stages begin. streams holds the schedules of all definitions of each stream, in order.
func (m *Monitor) Started(streams map[string][]windows.Schedule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting, m.streams = "", streams
}

// Clock names the clock by which windows close. Its error says why it cannot be trusted.
func (m *Monitor) Clock(ask func() (time.Time, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = ask
}

// now is the time by which windows close. The caller holds the mutex.
func (m *Monitor) now() time.Time {
	if m.clock == nil {
		return time.Now()
	}
	now, _ := m.clock()
	return now
}

// Stop turns readiness off for good.
func (m *Monitor) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
}

// Lost reports whether no broker answers.
func (m *Monitor) Lost() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost != nil
}

// Partition is a partition of a topic that a stage reads.
type Partition struct {
	Topic  string
	Number int
}

func (p Partition) compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, o.Topic), cmp.Compare(p.Number, o.Number))
}

// Stage is one stage's part of the monitor. Its methods are safe for concurrent use.
type Stage struct {
	monitor *Monitor
	name    string
	only    bool // it has one output
	// The monitor's mutex guards the fields below.
	member     bool      // it has been in the group
	left       error     // why it has left the group for a while; nil: it has not
	joining    time.Time // when it began to join; zero once it is in
	partitions map[Partition]*partition
	unread     map[string]unread // by topic
}

// partition is the state of an assigned partition.
type partition struct {
	assigned time.Time
	opened   bool
	next     map[string]next           // by stream
	blocked  map[string]blocked        // by output
	again    map[string]progress.Again // by stream
}

// next is the oldest window of a stream that is not finished.
type next struct {
	window windows.Window
	of     windows.Schedule
	due    time.Time
	since  time.Time // when the previous one was finished, or the partition opened
}

// Reading returns how many partitions of a topic the stage reads. It is 0 while Kafka is lost.
func (s *Stage) Reading(topic string) int {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	n := 0
	for at, p := range s.partitions {
		if at.Topic == topic && p.opened && s.monitor.lost == nil {
			n++
		}
	}
	return n
}

// Left says that the stage has left its group to others, and why, or with nil that it takes part again.
func (s *Stage) Left(why error) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	s.left, s.joining = why, time.Time{}
}

// Joining says that the stage has no valid assignment.
func (s *Stage) Joining() {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	if s.joining.IsZero() {
		s.joining = time.Now()
	}
}

// Joined says that the group has assigned partitions.
func (s *Stage) Joined() {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	s.joining, s.member = time.Time{}, true
}

// Assigned says that a worker begins with a partition, or begins anew.
func (s *Stage) Assigned(at Partition) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	s.partitions[at] = &partition{assigned: time.Now(), next: map[string]next{}}
}

// Opened says that the worker has found where to begin.
func (s *Stage) Opened(at Partition) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	if p := s.partitions[at]; p != nil {
		p.opened = true
	}
}

// Gone says that the partition is no longer this process's.
func (s *Stage) Gone(at Partition) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	delete(s.partitions, at)
}

// Next says which window of a stream is the oldest that is not finished there. Reporting the same window again changes
// nothing.
func (s *Stage) Next(at Partition, stream string, w windows.Window, schedule windows.Schedule) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	p := s.partitions[at]
	if p == nil || p.next[stream].window == w {
		return
	}
	p.next[stream] = next{window: w, of: schedule, due: time.Unix(0, schedule.Due(w)),
		since: s.monitor.now()}
}

// Finished says that a stream has no further window there.
func (s *Stage) Finished(at Partition, stream string) {
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	if p := s.partitions[at]; p != nil {
		delete(p.next, stream)
	}
}

// lack is a right that is missing, and when that was last noticed.
type lack struct {
	right string
	seen  time.Time
}

// outage is a period in which no broker answers.
type outage struct {
	since  time.Time // when a broker was last heard
	reason string
}

// blocked is an output that takes no figures.
type blocked struct {
	since time.Time
	why   error
}
