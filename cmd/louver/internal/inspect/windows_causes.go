package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/cmd/louver/internal/inspect/timeline"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/fetch"
)

// causes finds out in Kafka why windows wait.
type causes struct{ cluster.Control }

const (
	// askedAtOnce is how many partitions are searched for transactions at the same time.
	askedAtOnce = 16
	// causePatience bounds the whole search. Causes that are not found by then are left out.
	causePatience = 15 * time.Second
)

// explain adds to each waiting run what it waits for.
func (c causes) explain(ctx context.Context, runs []timeline.Run, facts *timeline.Facts) {
	ctx, cancel := context.WithTimeout(ctx, causePatience)
	defer cancel()
	awaited := timeline.Awaited(runs)
	hanging := c.hanging(ctx, awaited, facts)
	var ingest, release group
	if len(awaited) > 0 {
		ingest = c.describe(ctx, c.Names.Group(stream.Ingest))
	}
	if slices.ContainsFunc(runs, func(r timeline.Run) bool { return r.State == timeline.Cut }) {
		release = c.describe(ctx, c.Names.Group(stream.Release))
	}
	for i := range runs {
		r := &runs[i]
		switch {
		case r.State == timeline.Waiting && len(r.Partitions) == 0:
			r.Why = append(r.Why, "nobody has counted the partitions of "+r.Input+" yet: no process runs the stage "+
				"ingest")
		case r.State == timeline.Waiting:
			r.Why = append(r.Why, c.waiting(r, ingest, hanging, facts)...)
		case r.State == timeline.Cut && len(r.Why) == 0:
			r.Why = append(r.Why, release.decides())
		}
	}
}

// waiting says what windows without a cut in some partitions wait for, cause by cause.
func (c causes) waiting(r *timeline.Run, ingest group, hanging map[timeline.Partition]string,
	facts *timeline.Facts) []string {
	var why []string
	byCause := map[string][]int{}
	for _, p := range r.Partitions {
		at := timeline.Partition{Topic: r.Input, Number: p}
		cause, open := hanging[at]
		if !open {
			read := false
			// What a worker said last may be old if nobody reads the partition.
			if cause, read = ingest.reads(at); read {
				if asks := facts.Asks(*r, p); asks != nil {
					cause = asks.String()
				}
			}
		}
		if again := facts.Again(*r, p, time.Now()); again != nil {
			cause = again.String()
		}
		if byCause[cause] == nil {
			why = append(why, cause)
		}
		byCause[cause] = append(byCause[cause], p)
	}
	for i, cause := range why {
		why[i] = timeline.Numbers(r.Input, byCause[cause]) + ": " + cause
	}
	return why
}

// hanging finds the open transactions that block reading.
func (c causes) hanging(ctx context.Context, awaited []timeline.Partition,
	facts *timeline.Facts) map[timeline.Partition]string {
	found := make([]string, len(awaited))
	var run errgroup.Group
	run.SetLimit(askedAtOnce)
	for i, at := range awaited {
		run.Go(func() error {
			reader := c.Fetch.Partition(at.Topic, at.Number, kafka.LastOffset)
			if position, ok := facts.Position(at); ok {
				reader = c.Fetch.Partition(at.Topic, at.Number, position)
			}
			if _, err := reader.Poll(ctx); err != nil {
				found[i] = fmt.Sprintf("it cannot be looked at: %v", err)
				return nil
			}
			begins := reader.LastStable()
			if begins >= reader.HighWatermark() {
				return nil
			}
			who, err := c.Fetch.ProducerAt(ctx, at.Topic, at.Number, begins)
			found[i] = stalled(at, begins, who, err)
			return nil
		})
	}
	_ = run.Wait()
	hanging := map[timeline.Partition]string{}
	for i, at := range awaited {
		if found[i] != "" {
			hanging[at] = found[i]
		}
	}
	return hanging
}

// stalled says why a partition is readable up to an offset only, given who wrote the record there.
func stalled(at timeline.Partition, offset int64, who fetch.Producer, err error) string {
	if err != nil || !who.Transactional {
		return fmt.Sprintf("its readable end does not move from offset %d, and no open transaction was found there: "+
			"its brokers may be busy, or a replica behind", offset)
	}
	return fmt.Sprintf("a transaction is open from offset %d (producer id %d, epoch %d); to end it: "+
		"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d",
		offset, who.ID, who.Epoch, at.Topic, at.Number, offset)
}

// group lists the members of a consumer group.
type group struct {
	name    string
	members []kafka.DescribeGroupsResponseMember
	err     error
}

func (c causes) describe(ctx context.Context, name string) group {
	res, err := c.Conn.Client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{name}})
	switch {
	case err != nil:
		return group{name: name, err: err}
	case len(res.Groups) != 1:
		return group{name: name, err: fmt.Errorf("%d groups are described", len(res.Groups))}
	}
	return group{name, res.Groups[0].Members, res.Groups[0].Error}
}

// reads names the member that reads a partition, or says why none does. read reports whether one does.
func (g group) reads(at timeline.Partition) (cause string, read bool) {
	if g.err != nil {
		return fmt.Sprintf("not cut yet; consumer group %s cannot be described: %v", g.name, g.err), false
	}
	for _, m := range g.members {
		for _, t := range m.MemberAssignments.Topics {
			if t.Topic == at.Topic && slices.Contains(t.Partitions, at.Number) {
				return fmt.Sprintf("not read up to the cut yet by client %s at %s", m.ClientID, m.ClientHost), true
			}
		}
	}
	if len(g.members) == 0 {
		return fmt.Sprintf("not read: consumer group %s has no members", g.name), false
	}
	return fmt.Sprintf("not read: not assigned in consumer group %s", g.name), false
}

// decides names the members that decide windows.
func (g group) decides() string {
	switch {
	case g.err != nil:
		return fmt.Sprintf("not drawn yet; consumer group %s cannot be described: %v", g.name, g.err)
	case len(g.members) == 0:
		return fmt.Sprintf("nobody draws: consumer group %s has no members", g.name)
	}
	return "not drawn yet"
}
