package publish

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/louver/louver/stream/record"
)

const figure = `{"schema":"louver.release.v1","id":"i","stream":"s","group":"","release":"p50",
	"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z","due_at":"2026-11-20T08:15:30Z",
	"statistic":"median","p":0.5,"mechanism":"m","unit":"","value":812,"status":"ok","reason":null,"epsilon":0.1,"delta":0,
	"rank_error_95":null,"users":null,"p_low":null,"p_high":null,"interval":null,"smoothed":null,"stream_epsilon_spent":1,
	"budget":"b","budget_epsilon_spent":1,"budget_epsilon_limit":2,"budget_windows_left":3}`

// subjects notes what it is asked to register.
type subjects struct {
	asked []string
	fail  error
}

func (s *subjects) Register(_ context.Context, subject, schema string) (uint32, error) {
	s.asked = append(s.asked, subject)
	if !strings.Contains(schema, `"window_end"`) {
		return 0, errors.New("not the schema of a figure")
	}
	return uint32(256*len(s.asked) + 7), s.fail
}

func TestPrefixes(t *testing.T) {
	some := func(topic string) []record.Record {
		return []record.Record{{Topic: topic, Value: []byte(figure)}, {Topic: topic, Value: []byte(figure)}}
	}
	registry := &subjects{fail: errors.New("no route")}
	p := prefixes{schemas: registry}
	var blocked *BlockedError
	if err := p.avro(t.Context(), some("a")); !errors.As(err, &blocked) || blocked.Output != "a" ||
		!strings.Contains(err.Error(), "no route") {
		t.Errorf("%v while the registry is away, want that output a is blocked", err)
	}
	registry.fail = nil
	for i, topic := range []string{"a", "b", "a"} {
		all := some(topic)
		if err := p.avro(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		head := []string{"\x00\x00\x00\x02\x07", "\x00\x00\x00\x03\x07", "\x00\x00\x00\x02\x07"}[i]
		for _, r := range all {
			if !strings.HasPrefix(string(r.Value), head) || !strings.Contains(string(r.Value), "louver.release.v1") {
				t.Errorf("topic %s: %q, want it to begin with %q", topic, r.Value, head)
			}
		}
	}
	if got := strings.Join(registry.asked, " "); got != "a-value a-value b-value" {
		t.Errorf("the registry was asked for %s, want each subject once after it was away", got)
	}
	ending := []record.Record{{Topic: "a", Key: []byte("k")}}
	if err := (&prefixes{}).avro(t.Context(), ending); err != nil || ending[0].Value != nil {
		t.Errorf("the end of a series becomes %q (%v), want no value, and no registry is asked", ending[0].Value, err)
	}
	without := prefixes{}
	if err := without.avro(t.Context(), some("a")); !errors.As(err, &blocked) ||
		!strings.Contains(err.Error(), "LOUVER_SCHEMA_REGISTRY_URL") {
		t.Errorf("%v without a registry, want that output a is blocked", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := without.avro(ended, some("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v at the end, want Canceled", err)
	}
}
