package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// TestAFailureElsewhereEndsTheReading ends the reading of an output because the ledger was cut short: the output itself was
// not, and nothing reads it again.
func TestAFailureElsewhereEndsTheReading(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "private", 1, nil)
	ctx, cancel := context.WithCancelCause(kafkatest.Context(t))
	cancel(&fetch.TruncatedError{Topic: "app.ledger"})
	ended := make(chan error, 1)
	go func() {
		ended <- newPublished([]string{"private"}, nil).follow(ctx, &outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}, time.Time{})
	}()
	if err := kafkatest.Receive(t, "the reading ends", ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// exit waits for a process to end by itself and returns its exit code.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var exit *exec.ExitError
	if err := kafkatest.Receive(t, "the process ends", ended); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// TestLedgerThatGoesBackEndsTheProcess cuts the ledger below what was published from it: each process ends with the code of
// a privacy stop and says why, whichever stage notices first.
func TestLedgerThatGoesBackEndsTheProcess(t *testing.T) {
	b := kafkatest.Fake(t)
	l := newLive(t, b, 100)
	p := l.run()
	kafkatest.Await(t, "the first figures", func() bool { l.send(rand.New(rand.NewPCG(1, 2))); return len(l.published()) > 0 })
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, p.log.String())
	}
	b.DeleteTopic(t, topics.Names{App: l.app}.Ledger())
	for _, stages := range []string{"publish", "release", "ingest,release,publish"} {
		p := louver(t, b, "run", "--streams", l.file, "--app-id", l.app, "--stages", stages)
		if code := p.exit(t); code != exitPrivacyStop || !strings.Contains(p.log.String(), "louver: ledger entry unreadable: ") {
			t.Errorf("stages %s: exit code %d, and the log says\n%s", stages, code, p.log.String())
		}
	}
}
