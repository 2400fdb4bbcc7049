package demo

import (
	"context"
	"io"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// audience is a display that keeps the windows, and ends the demo when it has seen enough.
type audience struct {
	unseen
	t      *testing.T
	enough func([]picture) bool
	end    context.CancelFunc

	mu       sync.Mutex
	pictures []picture
	address  string
	metrics  string
}

func (a *audience) listening(addresses []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.address = addresses[len(addresses)-1]
}

func (a *audience) show(p picture) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.metrics != "" {
		return
	}
	if a.pictures = append(a.pictures, p); a.enough(a.pictures) {
		a.metrics = scrape(a.t, a.address, "metrics")
		a.end()
	}
}

// anywhere is an address with a free port.
const anywhere = "127.0.0.1:0"

// command is a demo that serves its page and its metrics at these addresses.
func command(page, metrics string) *Command {
	return &Command{HTTPSettings: cli.HTTPSettings{HTTPAddr: page},
		MetricsSettings: cli.MetricsSettings{MetricsAddr: metrics},
		ServiceSettings: cli.ServiceSettings{ShutdownTimeout: time.Minute, BagBytes: stream.DefaultBagBytes,
			CheckpointEvery: 1000}}
}

// watch runs a demo until the audience has seen enough, at most five minutes.
func watch(t *testing.T, s scene, enough func([]picture) bool) *audience {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := &audience{t: t, enough: enough, end: cancel}
	if err := command("", anywhere).play(ctx, "", s, a, zap.NewNop()); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.metrics == "" {
		t.Fatalf("%d windows in five minutes, and then none", len(a.pictures))
	}
	return a
}

// scrape reads what is at an address.
func scrape(t *testing.T, address, path string) string {
	t.Helper()
	res, err := http.Get("http://" + address + "/" + path)
	if err != nil {
		t.Error(err)
		return " "
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// none checks that a counter is there and 0 for all streams.
func (a *audience) none(metric string) {
	a.t.Helper()
	samples := regexp.MustCompile(`(?m)^`+metric+`\{.*\} (\S+)$`).FindAllStringSubmatch(a.metrics, -1)
	if len(samples) == 0 {
		a.t.Errorf("no metric %s", metric)
	}
	for _, s := range samples {
		if s[1] != "0" {
			a.t.Errorf("%s, want 0", s[0])
		}
	}
}

// busy leaves one processor, and has it until the scheduler takes it away, again and again, until the test ends.
func busy(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	var stop atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for !stop.Load() {
			occupy(20 * time.Millisecond)
			runtime.Gosched()
		}
	})
	t.Cleanup(func() {
		stop.Store(true)
		other.Wait()
		runtime.GOMAXPROCS(before)
	})
}

// whole checks that a window shows the users whose events were made up. The noise of a count with ε 0.007 is normal
// with a standard deviation of 1/0.007 = 143, so it is beyond 860 with probability 2e-9: 1e-6 in five hundred counts.
func whole(t *testing.T, p picture) {
	t.Helper()
	for _, r := range p.records {
		if r.Release != "users" {
			continue
		}
		got, err := r.Value.Float64()
		if err != nil {
			t.Fatal(err)
		}
		truth := p.sim.figures[r.Group+"/users"].InexactFloat64()
		if truth < 2000 || math.Abs(got-truth) > 860 {
			t.Errorf("window until %s: %v users of %s, want about %v", p.end, got, r.Group, truth)
		}
	}
}

// brief is a demo with a shorter past, whose days are as fast as the machine.
func brief() *simulation {
	s := newSimulation(10 * time.Second)
	s.before = 3 * time.Hour
	return s
}

// However scarce the processor is, all windows have their users and nothing is late. In any 24 hours nobody
// loses more than the budget says.
func TestDemoOnBusyMachine(t *testing.T) {
	busy(t)
	a := watch(t, brief(), func(p []picture) bool { return len(p) > 24 })
	for i, p := range a.pictures {
		if p.count != i+1 || i > 0 && !p.start.Equal(a.pictures[i-1].end) {
			t.Errorf("window %d is number %d, from %s to %s", i+1, p.count, p.start, p.end)
		}
		if limit := p.stream.Budget.Epsilon; p.inPeriod == nil || p.inPeriod.GreaterThan(limit) ||
			i > 0 && !p.inPeriod.GreaterThan(*a.pictures[i-1].inPeriod) {
			t.Errorf("window %d: ε %s lost, want more than before and at most %s", i+1, p.inPeriod, limit)
		}
		// a false alarm: at most 5 % in 30 days, so 5e-4 in these windows; a second one in a row 3e-7
		if a := alarmOf(p); a.since != nil && a.since.Equal(p.end) && p.sim.incident != a.group {
			t.Logf("window %d: the watch fires in %s, the incident is in %q", i+1, a.group, p.sim.incident)
		}
		whole(t, p)
	}
	a.none("louver_events_late_total")
	a.none("louver_events_rejected_total")
}

// What reads a clock reads the demo's: after two days of it the process is ready, and the page is told its time.
func TestDemoTellsItsOwnTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	demo, ctx := errgroup.WithContext(ctx)
	s, display := brief(), unseen{make(chan []string, 1)}
	s.begins = s.begins.Add(1000 * 24 * time.Hour) // nothing else is then
	s.clock = newOwnClock(s.begins, 10*time.Second, 15*time.Minute)
	demo.Go(func() error { return command(anywhere, anywhere).play(ctx, "", s, display, zap.NewNop()) })
	addresses := kafkatest.Receive(t, "the demo serves its page", display.addresses)
	until(t, "the demo is ready, and hours have passed", func() bool {
		return s.clock.time().Sub(s.begins) > 6*time.Hour
	})
	res, err := http.Get("http://" + addresses[0] + "/api/v1/streams")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	told, err := http.ParseTime(res.Header.Get("Date"))
	if off := s.clock.time().Sub(told); err != nil || off < 0 || off > 24*time.Hour {
		t.Errorf("%v: the page is told %s, %s behind the demo's clock", err, told, off)
	}
	if ready := scrape(t, addresses[1], "readyz"); ready != "ok\n" && !strings.HasPrefix(ready, "service: ok\n") {
		t.Errorf("the demo is not ready:\n%s", ready)
	}
	if metrics := scrape(t, addresses[0], "metrics"); !strings.Contains(metrics, "\nlouver_release_value{") {
		t.Error("by the time of the metrics all figures are stale")
	}
	cancel()
	if err := demo.Wait(); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}
