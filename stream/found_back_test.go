package stream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
)

// TestLedgerOfFoundGroupsGoesBack takes the ledger back in time, as an older disk does: to before the last window of a
// stream that follows the list of another one, to before all of them, and to before any discovery. No stage goes on:
// another draw would be another loss that nobody pays for. Nobody is told a sum that is too small, and an audit names
// what the ledger has lost.
func TestLedgerOfFoundGroupsGoesBack(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		first, _, _ := strings.Cut(withFollower, "  - name: slow")
		_, after, _ := strings.Cut(withFollower, "  - name: web")
		w := newWorld(t, b, 2, first+"  - name: web"+after)
		w.alternately(recent(groupEvents(0)))
		// The web's records, of which two end the series of /shoes; and those of its follower, all of whose windows
		// come later and have the last list.
		const web, follower = groupRecords + 2, 10 * 2
		publishes := func(records int) {
			t.Helper()
			s := w.start(often(5))
			kafkatest.Await(t, "all is published", func() bool { return w.records(w.streams[0].Output) == records })
			s.end(t)
			w.audit()
		}
		name, place := topics.Names{App: w.app}.Ledger(), topics.Place("web", topics.Partitions)
		publishes(web)
		older := b.Consume(t, name, place)
		w.reconfigure(withFollower)
		publishes(web + follower)
		all := b.Consume(t, name, place)
		// The last window has two groups, and so have the first two.
		for entries, lost := range map[int]int{len(all) - 1: 2, len(older): follower, 2: web + follower - 2*2} {
			b.DeleteTopic(t, name)
			b.CreateTopic(t, name, topics.Partitions, map[string]string{"retention.ms": "-1"})
			for _, m := range all[:entries] {
				b.Produce(t, name, place, txn.Record{Key: []byte(m.Key), Value: []byte(m.Value)})
			}
			for _, stage := range []string{stream.Release, stream.Publish} {
				if err := w.start(only(stage)).refused(t); !errors.Is(err, ledger.ErrUnreadable) {
					t.Errorf("with %d entries the stage %s ended with %v", entries, stage, err)
				}
			}
			_, err := stream.Tails(kafkatest.Context(t), b.Conn.Client, b.Fetch(fetch.Options{}), w.app, 0, func(error) {})
			if !errors.Is(err, ledger.ErrUnreadable) {
				t.Errorf("with %d entries what was charged is said to be known: %v", entries, err)
			}
			_, found := w.findings()
			unknown := 0
			for _, f := range found.Faults {
				switch f.Kind {
				case audit.OutputUnknown:
					unknown++
				case audit.CheckpointDiffers: // it covers entries that are gone
				default:
					t.Errorf("with %d entries: %v", entries, f)
				}
			}
			if n := w.records(w.streams[0].Output); n != web+follower || unknown != lost {
				t.Errorf("with %d entries %d records are published, and the ledger lacks %d; want %d and %d", entries, n, unknown,
					web+follower, lost)
			}
		}
	})
}
