// Package ingest is the first stage: it reads the input topics, gathers events in bags, and writes the bags as parts of
// windows.
//
// A window closes by the clock. When it is due, the partition's end becomes the window's cut. Records below the cut
// count, and records at or above it are late, however far the reader has come.
//
// Bags do not wait for their windows. They are written as parts every half minute, when a cut is reached, and when they
// take more than their share of memory. So neither a long window nor a backlog needs more memory. A mark follows the
// parts. It says which records they hold and which windows are cut. Once the broker has acknowledged the parts and the
// mark, the progress advances, and a new worker would begin there. Reading some records twice is harmless: see
// [windows.Part]. Where contributions add up, the reader of the marks finds a line of them that has each record once.
// It relies on this: parts come before their mark, and both reach the log before anything that follows; a mark begins
// where the worker's last one ended, or at the progress, which is the end of a mark that the broker has acknowledged;
// and a mark ends at every cut.
//
// A partition's worker has a reader, which says what is read into which streams. Its other parts share that: outage,
// cutter, writer (of bags), undecided, copies and report. partition.go says in which order they work.
package ingest

import (
	"context"
	"sync"

	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// Ingest is the stage. Fields must not change while it runs.
type Ingest struct {
	stage.Env
	// Editions are the definitions of all streams, in the order of their numbers.
	Editions []config.Edition
	Hasher   *windows.Hasher
	// Clock says when windows are due.
	Clock clock.Clock
	// Place returns the partition of the partials for a budget's windows.
	Place func(budget string) int
	// BagBytes is how much memory the open bags of this process may take before they are written.
	BagBytes int64
	// Group is the membership of the input topics' consumer group.
	Group group.Config

	// Schemas has the schemas of records that name one by its id; nil if there is no registry.
	Schemas codec.Registry
	// Inputs says how many partitions of its input a window takes.
	Inputs *control.Inputs

	mu   sync.Mutex
	held map[string]map[stage.Partition]held // by stream

	traffic  map[string]*traffic // by stream
	schemas  *schemas            // nil if there is no registry
	asides   asides
	topics   identities
	absences absences
	// spellings are those of keys.
	spellings spellings
}

// held is the memory of one partition for a stream.
type held struct {
	windows int
	bytes   int64
}

// heldBytes returns the size of all partitions' bags, and the number of partitions with any.
func (g *Ingest) heldBytes() (bytes int64, partitions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	holding := map[stage.Partition]bool{}
	for _, byPartition := range g.held {
		for at, h := range byPartition {
			if h.bytes > 0 {
				bytes += h.bytes
				holding[at] = true
			}
		}
	}
	return bytes, len(holding)
}

// hold records what a partition holds for a stream and sets the gauges, which are sums over partitions.
func (g *Ingest) hold(stream string, at stage.Partition, h held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before, known := g.held[stream][at]; known && before == h {
		return
	}
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

// Run works until ctx ends.
func (g *Ingest) Run(ctx context.Context) error {
	g.held, g.traffic = map[string]map[stage.Partition]held{}, map[string]*traffic{}
	var all []*traffic
	for _, e := range g.Editions {
		g.traffic[e.Stream.Name] = newTraffic(e.Stream, g.Log, g.Monitor.Episodes) // the newest of several
	}
	for _, t := range g.traffic {
		all = append(all, t)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go watch(watching, all, g.Health.Reading)
	if g.Schemas != nil {
		g.schemas = newSchemas(g.Schemas, g.Log, g.Monitor.Retrying("the schema registry cannot be read",
			"the schema registry can be read again"))
		go g.schemas.run(watching)
	}
	return stage.Run(ctx, g.Env, g.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		return newPartition(g, at, m).run(ctx)
	})
}
