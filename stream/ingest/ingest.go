// Package ingest is the first stage: it reads the input topics, holds a bag for each open window and partition, and
// when a window's cut has been reached seals the bag into a partial.
//
// A window closes by the clock. At its due time the partition's end is taken as the window's cut: records below it
// count, records at or above it are late, however far the reader has come. What is committed is the lowest offset that
// an open window still needs, so that whoever takes over reads the same records again.
package ingest

import (
	"context"
	"sync"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/group"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/topics"
	"github.com/louver/louver/windows"
)

// Ingest is the stage. Fields must not change while it runs.
type Ingest struct {
	stage.Env
	Streams []*config.Stream
	// Starts holds the first window start of each stream, in Unix nanoseconds.
	Starts map[string]int64
	Hasher *windows.Hasher
	// Place gives the partition of the partials that a budget's windows go to.
	Place func(budget string) int
	// Group is the membership of the input topics' consumer group.
	Group group.Config

	mu     sync.Mutex
	totals map[string]int                      // partitions of each input topic
	held   map[string]map[stage.Partition]held // by stream
}

// Run works until ctx ends.
func (g *Ingest) Run(ctx context.Context) error {
	g.held, g.totals = map[string]map[stage.Partition]held{}, map[string]int{}
	return stage.Run(ctx, g.Env, g.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		p := &partition{Ingest: g, at: at, membership: m}
		return p.run(ctx)
	})
}

// held is what one partition holds of a stream.
type held struct {
	windows int
	bytes   int64
}

// hold tells what a partition holds of a stream and sets the gauges, which are sums over partitions.
func (g *Ingest) hold(stream string, at stage.Partition, h held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[stream] == nil {
		g.held[stream] = map[stage.Partition]held{}
	}
	g.held[stream][at] = h
	var sum held
	for _, h := range g.held[stream] {
		sum.windows += h.windows
		sum.bytes += h.bytes
	}
	g.Metrics.OpenWindows.WithLabelValues(stream).Set(float64(sum.windows))
	g.Metrics.BagBytes.WithLabelValues(stream).Set(float64(sum.bytes))
}

// count looks up how many partitions the topic has now: it may have grown, which a rebalance makes known.
func (g *Ingest) count(ctx context.Context, at stage.Partition) error {
	n, err := topics.PartitionsOf(ctx, g.Conn.Client, at.Topic, at.Number, g.Reading(at.Topic))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.totals[at.Topic] = max(g.totals[at.Topic], n)
	return err
}

// total is the number of partitions of the topic, as far as any worker here knows.
func (g *Ingest) total(topic string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.totals[topic]
}
