package stream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestTakeoversLoseNothing lets workers come and go: they end in good order, die, or stand still while others take their
// work over, and a third process joins for a while. Nothing is lost, so no window is incomplete, and each event counts
// once. LOUVER_TEST_TAKEOVERS says how long that goes on, such as 24h; every two minutes there is one.
func TestTakeoversLoseNothing(t *testing.T) {
	length := 30 * time.Minute
	if text := os.Getenv("LOUVER_TEST_TAKEOVERS"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size, every, partitions = 2 * time.Minute, 2 * time.Minute, 2
		neverCompact(t, b)
		random := rand.New(rand.NewPCG(7, 41))
		start := time.Now().UTC().Truncate(size).Add(size)
		end := start.Add(length.Truncate(size))
		w := newWorld(t, b, partitions, configtest.File(
			configtest.Stream("requests", configtest.Window(size, 90*time.Second), configtest.Start(start),
				configtest.End(end), configtest.Set("input", "{topic: INPUT, user: user, time: time}"),
				configtest.Set("contribution", "count"), configtest.Set("bounds", "{lower: 0, upper: 1000, step: 1}"),
				configtest.Set("budget", "all"),
				configtest.Releases("{name: total, statistic: sum, epsilon: 1000000000, clip: none}")))+
			"budgets: [{name: all, epsilon: 1000000000000000, per: 24h}]\n")
		var processes []*takenOver
		begin := func() {
			p := &takenOver{wire: &wire{}}
			conn := p.wire.dial(t, b)
			p.running = w.start(func(s *stream.Service) { s.Conn = conn })
			processes = append(processes, p)
		}
		begin()
		begin()
		kafkatest.Await(t, "both are ready", func() bool { return processes[0].Ready() && processes[1].Ready() })
		sent, next, takeovers := map[time.Time]int{}, start.Add(every/2), map[string]int{}
		for time.Now().Before(end) {
			if now := time.Now().UTC(); !now.Before(start) {
				b.Produce(t, w.input, random.IntN(partitions),
					records(event{User: fmt.Sprint("u", random.IntN(40)), Time: now})...)
				sent[now.Truncate(size)]++
			}
			if time.Now().After(next) {
				next = next.Add(every)
				i := random.IntN(len(processes))
				p := processes[i]
				kind := []string{"ends", "dies", "is frozen", "joins or leaves"}[random.IntN(4)]
				takeovers[kind]++
				switch {
				case kind == "is frozen":
					p.wire.freeze()
					thaws := time.After(time.Duration(30+random.IntN(90)) * time.Second)
					go func() { <-thaws; p.wire.thaw() }()
				case kind == "dies":
					p.wire.sever()
					processes = append(processes[:i:i], processes[i+1:]...)
					begin()
				case kind == "ends" || len(processes) > 2:
					p.end(t)
					if processes = append(processes[:i:i], processes[i+1:]...); len(processes) < 2 {
						begin()
					}
				default:
					begin()
				}
			}
			<-time.After(time.Duration(5+random.IntN(20)) * time.Second)
		}
		for _, p := range processes {
			p.wire.thaw()
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%d windows of %d; takeovers: %v", len(w.published()), len(sent), takeovers)
			}
		})
		incomplete := 0
		for _, r := range w.await(len(sent)) {
			if r.Incomplete {
				incomplete++
				t.Logf("%s is incomplete", r.ID)
			}
			if r.Value == nil || !decimal.RequireFromString(r.Value.String()).Round(0).Equal(
				decimal.NewFromInt(int64(sent[r.WindowStart]))) {
				t.Errorf("%s counts %v events of %d", r.ID, r.Value, sent[r.WindowStart])
			}
		}
		t.Logf("%d windows, %d of them incomplete; takeovers: %v", len(sent), incomplete, takeovers)
		if incomplete > 0 {
			t.Error("nothing was lost; want no incomplete window")
		}
		for _, p := range processes {
			p.end(t)
		}
		w.audit()
	})
}

// takenOver is a process whose work others take over.
type takenOver struct {
	*running
	wire *wire
}

// neverCompact keeps the fake brokers from compacting, which they do every hour. Unlike real ones, they move the start of
// a partition then, so that its first records seem to have been deleted, and Louver waits.
func neverCompact(t *testing.T, b *kafkatest.Broker) {
	t.Helper()
	set := kafka.IncrementalAlterConfigsRequestConfig{Name: "log.cleaner.backoff.ms", Value: "31536000000",
		ConfigOperation: kafka.ConfigOperationSet}
	res, err := b.Conn.Client.IncrementalAlterConfigs(kafkatest.Context(t), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeBroker, ResourceName: "0",
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{set}}}})
	if err == nil {
		for _, r := range res.Resources {
			err = errors.Join(err, r.Error)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
