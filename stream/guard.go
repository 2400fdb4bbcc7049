package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

const (
	// guardEvery is how often the service looks for its own topics.
	guardEvery = 5 * time.Second
	// goneAfter is in how many looks in a row a topic must be missing before it counts as deleted. A broker that starts
	// may not know all topics yet.
	goneAfter = 4
)

// guarded is one of the app's own topics while the service runs.
type guarded struct {
	topics.Topic
	id     string // the one it had when it was first seen; "" if the broker gives none
	missed int    // in how many looks in a row it was missing
}

// guard looks for the app's own topics.
type guard struct {
	client *kafka.Client
	names  topics.Names
	health *health.Monitor
	log    *zap.Logger
	// create lets it create what is missing, with this replication.
	create      bool
	replication int
}

// run notices when somebody deletes one of the app's own topics, or recreates it, while the service runs.
//
//   - The ledger: what was charged is not known any more. It returns a [ledger.ErrUnreadable], a privacy stop.
//   - The control topic: the key that tells users apart is lost, and how many partitions the next windows take. It
//     returns a [control.ErrForgotten], a privacy stop.
//   - Partials, progress and state: it recreates them, if the service may. Windows whose parts are lost are
//     incomplete, and so are windows whose parts may be lost, as far as a worker without progress can tell. How far
//     workers had come follows from the ledger and the outputs. Who has counted follows from the parts, if they exist.
func (g guard) run(ctx context.Context, plan []topics.Topic) error {
	own := make([]*guarded, len(plan))
	for i, t := range plan {
		own[i] = &guarded{Topic: t}
	}
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		for _, t := range own {
			if err := g.lookFor(ctx, t); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookFor looks for a topic. It ignores failures that do not say that the topic is missing.
func (g guard) lookFor(ctx context.Context, t *guarded) error {
	episodes, key := g.health.Episodes, "deleted topic "+t.Name
	id, err := topics.ID(ctx, g.client, t.Name)
	gone := errors.Is(err, kafka.UnknownTopicOrPartition)
	switch {
	case gone:
		if t.missed++; t.missed < goneAfter {
			return nil
		}
	case err != nil:
		return nil
	case t.id == "" || t.id == id:
		t.id, t.missed = id, 0
		episodes.Over(key, "topic "+t.Name+" is there again")
		return nil
	}
	switch {
	case t.Name == g.names.Ledger():
		return fmt.Errorf("%w: topic %s was deleted or recreated while louver ran, so what was charged is unknown; "+
			"the topic must never be deleted or recreated", ledger.ErrUnreadable, t.Name)
	case t.Name == g.names.Control():
		return fmt.Errorf("%w: topic %s was deleted or recreated while louver ran; the topic must never be deleted or "+
			"recreated; begin again with another app id", control.ErrForgotten, t.Name)
	case gone:
		what := "create it again"
		if g.create {
			what = "it is created again"
			if _, err := topics.Create(ctx, g.client, []topics.Topic{t.Topic}, g.replication); err != nil {
				what = "it cannot be created again: " + err.Error()
			}
		}
		episodes.On(key, episode.Rule{Every: time.Minute}, "a topic was deleted while louver ran: "+what,
			zap.String("topic", t.Name))
		t.id = "" // the new topic has another id, which is no news
	default:
		episodes.Forget(key)
		g.log.Warn("a topic was recreated while louver ran: if it held parts of windows, these are incomplete",
			zap.String("topic", t.Name))
		t.id, t.missed = id, 0
	}
	return nil
}
