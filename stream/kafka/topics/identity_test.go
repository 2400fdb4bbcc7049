package topics_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

func TestATopicMadeAnewHasAnotherID(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		name, other := b.Topic(t, 1, nil), b.Topic(t, 1, nil)
		ask := func(topic string) string {
			id, err := topics.ID(kafkatest.Context(t), b.Conn.Client, topic)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		first := ask(name)
		if first == "" || first != ask(name) || first == ask(other) {
			t.Fatalf("ids %q, %q, and of another topic %q", first, ask(name), ask(other))
		}
		b.DeleteTopic(t, name)
		b.CreateTopic(t, name, 1, nil)
		if again := ask(name); again == "" || again == first {
			t.Errorf("id %q, before %q", again, first)
		}
	})
}

// Before Kafka 2.8 topics have no ids, and brokers say nothing of rights.
func TestAnOldBrokerGivesNoIDs(t *testing.T) {
	b := kafkatest.Fake(t, kfake.MaxVersions(kversion.V2_7_0()))
	topic, ctx := b.Topic(t, 1, nil), kafkatest.Context(t)
	if id, err := topics.ID(ctx, b.Conn.Client, topic); id != "" || err != nil {
		t.Errorf("id %q, %v", id, err)
	}
	plan := []topics.Topic{{Name: topic, Operations: []string{"Read"}}}
	if _, err := topics.AskRights(ctx, b.Conn.Client, plan, nil); err == nil || !strings.Contains(err.Error(), "2.8") {
		t.Errorf("rights: %v", err)
	}
}
