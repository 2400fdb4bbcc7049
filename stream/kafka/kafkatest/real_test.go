package kafkatest

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// While a broker is down, another one may take its port. Its answers are not the broker's, whose records are still
// there when it is back.
func TestOwnBrokerKeepsItsRecordsWhenKilled(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := Own(t)
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, Values("kept")...)
	b.Kill(t)
	startBesideStranger(t, b.nodes)
	b.Start(t)
	b.Produce(t, topic, 0, Values("later")...)
	b.Stop(t)
	b.Start(t)
	if got, want := b.ConsumeValues(t, topic, 0), []string{"kept", "later"}; !slices.Equal(got, want) {
		t.Fatalf("consumed %v, want %v", got, want)
	}
}

// startBesideStranger starts a broker at whose address another one answers, which must fail.
func startBesideStranger(t *testing.T, nodes []*server) {
	t.Helper()
	_, text, _ := net.SplitHostPort(nodes[0].addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if err := start(nodes); err == nil || !strings.Contains(err.Error(), "; want "+nodes[0].cluster) {
		t.Fatalf("started where another broker answers: %v", err)
	}
}
