package stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// everyTwoSeconds is a stream of so many windows that begin now.
func everyTwoSeconds(count int) string {
	start := time.Now().UTC().Truncate(2 * time.Second).Add(6 * time.Second)
	return configtest.File(configtest.Stream("users", configtest.Window(2*time.Second, time.Second),
		configtest.Start(start),
		configtest.End(start.Add(time.Duration(count)*2*time.Second)),
		configtest.Set("max_windows", "{count: 4, per: 40s, parts: 3}")))
}

// TestOwnTopicIsDeleted deletes topics that the service can recreate while it runs: every window is released.
func TestOwnTopicIsDeleted(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		name func(topics.Names) string
		run  func(*testing.T, func(*testing.T, *kafkatest.Broker))
	}{
		"partials": {topics.Names.Partials, kafkatest.BubbleAndReal}, // written without transactions
		"progress": {topics.Names.Progress, kafkatest.Bubble},        // with transactions
		"state":    {topics.Names.State, kafkatest.Bubble},           // as the progress is
	} {
		t.Run(kind, func(t *testing.T) {
			c.run(t, func(t *testing.T, b *kafkatest.Broker) {
				const count = 10
				w := newWorld(t, b, 1, everyTwoSeconds(count))
				lines, log := told()
				s := w.start(log)
				kafkatest.Await(t, "the first figure", func() bool { return len(w.published()) > 0 })
				b.DeleteTopic(t, c.name(topics.Names{App: w.app}))
				w.await(count)
				s.end(t)
				w.audit()
				if n := lines.FilterMessage("a topic was deleted while louver ran: it is created again").Len(); n != 1 {
					t.Errorf("%d lines say that the topic is created again, want 1: %v", n, lines.All())
				}
				if n := lines.FilterMessageSnippet("recreated while louver ran").Len(); n != 0 {
					t.Errorf("%d lines say so once more: %v", n, lines.All())
				}
			})
		})
	}
}

// TestControlTopicGoesBack recreates the control topic under a running service, before it is missed: it ends below
// what the service has read. The service ends as if the topic were gone.
func TestControlTopicGoesBack(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		s := w.start()
		w.await(3)
		name := topics.Names{App: w.app}.Control()
		b.DeleteTopic(t, name)
		b.CreateTopic(t, name, 1, map[string]string{"cleanup.policy": "compact"})
		if err := s.refused(t); !errors.Is(err, control.ErrForgotten) {
			t.Errorf("the service ended with %v", err)
		}
	})
}

// TestTopicThatMustStayIsDeleted: without the ledger it is unknown what was charged, and without the control topic who
// is who. The service ends, and none can start.
func TestTopicThatMustStayIsDeleted(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		name func(topics.Names) string
		want error
		run  func(*testing.T, func(*testing.T, *kafkatest.Broker))
	}{
		"ledger":  {topics.Names.Ledger, ledger.ErrUnreadable, kafkatest.BubbleAndReal},
		"control": {topics.Names.Control, control.ErrForgotten, kafkatest.Bubble},
	} {
		t.Run(kind, func(t *testing.T) {
			c.run(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 1, withBudget("1000000000"))
				s := w.start()
				w.await(3)
				b.DeleteTopic(t, c.name(topics.Names{App: w.app}))
				if err := s.refused(t); !errors.Is(err, c.want) ||
					!strings.Contains(err.Error(), "was deleted or recreated while louver ran") {
					t.Errorf("the service ended with %v", err)
				}
				if err := w.start().refused(t); !errors.Is(err, c.want) {
					t.Errorf("another process ended with %v", err)
				}
			})
		})
	}
}
