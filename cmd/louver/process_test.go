package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/outputs"
)

func TestMain(m *testing.M) {
	if os.Getenv(clitest.AsLouver) != "" {
		os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// live is a stream of short windows that begins soon, with traffic.
type live struct {
	t       *testing.T
	broker  *kafkatest.Broker
	app     string
	file    string
	input   string
	output  string
	windows int
	start   time.Time
	sent    map[time.Time]map[string]bool // window start → users; true: the event was there before the window was due
}

const liveSize, liveGrace = 2 * time.Second, time.Second

func newLive(t *testing.T, b *kafkatest.Broker, windows int, options ...configtest.Option) *live {
	t.Helper()
	l := &live{t: t, broker: b, app: kafkatest.Name(t), windows: windows, sent: map[time.Time]map[string]bool{},
		input: b.Topic(t, 3, nil), output: b.Topic(t, 2, nil),
		start: time.Now().UTC().Truncate(liveSize).Add(2 * liveSize)}
	l.file = clitest.File(t, "streams.yaml", configtest.File(configtest.Stream("live", append([]configtest.Option{
		configtest.Topics(l.input, l.output), configtest.Groups("eu", "us"),
		configtest.Set("bounds", "{lower: 0, upper: 1000, step: 1}"), configtest.Window(liveSize, liveGrace),
		configtest.Start(l.start), configtest.End(l.start.Add(time.Duration(windows) * liveSize)),
		configtest.Releases("{name: users, statistic: count, epsilon: 1000000}",
			"{name: p50, statistic: median, epsilon: 0.5}"),
	}, options...)...)))
	return l
}

func (l *live) run() *clitest.Process {
	return clitest.Louver(l.t, l.broker, "run", "--streams", l.file, "--app-id", l.app)
}

// send writes an event of now in a random partition.
func (l *live) send(random *rand.Rand) {
	now := time.Now().UTC()
	user := fmt.Sprint("u", random.IntN(500))
	group := []string{"eu", "us"}[len(user)%2]
	value, err := json.Marshal(map[string]any{"user": user, "value": random.IntN(1000),
		"time": now.Format(time.RFC3339Nano), "group": group})
	if err != nil {
		l.t.Fatal(err)
	}
	l.broker.Produce(l.t, l.input, random.IntN(3), txn.Record{Value: value, Time: now.UnixMilli()})
	if w := now.Truncate(liveSize); !w.Before(l.start) {
		if l.sent[w] == nil {
			l.sent[w] = map[string]bool{}
		}
		// An event that came later than that, because the machine is busy, may be late.
		l.sent[w][group+"/"+user] = l.sent[w][group+"/"+user] || time.Now().Before(w.Add(liveSize+liveGrace))
	}
}

// traffic sends events until the time, with a pause between that lets others work.
func (l *live) traffic(random *rand.Rand, until time.Time) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(until) {
		l.send(random)
		<-tick.C
	}
}

// published reads the committed output, by id with the bytes of the value. A repeated record is an error.
func (l *live) published() map[string]string {
	l.t.Helper()
	all := map[string]string{}
	for partition := range 2 {
		for _, m := range l.broker.Consume(l.t, l.output, partition) {
			r, ok, err := outputs.Decode([]byte(m.Value))
			if err != nil || !ok {
				l.t.Fatalf("foreign record in the output: %v", err)
			}
			if _, twice := all[r.ID]; twice {
				l.t.Errorf("%s is published twice", r.ID)
			}
			all[r.ID] = m.Value
		}
	}
	return all
}

// same fails if a figure that was published before is another one now.
func (l *live) same(before, after map[string]string) {
	l.t.Helper()
	for id, value := range before {
		if after[id] != value {
			l.t.Errorf("%s was\n%s\nand is\n%s", id, value, after[id])
		}
	}
}

// finish waits for all windows and checks every count and the audit.
func (l *live) finish() {
	l.t.Helper()
	kafkatest.Await(l.t, "all windows are published", func() bool { return len(l.published()) >= l.windows*4 })
	for id, value := range l.published() {
		r, _, err := outputs.Decode([]byte(value))
		if err != nil {
			l.t.Fatal(err)
		}
		if r.Release != "users" {
			continue
		}
		certain, late := 0, 0
		for user, inTime := range l.sent[r.WindowStart] {
			switch {
			case !strings.HasPrefix(user, r.Group+"/"):
			case inTime:
				certain++
			default:
				late++
			}
		}
		if n, err := r.Value.Float64(); err != nil || n < float64(certain) || n > float64(certain+late) {
			l.t.Errorf("%s counts %s users, %d were sent in time and %d perhaps", id, r.Value, certain, late)
		}
	}
	for _, args := range [][]string{{"audit"}, {"audit", "--full"}} {
		audit := clitest.Louver(l.t, l.broker, append(args, "--app-id", l.app)...)
		if err := audit.Wait(); err != nil {
			l.t.Errorf("%q: %v\n%s", args, err, audit.Log.String())
		}
	}
}

func TestKillAtRandomMoments(t *testing.T) {
	t.Parallel()
	b := kafkatest.Real(t)
	l := newLive(t, b, 12)
	random := rand.New(rand.NewPCG(7, 8))
	p := l.run()
	before := map[string]string{}
	for range 10 {
		// Windows close every two seconds, a second after their end: around that is where it hurts most.
		next := time.Now().Truncate(liveSize).Add(liveSize + time.Second)
		l.traffic(random, next.Add(time.Duration(random.IntN(800)-200)*time.Millisecond))
		p.Kill(t)
		now := l.published()
		l.same(before, now)
		before = now
		p = l.run()
	}
	l.traffic(random, l.start.Add(time.Duration(l.windows)*liveSize))
	l.finish()
	l.same(before, l.published())
	p.Signal(t, syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
	}
}

func TestZombieWritesNothing(t *testing.T) {
	t.Parallel()
	b := kafkatest.Real(t)
	l := newLive(t, b, 14)
	random := rand.New(rand.NewPCG(9, 10))
	one, two := l.run(), l.run()
	l.traffic(random, l.start.Add(3*liveSize))
	one.Signal(t, syscall.SIGSTOP)
	// Longer than the session timeout: the other takes over.
	l.traffic(random, l.start.Add(11*liveSize))
	before := l.published()
	one.Signal(t, syscall.SIGCONT)
	l.traffic(random, l.start.Add(time.Duration(l.windows)*liveSize))
	l.finish()
	l.same(before, l.published())
	for _, p := range []*clitest.Process{one, two} {
		p.Signal(t, syscall.SIGTERM)
		if err := p.Wait(); err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
		}
	}
}

// TestHangupReadsTheFilesAgain adds a stream to the file of a running process. A broken file and one that the app
// refuses change nothing before that. The windows of the stream that was there stay exact.
func TestHangupReadsTheFilesAgain(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	l := newLive(t, b, 4)
	file, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	p := l.run()
	said := func(line string, times int) {
		kafkatest.Await(t, line, func() bool { return strings.Count(p.Log.String(), line) >= times })
	}
	hangup := func(text string) {
		if err := os.WriteFile(l.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Signal(t, syscall.SIGHUP)
	}
	second := func(input, output string) string {
		return string(file) + configtest.Stream("second", configtest.Topics(input, output),
			configtest.Window(liveSize, liveGrace), configtest.Start(l.start))
	}
	output := b.Topic(t, 1, nil)
	random := rand.New(rand.NewPCG(11, 12))
	said("louver works", 1)
	l.traffic(random, l.start.Add(liveSize))
	hangup("version: 1\nstreams: [")
	said("the streams files cannot be used: this process goes on with those that it has read", 1)
	hangup(second(l.input, output)) // whose users another budget has paid for
	said("the streams files cannot take effect: this process goes on with those before", 1)
	said("louver works", 2)
	hangup(second(b.Topic(t, 1, nil), output))
	said("louver works", 3)
	l.traffic(random, l.start.Add(time.Duration(l.windows)*liveSize))
	l.finish()
	kafkatest.Await(t, "the second stream has figures", func() bool { return len(b.Consume(t, output, 0)) > 0 })
	p.Signal(t, syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
	}
}
