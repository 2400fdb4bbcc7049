package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// TestPartialsMadeAnewUnseen deletes parts while nobody decides windows. When somebody does, the new topic is longer
// than what was read of the old one. The window is incomplete all the same.
func TestPartialsMadeAnewUnseen(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		ctx := kafkatest.Context(t)
		end := time.Now().UTC().Truncate(10 * time.Second).Add(30 * time.Second)
		start := end.Add(-time.Hour)
		w := newWorld(t, b, 1, configtest.File(configtest.Stream("live", configtest.Window(time.Hour, time.Second),
			configtest.Every(10*time.Second), configtest.Start(start), configtest.End(end))))
		b.Produce(t, w.input, 0, records(event{User: "a", Value: 1, Time: start},
			event{User: "b", Value: 1, Time: start})...)
		partials, place := topics.Names{App: w.app}.Partials(), topics.Place("live", topics.Partitions)
		s := w.start(only(stream.Ingest), func(s *stream.Service) { s.BagBytes = 1 })
		// a mark, a part and its mark
		kafkatest.Await(t, "parts of the window", func() bool { return w.records(partials) >= 3 })
		s.end(t)
		id, err := topics.ID(ctx, b.Conn.Client, partials)
		if err != nil {
			t.Fatal(err)
		}
		log := &progress.Log{Client: b.Conn.Client, Fetch: b.Fetch(fetch.Options{}),
			Topic: topics.Names{App: w.app}.Progress()}
		if err := log.Put(ctx, fmt.Sprintf("release/%d", place),
			map[string]any{"offset": 1, "topic_id": id}); err != nil {
			t.Fatal(err)
		}
		b.DeleteTopic(t, partials)
		w.start(only(stream.Publish)) // recreates the topic
		kafkatest.Await(t, "the topic is recreated",
			func() bool { now, err := topics.ID(ctx, b.Conn.Client, partials); return err == nil && now != id })
		foreign := string((&windows.Mark{Origin: windows.Origin{Stream: "other"}}).Message())
		b.Produce(t, partials, place, kafkatest.Values(foreign, foreign, foreign)...)
		w.start()
		for name, r := range w.await(1) {
			if !r.Incomplete {
				t.Errorf("%s is %s and not incomplete, although its parts are gone", name, shown(r))
			}
		}
	})
}

// TestALossIsOfItsMoment: a loss of parts that was noticed once is written down with its moment. Later sessions mark no
// window for it that nobody could have sent anything for before.
//
// In fake time alone: the loss is only written down.
func TestALossIsOfItsMoment(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		ctx := kafkatest.Context(t)
		end := time.Now().UTC().Truncate(10 * time.Second).Add(20 * time.Second)
		start := end.Add(-10 * time.Second)
		w := newWorld(t, b, 1, configtest.File(configtest.Stream("live", configtest.Window(10*time.Second, time.Second),
			configtest.Set("input", "{topic: INPUT, user: user, value: value, time: time, max_future: 10s}"),
			configtest.Start(start), configtest.End(end.Add(10*time.Second)))))
		b.Produce(t, w.input, 0, records(event{User: "a", Value: 1, Time: start},
			event{User: "b", Value: 1, Time: end})...)
		partials, place := topics.Names{App: w.app}.Partials(), topics.Place("live", topics.Partitions)
		s := w.start(only(stream.Ingest), func(s *stream.Service) { s.BagBytes = 1 })
		kafkatest.Await(t, "parts of the windows", func() bool { return w.records(partials) >= 3 })
		s.end(t)
		id, err := topics.ID(ctx, b.Conn.Client, partials)
		if err != nil {
			t.Fatal(err)
		}
		log := &progress.Log{Client: b.Conn.Client, Fetch: b.Fetch(fetch.Options{}),
			Topic: topics.Names{App: w.app}.Progress()}
		key := fmt.Sprintf("release/%d", place)
		type known struct {
			Offset int64      `json:"offset"`
			ID     string     `json:"topic_id"`
			LostAt *time.Time `json:"lost_at"`
		}
		if err := log.Put(ctx, key, known{ID: id, LostAt: new(start.Add(-11 * time.Second))}); err != nil {
			t.Fatal(err)
		}
		w.start()
		for name, r := range w.await(2) {
			if r.Incomplete {
				t.Errorf("%s is %s and incomplete, although all of it came after the loss", name, shown(r))
			}
		}
	})
}
