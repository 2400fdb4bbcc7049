package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// finish waits for the last windows with events, ends all processes, and judges what they leave.
func (c *chaos) finish(deeds []deed) {
	every := c.streams[0].definitions[0].every
	e := evidence{from: c.from, to: time.Now().UTC().Truncate(every), streams: c.streams, deeds: deeds}
	c.await(e.to)
	for len(c.members) > 0 {
		c.terminate(c.members[0])
	}
	close(c.over)
	c.watching.Wait()
	e.faults, e.harms = c.faults, c.harms
	e.steps = c.steps()
	for p := range topics.Partitions {
		e.ledger = append(e.ledger, c.read(c.names.Ledger(), p)...)
	}
	for p := range 2 {
		e.outputs = append(e.outputs, c.read(c.output, p)...)
	}
	v := e.check()
	for i, complaint := range v.complaints {
		if i == 50 {
			c.t.Errorf("and %d more", len(v.complaints)-i)
			break
		}
		c.t.Error(complaint)
	}
	events, certain := 0, 0
	for _, d := range deeds {
		events++
		if !d.acked.IsZero() && d.acked.Before(d.at.Truncate(every).Add(every+c.streams[0].definitions[0].grace)) {
			certain++
		}
	}
	aborted := 0
	for _, l := range e.ledger {
		if l.aborted {
			aborted++
		}
	}
	if v.firings == 0 || v.counted == 0 {
		c.t.Errorf("watches fired %d times, and users under a cap counted %d times; want some of each", v.firings, v.counted)
	}
	c.t.Logf("%d events, %d of them certain to count; %d aborted records in the ledger's log; %d firings; users under a cap counted %d times; %d processes; %s",
		events, certain, aborted, v.firings, v.counted, len(c.all), time.Since(c.began).Round(time.Second))
	audit := louver(c.t, c.broker, "audit", "--app-id", c.names.App)
	if err := audit.Wait(); err != nil {
		c.t.Errorf("audit: %v", err)
	}
	c.t.Log("audit: ", audit.log.String())
	fmt.Println(v)
}

// await returns when every stream has published a window that ends at a moment or later, or when nothing more comes for
// so long that it will not.
func (c *chaos) await(end time.Time) {
	const patience = 3 * time.Minute
	for last, since := -1, time.Now(); time.Since(since) < patience; c.wait(time.Second) {
		waiting, n := map[string]bool{}, 0
		for _, s := range c.streams {
			waiting[s.name] = true
		}
		for p := range 2 {
			for _, l := range c.read(c.output, p) {
				if r, _, err := outputs.Decode(l.value); err == nil && !l.aborted && !r.WindowEnd.Before(end) {
					delete(waiting, r.Stream)
				}
				n++
			}
		}
		if len(waiting) == 0 {
			return
		}
		if n != last {
			last, since = n, time.Now()
		}
	}
}

// read reads a partition with what was aborted.
func (c *chaos) read(topic string, partition int) (all []logged) {
	_, err := c.broker.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(c.t), topic, partition, kafka.FirstOffset, func(r *fetch.Record) error {
		all = append(all, logged{slices.Clone(r.Value), r.Aborted})
		return nil
	})
	if err != nil {
		c.t.Fatalf("read %s/%d: %v", topic, partition, err)
	}
	return all
}

// steps are the numbers of partitions that the app has agreed on.
func (c *chaos) steps() map[string][]control.Step {
	steps := map[string][]control.Step{}
	for _, m := range c.broker.Consume(c.t, c.names.Control(), 0) {
		if topic, ok := strings.CutPrefix(m.Key, "input/"); ok {
			var s []control.Step
			if err := json.Unmarshal([]byte(m.Value), &s); err != nil {
				c.t.Fatal(err)
			}
			steps[topic] = s
		}
	}
	return steps
}
