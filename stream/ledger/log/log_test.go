package log_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/ledger/log"
)

// topic is a partition in memory.
type topic struct {
	records []fetch.Record
	err     error // at its end
}

func (t topic) ReadAll(_ context.Context, _ string, _ int, from int64, f func(*fetch.Record) error) (int64, error) {
	for i := range t.records {
		if r := &t.records[i]; r.Offset >= from {
			if err := f(r); err != nil {
				return r.Offset, err
			}
		}
	}
	return int64(len(t.records)), t.err
}

func TestRead(t *testing.T) {
	plan := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.1", Limit: ledgertest.Limit("9", time.Hour)}
	books := ledger.NewBooks()
	var records []fetch.Record
	for n := range 5 {
		e := ledgertest.Settle(t, books, plan.Entry(n))
		records = append(records, fetch.Record{Offset: int64(n), Value: ledgertest.Encode(t, e), Aborted: n == 2})
	}
	damaged := slices.Clone(records)
	damaged[3].Value = []byte("{}")
	own := errors.New("no room")
	for name, c := range map[string]struct {
		topic topic
		from  int64
		fails map[int64]error // by f
		read  []int64
		is    error
		says  string
	}{
		"all":                 {topic: topic{records: records}, read: []int64{0, 1, 3, 4}},
		"from an offset on":   {topic: topic{records: records}, from: 3, read: []int64{3, 4}},
		"an unreadable entry": {topic: topic{records: damaged}, read: []int64{0, 1}, is: ledger.ErrUnreadable, says: "app.ledger/7 at offset 3: "},
		"enough":              {topic: topic{records: records}, fails: map[int64]error{1: log.ErrEnough}, read: []int64{0, 1}, is: log.ErrEnough},
		"an error of the caller": {topic: topic{records: records}, fails: map[int64]error{1: own}, read: []int64{0, 1}, is: own,
			says: "no room"},
		"an entry that does not fit": {topic: topic{records: records}, fails: map[int64]error{3: ledger.ErrCheckpoint}, read: []int64{0, 1, 3},
			is: ledger.ErrCheckpoint, says: "app.ledger/7 at offset 3: "},
		"records that are gone": {topic: topic{err: &fetch.LostError{Topic: "app.ledger"}}, is: ledger.ErrUnreadable},
		"a damaged batch":       {topic: topic{err: &fetch.BatchError{Topic: "app.ledger"}}, is: ledger.ErrUnreadable},
		"a shorter log":         {topic: topic{err: &fetch.TruncatedError{Topic: "app.ledger"}}, is: ledger.ErrUnreadable},
		"no broker":             {topic: topic{err: own}, is: own, says: "no room"},
	} {
		var read []int64
		_, err := log.Partition{Topic: "app.ledger", Number: 7}.Read(t.Context(), c.topic, c.from,
			func(e ledger.Entry, r *fetch.Record) error {
				if want := ledgertest.Epoch.Add(time.Duration(r.Offset+1) * time.Minute); !e.WindowEnd.Equal(want) {
					t.Errorf("%s: the entry at offset %d ends %s, want %s", name, r.Offset, e.WindowEnd, want)
				}
				read = append(read, r.Offset)
				return c.fails[r.Offset]
			})
		if !slices.Equal(read, c.read) || !errors.Is(err, c.is) || !strings.HasPrefix(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %d are read, %v; want %d, %q", name, read, err, c.read, c.says)
		}
		if stops := errors.Is(err, ledger.ErrUnreadable); stops != errors.Is(c.is, ledger.ErrUnreadable) {
			t.Errorf("%s: a privacy stop: %v", name, stops)
		}
	}
}
