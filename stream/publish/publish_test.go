package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/record"
)

// TestEveryReleaseReadsHowFarItPublished reads a record of the progress topic: see its testdata/README.md.
func TestEveryReleaseReadsHowFarItPublished(t *testing.T) {
	text, err := os.ReadFile("../progress/testdata/records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range bytes.Lines(text) {
		var r struct{ Key, Value string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Key != progress.PublishKey(5) {
			continue
		}
		found = true
		var p Progress
		if err := json.Unmarshal([]byte(r.Value), &p); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(p)
		if err != nil || string(again) != r.Value || p.Offset != 482 || p.Behind["b.private"] != 476 {
			t.Errorf("%+v, written as %s, %v, want %s", p, again, err, r.Value)
		}
	}
	if !found {
		t.Error("there is no record of what was published")
	}
}

// A write holds few entries if each has many records: a stream with 1,000 groups and 100 watches has 100,000 in every
// window.
func TestWritesAreBoundedByRecords(t *testing.T) {
	entry := func(groups, watches int) ledger.Entry {
		return ledger.Entry{Groups: make([]ledger.Group, groups), Releases: make([]record.Series, 1),
			Continual: slices.Repeat([]ledger.Continual{{Watch: new(ledger.Watch)}}, watches)}
	}
	for _, c := range []struct {
		groups, watches, want int
	}{
		{1, 0, mostEntries},
		{64, 1, mostEntries}, // 64 × 128 records are the most
		{64, 2, mostRecords / (64 * 3)},
		{1000, 1, 4},
		{1000, 100, 1},
	} {
		var l load
		for e := entry(c.groups, c.watches); l.takes(e) && l.entries < 1000; {
			l = l.with(e)
		}
		if l.entries != c.want {
			t.Errorf("%d groups and %d watches: %d entries in a write, want %d", c.groups, c.watches, l.entries, c.want)
		}
	}
}

// TestOthersWaitLittleForADeletedOutput: a transaction with records for an output that does not exist ends within five
// seconds, one whose outputs are there may take its time, and one that is done is asked nothing.
func TestOthersWaitLittleForADeletedOutput(t *testing.T) {
	gone := &BlockedError{"gone", kafka.UnknownTopicOrPartition}
	for name, c := range map[string]struct {
		answer *BlockedError
		cause  error
		from   time.Duration
		to     time.Duration
	}{
		"deleted": {gone, gone, time.Second, 5 * time.Second},
		"there":   {nil, context.DeadlineExceeded, writeTimeout, writeTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := limit(t.Context(), func(context.Context) *BlockedError { return c.answer })
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took < c.from || took > c.to || !errors.Is(context.Cause(ctx), c.cause) {
				t.Errorf("%s: the transaction ends after %s with %v", name, took, context.Cause(ctx))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, cancel := limit(t.Context(),
			func(context.Context) *BlockedError { t.Error("asked after the transaction"); return nil })
		cancel()
		time.Sleep(writeTimeout) // of the bubble's clock
		synctest.Wait()
	})
}
