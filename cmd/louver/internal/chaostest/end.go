package chaostest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// finish waits for the last windows with events, ends all processes, and judges what they and earlier apps leave.
func (c *chaos) finish(deeds []deed) {
	every := c.streams[0].definitions[0].every
	to := time.Now().UTC().Truncate(every)
	c.await(to)
	for len(c.members) > 0 {
		c.terminate(c.members[0])
	}
	c.leave(to)
	published := slices.Clone(c.gone)
	for p := range outputPartitions {
		published = append(published, c.read(c.output, p)...)
	}
	v, entries := c.judge(deeds, published)
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
	for _, l := range entries {
		if l.aborted {
			aborted++
		}
	}
	tested := []int{v.firings, v.counted, v.totals, v.found, v.sums, v.soFar, v.active}
	if slices.Contains(tested, 0) {
		c.t.Errorf("firings, users under a cap, totals, names found, sums over the newest time, distributions so far, "+
			"active users: %v; want some of each", tested)
	}
	c.t.Logf("%d events, %d of them certain to count; %d aborted records in the ledger's log; %d firings; users "+
		"under a cap counted %d times; names were found %d times; compared: %d totals, %d sums over the newest time, "+
		"%d distributions so far, %d numbers of active users; %d apps; %d processes; %s", events, certain, aborted,
		v.firings, v.counted, v.found, v.totals, v.sums, v.soFar, v.active, len(c.earlier), len(c.all),
		time.Since(c.began).Round(time.Second))
	run := clitest.Louver(c.t, c.broker, slices.Concat([]string{"audit", "--full", "--app-id", c.names.App},
		c.login)...)
	err := run.Wait()
	lines := slices.Collect(strings.Lines(run.Log.String()))
	if len(c.earlier) > 1 { // their figures are in the output, too
		lines = slices.DeleteFunc(lines,
			func(line string) bool { return strings.Contains(line, ": "+audit.OutputUnknown+": ") })
	}
	if err != nil && (len(c.earlier) == 1 || strings.Contains(strings.Join(lines, ""), "@")) {
		c.t.Errorf("audit: %v", err)
	}
	c.t.Log("audit: ", strings.Join(lines, ""))
	fmt.Println(v)
}

// leave keeps what the app leaves behind, which must have published its windows up to a time. Its outputs are read at
// the end.
func (c *chaos) leave(to time.Time) {
	close(c.over)
	c.watching.Wait()
	e := evidence{from: c.from, to: to, streams: slices.Clone(c.streams), harms: c.harms, steps: c.steps(),
		ledger: c.entries()}
	c.earlier = append(c.earlier, e)
	c.harms, c.over = nil, make(chan struct{})
}

// entries are those of the whole ledger.
func (c *chaos) entries() (all []logged) {
	for p := range topics.Partitions {
		all = append(all, c.read(c.names.Ledger(), p)...)
	}
	return all
}

// judge adds up the verdicts on all apps, and returns what is in their ledgers. The windows of an app begin before the
// next app does.
func (c *chaos) judge(deeds []deed, published []logged) (all verdict, entries []logged) {
	all.faults = c.faults
	for i, e := range c.earlier {
		next := time.Now()
		if i+1 < len(c.earlier) {
			next = c.earlier[i+1].from
		}
		e.deeds = slices.DeleteFunc(slices.Clone(deeds), func(d deed) bool { return !d.at.Before(next) })
		for _, l := range published {
			// What cannot be read is judged with the first app.
			r, _, err := outputs.Decode(l.value)
			begins := beginsOf(r)
			if err != nil && i == 0 || err == nil && !begins.Before(e.from) && begins.Before(next) {
				e.outputs = append(e.outputs, l)
			}
		}
		all.add(e.check())
		entries = append(entries, e.ledger...)
	}
	return all, entries
}

// beginsOf is when the window of a record begins. A sum over the newest time begins earlier, but its id has the window.
func beginsOf(r outputs.Record) time.Time {
	if parts := strings.Split(r.ID, "/"); r.Last() && len(parts) == 4 {
		if start, err := time.Parse(time.RFC3339, parts[2]); err == nil {
			return start
		}
	}
	return r.WindowStart
}

// await returns when every stream has published a window that ends at a moment or later, or when nothing more comes for
// so long that it will not.
func (c *chaos) await(end time.Time) {
	for last, since := -1, time.Now(); time.Since(since) < patience; c.wait(time.Second) {
		waiting, n := map[string]bool{}, 0
		for _, s := range c.streams {
			waiting[s.name] = true
		}
		for p := range outputPartitions {
			for _, l := range c.read(c.output, p) {
				// A window without groups has no records. It is decided if a later discovery is.
				r, _, err := outputs.Decode(l.value)
				later := r.WindowEnd.After(end) || r.WindowEnd.Equal(end) && r.Statistic != record.StatisticGroups
				if err == nil && !l.aborted && later {
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
	_, err := c.broker.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(c.t), topic, partition,
		kafka.FirstOffset, func(r *fetch.Record) error {
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
