package demo

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/simulate"
	"github.com/louver/louver/stream/web"
	"github.com/louver/louver/windows"
)

// simulation is the scene of the simulated service.
type simulation struct {
	file    []byte        // the streams file
	before  time.Duration // how much of the past is sent first: usually past
	conn    *kafkaconn.Conn
	stream  *config.Stream
	service *simulate.Service

	mu    sync.Mutex
	truth *simulate.Truth
	sent  time.Time      // all events before this are sent; only the feeding goroutine changes it
	torn  map[int64]bool // ends of windows that were due before all of their events were sent
	told  []toldWindow   // the newest windows
	price cost.Loss      // of the newest window

	again redraws
}

// toldWindow is the API's answer about a window of a demo beyond its figures. Its JSON names are public.
type toldWindow struct {
	Stream    string    `json:"stream"`
	WindowEnd time.Time `json:"window_end"`
	// Truth holds the figures without noise, by group/release.
	Truth map[string]json.Number `json:"truth"`
	// Incident is the group that was slow in a part of the window; null if none was.
	Incident *string `json:"incident"`
	// Torn says that the process was delayed and did not send all simulated events, so the figures lack them.
	Torn bool `json:"torn"`
	// Robin says whether Robin called.
	Robin bool `json:"robin"`
}

// mostTold is how many windows the API tells about.
const mostTold = 1000

const (
	// past is how much of the past the demo sends first, so that there are figures at once.
	past = time.Minute
	// ahead is how long before its time an event is sent. Only a simulated service can do that. So events are in their
	// topic long before the window closes, even on a busy machine.
	ahead = 30 * time.Second
	// early is as much of that as the stages find when they start. The rest follows, at most burst pieces at a time:
	// the first figures need the processor more.
	early = 15 * time.Second
	burst = 2
	// spare is how long before a window closes its events must be sent. If the window closes sooner, for example after
	// a laptop was asleep, they would be late and are not sent.
	spare = 5 * time.Second
	// piece is the time whose events are sent together.
	piece = time.Second
)

func newSimulation() *simulation {
	return &simulation{file: simulate.Streams(), before: past, torn: map[int64]bool{}}
}

func (s *simulation) streams(context.Context, func(string)) ([]*config.Stream, error) {
	file, err := parse.File("the demo's streams", s.file, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	s.stream = file.Streams[0]
	from := windows.NextBoundary(time.Now().Add(-s.before).UnixNano(), s.stream.Window.Every)
	for _, st := range file.Streams { // all have the same windows of the same events
		st.Window.StartNow, st.Window.Start = false, from
	}
	s.sent = time.Unix(0, from).UTC()
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, err
	}
	s.service = simulate.New(simulate.Config{Seed: binary.NativeEndian.Uint64(seed[:])})
	s.truth = simulate.NewTruth(s.stream)
	s.again.stream = s.stream
	return file.Streams, nil
}

func (s *simulation) begin(ctx context.Context, conn *kafkaconn.Conn, say func(string)) error {
	s.conn = conn
	say("sending the requests of the last minute")
	for s.sent.Before(time.Now().Add(early)) {
		if err := s.send(ctx, s.sent.Add(5*piece)); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) feed(ctx context.Context) error {
	tick := time.NewTicker(piece / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for range burst {
			if !s.sent.Before(time.Now().Add(ahead)) {
				break
			}
			s.skip()
			if err := s.send(ctx, s.sent.Add(piece)); err != nil {
				return err
			}
			s.check()
		}
	}
}

// send sends the events before a time.
func (s *simulation) send(ctx context.Context, until time.Time) error {
	var records []txn.Record
	s.mu.Lock()
	s.service.Events(s.sent, until, func(e simulate.Event) {
		s.truth.Add(e)
		// The partition does not depend on the user: events of one user reach all partitions, and still count once.
		records = append(records, txn.Record{Topic: s.stream.Input.Topic, Partition: len(records) % inputPartitions,
			Value: e.AppendJSON(nil), Time: e.Time.UnixMilli()})
	})
	s.mu.Unlock()
	if err := txn.Send(ctx, s.conn.Client, records); err != nil {
		return err
	}
	s.reach(until)
	return nil
}

// reach records that no more events before a time will be sent.
func (s *simulation) reach(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = until
}

// schedule returns the schedule of the windows.
func (s *simulation) schedule() windows.Schedule {
	return s.stream.Window.Schedule(s.stream.Window.Start)
}

// skip leaves out the windows that close too soon for their unsent events.
func (s *simulation) skip() {
	for w, ok := s.schedule().After(s.sent.UnixNano()); ok && s.schedule().Due(w) < time.Now().Add(spare).UnixNano(); w,
		ok = s.schedule().Next(w) {
		s.tear(w)
		s.reach(time.Unix(0, w.End).UTC())
	}
}

// check records a window that was due before the broker had the last events.
func (s *simulation) check() {
	for w := range s.schedule().Containing(s.sent.UnixNano() - 1) {
		if s.schedule().Due(w) <= time.Now().UnixNano() {
			s.tear(w)
		}
	}
}

func (s *simulation) tear(w windows.Window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.torn[w.End] = true
}

func (s *simulation) tell(p *picture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	figures, samples := s.truth.Take(p.end)
	p.sim = &simulated{figures: figures, robin: s.service.RobinCalls(p.start),
		torn: s.torn[p.end.UnixNano()] || s.sent.Before(p.end)}
	if samples != nil && !p.sim.torn {
		s.again.add(p.start, p.end, samples, figures)
	}
	delete(s.torn, p.end.UnixNano())
	for _, i := range []simulate.Incident{s.service.Incident(p.start), s.service.Incident(p.end)} {
		if i.Start.Before(p.end) && p.start.Before(i.End) {
			p.sim.incident = i.Region
		}
	}
	s.tellAPI(p)
}

func (s *simulation) tellAPI(p *picture) {
	w := toldWindow{Stream: p.stream.Name, WindowEnd: p.end, Truth: map[string]json.Number{}, Torn: p.sim.torn,
		Robin: p.sim.robin}
	for _, r := range slices.Concat(p.records, p.watches) {
		if text := p.sim.truth(r); text != "" {
			w.Truth[r.Group+"/"+r.Release] = json.Number(text)
		}
	}
	if p.sim.incident != "" {
		w.Incident = &p.sim.incident
	}
	s.told = append(s.told[max(0, len(s.told)-mostTold+1):], w)
	s.price = p.loss()
}

func (s *simulation) demo() web.Demo { return s }

// Known implements [web.Demo].
func (s *simulation) Known() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"windows": slices.Clone(s.told), "stream": s.stream.Name, "releases": s.again.releases(),
		"epsilons": epsilons, "window_epsilon": json.Number(s.price.Epsilon.String()),
		"window_right_of_100": json.Number(hundredths(s.price.Guess()))}
}

// Redraw implements [web.Demo].
func (s *simulation) Redraw(release, epsilon string) (any, error) {
	return s.again.answer(release, epsilon)
}

func (s *simulation) text() sceneText {
	return sceneText{
		title:  "Louver demo: how fast does a simulated service answer?",
		remark: "These users are simulated, so the truth is shown next to the private figures.",
		guess:  true,
		news:   s.news,
	}
}

func (s *simulation) next() string {
	return `Your own Kafka:
  louver init streams.yaml --topic TOPIC
  louver check streams.yaml
  louver run --streams streams.yaml
`
}

// news tells of the incident at a time, or of the last one, and of the watch.
func (s *simulation) news(p picture, now time.Time) (text string, alarm bool) {
	i := s.service.Incident(now)
	if now.Before(i.Start) {
		i = s.service.Before(i)
	}
	a := alarmOf(p)
	switch {
	case a != nil && a.since != nil:
		return a.String(), true
	case now.Before(i.End):
		return fmt.Sprintf("Incident since %s: %s is three times as slow. Do the figures show it?",
			i.Start.Format(time.TimeOnly), i.Region), true
	case a != nil:
		return a.String(), false
	}
	return fmt.Sprintf("No incident now. The last one, in %s, ended at %s after %.0f s.", i.Region,
		i.End.Format(time.TimeOnly), i.End.Sub(i.Start).Seconds()), false
}
