package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestProbes follows a process from before it connects to its end: it is alive all the time, and ready while it works.
func TestProbes(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	input := kafkatest.Name(t)
	path := clitest.File(t, "streams.yaml", configtest.File(configtest.Stream("web",
		configtest.Topics(input, input+"-out"), configtest.Window(time.Hour, 5*time.Second), configtest.StartNow)))
	alone := clitest.Louver(t, b, "run", "--streams", path, "--kafka-brokers", "127.0.0.1:1")
	public, operators := alone.Addresses(t)
	for _, address := range []string{public, operators} {
		if code, body := clitest.Get(address, "/livez"); code != http.StatusOK {
			t.Errorf("alive without Kafka: %d %s", code, body)
		}
	}
	if code, body := clitest.Get(operators, "/readyz"); code != http.StatusServiceUnavailable ||
		!strings.HasPrefix(body, "service: not ready: connecting to Kafka at 127.0.0.1:1\n") {
		t.Errorf("ready without Kafka: %d %s", code, body)
	}
	for _, path := range []string{"/readyz", "/readyz?verbose"} { // the public is told no more
		if code, body := clitest.Get(public, path); code != http.StatusServiceUnavailable || body != "not ready\n" {
			t.Errorf("%s in public without Kafka: %d %s", path, code, body)
		}
	}
	alone.Kill(t)

	p := clitest.Louver(t, b, "run", "--streams", path)
	public, operators = p.Addresses(t)
	kafkatest.Await(t, "the missing topic is named", func() bool {
		code, body := clitest.Get(operators, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, input+" does not exist")
	})
	b.CreateTopic(t, input, 2, nil)
	for _, address := range []string{public, operators} {
		kafkatest.Await(t, "it is ready", func() bool {
			code, body := clitest.Get(address, "/readyz")
			return code == http.StatusOK && body == "ok\n"
		})
	}
	_, body := clitest.Get(operators, "/readyz?verbose")
	for _, fact := range []string{"service: ok\n", "kafka: ok\n", "broker " + b.Conn.Brokers[0] + ": ",
		"ingest: 2 partitions\n", "release: 8 partitions\n", "publish: 8 partitions\n", "stream web: ok\n"} {
		if !strings.Contains(body, fact) {
			t.Errorf("no %q in\n%s", fact, body)
		}
	}
	if _, body := clitest.Get(public, "/readyz?verbose"); body != "ok\n" {
		t.Errorf("the public is told %s", body)
	}
	for _, path := range []string{"/api/v1/demo", "/api/v1/demo/redraw?release=p50&epsilon=0.1", "/demo.js"} {
		if code, body := clitest.Get(public, path); code != http.StatusNotFound {
			t.Errorf("%s outside of a demo: %d %s", path, code, body)
		}
	}
	// A process that leaves its groups waits for an answer.
	leaves := make(chan struct{})
	b.Fake.ControlKey(int16(kmsg.LeaveGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		<-leaves
		return nil, nil, false
	})
	p.Signal(t, syscall.SIGTERM)
	kafkatest.Await(t, "readiness goes off first", func() bool {
		code, body := clitest.Get(operators, "/readyz")
		return code == http.StatusServiceUnavailable && strings.HasPrefix(body, "service: not ready: stopping")
	})
	if code, body := clitest.Get(operators, "/livez"); code != http.StatusOK {
		t.Errorf("alive while it stops: %d %s", code, body)
	}
	close(leaves)
	if err := p.Wait(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
	}
	// the missing topic, if it took long
	if log := p.Log.String(); strings.Count(log, "WARN") > 1 || strings.Contains(log, "ERROR") {
		t.Errorf("the log:\n%s", log)
	}
}
