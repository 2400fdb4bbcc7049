package topics_test

import (
	"errors"
	"testing"

	"github.com/segmentio/kafka-go"

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
		kafkatest.Await(t, "the topic is gone", func() bool {
			_, err := topics.ID(kafkatest.Context(t), b.Conn.Client, name)
			return errors.Is(err, kafka.UnknownTopicOrPartition)
		})
		b.CreateTopic(t, name, 1, nil)
		if again := ask(name); again == "" || again == first {
			t.Errorf("id %q, before %q", again, first)
		}
	})
}
