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
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

const (
	// guardEvery is how often the service looks for its own topics.
	guardEvery = 5 * time.Second
	// goneAfter is how often in a row a topic must be missing before it counts as deleted. A broker that starts may
	// not know all topics yet.
	goneAfter = 4
)

// guarded is one of the app's own topics while the service runs.
type guarded struct {
	topics.Topic
	id     string // as it was seen first; "" if the broker gives none
	missed int    // in how many looks in a row it was missing
}

// guard notices when somebody deletes one of the app's own topics, or makes it anew, while the service runs.
//
//   - The ledger: what was charged is not known any more. It returns a [ledger.ErrUnreadable], a privacy stop.
//   - The control topic: the key that tells users apart is lost, and how many partitions the next windows take. It returns
//     a [control.ErrForgotten], a privacy stop.
//   - Partials, progress and state: it makes them anew, if the service may. Windows whose parts are lost are incomplete, also
//     those whose parts may be lost, for all that a worker without progress can tell. How far workers had come follows from
//     the ledger and the outputs. Who has counted follows from the parts, if these are there.
func (s *Service) guard(ctx context.Context, names topics.Names, plan []topics.Topic) error {
	own := make([]*guarded, len(plan))
	for i, t := range plan {
		own[i] = &guarded{Topic: t}
	}
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		for _, t := range own {
			if err := s.lookFor(ctx, names, t); err != nil {
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

// lookFor looks for a topic. Failures that do not say that it is missing say nothing.
func (s *Service) lookFor(ctx context.Context, names topics.Names, t *guarded) error {
	episodes, key := s.Health.Episodes, "deleted topic "+t.Name
	id, err := topics.ID(ctx, s.Conn.Client, t.Name)
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
	case t.Name == names.Ledger():
		return fmt.Errorf("%w: topic %s was deleted or made anew while louver ran, so what was charged is unknown; the topic must never be deleted or recreated", ledger.ErrUnreadable, t.Name)
	case t.Name == names.Control():
		return fmt.Errorf("%w: topic %s was deleted or made anew while louver ran; the topic must never be deleted or recreated; begin again with another app id", control.ErrForgotten, t.Name)
	case gone:
		what := "create it again"
		if s.CreateTopics {
			what = "it is created again"
			if _, err := topics.Create(ctx, s.Conn.Client, []topics.Topic{t.Topic}, s.Replication); err != nil {
				what = "it cannot be created again: " + err.Error()
			}
		}
		episodes.On(key, episode.Rule{Every: time.Minute}, "a topic was deleted while louver ran: "+what, zap.String("topic", t.Name))
		t.id = "" // that it has another one then is no news
	default:
		episodes.Forget(key)
		s.Log.Warn("a topic was made anew while louver ran: if it held parts of windows, these are incomplete", zap.String("topic", t.Name))
		t.id, t.missed = id, 0
	}
	return nil
}
