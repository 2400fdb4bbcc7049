package stream

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/stage"
)

// published names an output that holds figures of the app, or is "" if none does. It is asked when the app has no records
// of its own: then either it is new, or all that it knew of its charges is gone. If the app is to begin again all the same,
// published logs which outputs have figures, and returns "".
func (s *Service) published(ctx context.Context, env stage.Env) (string, error) {
	// An open transaction of others must hold up nothing, and a figure whose transaction was aborted was drawn, too.
	client := s.client(env, fetch.Options{ReadUncommitted: true})
	var outputs, found []string
	for _, of := range s.Streams {
		outputs = append(outputs, of.Output)
	}
	slices.Sort(outputs)
	for _, output := range slices.Compact(outputs) {
		partitions, err := topics.PartitionsOf(ctx, s.Conn.Client, output, 0, env.Reading(output))
		if err != nil {
			return "", err
		}
		for partition := range partitions {
			figures, err := hasFigures(ctx, client, output, partition, s.App)
			if err != nil {
				return "", err
			}
			if figures {
				found = append(found, output)
				break
			}
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case s.BeginAgain:
		s.Log.Warn("the app begins again: what its figures in these topics cost is forgotten, and the budgets begin at zero", zap.Strings("topics", found))
		return "", nil
	}
	return found[0], nil
}

// firstLook is how many offsets hasFigures looks at first.
const firstLook = 1000

// hasFigures reports whether a partition of an output holds a figure of an app, in JSON or Avro. It begins with the newest
// records. Others may write to the topic too, and offsets of transactions are no records, so it goes on to the first one. A
// batch that is damaged is left out.
func hasFigures(ctx context.Context, client *fetch.Client, topic string, partition int, app string) (bool, error) {
	starts, err := client.Starts(ctx, topic, []int{partition})
	if err != nil {
		return false, err
	}
	ends, err := client.Ends(ctx, topic, []int{partition})
	if err != nil {
		return false, err
	}
	found := errors.New("found")
	to := ends[partition]
	for look := int64(firstLook); to > starts[partition]; look *= 8 {
		from := max(starts[partition], to-look)
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
				return true, nil
			}
			if _, damaged := reader.Skip(err); err != nil && !damaged {
				return false, err
			}
		}
		to = from
	}
	return false, nil
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
