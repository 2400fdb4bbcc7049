package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/parse"
)

// FuzzRead: whatever a record of the control topic says, the topic is refused, or its definitions, budgets and inputs
// can be reported on, and a process with other files can foresee what they change.
func FuzzRead(f *testing.F) {
	file := func(text string) Wanted {
		parsed, err := parse.File("streams.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			f.Fatal(err)
		}
		return Wanted{Streams: parsed.Streams, Revision: parsed.Revision}
	}
	log, w := &memory{}, file(hourly)
	if _, err := Load(context.Background(), log, w, never); err != nil {
		f.Fatal(err)
	}
	for _, r := range log.records {
		f.Add(string(r.Key), r.Value)
		f.Add(string(r.Key), []byte("null"))
	}
	f.Add(keyInput+"in", []byte(`[{"partitions":3,"due":0},{"partitions":4,"due":9}]`))
	f.Add(keyEpoch+"2", []byte(`{"number":2,"streams":{"hourly":[]}}`))
	f.Add(keyContinues+"a/b", []byte(`"b"`))
	f.Add(keyAgain, []byte(`{"out":[1,2]}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		changed := &memory{records: append(log.records[:len(log.records):len(log.records)], Record{[]byte(key), value})}
		inputs := NewInputs(changed)
		if err := inputs.Learn(t.Context()); err == nil {
			for topic := range inputs.steps {
				inputs.Partitions(topic, math.MaxInt64)
			}
		}
		s, err := Read(t.Context(), changed)
		if err != nil {
			if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrForgotten) {
				t.Fatal(err)
			}
			return
		}
		_, _ = s.Editions(w)
		_, _ = s.History()
		s.Lineage("hourly")
		now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		if p, err := Foresee(t.Context(), changed, w, never, now); err == nil {
			_ = fmt.Sprint(p.Begins(), p.Ends(), p.Replaces())
		}
	})
}
