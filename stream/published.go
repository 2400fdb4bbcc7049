package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/stage"
)

// whole makes sure that the ledger still has its charges. If a ledger has no records, the app is new, or its records
// are gone. They are gone if outputs have figures of the app. Then whole returns a [ledger.ErrUnreadable], unless the
// app is to begin again. Figures from before an earlier new beginning do not count. If the progress topic has records,
// the stages learn from them what the ledger has lost.
func (s *Service) whole(ctx context.Context, env stage.Env, log control.Kafka) error {
	charged := func() (bool, error) {
		used, err := env.Fetch.Used(ctx, env.Names.Ledger(), topics.Partitions)
		if err == nil && !used {
			used, err = env.Fetch.Used(ctx, env.Names.Progress(), topics.Partitions)
		}
		return used, err
	}
	if charged, err := charged(); err != nil || charged {
		return err
	}
	state, err := control.Read(ctx, log)
	if err != nil {
		return err
	}
	found, err := s.published(ctx, env, state.Forgotten)
	if err != nil || len(found) == 0 {
		return err
	}
	if charged, err := charged(); err != nil || charged { // meanwhile another process has begun
		return err
	}
	names := slices.Sorted(maps.Keys(found))
	if !s.BeginAgain {
		return fmt.Errorf("%w: topics %s and %s are empty, but topic %s has figures of the app, so what was charged "+
			"is unknown; begin again with another app id, or with louver run --begin-again, which forgets "+
			"those charges", ledger.ErrUnreadable, env.Names.Ledger(), env.Names.Progress(), names[0])
	}
	s.Log.Warn("the app begins again: what its figures in these topics cost is forgotten, and the budgets "+
		"begin at zero", zap.Strings("topics", names))
	return control.BeginAgain(ctx, log, found)
}

// published returns the outputs that hold figures of the app, with the ends of their partitions. It ignores figures
// before the ends that are forgotten.
func (s *Service) published(ctx context.Context, env stage.Env,
	forgotten map[string][]int64) (map[string][]int64, error) {
	// An open transaction of somebody else must not hold this up. And a figure was drawn even if its transaction was
	// aborted.
	client := s.client(env, fetch.Options{ReadUncommitted: true})
	found := map[string][]int64{}
	for _, of := range s.Streams {
		if _, known := found[of.Output]; known {
			continue
		}
		partitions, err := topics.PartitionsOf(ctx, s.Conn.Client, of.Output, 0, env.Reading(of.Output))
		if err != nil {
			return nil, err
		}
		ends, any := make([]int64, partitions), false
		for p := range ends {
			var from int64
			if before := forgotten[of.Output]; p < len(before) {
				from = before[p]
			}
			figures, end, err := hasFigures(ctx, client, of.Output, p, from, s.App)
			if err != nil {
				return nil, err
			}
			ends[p], any = end, any || figures
		}
		if any {
			found[of.Output] = ends
		}
	}
	return found, nil
}

// firstLook is how many offsets hasFigures looks at first.
const firstLook = 1000

// hasFigures reports whether a partition of an output holds a figure of an app, in JSON or Avro, at an offset or later,
// and gives the partition's end. If it ends before the offset, the topic was recreated, and all of it is searched. The
// search begins with the newest records. It goes on to the first one, because others may write to the topic too, and
// transactions take offsets without records. A damaged batch is left out.
func hasFigures(ctx context.Context, client *fetch.Client, topic string, partition int, least int64,
	app string) (bool, int64, error) {
	starts, err := client.Starts(ctx, topic, []int{partition})
	if err != nil {
		return false, 0, err
	}
	ends, err := client.Ends(ctx, topic, []int{partition})
	if err != nil {
		return false, 0, err
	}
	found := errors.New("found")
	start, end := starts[partition], ends[partition]
	if least <= end {
		start = max(start, least)
	}
	to := end
	for look := int64(firstLook); to > start; look *= 8 {
		from := max(start, to-look)
		for reader := client.Partition(topic, partition, from); reader.Position() < to; {
			page, err := reader.Poll(ctx)
			if err == nil {
				err = page.Each(func(r *fetch.Record) error {
					if ofApp(r, app) {
						return found
					}
					return nil
				})
			}
			if errors.Is(err, found) {
				return true, end, nil
			}
			if _, damaged := reader.Skip(err); err != nil && !damaged {
				return false, 0, err
			}
		}
		to = from
	}
	return false, end, nil
}

// ofApp reports whether the headers say that a record is a figure of an app.
func ofApp(r *fetch.Record, app string) bool {
	figure, own := false, false
	for key, value := range r.Headers() {
		figure = figure || key == "ce_type" && string(value) == record.Schema
		own = own || key == "ce_source" && strings.HasPrefix(string(value), "/"+app+"/")
	}
	return figure && own
}
