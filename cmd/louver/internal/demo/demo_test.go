package demo

import (
	"context"
	"io"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// audience is a display that keeps the windows, and ends the demo when it has seen enough.
type audience struct {
	t      *testing.T
	enough func([]picture) bool
	end    context.CancelFunc

	mu       sync.Mutex
	pictures []picture
	address  string
	metrics  string
}

func (a *audience) say(string) {}
func (a *audience) over()      {}

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
		a.metrics = scrape(a.t, a.address)
		a.end()
	}
}

func (a *audience) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// watch runs a demo until the audience has seen enough, at most five minutes.
func watch(t *testing.T, s scene, enough func([]picture) bool) *audience {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	a := &audience{t: t, enough: enough, end: cancel}
	c := &Command{MetricsSettings: cli.MetricsSettings{MetricsAddr: "127.0.0.1:0"},
		ServiceSettings: cli.ServiceSettings{ShutdownTimeout: time.Minute, BagBytes: stream.DefaultBagBytes,
			CheckpointEvery: 1000}}
	if err := c.play(ctx, "", s, a, zap.NewNop()); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.metrics == "" {
		t.Fatalf("%d windows in five minutes, and then none", len(a.pictures))
	}
	return a
}

// scrape reads the operators' metrics.
func scrape(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get("http://" + address + "/metrics")
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

// whole checks that a window shows the users whose events were made up. The noise of a count with ε 0.05 is beyond 440
// with probability 2·e^−22 (a two-sided geometric law): 1e-8 in thirty counts.
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
		if truth < 1000 || math.Abs(got-truth) > 440 {
			t.Errorf("window until %s: %v users of %s, want about %v", p.end, got, r.Group, truth)
		}
	}
}

// However scarce the processor is, the first windows have their users and nothing is late.
func TestDemoOnBusyMachine(t *testing.T) {
	busy(t)
	const first = int(past / (10 * time.Second))
	a := watch(t, newSimulation(), func(p []picture) bool { return len(p) > first })
	for i, p := range a.pictures {
		if p.sim.torn {
			t.Errorf("window until %s is torn", p.end)
		}
		if p.count != i+1 || i > 0 && !p.start.Equal(a.pictures[i-1].end) {
			t.Errorf("window %d is number %d, from %s to %s", i+1, p.count, p.start, p.end)
		}
		a := alarmOf(p)
		calm := p.stream.OnChange[0]
		if want := decimal.New(int64(35*(i+1)+25*min(8, i+1)), -2).Add(a.cost).Add(*cost.Of(p.stream.Budget.Limit,
			instancesOf(calm, instances(p.watches, calm.Name))).Sum); !p.lost.Equal(want) {
			t.Errorf("window %d: ε %s lost, want %s", i+1, p.lost, want)
		}
		// a false alarm: at most 5 % in 30 days, so 2e-6 in these windows
		if a.since != nil && a.since.Equal(p.end) && p.sim.incident != a.group {
			t.Errorf("window %d: the watch fires in %s, the incident is in %q", i+1, a.group, p.sim.incident)
		}
		whole(t, p)
	}
	a.none("louver_events_late_total")
	a.none("louver_events_rejected_total")
}

// asleep is a simulation that sends nothing before the stages start, as if the machine had slept then.
type asleep struct{ *simulation }

func (s asleep) begin(_ context.Context, conn *kafkaconn.Conn, _ func(string)) error {
	s.conn = conn
	return nil
}

// Events of windows that closed while the machine was asleep are not sent late, and these windows are not shown as
// data.
func TestDemoAfterSleep(t *testing.T) {
	t.Parallel() // it waits most of the time
	a := watch(t, asleep{newSimulation()}, func(p []picture) bool { return !p[len(p)-1].sim.torn })
	torn := 0
	for _, p := range a.pictures {
		if p.sim.torn {
			torn++
		} else {
			whole(t, p)
		}
	}
	if least := int(past/(10*time.Second)) - 1; torn < least {
		t.Errorf("%d windows are torn, want %d at least", torn, least)
	}
	a.none("louver_events_late_total")
	if n, err := strconv.Atoi(regexp.MustCompile(`louver_releases_total\{[^}]*\} (\d+)`).FindStringSubmatch(
		a.metrics)[1]); err != nil || n < len(a.pictures) {
		t.Errorf("%d releases, %v; want %d at least", n, err, len(a.pictures))
	}
}
