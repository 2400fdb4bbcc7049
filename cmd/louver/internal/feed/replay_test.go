package feed

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/replay"
)

// The flags that are printed read the same file again: none is left out.
func TestFlags(t *testing.T) {
	got := Flags(replay.Columns{User: "u", Value: "v (ms)", Time: "day", Clock: "at", Group: "g"},
		WhereFlag{[]string{"status=200", "ms={above: 0}"}}, TimesFlags{Zone: "Europe/Berlin", Dates: "mdy"}, ";")
	const want = " --user u --value 'v (ms)' --time day --time-of-day at --group g --zone Europe/Berlin --dates mdy " +
		"--delimiter ';' --where 'status=200' --where 'ms={above: 0}'"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Flags(replay.Columns{}, WhereFlag{}, TimesFlags{}, "\t"); got != ` --delimiter '\t'` {
		t.Errorf("a tab:%s", got)
	}
}

// An event is sent when it is due, also if the next one is due much later: then it is told when that is.
func TestSendRecordsBeforeAPause(t *testing.T) {
	b := kafkatest.Fake(t)
	if _, err := topics.Create(t.Context(), b.Conn.Client, []topics.Topic{{Name: "t", Partitions: 1}}, -1); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	records := func(yield func(replay.Record, error) bool) {
		_ = yield(replay.Record{Value: []byte("a"), Due: time.Now()}, nil) &&
			yield(replay.Record{Value: []byte("b"), Due: later}, nil)
	}
	ctx, stop := context.WithCancel(t.Context())
	sent, err := SendRecords(ctx, b.Conn, zap.NewNop(), records, "t", func(sent int, next time.Time) {
		if sent == 1 && next.Equal(later) {
			stop()
		}
	})
	if got := b.ConsumeValues(t, "t", 0); sent != 1 || !errors.Is(err, context.Canceled) || len(got) != 1 {
		t.Errorf("%d sent, %v, %q in the topic; want one event while the other waits", sent, err, got)
	}
}

// What a topic refuses has not been sent: only events that it took are counted.
func TestSendRecordsCountsWhatWasAccepted(t *testing.T) {
	b := kafkatest.Fake(t)
	if _, err := topics.Create(t.Context(), b.Conn.Client, []topics.Topic{{Name: "t", Partitions: 1}}, -1); err != nil {
		t.Fatal(err)
	}
	var refuses atomic.Bool
	b.Fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake.KeepControl()
		q := r.(*kmsg.ProduceRequest)
		if !refuses.Load() || len(q.Topics) == 0 {
			return nil, nil, false
		}
		answer := q.ResponseKind().(*kmsg.ProduceResponse)
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = q.Topics[0].Topic, q.Topics[0].TopicID
		refused := kmsg.NewProduceResponseTopicPartition()
		refused.ErrorCode = kerr.TopicAuthorizationFailed.Code
		topic.Partitions = append(topic.Partitions, refused)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	now := time.Now()
	records := func(yield func(replay.Record, error) bool) {
		for range sendAtOnce + 1 {
			if !yield(replay.Record{Value: []byte("a"), Due: now}, nil) {
				return
			}
		}
	}
	sent, err := SendRecords(t.Context(), b.Conn, zap.NewNop(), records, "t",
		func(int, time.Time) { refuses.Store(true) })
	got := len(b.ConsumeValues(t, "t", 0))
	if err == nil || strings.Contains(err.Error(), "took no events") || sent != got || sent == 0 ||
		sent == sendAtOnce+1 {
		t.Errorf("%d sent, %v, and %d in the topic; want an error, and as many as are there", sent, err, got)
	}
}

// A broker that cannot be reached where it says it is takes no events: a line says so soon, and the error after a
// while.
func TestSendRecordsToABrokerAway(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		b.CreateTopic(t, "t", 30, nil) // each broker leads some of its partitions
		nodes := b.Conn.Brokers
		conn := b.Outside(t, func(addr string) bool { return addr == nodes[2] })
		if err := conn.Check(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		core, logs := observer.New(zap.InfoLevel)
		now := time.Now()
		records := func(yield func(replay.Record, error) bool) {
			for range 1000 {
				if !yield(replay.Record{Value: []byte("a"), Due: now}, nil) {
					return
				}
			}
		}
		sent, err := SendRecords(t.Context(), conn, zap.New(core), records, "t", nil)
		away := "broker 2 says that it is at " + nodes[2] + ", which cannot be reached (connection refused): check its " +
			"advertised.listeners"
		if want := "topic t took no events for 30s: " + away; err == nil || err.Error() != want || sent == 0 || sent == 1000 {
			t.Errorf("%d sent, %v; want some and %s", sent, err, want)
		}
		if logs.Len() != 1 || logs.All()[0].Message != "topic t takes no events yet, trying for 30s" ||
			logs.All()[0].ContextMap()["reason"] != away || logs.All()[0].Time.Sub(now) > 5*time.Second {
			t.Errorf("%v; want one line after a second or two, because %s", logs.All(), away)
		}
	})
}

// Progress is told of what takes longer than two seconds: often on a screen, now and then elsewhere, and at once before
// a long pause.
func TestProgress(t *testing.T) {
	for _, screen := range []bool{false, true} {
		var out bytes.Buffer
		now := time.Unix(0, 0)
		p := &Progress{out: &out, screen: screen, width: 20, now: func() time.Time { return now }, begun: now}
		for ; now.Before(time.Unix(15, 0)); now = now.Add(100 * time.Millisecond) {
			p.Say(func() string { return "sent 1,200 of 10,000 events" })
		}
		lines := bytes.Count(out.Bytes(), []byte("louver: sent 1,200 of 10,000 events\n"))
		if screen {
			lines = bytes.Count(out.Bytes(), []byte("\r\x1b[Ksent 1,200 of 10,00"))
		}
		if want := map[bool]int{false: 2, true: 26}[screen]; lines != want {
			t.Errorf("screen %v: %d lines, want %d: %q", screen, lines, want, out.String())
		}
		out.Reset()
		p.Pause(time.Minute, func() string { return "a pause" })
		if !bytes.Contains(out.Bytes(), []byte("a pause")) {
			t.Errorf("screen %v: a long pause is not told", screen)
		}
		out.Reset()
		if p.End(); screen != (out.String() == "\r\x1b[K") {
			t.Errorf("screen %v: %q at the end", screen, out.String())
		}
	}
	var out bytes.Buffer
	p := &Progress{out: &out, now: time.Now, begun: time.Now()}
	p.Say(func() string { return "x" })
	if p.End(); out.Len() > 0 {
		t.Errorf("something short is told: %q", out.String())
	}
}
