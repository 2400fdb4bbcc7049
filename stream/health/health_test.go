package health_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// minutely is a schedule that began at the start of a synctest bubble.
func minutely() windows.Schedule {
	return windows.Schedule{Size: time.Minute, Every: time.Minute, Grace: 10 * time.Second,
		Start: time.Now().UnixNano()}
}

// process is a process with one stage under a monitor, with a broker that can fall silent.
type process struct {
	*health.Monitor
	stage *health.Stage
	at    health.Partition
	s     windows.Schedule

	mu     sync.Mutex
	broker kafkaconn.Broker
	down   bool
}

// fall lets the broker fall silent; failure, if not nil, is what connecting to it gives.
func (p *process) fall(failure error) {
	time.Sleep(500 * time.Millisecond) // not at the moment of a look at the broker
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.broker.Failure = true, failure
}

// unread fails to read a topic for so many seconds.
func (p *process) unread(seconds int, topic string) {
	for range seconds {
		p.stage.Unread(topic, errors.New("no such topic"))
		time.Sleep(time.Second)
	}
}

// rise lets the broker answer again.
func (p *process) rise() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *process) brokers() []kafkaconn.Broker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		p.broker.Heard, p.broker.Failure = time.Now(), nil
	}
	return []kafkaconn.Broker{p.broker}
}

func newProcess(t *testing.T, log *zap.Logger) *process {
	p := &process{Monitor: health.New(log, "release"), at: health.Partition{Topic: "t", Number: 3}, s: minutely(),
		broker: kafkaconn.Broker{Addr: "b:9092"}}
	p.stage = p.Stage("release")
	go p.Watch(t.Context(), p.brokers)
	return p
}

// run brings the process to where it decides its first window.
func (p *process) run() {
	p.Started(map[string][]windows.Schedule{"web": {p.s}})
	p.stage.Assigned(p.at)
	p.stage.Joined()
	p.stage.Opened(p.at)
	p.stage.Next(p.at, "web", p.s.First(), p.s)
}

func TestReadiness(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(p *process)
		want string
	}{
		{"before it connects", func(p *process) { p.Waiting("connecting to Kafka") },
			"service: not ready: connecting to Kafka\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: not begun\n"},
		{"while it joins", func(p *process) {
			p.Started(map[string][]windows.Schedule{"web": {p.s}})
			time.Sleep(5 * time.Second)
		},
			"service: not ready: release: joining its consumer group for 5s\nkafka: ok\nbroker b:9092: heard 0s " +
				"ago\nrelease: joining its consumer group for 5s\nstream web: ok\n"},
		{"without partitions", func(p *process) {
			p.Started(map[string][]windows.Schedule{"web": {p.s}})
			p.stage.Joined()
			time.Sleep(time.Hour)
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 0 partitions\nstream web: ok\n"},
		{"before the window is due", func(p *process) { p.run(); time.Sleep(70 * time.Second) },
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"with patience", func(p *process) { p.run(); time.Sleep(110 * time.Second) },
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"with an overdue window", func(p *process) { p.run(); time.Sleep(111 * time.Second) },
			"service: not ready: stream web: the window that was due 2000-01-01T00:01:10Z is 41s overdue (release, " +
				"t/3)\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
				"stream web: the window that was due 2000-01-01T00:01:10Z is 41s overdue (release, t/3)\n"},
		{"working off a backlog", func(p *process) {
			time.Sleep(24 * time.Hour)
			p.run()
			for w := range 100 {
				time.Sleep(30 * time.Second)
				after, _ := p.s.After(p.s.First().End + int64(w)*int64(time.Minute))
				p.stage.Next(p.at, "web", after, p.s)
			}
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
			"stream web: ok, catching up with 1389 windows\n"},
		{"stuck in a backlog", func(p *process) { time.Sleep(24 * time.Hour); p.run(); time.Sleep(time.Minute) },
			"service: not ready: stream web: the window that was due 2000-01-01T00:01:10Z is 23h59m50s overdue " +
				"(release, t/3)\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
				"stream web: the window that was due 2000-01-01T00:01:10Z is 23h59m50s overdue (release, t/3)\n"},
		{"when somebody else has the window", func(p *process) { p.run(); p.stage.Gone(p.at); time.Sleep(time.Hour) },
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 0 partitions\nstream web: ok\n"},
		{"after the last window", func(p *process) { p.run(); p.stage.Finished(p.at, "web"); time.Sleep(time.Hour) },
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when a partition does not open", func(p *process) {
			p.Started(nil)
			p.stage.Assigned(p.at)
			p.stage.Joined()
			time.Sleep(31 * time.Second)
		}, "service: not ready: release: t/3 not opened for 31s\nkafka: ok\nbroker b:9092: heard 0s ago\n" +
			"release: t/3 not opened for 31s\n"},
		{"in a rebalance",
			func(p *process) { p.run(); p.stage.Joining(); time.Sleep(10 * time.Second); p.stage.Joining() },
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition, joining again for 10s\n" +
				"stream web: ok\n"},
		{"in a rebalance without end",
			func(p *process) { p.run(); p.stage.Joining(); time.Sleep(16 * time.Second); p.stage.Joining() },
			"service: not ready: release: joining its consumer group for 16s\nkafka: ok\nbroker b:9092: heard 0s " +
				"ago\nrelease: joining its consumer group for 16s\nstream web: ok\n"},
		{"when one of several outputs is blocked", func(p *process) {
			p.run()
			p.stage.Blocked(p.at, "http://b", errors.New("503"))
			time.Sleep(time.Second)
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\noutput http://b: blocked for 1s: 503\n" +
			"release: 1 partition\nstream web: ok\n"},
		{"when the only output is blocked", func(p *process) {
			p.stage.Only()
			p.run()
			p.stage.Blocked(p.at, "http://b", errors.New("503"))
			time.Sleep(time.Second)
		}, "service: not ready: output http://b: blocked for 1s: 503\nkafka: ok\nbroker b:9092: heard 0s ago\n" +
			"output http://b: blocked for 1s: 503\nrelease: 1 partition\nstream web: ok\n"},
		{"when the only output takes figures again", func(p *process) {
			p.stage.Only()
			p.run()
			p.stage.Blocked(p.at, "http://b", errors.New("503"))
			p.stage.Blocked(p.at, "http://b", nil)
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when one of several topics cannot be read", func(p *process) {
			p.run()
			p.unread(40, "t")
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\ntopic t: not read for 40s: no such topic\n" +
			"release: 1 partition\nstream web: ok\n"},
		{"when a topic cannot be read whose figures go to the only output", func(p *process) {
			p.stage.Only()
			p.run()
			p.unread(40, "t")
		}, "service: not ready: topic t: not read for 40s: no such topic\nkafka: ok\nbroker b:9092: heard 0s ago\n" +
			"topic t: not read for 40s: no such topic\nrelease: 1 partition\nstream web: ok\n"},
		{"when a topic could not be read for a moment", func(p *process) {
			p.stage.Only()
			p.run()
			p.unread(40, "again")
			p.stage.Unread("again", nil)
			p.unread(20, "t")
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when nobody tries to read a topic any more", func(p *process) {
			p.stage.Only()
			p.run()
			p.unread(15, "t")
			time.Sleep(31 * time.Second)
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when Kafka is gone", func(p *process) {
			p.run()
			time.Sleep(time.Second)
			p.fall(errors.New("connection refused"))
			time.Sleep(3 * time.Second)
		}, "service: not ready: kafka: lost 4s ago: connection refused\nkafka: lost 4s ago: connection refused\n" +
			"broker b:9092: cannot be reached: connection refused\nrelease: 1 partition\nstream web: ok\n"},
		{"when Kafka is silent",
			func(p *process) { p.run(); time.Sleep(time.Second); p.fall(nil); time.Sleep(7 * time.Second) },
			"service: not ready: kafka: lost 8s ago: no broker has answered for 7s\nkafka: lost 8s ago: no broker " +
				"has answered for 7s\nbroker b:9092: heard 7s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when Kafka is back", func(p *process) {
			p.run()
			p.fall(nil)
			time.Sleep(20 * time.Second)
			p.rise()
			time.Sleep(time.Second)
		},
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when windows wait for the grace again", func(p *process) {
			p.run()
			time.Sleep(71 * time.Second)
			p.stage.Again(p.at, "web", &progress.Again{Away: 101 * time.Second, Grace: 10 * time.Second,
				Until: time.Now().Add(10 * time.Second)})
			time.Sleep(9 * time.Second)
		},
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
				"stream web: the broker was away for 1m41s; waits the grace of 10s again, until 00:01:21 (release, " +
				"partitions: 1)\n"},
		{"with a window that was due long ago when Kafka is back", func(p *process) {
			p.run()
			p.fall(nil)
			time.Sleep(150 * time.Second)
			p.rise()
			time.Sleep(39 * time.Second)
		},
			"service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
				"stream web: ok, catching up with 2 windows\n"},
		{"without rights", func(p *process) {
			p.run()
			refused := kafkaconn.Needs(kafka.TopicAuthorizationFailed, "Read", "topic t")
			p.Retrying("cannot read topic t", "")(refused)
			p.Retrying("cannot read topic t again", "")(refused)
			p.Retrying("cannot write to topic u", "")(kafkaconn.Needs(kafka.TopicAuthorizationFailed,
				"Write", "topic u"))
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrights: Read on topic t is missing\n" +
			"rights: Write on topic u is missing\nrelease: 1 partition\nstream web: ok\n"},
		{"when it has its rights again", func(p *process) {
			p.run()
			p.Retrying("cannot read topic t", "")(kafkaconn.Needs(kafka.TopicAuthorizationFailed, "Read", "topic t"))
			p.Retrying("cannot read topic t", "")(nil)
			p.Retrying("of a worker that ends", "")(kafkaconn.Needs(kafka.TopicAuthorizationFailed, "Write", "topic u"))
			time.Sleep(time.Minute)
		}, "service: ok\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\nstream web: ok\n"},
		{"when it stops", func(p *process) { p.run(); p.Stop() },
			"service: not ready: stopping\nkafka: ok\nbroker b:9092: heard 0s ago\nrelease: 1 partition\n" +
				"stream web: ok\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t, zap.NewNop())
				c.do(p)
				synctest.Wait()
				if got := p.Report(); cmp.Diff(c.want, got.String()) != "" || got.Ready != (len(got.Reasons) == 0) {
					t.Errorf("%v: %s", got, cmp.Diff(c.want, got.String()))
				}
			})
		})
	}
}

// TestOutageLines lets brokers fall silent under a process whose requests fail meanwhile.
func TestOutageLines(t *testing.T) {
	for _, c := range []struct {
		name string
		down time.Duration
		want []string
	}{
		{"too short to tell", 2 * time.Second, nil},
		{"26 s", 25 * time.Second, []string{"Kafka lost: connection refused", "Kafka back after 26s"}},
		{"some windows", 149 * time.Second,
			[]string{"Kafka lost: connection refused", "Kafka lost: connection refused",
				"Kafka lost: connection refused", "Kafka back after 2m30s, 2 windows were late"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				p := newProcess(t, zap.New(core))
				p.run()
				ctx, cancel := context.WithCancel(t.Context())
				failing := p.Retrying("cannot read", "can read")
				time.Sleep(time.Second)
				p.fall(errors.New("connection refused"))
				go func() {
					for ctx.Err() == nil {
						failing(errors.New("connection refused"))
						time.Sleep(time.Second)
					}
					failing(nil)
				}()
				time.Sleep(c.down)
				p.rise()
				cancel()
				time.Sleep(2 * time.Second)
				var got []string
				for _, e := range logs.All() {
					got = append(got, e.Message)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestAdvertisedLines has a broker that was given and always answers, and two that the cluster names.
func TestAdvertisedLines(t *testing.T) {
	away := func(id int, addr string, before bool) error {
		return &kafkaconn.AwayError{Broker: id, Addr: addr, Before: before, Err: errors.New("refused")}
	}
	const never = "broker 2 says that it is at b2:9092, which cannot be reached (refused): check its advertised.listeners"
	const noLonger = "broker 2 can no longer be reached at b2:9092, where it says it is (refused): check that it runs, and " +
		"its advertised.listeners"
	for _, c := range []struct {
		name   string
		b1, b2 error // why the named brokers cannot be reached
		lasts  time.Duration
		back   bool // then both can be reached
		want   []string
	}{
		{"one was never reached", nil, away(2, "b2:9092", false), 10 * time.Minute, true,
			[]string{never, "the broker at b2:9092 can be reached"}},
		{"one has stopped and is still named", nil, away(2, "b2:9092", true), 12 * time.Second, true, nil},
		{"one is gone for longer", nil, away(2, "b2:9092", true), time.Minute, false, []string{noLonger}},
		{"none can be reached", away(1, "b1:9092", true), away(2, "b2:9092", true), 50 * time.Second, true,
			[]string{"Kafka lost: broker 1 can no longer be reached at b1:9092, where it says it is (refused): check that it " +
				"runs, and its advertised.listeners", "Kafka back after 51s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				m := health.New(zap.New(core), "release")
				fails := false
				var mu sync.Mutex
				heard := [2]time.Time{}
				go m.Watch(t.Context(), func() []kafkaconn.Broker {
					mu.Lock()
					defer mu.Unlock()
					// The address that was given answers every five seconds, as requests for metadata are that rare.
					all := []kafkaconn.Broker{{Addr: "any:9092", Given: true, Heard: time.Now().Truncate(5 * time.Second)}}
					for i, failure := range []error{c.b1, c.b2} {
						b := kafkaconn.Broker{Addr: []string{"b1:9092", "b2:9092"}[i], Named: true, Tried: time.Now()}
						if fails && failure != nil {
							b.Failure = failure
						} else {
							heard[i] = time.Now()
						}
						b.Heard = heard[i]
						all = append(all, b)
					}
					return all
				})
				time.Sleep(10500 * time.Millisecond)
				set := func(to bool) {
					mu.Lock()
					defer mu.Unlock()
					fails = to
				}
				set(true)
				for range int(c.lasts / time.Second) {
					time.Sleep(time.Second)
					m.Retrying("cannot read topic t", "")(errors.Join(c.b2)) // the line about the broker says enough
				}
				if got := m.Lost(); got != (c.b1 != nil) {
					t.Errorf("lost: %v", got)
				}
				set(!c.back)
				time.Sleep(2 * time.Second)
				var got []string
				for _, e := range logs.All() {
					got = append(got, e.Message)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
