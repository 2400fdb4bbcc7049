package chaostest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// fault is one kind of thing that can go wrong. do returns false where it cannot be done now.
type fault struct {
	kind   string
	weight int
	do     func(c *chaos) bool
}

const (
	fewestProcesses, mostProcesses = 2, 4
	mostPartitions                 = 12
	sessionTimeout                 = 10 * time.Second
)

// kinds are drawn from.
var kinds = []fault{
	{"kill -9", 5, func(c *chaos) bool {
		m := c.anyone()
		c.kill(m)
		c.later(c.between(0, 6), func() { c.start() })
		return true
	}},
	{"SIGTERM", 4, func(c *chaos) bool {
		c.terminate(c.anyone())
		c.later(c.between(0, 6), func() { c.start() })
		return true
	}},
	{"SIGSTOP", 3, func(c *chaos) bool {
		m := c.anyone()
		m.Signal(c.t, syscall.SIGSTOP)
		m.stopped = true
		c.later(sessionTimeout+c.between(1, 5), func() { c.resume(m) })
		return true
	}},
	{"a process joins", 2, func(c *chaos) bool {
		if len(c.members) >= mostProcesses {
			return false
		}
		c.start()
		return true
	}},
	{"a process leaves", 2, func(c *chaos) bool {
		if len(c.members) <= fewestProcesses {
			return false
		}
		c.terminate(c.anyone())
		return true
	}},
	{"a leader is killed", 3, func(c *chaos) bool {
		topic := []string{c.names.Ledger(), c.names.Partials(), c.names.Progress(), "__consumer_offsets",
			"__transaction_state"}[c.random.IntN(5)]
		c.broker.KillLeader(c.t, topic, c.random.IntN(2))
		c.wait(c.between(2, 8))
		c.broker.Start(c.t)
		return true
	}},
	{"all brokers are down", 1, func(c *chaos) bool {
		c.broker.Kill(c.t)
		c.wait(c.between(3, 15))
		c.broker.Start(c.t)
		c.down = time.Now()
		return true
	}},
	{"connections are cut", 4, func(c *chaos) bool {
		c.broker.CutConnections(c.t)
		return true
	}},
	{"transactions are aborted", 4, (*chaos).abort},
	{"a definition changes", 3, (*chaos).redefine},
	{"partitions are added", 1, func(c *chaos) bool {
		more := int(c.load.partitions.Load()) + 1
		if more > mostPartitions {
			return false
		}
		for _, topic := range c.load.topics {
			c.grow(topic, more)
		}
		c.load.partitions.Store(int32(more))
		return true
	}},
	{"partials are deleted", 2, func(c *chaos) bool {
		s := c.streams[c.random.IntN(len(c.streams))]
		place := topics.Place(s.newest().budget, topics.Partitions)
		var of []string
		for _, o := range c.streams {
			if slices.ContainsFunc(o.definitions,
				func(v definition) bool { return topics.Place(v.budget, topics.Partitions) == place }) {
				of = append(of, o.name)
			}
		}
		at := time.Now()
		end := c.end(c.names.Partials(), place)
		c.broker.DeleteRecords(c.t, c.names.Partials(), place, end)
		// What is lost was written before the next record of the log.
		c.loses("partials are deleted", at, of, func() bool { return c.end(c.names.Partials(), place) > end })
		return true
	}},
	{"groups are deleted", 1, func(c *chaos) bool {
		c.pause(func() {
			for _, group := range []string{c.names.Group(stream.Ingest), c.names.Group(stream.Release),
				c.names.Group(stream.Publish)} {
				c.forget(group)
			}
		})
		return true
	}},
	{"input is deleted", 1, func(c *chaos) bool {
		topic, partition := c.load.topics[c.random.IntN(len(c.load.topics))],
			c.random.IntN(int(c.load.partitions.Load()))
		var of []string
		for _, s := range c.streams {
			if s.input == topic {
				of = append(of, s.name)
			}
		}
		at := time.Now()
		var end int64
		c.pause(func() {
			c.wait(c.between(1, 3))
			end = c.end(topic, partition)
			c.broker.DeleteRecords(c.t, topic, partition, end)
		})
		// The mark that tells of the loss is written before the group's offset.
		c.loses("input is deleted", at, of, func() bool { return c.committed(topic, partition) >= end })
		return true
	}},
	{"a right is revoked", 3, (*chaos).deny},
	{"the partials are deleted and created again", 1, (*chaos).losePartials},
	{"the progress is deleted and created again", 1, (*chaos).loseProgress},
	{"an input is deleted and created again", 1, (*chaos).loseInput},
	{"the output is deleted and created again", 1, (*chaos).loseOutput},
	{"the ledger goes back in time", 1, (*chaos).rewindLedger},
	{"the ledger is gone", 1, (*chaos).loseLedger},
	{"the control topic is gone", 1, (*chaos).loseControl},
	{"all own topics are gone", 1, (*chaos).loseAll},
}

// abort aborts transactions, as a process does that believes itself alone: it takes the transactional id while a draw
// is in the log and not committed. That lasts a few milliseconds, so it waits at the end of the log.
func (c *chaos) abort() bool {
	length := 2 * c.streams[0].definitions[0].every
	ctx, cancel := context.WithTimeout(kafkatest.Context(c.t), length)
	defer cancel()
	client := c.broker.Fetch(fetch.Options{ReadUncommitted: true})
	var places errgroup.Group
	for _, place := range c.places() {
		reader := client.Partition(c.names.Ledger(), place, c.end(c.names.Ledger(), place))
		places.Go(func() error { return c.takeID(ctx, reader, c.names.ReleaseID(place)) })
	}
	c.wait(length)
	if err := places.Wait(); err != nil {
		c.t.Fatal(err)
	}
	return true
}

// takeID takes a transactional id whenever something has been written, until ctx ends.
func (c *chaos) takeID(ctx context.Context, log *fetch.Reader, id string) error {
	for {
		page, err := log.Poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		written := false
		if err == nil {
			err = page.Each(func(*fetch.Record) error {
				written = true
				return nil
			})
		}
		if err == nil && written {
			_, err = txn.Open(kafkatest.Context(c.t), c.broker.Conn.Client, id, time.Minute)
		}
		if err != nil {
			return fmt.Errorf("take %s: %w", id, err)
		}
	}
}

// places are the partitions of the ledger that the streams' budgets have.
func (c *chaos) places() []int {
	places := map[int]bool{}
	for _, s := range c.streams {
		places[topics.Place(s.newest().budget, topics.Partitions)] = true
	}
	return slices.Collect(maps.Keys(places))
}

// draw draws a fault that can be done now, and does it.
func (c *chaos) draw() {
	for {
		total := 0
		for _, f := range kinds {
			total += f.weight
		}
		i := c.random.IntN(total)
		for _, f := range kinds {
			if i -= f.weight; i >= 0 {
				continue
			}
			at := time.Now()
			if f.do(c) {
				c.note(f.kind, at)
				return
			}
			break
		}
	}
}

// loses notes that streams may have lost something of the windows that begin before a moment: that at which it is seen
// that the log has gone on.
func (c *chaos) loses(kind string, at time.Time, streams []string, on func() bool) {
	c.watching.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for over := false; !over && !on(); {
			select {
			case <-tick.C:
			case <-c.over:
				over = true
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.harms = append(c.harms, harm{kind, at, time.Now().Add(maxFuture), streams})
	})
}

// committed is the offset of the ingest group; −1 if it is not known now.
func (c *chaos) committed(topic string, partition int) int64 {
	res, err := c.broker.Conn.Client.OffsetFetch(context.Background(),
		&kafka.OffsetFetchRequest{GroupID: c.names.Group(stream.Ingest), Topics: map[string][]int{topic: {partition}}})
	if err != nil || res.Error != nil || len(res.Topics[topic]) == 0 {
		return -1
	}
	return res.Topics[topic][0].CommittedOffset
}

// grow adds partitions to a topic, and waits for the new one's leader.
func (c *chaos) grow(topic string, partitions int) {
	kafkatest.Await(c.t, "the topic grows", func() bool {
		res, err := c.broker.Conn.Client.CreatePartitions(kafkatest.Context(c.t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}}})
		return err == nil && (res.Errors[topic] == nil || errors.Is(res.Errors[topic], kafka.InvalidPartitionNumber))
	})
	c.end(topic, partitions-1)
}

// forget deletes a consumer group that has no members, or soon has none.
func (c *chaos) forget(group string) {
	kafkatest.Await(c.t, "group "+group+" is deleted", func() bool {
		res, err := c.broker.Conn.Client.DeleteGroups(kafkatest.Context(c.t),
			&kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
		return err == nil && (res.Errors[group] == nil || errors.Is(res.Errors[group], kafka.GroupIdNotFound))
	})
}

// redefinitions are the ways in which the file changes while the service runs.
var redefinitions = []struct {
	stream string
	change func(v *definition, revision int)
}{
	{"tumbling", func(v *definition, _ int) { v.size = other(v.size, 3*time.Second, 6*time.Second); v.every = v.size }},
	{"tumbling", func(v *definition, _ int) {
		if v.groups = slices.Clone(v.groups); len(v.groups) == 2 {
			v.groups = append(v.groups, "nobody")
		} else {
			v.groups = v.groups[:2]
		}
	}},
	{"hopping", func(v *definition, _ int) { v.size = other(v.size, 6*time.Second, 9*time.Second) }},
	{"hopping", func(v *definition, _ int) {
		v.epsilon = decimal.NewFromInt(3_000_000).Sub(v.epsilon)
	}},
	{"scarce", func(v *definition, _ int) { v.epsilon = decimal.New(6, -1).Sub(v.epsilon) }},
	{"scarce", func(v *definition, _ int) { v.limit.Epsilon = decimal.NewFromInt(5).Sub(v.limit.Epsilon) }},
	{"capped", func(v *definition, _ int) { v.cap = 12 - v.cap }},
	{"alarmed", func(v *definition, _ int) { v.alarm = 32 - v.alarm }},
	{"visits", func(v *definition, _ int) { v.total = 24 - v.total }},
	{"lately", func(v *definition, _ int) { v.recent.last = other(v.recent.last, 12*time.Second, 18*time.Second) }},
	{"lately", func(v *definition, _ int) { v.recent.active = other(v.recent.active, 12*time.Second, 9*time.Second) }},
	{"hazy", func(v *definition, _ int) { v.epsilon = decimal.New(8, -1).Sub(v.epsilon) }},
	{"scarce", func(v *definition, revision int) { v.continues, v.budget = v.budget, fmt.Sprint("scarce-", revision) }},
}

func other(now, one, two time.Duration) time.Duration { return one + two - now }

// redefine changes the definition of one stream in the file, and gives the file to one of the processes. The others
// have the old one until they start again.
func (c *chaos) redefine() bool {
	// A budget that another takes over has been paid from by then.
	if time.Since(c.redefined) < time.Minute {
		return false
	}
	r := redefinitions[c.random.IntN(len(redefinitions))]
	i := slices.IndexFunc(c.streams, func(s promised) bool { return s.name == r.stream })
	c.revision++
	v := c.streams[i].newest()
	r.change(&v, c.revision)
	c.redefined = time.Now()
	v.given = c.redefined
	c.streams[i].definitions = append(slices.Clone(c.streams[i].definitions), v)
	c.configure()
	c.terminate(c.anyone())
	c.start()
	return true
}
