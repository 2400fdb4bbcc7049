package demo

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/simulate"
	"github.com/louver/louver/stream/web"
	"github.com/louver/louver/windows"
)

// simulation is the scene of the simulated service.
type simulation struct {
	file    []byte        // the streams file
	before  time.Duration // how much of the past is sent first: usually past
	begins  time.Time     // what the clock says at first
	clock   *ownClock
	service *simulate.Service

	conn   *kafkaconn.Conn
	stream *config.Stream // the one that is shown beside the truth

	mu       sync.Mutex
	truth    *simulate.Truth
	sent     time.Time                   // all events before this are sent
	due      map[string]windows.Window   // by stream, the window that is not published yet
	of       map[string]windows.Schedule // by stream
	told     []toldWindow                // the newest windows
	pages    map[string]outputs.Record   // the newest figure of each group that was found
	requests outputs.Record              // the newest figure of all requests
	active   outputs.Record              // the newest number of active users
	today    map[string]outputs.Record   // by release, the newest quantiles so far
	price    cost.Loss                   // of the newest window

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
	// Torn said that events were not sent. It is false since the demo's clock waits for them.
	Torn bool `json:"torn"`
	// Robin says whether Robin called.
	Robin bool `json:"robin"`
}

// mostTold is how many windows the API tells about.
const mostTold = 200

const (
	// past is how much of the past the demo sends first, so that there is something to see.
	past = 24 * time.Hour
	// ahead is how many windows before its time an event is sent. Only a simulated service can do that. So events are
	// in their topic before the window closes, even on a busy machine.
	ahead = 3
	// pieces are what a window's events are sent in.
	pieces = 10
)

// newSimulation returns a service whose days take so long. It begins with the day that began last.
func newSimulation(day time.Duration) *simulation {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // it never fails
	world := simulate.Day(binary.NativeEndian.Uint64(seed[:]))
	begins := time.Now().UTC().Truncate(24 * time.Hour)
	return &simulation{file: simulate.Streams(), before: past, begins: begins,
		clock: newOwnClock(begins, day, world.Spell), service: simulate.New(world)}
}

func (s *simulation) streams(context.Context, func(string)) ([]*config.Stream, error) {
	file, err := parse.File("the demo's streams", s.file, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	s.stream = file.Streams[0]
	from := windows.NextBoundary(s.begins.Add(-s.before).UnixNano(), s.stream.Window.Every)
	s.pages, s.today = map[string]outputs.Record{}, map[string]outputs.Record{}
	s.of, s.due = map[string]windows.Schedule{}, map[string]windows.Window{}
	for _, st := range file.Streams {
		st.Window.StartNow, st.Window.Start = false, from
		s.of[st.Name] = st.Window.Schedule(from)
		s.due[st.Name] = s.of[st.Name].First()
	}
	s.sent = time.Unix(0, from).UTC()
	s.truth = simulate.NewTruth(s.stream)
	s.again.stream = s.stream
	return file.Streams, nil
}

func (s *simulation) time() clock.Clock { return s.clock }

func (s *simulation) begin(_ context.Context, conn *kafkaconn.Conn, _ func(string)) error {
	s.conn = conn
	return nil
}

// feed sends the past, while the stages begin to read it. Then the clock begins to run, and it sends what comes.
func (s *simulation) feed(ctx context.Context, say func(string)) error {
	begin := s.sent
	for s.sent.Before(s.begins) {
		say(fmt.Sprintf("sending the requests of the day before, %d %%", 100*s.sent.Sub(begin)/s.begins.Sub(begin)))
		if err := s.send(ctx, s.sent.Add(s.stream.Window.Every)); err != nil {
			return err
		}
	}
	piece := s.stream.Window.Every / pieces
	tick := time.NewTicker(max(s.clock.Takes(piece)/2, time.Millisecond))
	defer tick.Stop()
	for first := true; ; first = false {
		for s.sent.Before(s.clock.time().Add(ahead * s.stream.Window.Every)) {
			if err := s.send(ctx, s.sent.Add(piece)); err != nil {
				return err
			}
		}
		if first {
			say("drawing the figures of the day before")
			s.clock.begin()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = until
	s.allow()
	return nil
}

// published notes that a figure is out.
func (s *simulation) published(r outputs.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Active != "":
		s.active = r
	case r.Final != nil && r.From != "":
		s.today[r.Release] = r
	case r.Stream != s.stream.Name && r.Statistic == string(mechanisms.Count):
		s.pages[r.Group] = r
	case r.Statistic == string(mechanisms.Sum):
		s.requests = r
	}
	if due, ok := s.due[r.Stream]; ok && r.WindowEnd.UnixNano() >= due.End {
		s.due[r.Stream], _ = s.of[r.Stream].After(r.WindowEnd.UnixNano())
		s.allow()
	}
}

// beside tells of the newest figures of the other streams: of the groups that were found, of all requests, of active
// users and of the quantiles so far today.
func (s *simulation) beside() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest time.Time
	for _, r := range s.pages {
		if r.WindowEnd.After(newest) {
			newest = r.WindowEnd
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		if r := s.pages[name]; r.WindowEnd.Equal(newest) && r.Value != nil {
			all = append(all, name+" "+cli.Value(r))
		}
	}
	if len(all) > 0 {
		lines = append(lines, "Pages that were found, in the hour to "+newest.UTC().Format(minutes)+": "+
			strings.Join(all, ", ")+".")
	}
	if r := s.requests; r.Value != nil {
		lines = append(lines, "All requests, in the hour to "+r.WindowEnd.UTC().Format(minutes)+": "+cli.Value(r)+" "+
			cli.BoundInWords(r)+".")
	}
	if r := s.active; r.Value != nil {
		lines = append(lines, "Users seen in the hour to "+r.WindowEnd.UTC().Format(minutes)+": "+cli.Value(r)+" "+
			cli.BoundInWords(r)+".")
	}
	all = nil
	for _, name := range slices.Sorted(maps.Keys(s.today)) {
		if r := s.today[name]; r.Value != nil {
			newest = r.WindowEnd
			all = append(all, name+" "+cli.Value(r))
		}
	}
	if len(all) > 0 {
		lines = append(lines, "So far today, to "+newest.UTC().Format(minutes)+": "+strings.Join(all, ", ")+".")
	}
	return lines
}

// needed returns when the oldest window begins that is not published.
func (s *simulation) needed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.sent
	for _, w := range s.due {
		if start := time.Unix(0, w.Start).UTC(); start.Before(oldest) {
			oldest = start
		}
	}
	return oldest
}

// allow lets the clock run until a window is due that is not published, and not beyond what is sent. The mutex is held.
func (s *simulation) allow() {
	limit := s.sent
	for name, w := range s.due {
		if due := time.Unix(0, s.of[name].Due(w)).UTC(); due.Before(limit) {
			limit = due
		}
	}
	s.clock.until(limit)
}

func (s *simulation) tell(p *picture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	figures, samples := s.truth.Take(p.end)
	p.sim = &simulated{figures: figures, robin: s.service.RobinCalls(p.start)}
	if samples != nil {
		s.again.add(p.start, p.end, samples, figures, p.sim.robin)
	}
	for _, i := range []simulate.Incident{s.service.Incident(p.start), s.service.Incident(p.end)} {
		if i.Start.Before(p.end) && p.start.Before(i.End) {
			p.sim.incident = i.Region
		}
	}
	s.tellAPI(p)
}

func (s *simulation) tellAPI(p *picture) {
	w := toldWindow{Stream: p.stream.Name, WindowEnd: p.end, Truth: map[string]json.Number{}, Robin: p.sim.robin}
	for name, figure := range p.sim.figures {
		w.Truth[name] = json.Number(short(figure))
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
	return map[string]any{"speed": s.clock.speed, "budget_right_of_100": s.whole(),
		"users": s.service.Users(), "windows": append([]toldWindow{}, s.told...), "stream": s.stream.Name,
		"releases": s.again.releases(),
		"epsilons": epsilons, "window_epsilon": json.Number(s.price.Epsilon.String()),
		"window_right_of_100": json.Number(hundredths(s.price.Guess()))}
}

// whole is how many of 100 guesses are right at most about somebody in all that the budget pays in a period.
func (s *simulation) whole() json.Number {
	return json.Number(hundredths(cost.Whole(s.stream.Budget.Limit).Guess()))
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
		day:    s.clock.day(),
		beside: s.beside,
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
			i.Start.Format(minutes), i.Region), true
	case a != nil:
		return a.String(), false
	}
	return fmt.Sprintf("No incident now. The last one, in %s, lasted from %s to %s.", i.Region,
		i.Start.Format(minutes), i.End.Format(minutes)), false
}
