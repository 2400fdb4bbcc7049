package main

import (
	"math/rand/v2"
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

// TestLedgerThatGoesBackEndsTheProcess cuts the ledger below what was published from it: each process ends with the
// code of a privacy stop and says why, whichever stage notices first.
func TestLedgerThatGoesBackEndsTheProcess(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	l := newLive(t, b, 100)
	p := l.run()
	kafkatest.Await(t, "the first figures",
		func() bool { l.send(rand.New(rand.NewPCG(1, 2))); return len(l.published()) > 0 })
	p.Signal(t, syscall.SIGTERM)
	if code := p.Exit(t); code != cli.ExitDone {
		t.Fatalf("exit code %d\n%s", code, p.Log.String())
	}
	b.DeleteTopic(t, topics.Names{App: l.app}.Ledger())
	for _, stages := range []string{"publish", "release", "ingest,release,publish"} {
		p := clitest.Louver(t, b, "run", "--streams", l.file, "--app-id", l.app, "--stages", stages)
		if code := p.Exit(t); code != cli.ExitPrivacyStop ||
			!strings.Contains(p.Log.String(), "louver: ledger entry unreadable: ") {
			t.Errorf("stages %s: exit code %d, and the log says\n%s", stages, code, p.Log.String())
		}
	}
}

// TestRightOnAnOutputIsLost takes the right to read its output from a service that runs, and gives it back: meanwhile
// the figures go on, and only the page does not show them.
func TestRightOnAnOutputIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Guarded(t, "reader")
	g := newGuarded(t, b, "reader", -1)
	g.grant()
	g.run()
	kafkatest.Await(t, "the first figures", func() bool { return g.holds(g.output) })
	giveBack := b.TakeAway(t, "reader", kafka.ACLOperationTypeRead, g.output)
	kafkatest.Await(t, "the service says that it may not read the output", func() bool {
		log := g.process.Log.String()
		return strings.Contains(log, "cannot read topic "+g.output) &&
			strings.Contains(log, "the right Read on topic "+g.output)
	})
	before := g.end()
	kafkatest.Await(t, "figures that come without the right", func() bool { return g.end() > before+2 })
	giveBack()
	kafkatest.Await(t, "the service reads the output again", func() bool {
		return strings.Contains(g.process.Log.String(), "topic "+g.output+" can be read again")
	})
	g.process.Signal(t, syscall.SIGTERM)
	if code := g.process.Exit(t); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

// TestRightOnAnInputIsLost takes the right to read its input from a service that runs, and gives it back: the log says
// so once for all partitions, and /readyz while it lasts.
func TestRightOnAnInputIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Guarded(t, "reader")
	g := newGuarded(t, b, "reader", -1)
	grown, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t),
		&kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: g.input, Count: 3}}})
	if err != nil || grown.Errors[g.input] != nil {
		t.Fatal(err, grown)
	}
	g.grant()
	g.run()
	_, operators := g.process.Addresses(t)
	kafkatest.Await(t, "the first figures", func() bool { return g.holds(g.output) })
	began, fact := time.Now(), "rights: Read on topic "+g.input+" is missing\n"
	said := func() bool { _, body := clitest.Get(operators, "/readyz?verbose"); return strings.Contains(body, fact) }
	giveBack := b.TakeAway(t, "reader", kafka.ACLOperationTypeRead, g.input)
	kafkatest.Await(t, "/readyz says that the right is missing", said)
	problem := "cannot read topic " + g.input
	kafkatest.Await(t, "the log says so, too", func() bool {
		log := g.process.Log.String()
		return strings.Contains(log, problem) && strings.Contains(log, "it needs the right Read on topic "+g.input)
	})
	giveBack()
	kafkatest.Await(t, "the service reads the input again", func() bool {
		return strings.Contains(g.process.Log.String(), "topic "+g.input+" can be read again") && !said()
	})
	if n, most := strings.Count(g.process.Log.String(), problem), 1+int(time.Since(began)/time.Minute); n > most {
		t.Errorf("%d lines say that the input cannot be read, want at most %d:\n%s", n, most, g.process.Log.String())
	}
	before := g.end()
	kafkatest.Await(t, "figures go on", func() bool { return g.end() > before+2 })
	g.process.Signal(t, syscall.SIGTERM)
	if code := g.process.Exit(t); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}
