package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/stage"
)

// copier copies one partition of the ledger to a sink.
type copier struct {
	stage.Env
	at       stage.Partition
	sink     Sink
	progress Progress
	retries  map[string]*retry // of the outputs that are behind
}

// retry says when to retry a blocked output.
type retry struct {
	wait *backoff.ExponentialBackOff
	at   time.Time
}

// mostWait is the longest time between two attempts to write to a blocked output.
const mostWait = 30 * time.Second

// read is an entry with its offset.
type read struct {
	entry  ledger.Entry
	offset int64
}

// run copies until ctx ends or the sink fails. The next copier learns from the sink what is written.
func (c *copier) run(ctx context.Context) error {
	var err error
	if c.progress, err = c.sink.Begin(ctx); err != nil {
		return err
	}
	if c.progress.Behind == nil {
		c.progress.Behind = map[string]int64{}
	}
	reader := c.Fetch.Partition(c.at.Topic, c.at.Number, c.progress.Offset)
	c.Health.Opened(c.at)
	for ctx.Err() == nil {
		var pending []read
		var held load
		err := c.poll(ctx, reader, func(r read) error {
			if !held.takes(r.entry) {
				if err := c.write(ctx, pending, r.offset); err != nil {
					return err
				}
				pending, held = nil, load{}
			}
			pending, held = append(pending, r), held.with(r.entry)
			return nil
		})
		if err == nil {
			err = c.write(ctx, pending, reader.Position())
		}
		if err == nil {
			err = c.catchUp(ctx)
		}
		if err != nil {
			return err
		}
		c.Lag(c.Names.Group(stage.Publish), c.at, reader)
	}
	return nil
}

// poll reads once and passes every entry to f.
func (c *copier) poll(ctx context.Context, reader *fetch.Reader, f func(read) error) error {
	page, err := reader.Poll(ctx)
	if err != nil {
		return log.Unreadable(err)
	}
	if page.Lost > 0 {
		return fmt.Errorf("%w: %d records of %s/%d were deleted before they were published",
			ledger.ErrUnreadable, page.Lost, c.at.Topic, c.at.Number)
	}
	return log.Unreadable(page.Each(log.Partition{Topic: c.at.Topic, Number: c.at.Number}.Decoded(
		func(e ledger.Entry, r *fetch.Record) error { return f(read{e, r.Offset}) })))
}

// write writes the entries of all outputs that are not behind, and moves on to next. A blocked output falls behind: it
// stops at its first entry in pending.
func (c *copier) write(ctx context.Context, pending []read, next int64) error {
	blockedNow := false
	for {
		var entries []ledger.Entry
		for _, r := range pending {
			if _, behind := c.progress.Behind[r.entry.Output]; !behind {
				entries = append(entries, r.entry)
			}
		}
		c.progress.Offset = next
		if len(entries) == 0 && !blockedNow {
			return nil
		}
		err := c.put(ctx, entries)
		var blocked *BlockedError
		if !errors.As(err, &blocked) {
			return err
		}
		first := slices.IndexFunc(pending, func(r read) bool { return r.entry.Output == blocked.Output })
		if first < 0 {
			return err
		}
		c.progress.Behind[blocked.Output] = pending[first].offset
		c.postpone(blocked.Output)
		blockedNow = true
	}
}

// put passes entries and progress to the sink.
func (c *copier) put(ctx context.Context, entries []ledger.Entry) error {
	err := c.sink.Write(ctx, entries, Progress{c.progress.Offset, maps.Clone(c.progress.Behind)})
	var blocked *BlockedError
	switch {
	case err == nil:
		c.observe(entries)
	case errors.As(err, &blocked):
		c.Writing(blocked.Output)(blocked.Err)
		c.Health.Blocked(c.at, blocked.Output, blocked.Err)
	}
	return err
}

// catchUp writes what is missing in the outputs that are behind. Each that is due for a retry gets as much as fits into
// one write.
func (c *copier) catchUp(ctx context.Context) error {
	for _, output := range slices.Sorted(maps.Keys(c.progress.Behind)) {
		if r := c.retries[output]; r != nil && time.Now().Before(r.at) {
			continue
		}
		from, next := c.progress.Behind[output], int64(0)
		reader := c.Fetch.Partition(c.at.Topic, c.at.Number, from)
		var missing []ledger.Entry
		var held load
		for next = from; next < c.progress.Offset; {
			err := c.poll(ctx, reader, func(r read) error {
				mine := r.entry.Output == output
				if r.offset >= c.progress.Offset || mine && !held.takes(r.entry) {
					next = r.offset
					return log.ErrEnough
				}
				if mine {
					missing, held = append(missing, r.entry), held.with(r.entry)
				}
				return nil
			})
			if errors.Is(err, log.ErrEnough) {
				break
			}
			if err != nil {
				return err
			}
			next = reader.Position()
		}
		if c.progress.Behind[output] = next; next >= c.progress.Offset {
			delete(c.progress.Behind, output)
		}
		err := c.put(ctx, missing)
		var blocked *BlockedError
		if errors.As(err, &blocked) && blocked.Output == output {
			c.progress.Behind[output] = from
			c.postpone(output)
			continue
		}
		if err != nil {
			return err
		}
		c.Writing(output)(nil)
		c.Health.Blocked(c.at, output, nil)
		delete(c.retries, output)
	}
	return nil
}

func (c *copier) postpone(output string) {
	r := c.retries[output]
	if r == nil {
		wait := backoff.NewExponentialBackOff()
		wait.InitialInterval, wait.MaxInterval = time.Second, mostWait
		r = &retry{wait: wait}
		c.retries[output] = r
	}
	r.at = time.Now().Add(r.wait.NextBackOff())
}

func (c *copier) observe(entries []ledger.Entry) {
	now := time.Now()
	for _, e := range entries {
		c.Metrics.ReleaseDelay.WithLabelValues(e.Stream).Observe(now.Sub(e.DueAt).Seconds())
		c.Metrics.LastRelease.WithLabelValues(e.Stream).Set(float64(now.Unix()))
	}
}

// mostEntries is how many ledger entries one write may hold.
const mostEntries = 64

// mostRecords is how many records the entries of one write may have, unless a single entry has more. An entry has a
// record for each group and each of its figures and watches. A write is held in memory, and must finish within
// [writeTimeout].
const mostRecords = 1 << 13

// load counts what the entries of one write hold.
type load struct{ entries, records int }

// takes reports whether there is room for one more entry.
func (l load) takes(e ledger.Entry) bool {
	return l.entries == 0 || l.entries < mostEntries && l.records+e.Size() <= mostRecords
}

// with returns the load with one more entry.
func (l load) with(e ledger.Entry) load { return load{l.entries + 1, l.records + e.Size()} }
