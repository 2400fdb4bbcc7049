package ingest

import (
	"context"

	"github.com/louver/louver/stream/stage"
)

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
