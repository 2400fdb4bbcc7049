package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

// sampleSize is how many offsets at the end of a partition a sample covers, and samplePartitions how many partitions.
const (
	sampleSize       = 20
	samplePartitions = 8
)

// errEnough ends the reading of a partition.
var errEnough = errors.New("enough records")

// sampleOf reads a few of the newest records of a topic, and the times of a few of the oldest.
func sampleOf(app *cli.App, k cli.KafkaSettings, topic string) (sampled, error) {
	s := sampled{keyed: true}
	conn, err := cluster.Connect(app.Context, k, app.Log)
	if err != nil {
		return s, err
	}
	defer conn.Close()
	partitions, err := partitionsOf(app.Context, conn, topic)
	if err != nil {
		return s, err
	}
	// Uncommitted records have the same form, and a hung transaction does not matter.
	waiting := cluster.Waiting(app.Log, "cannot read topic "+topic+" yet")
	client := fetch.New(conn.Transport, conn.Addr, fetch.Options{ClientID: conn.ClientID, ReadUncommitted: true,
		Patience: cluster.Patience, OnRetry: func(_ string, _ int, err error) { waiting(err) }})
	starts, err := client.Starts(app.Context, topic, partitions)
	if err != nil {
		return s, cluster.WithExitCode(err)
	}
	ends, err := client.Ends(app.Context, topic, partitions)
	if err != nil {
		return s, cluster.WithExitCode(err)
	}
	for _, p := range partitions {
		from := max(starts[p], ends[p]-sampleSize)
		_, err := client.ReadAll(app.Context, topic, p, from, func(r *fetch.Record) error {
			if r.Offset < ends[p] && r.Value != nil {
				value := bytes.Clone(codec.Text(r.Value))
				s.values = append(s.values, value)
				s.keyed = s.keyed && len(r.Key) > 0
				s.edges = append(s.edges, edge{value, r.Time})
			}
			return nil
		})
		if err == nil {
			_, err = client.ReadAll(app.Context, topic, p, starts[p], func(r *fetch.Record) error {
				if r.Offset >= min(ends[p], starts[p]+sampleSize) {
					return errEnough
				}
				s.edges = append(s.edges, edge{bytes.Clone(codec.Text(r.Value)), r.Time})
				return nil
			})
		}
		// just deleted: other records will do
		if lost := (*fetch.LostError)(nil); err != nil && !errors.As(err, &lost) && !errors.Is(err, errEnough) {
			return s, cluster.WithExitCode(fmt.Errorf("topic %s: %w", topic, err))
		}
	}
	s.keyed = s.keyed && len(s.values) > 0
	return s, nil
}

// partitionsOf returns some partitions of a topic. If there is no such topic, the error names the existing ones.
func partitionsOf(ctx context.Context, conn *kafkaconn.Conn, topic string) (partitions []int, err error) {
	meta, err := kafkaconn.Retry(ctx, nil, func(ctx context.Context) (*kafka.MetadataResponse, error) {
		return conn.Client.Metadata(ctx, &kafka.MetadataRequest{})
	})
	if err != nil {
		return nil, cluster.WithExitCode(err)
	}
	var others []string
	for _, t := range meta.Topics {
		if t.Name == topic {
			for _, p := range t.Partitions {
				partitions = append(partitions, p.ID)
			}
		} else if !t.Internal {
			others = append(others, t.Name)
		}
	}
	if partitions == nil {
		others = slices.DeleteFunc(slices.Clone(others), func(name string) bool { return kept(name, others) })
		slices.Sort(others)
		const most = 20
		there := "there are none"
		if len(others) > 0 {
			there = "there are " + strings.Join(others[:min(most, len(others))], ", ")
		}
		return nil, cli.BrokerError(fmt.Errorf("--topic %s: there is no such topic at %s, or you may not describe "+
			"it; %s", topic, strings.Join(conn.Brokers, ","), there))
	}
	slices.Sort(partitions)
	return partitions[:min(samplePartitions, len(partitions))], nil
}

// kept reports whether a topic is one that an app keeps for itself: these hold no events.
func kept(name string, all []string) bool {
	app := topics.Names{App: name[:max(0, strings.LastIndexByte(name, '.'))]}
	return slices.Contains([]string{app.Control(), app.Partials(), app.State(), app.Progress(), app.Ledger()}, name) &&
		slices.Contains(all, app.Control()) && slices.Contains(all, app.Ledger())
}
