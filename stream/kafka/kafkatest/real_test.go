package kafkatest

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// While a broker is down, another one may take its port. Its answers are not the broker's.
func TestAnotherBrokerAtTheAddress(t *testing.T) {
	t.Parallel()
	b := Own(t)
	b.Kill(t)
	_, text, _ := net.SplitHostPort(b.nodes[0].addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	if err != nil {
		t.Fatal(err)
	}
	if err := start(b.nodes); err == nil || !strings.Contains(err.Error(), "; want "+b.nodes[0].cluster) {
		t.Fatalf("started where another broker answers: %v", err)
	}
	stranger.Close()
	b.Start(t)
}
