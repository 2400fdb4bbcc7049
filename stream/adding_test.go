package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// wire is a process's way to the brokers. It can be frozen, so that the process stands still and others take its work
// over, and cut, so that nothing more that the process says arrives.
type wire struct {
	mu     sync.Mutex
	frozen chan struct{} // closed when it thaws; nil: it is not frozen
	cut    bool
}

type wired struct {
	net.Conn
	*wire
}

func (w *wire) pass() error {
	for {
		w.mu.Lock()
		frozen, cut := w.frozen, w.cut
		w.mu.Unlock()
		switch {
		case cut:
			return errors.New("the wire is cut")
		case frozen == nil:
			return nil
		}
		<-frozen
	}
}

func (c wired) Write(b []byte) (int, error) {
	if err := c.pass(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// freeze lets nothing pass until thaw.
func (w *wire) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.frozen == nil {
		w.frozen = make(chan struct{})
	}
}

func (w *wire) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.frozen != nil {
		close(w.frozen)
		w.frozen = nil
	}
}

// sever lets nothing pass any more: for the brokers the process is dead, whatever it was about to say.
func (w *wire) sever() {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	w.thaw()
}

// dial returns a way to the broker that the wire can freeze and cut.
func (w *wire) dial(t *testing.T, b *kafkatest.Broker) *kafkaconn.Conn {
	t.Helper()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: b.Conn.Brokers, ClientID: "louver-test",
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := w.pass(); err != nil {
				return nil, err
			}
			c, err := b.Conn.Transport.Dial(ctx, network, address)
			return wired{c, w}, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// TestEveryEventCountsOnce adds up amounts and events while processes die in the middle of what they write, stand still
// and go on after others have taken their work over, and flush far too often. What is published adds up to all that was
// sent: no event is lost, and none counts twice.
func TestEveryEventCountsOnce(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, windows, partitions = 20 * time.Second, 12, 3
		random := rand.New(rand.NewPCG(41, 1))
		start := time.Now().UTC().Truncate(size).Add(2 * size)
		end := start.Add(windows * size)
		of := func(contribution, bounds, value string) []configtest.Option {
			return []configtest.Option{configtest.Window(size, 90*time.Second), configtest.Start(start), configtest.End(end),
				configtest.Set("input", "{topic: INPUT, user: user, time: time"+value+"}"),
				configtest.Set("contribution", contribution), configtest.Set("bounds", bounds), configtest.Set("budget", "all"),
				configtest.Releases("{name: total, statistic: sum, epsilon: 1000000000, clip: none}")}
		}
		w := newWorld(t, b, partitions, configtest.File(
			configtest.Stream("spent", of("sum", "{lower: -1000, upper: 100000, step: 0.01}", ", value: value")...),
			configtest.Stream("requests", of("count", "{lower: 0, upper: 100000, step: 1}", "")...),
			configtest.Stream("requests-again", of("count", "{lower: 0, upper: 100000, step: 1}", "")...),
			configtest.Stream("hopping", append(of("count", "{lower: 0, upper: 100000, step: 1}", ""),
				configtest.Window(2*size, 90*time.Second), configtest.Every(size))...),
			configtest.Stream("by-group", append(of("sum", "{lower: -1000, upper: 100000, step: 0.01}", ""),
				configtest.Groups("a", "b", "c"), configtest.Set("max_groups", "3"))...))+
			"budgets: [{name: all, epsilon: 1000000000000000, per: 24h}]\n")
		type process struct {
			*running
			wire *wire
		}
		var processes []process
		begin := func() {
			p := process{wire: &wire{}}
			conn := p.wire.dial(t, b)
			p.running = w.start(func(s *stream.Service) { s.Conn, s.BagBytes = conn, 20_000 })
			processes = append(processes, p)
		}
		begin()
		begin()
		kafkatest.Await(t, "both are ready", func() bool { return processes[0].Ready() && processes[1].Ready() })
		spent, sent, twice, dead := decimal.Zero, 0, 0, 0
		for step := 0; time.Now().Before(end); step++ {
			if now := time.Now().UTC(); !now.Before(start) {
				var events []event
				for range 1 + random.IntN(8) {
					amount := decimal.New(int64(random.IntN(20_000)-2_000), -2)
					spent, sent = spent.Add(amount), sent+1
					if !now.Before(start.Add(size)) && now.Before(end.Add(-size)) { // otherwise one hopping window has it
						twice++
					}
					events = append(events, event{User: fmt.Sprint("u", random.IntN(40)), Value: amount, Time: now,
						Group: string(rune('a' + random.IntN(3)))})
				}
				b.Produce(t, w.input, random.IntN(partitions), records(events...)...)
			}
			if step%12 == 11 {
				switch i := random.IntN(len(processes)); random.IntN(4) {
				case 0:
					processes[i].wire.sever()
					processes = append(processes[:i:i], processes[i+1:]...)
					dead++
					begin()
				case 1:
					processes[i].wire.freeze()
				default:
					processes[i].wire.thaw()
				}
			}
			<-time.After(time.Duration(200+random.IntN(800)) * time.Millisecond)
		}
		for _, p := range processes {
			p.wire.thaw()
		}
		total := map[string]decimal.Decimal{}
		incomplete := 0
		for _, r := range w.await(3*windows + windows - 1 + 3*windows) {
			if r.Value == nil {
				t.Fatalf("%s has no value", r.ID)
			}
			if r.Incomplete {
				incomplete++
			}
			total[r.Stream] = total[r.Stream].Add(decimal.RequireFromString(r.Value.String()))
		}
		t.Logf("%d events, %s in all, %d processes died, %d figures incomplete", sent, spent, dead, incomplete)
		// Noise has the scale 100000/ε = 0.0001. That it reaches 1/100 in one of 36 figures has a probability below
		// 36·e^(−100); a single event more or less is 1, or 0.01 and mostly far more.
		for name, want := range map[string]decimal.Decimal{"spent": spent, "by-group": spent,
			"requests": decimal.NewFromInt(int64(sent)), "requests-again": decimal.NewFromInt(int64(sent)),
			"hopping": decimal.NewFromInt(int64(sent + twice))} {
			if off := total[name].Sub(want).Abs(); off.GreaterThan(decimal.New(36, -2)) {
				t.Errorf("stream %s adds up to %s, want %s", name, total[name], want)
			}
		}
		for _, p := range processes {
			p.end(t)
		}
		w.audit()
	})
}
