package chaostest

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// losePartials deletes the parts of all open windows. The service creates the topic again.
func (c *chaos) losePartials() bool {
	at := time.Now()
	c.broker.DeleteTopic(c.t, c.names.Partials())
	c.heal("the partials are deleted and created again", at, c.streams)
	return true
}

// loseProgress deletes how far the workers have come. Whoever takes over a partition then cannot tell parts that were
// deleted because their windows are decided from lost ones, so windows that had begun may be incomplete.
func (c *chaos) loseProgress() bool {
	at := time.Now()
	c.broker.DeleteTopic(c.t, c.names.Progress())
	c.heal("the progress is deleted and created again", at, c.streams)
	return true
}

// loseInput deletes an input, and creates it again.
func (c *chaos) loseInput() bool {
	at, topic := time.Now(), c.load.topics[c.random.IntN(len(c.load.topics))]
	c.broker.DeleteTopic(c.t, topic)
	c.wait(c.between(0, 5))
	c.broker.CreateTopic(c.t, topic, int(c.load.partitions.Load()), nil)
	c.heal("an input is deleted and created again", at, slices.DeleteFunc(slices.Clone(c.streams),
		func(s promised) bool { return s.input != topic }))
	return true
}

// loseOutput deletes the output, and creates it again. What was in it is kept for the checker, so nothing may be
// written to it meanwhile.
func (c *chaos) loseOutput() bool {
	giveBack := c.takeAway(kafka.ACLOperationTypeWrite, c.output)
	c.settle(c.output, outputPartitions)
	for p := range outputPartitions {
		c.gone = append(c.gone, c.read(c.output, p)...)
	}
	c.broker.DeleteTopic(c.t, c.output)
	giveBack()
	c.wait(c.between(0, 5))
	c.createOutput()
	c.await(time.Now())
	return true
}

// heal notes that streams may have lost something, and waits until each of them has published a whole window that began
// after that.
func (c *chaos) heal(kind string, at time.Time, streams []promised) {
	after := time.Now()
	var of []string
	for _, s := range streams {
		of = append(of, s.name)
		c.until("a whole window of "+s.name+" after "+kind, func() bool {
			for p := range outputPartitions {
				if slices.ContainsFunc(c.read(c.output, p), func(l logged) bool {
					r, _, err := outputs.Decode(l.value)
					return err == nil && !l.aborted && r.Stream == s.name && r.WindowStart.After(after) && !r.Incomplete
				}) {
					return true
				}
			}
			return false
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.harms = append(c.harms, harm{kind, at, time.Now().Add(maxFuture), of})
}

// settle waits until nothing more is written to a topic that may not be written to, and nothing in it is undecided.
func (c *chaos) settle(topic string, partitions int) {
	state := func() (ends []int64, open bool) {
		for p := range partitions {
			ends, open = append(ends, c.end(topic, p)), open || c.open(topic, p)
		}
		return ends, open
	}
	before, _ := state()
	c.until("nothing is written to "+topic, func() bool {
		c.wait(2 * time.Second)
		last := before
		now, open := state()
		before = now
		return !open && slices.Equal(now, last)
	})
}

// loseLedger deletes the ledger.
func (c *chaos) loseLedger() bool {
	return c.stop(func(settled func()) {
		settled()
		c.broker.DeleteTopic(c.t, c.names.Ledger())
	}, func() {}, false)
}

// loseControl deletes the control topic. What is decided until the processes notice stands in the ledger.
func (c *chaos) loseControl() bool {
	return c.stop(func(settled func()) {
		settled()
		c.broker.DeleteTopic(c.t, c.names.Control())
	}, func() { c.earlier[len(c.earlier)-1].ledger = c.entries() }, false)
}

// rewindLedger takes the newest entries from the ledger, as an older disk does. It needs the broker's folders, so the
// embedded broker cannot do it.
func (c *chaos) rewindLedger() bool {
	var restore func()
	return c.stop(func(settled func()) {
		c.broker.Kill(c.t)
		restore = c.broker.Save(c.t, c.names.Ledger())
		c.broker.Start(c.t)
		c.down = time.Now()
		c.await(time.Now())
		settled()
		c.broker.Kill(c.t)
		restore()
		c.broker.Start(c.t)
	}, func() {}, false)
}

// loseAll deletes all own topics. Then the same app may begin again, if it is told to.
func (c *chaos) loseAll() bool {
	return c.stop(func(settled func()) {
		settled()
		c.deleteOwn()
	}, c.deleteOwn, c.random.IntN(2) == 0)
}

// deleteOwn deletes those of the app's own topics that are there.
func (c *chaos) deleteOwn() {
	for _, topic := range []string{c.names.Ledger(), c.names.Control(), c.names.Partials(), c.names.Progress(),
		c.names.State()} {
		var err error
		kafkatest.Await(c.t, "the brokers say whether there is a topic "+topic, func() bool {
			_, err = topics.ID(kafkatest.Context(c.t), c.broker.Conn.Client, topic)
			return err == nil || errors.Is(err, kafka.UnknownTopicOrPartition)
		})
		if err == nil {
			c.broker.DeleteTopic(c.t, topic)
		}
	}
}

// stop does something after which it is not known what was charged. do calls settled when nothing more may be charged:
// then what the app leaves behind is read. Every process must end by itself, with the exit code of a privacy stop, and
// so must each that starts again after ended has returned. Then another app begins, or the same one again.
func (c *chaos) stop(do func(settled func()), ended func(), again bool) bool {
	if time.Since(c.from) < 4*2*shortest {
		return false // the app has hardly begun
	}
	c.repair()
	giveBack := func() {}
	do(func() {
		to := time.Now().UTC().Truncate(shortest)
		c.await(to)
		giveBack = c.takeAway(kafka.ACLOperationTypeWrite, c.names.Ledger())
		c.settle(c.names.Ledger(), topics.Partitions)
		c.leave(to)
	})
	giveBack()
	n, at := len(c.members), time.Now()
	for len(c.members) > 0 {
		c.stopped(c.members[0])
	}
	c.t.Logf("all processes have ended after %s", time.Since(at).Round(time.Second))
	ended()
	for range 2 {
		c.stopped(c.start())
	}
	c.begin(n, again)
	return true
}

// stopped waits for a process to end with the exit code of a privacy stop.
func (c *chaos) stopped(m *member) {
	c.remove(m)
	var exit *exec.ExitError
	if err := kafkatest.Receive(c.t, m.name+" ends", m.ended); !errors.As(err, &exit) ||
		exit.ExitCode() != cli.ExitPrivacyStop {
		c.t.Errorf("%s has ended with %v, want exit code %d\n%s", m.name, err, cli.ExitPrivacyStop,
			tail(m.Log.String()))
	}
}

// begin begins another app, or the same one again, with as many processes and the newest definitions.
func (c *chaos) begin(processes int, again bool) {
	c.from = soon()
	c.revision++
	c.redefined = time.Now()
	streams := slices.Clone(c.streams)
	for i, s := range streams {
		v := s.newest()
		v.continues = ""
		streams[i].definitions = []definition{v}
	}
	c.streams = streams
	c.configure()
	if !again {
		c.names = topics.Names{App: kafkatest.Name(c.t)}
	} else {
		processes--
		m := c.start("--begin-again")
		c.until("the app begins again", func() bool { return strings.Contains(m.Log.String(), "the app begins again") })
		c.until("the app has begun", func() bool { return c.end(c.names.Control(), 0) > 0 })
	}
	c.t.Logf("app %s begins; again: %v", c.names.App, again)
	for range processes {
		c.start()
	}
	c.wait(time.Until(c.from))
}

// end is the end of a partition, for which the brokers are asked until they answer.
func (c *chaos) end(topic string, partition int) int64 {
	ends, err := c.broker.Fetch(fetch.Options{}).Ends(context.Background(), topic, []int{partition})
	if err != nil {
		c.t.Errorf("end of %s/%d: %v", topic, partition, err)
	}
	return ends[partition]
}

// open says that a transaction has written to a partition and is not decided.
func (c *chaos) open(topic string, partition int) bool {
	res, err := c.broker.Conn.Client.ListOffsets(context.Background(),
		&kafka.ListOffsetsRequest{IsolationLevel: kafka.ReadCommitted,
			Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(partition)}}})
	if err != nil || len(res.Topics[topic]) == 0 || res.Topics[topic][0].Error != nil {
		return false
	}
	return res.Topics[topic][0].LastOffset < c.end(topic, partition)
}
