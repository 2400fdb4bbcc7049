package topics_test

import (
	"testing"

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
