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

func (t topic) Starts(context.Context, string, []int) (map[int]int64, error) {
	return map[int]int64{7: t.records[0].Offset}, nil
}

func (t topic) Ends(context.Context, string, []int) (map[int]int64, error) {
	return map[int]int64{7: t.records[len(t.records)-1].Offset + 1}, nil
}

// steady are n records of the ledger of one stream.
func steady(t *testing.T, n int) (records []fetch.Record) {
	plan := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.1", Limit: ledgertest.Limit("9999", time.Hour)}
	books := ledger.NewBooks()
	for i := range n {
		e := ledgertest.Settle(t, books, plan.Entry(i))
		records = append(records, fetch.Record{Offset: int64(i), Value: ledgertest.Encode(t, e)})
	}
	return records
}

// Tail begins with the newest 256 records, and goes back eight times as far while these are not enough.
func TestTail(t *testing.T) {
	by := topic{records: slices.Repeat(steady(t, 1), 3000)}
	for i := range by.records {
		by.records[i].Offset = int64(i)
	}
	for wanted, want := range map[int][]int64{1: {2744}, 257: {2744, 952}, 2049: {2744, 952, 0}, 9999: {2744, 952, 0}} {
		var began []int64
		most, read := 0, 0
		err := log.Partition{Topic: "app.ledger", Number: 7}.Tail(t.Context(), by,
			func(_ ledger.Entry, r *fetch.Record) error {
				if read == 0 {
					began = append(began, r.Offset)
				}
				read++
				return nil
			}, func() bool {
				most, read = read, 0
				return most >= wanted
			})
		if err != nil || !slices.Equal(began, want) {
			t.Errorf("for %d entries it begins at %d, %v; want %d", wanted, began, err, want)
		}
	}
	by.records[2990].Value = []byte("{}")
	err := log.Partition{Topic: "app.ledger", Number: 7}.Tail(t.Context(), by,
		func(ledger.Entry, *fetch.Record) error { return nil }, func() bool { return true })
	if !errors.Is(err, ledger.ErrUnreadable) || !strings.HasPrefix(err.Error(), "app.ledger/7 at offset 2990: ") {
		t.Errorf("an unreadable entry: %v", err)
	}
}

// A checkpoint counts only if its last entry is the one in the ledger.
func TestCovered(t *testing.T) {
	records := steady(t, 5)
	state := ledger.NewState("app", 7)
	for _, r := range records[:4] {
		e, err := ledger.Decode(r.Value)
		if err == nil {
			err = state.Add(e, r.Value, r.Offset)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text := ledgertest.Checkpoint(t, state)
	other := slices.Clone(records)
	other[3].Value = other[2].Value
	for name, c := range map[string]struct {
		text []byte
		by   topic
		is   error
	}{
		"the same ledger":       {text: text, by: topic{records: records}},
		"another last entry":    {text: text, by: topic{records: other}, is: ledger.ErrCheckpoint},
		"a ledger that is gone": {text: text, by: topic{records: records[:3]}, is: ledger.ErrCheckpoint},
		"records that are lost": {text: text, by: topic{err: &fetch.TruncatedError{Topic: "app.ledger"}},
			is: ledger.ErrUnreadable},
		"no checkpoint": {text: []byte("{}"), by: topic{records: records}, is: ledger.ErrCheckpoint},
	} {
		s, err := log.Partition{Topic: "app.ledger", Number: 7}.Covered(t.Context(), c.by, "app", c.text)
		if !errors.Is(err, c.is) || (s == nil) != (c.is != nil) || s != nil && s.From() != 3 {
			t.Errorf("%s: %+v, %v; want %v", name, s, err, c.is)
		}
	}
}

func TestRead(t *testing.T) {
	records := steady(t, 5)
	records[2].Aborted = true
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
		"all":               {topic: topic{records: records}, read: []int64{0, 1, 3, 4}},
		"from an offset on": {topic: topic{records: records}, from: 3, read: []int64{3, 4}},
		"an unreadable entry": {topic: topic{records: damaged}, read: []int64{0, 1}, is: ledger.ErrUnreadable,
			says: "app.ledger/7 at offset 3: "},
		"enough": {topic: topic{records: records}, fails: map[int64]error{1: log.ErrEnough}, read: []int64{0, 1},
			is: log.ErrEnough},
		"an error of the caller": {topic: topic{records: records}, fails: map[int64]error{1: own},
			read: []int64{0, 1}, is: own, says: "no room"},
		"an entry that does not fit": {topic: topic{records: records}, fails: map[int64]error{3: ledger.ErrCheckpoint},
			read: []int64{0, 1, 3}, is: ledger.ErrCheckpoint, says: "app.ledger/7 at offset 3: "},
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
