package main

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

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
	if code := p.exit(t); code != cli.ExitDone {
		t.Fatalf("exit code %d\n%s", code, p.log.String())
	}
	b.DeleteTopic(t, topics.Names{App: l.app}.Ledger())
	for _, stages := range []string{"publish", "release", "ingest,release,publish"} {
		p := louver(t, b, "run", "--streams", l.file, "--app-id", l.app, "--stages", stages)
		if code := p.exit(t); code != cli.ExitPrivacyStop || !strings.Contains(p.log.String(), "louver: ledger entry unreadable: ") {
			t.Errorf("stages %s: exit code %d, and the log says\n%s", stages, code, p.log.String())
		}
	}
}

// TestRightOnAnOutputIsLost takes the right to read its output from a service that runs, and gives it back: meanwhile the
// figures go on, and only the page does not show them.
func TestRightOnAnOutputIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Guarded(t, "reader")
	g := newGuarded(t, b, "reader", -1)
	g.grant()
	g.run()
	kafkatest.Await(t, "the first figures", func() bool { return g.holds(g.output) })
	giveBack := takeAway(t, b, "reader", kafka.ACLOperationTypeRead, g.output)
	kafkatest.Await(t, "the service says that it may not read the output", func() bool {
		log := g.process.log.String()
		return strings.Contains(log, "cannot read topic "+g.output) && strings.Contains(log, "the right Read on topic "+g.output)
	})
	before := g.end()
	kafkatest.Await(t, "figures that come without the right", func() bool { return g.end() > before+2 })
	giveBack()
	kafkatest.Await(t, "the service reads the output again", func() bool {
		return strings.Contains(g.process.log.String(), "topic "+g.output+" can be read again")
	})
	g.process.signal(t, syscall.SIGTERM)
	if code := g.process.exit(t); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

// TestRightOnAnInputIsLost takes the right to read its input from a service that runs, and gives it back: the log says so once
// for all partitions, and /readyz while it lasts.
func TestRightOnAnInputIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Guarded(t, "reader")
	g := newGuarded(t, b, "reader", -1)
	grown, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: g.input, Count: 3}}})
	if err != nil || grown.Errors[g.input] != nil {
		t.Fatal(err, grown)
	}
	g.grant()
	g.run()
	_, operators := g.process.addresses(t)
	kafkatest.Await(t, "the first figures", func() bool { return g.holds(g.output) })
	began, fact := time.Now(), "rights: Read on topic "+g.input+" is missing\n"
	said := func() bool { _, body := clitest.Get(operators, "/readyz?verbose"); return strings.Contains(body, fact) }
	giveBack := takeAway(t, b, "reader", kafka.ACLOperationTypeRead, g.input)
	kafkatest.Await(t, "/readyz says that the right is missing", said)
	problem := "cannot read topic " + g.input
	kafkatest.Await(t, "the log says so, too", func() bool {
		log := g.process.log.String()
		return strings.Contains(log, problem) && strings.Contains(log, "it needs the right Read on topic "+g.input)
	})
	giveBack()
	kafkatest.Await(t, "the service reads the input again", func() bool {
		return strings.Contains(g.process.log.String(), "topic "+g.input+" can be read again") && !said()
	})
	if n, most := strings.Count(g.process.log.String(), problem), 1+int(time.Since(began)/time.Minute); n > most {
		t.Errorf("%d lines say that the input cannot be read, want at most %d:\n%s", n, most, g.process.log.String())
	}
	before := g.end()
	kafkatest.Await(t, "figures go on", func() bool { return g.end() > before+2 })
	g.process.signal(t, syscall.SIGTERM)
	if code := g.process.exit(t); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}
