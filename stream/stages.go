package stream

import (
	"cmp"
	"context"

	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ingest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/publish"
	"github.com/louver/louver/stream/release"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// worker runs a stage until ctx ends.
type worker interface {
	Run(ctx context.Context) error
}

// row is a stage: what it reads, and what runs it.
type row struct {
	stage  string
	inputs []string
	worker func(env stage.Env, g group.Config) worker
}

func (s *Service) rows(state *control.State, editions []config.Edition, keeps clock.Clock, log control.Kafka) []row {
	names, hasher := topics.Names{App: s.App}, windows.NewHasher(state.HashKey)
	place := func(budget string) int { return topics.Place(budget, topics.Partitions) }
	return []row{
		{Ingest, inputs(editions), func(env stage.Env, g group.Config) worker {
			env.Fetch = s.client(env,
				fetch.Options{MaxRecordBytes: maxEvent, ReadUncommitted: s.ReadUncommitted})
			return &ingest.Ingest{Env: env, Editions: editions, Hasher: hasher, Clock: keeps, Place: place,
				Schemas: s.Schemas, Inputs: control.NewInputs(log), BagBytes: s.bagBytes() / 2, Group: g}
		}},
		{Release, []string{names.Partials()}, func(env stage.Env, g group.Config) worker {
			return &release.Release{Env: env, Editions: editions, Hasher: hasher, WatchKey: state.WatchKey,
				Lineage: state.Lineage, Place: place,
				CheckpointEvery: cmp.Or(s.CheckpointEvery, checkpointEvery),
				// it may double for a moment
				PartBytes: s.share(editions, place), MergeBytes: max(s.share(editions, place)/2, leastMerge),
				NoteBytes:   2 * s.share(editions, place),
				Remembers:   s.Remembers,
				State:       &progress.Log{Client: s.Conn.Client, Fetch: env.Fetch, Topic: names.State()},
				Uncommitted: s.client(env, fetch.Options{Aborted: true}), Group: g}
		}},
		{Publish, []string{names.Ledger()}, func(env stage.Env, g group.Config) worker {
			return &publish.Publish{Env: env, Group: g, Sink: publish.Topics(s.Registrar)}
		}},
	}
}

// env is what all stages have in common.
func (s *Service) env() stage.Env {
	env := stage.Env{Names: topics.Names{App: s.App}, Conn: s.Conn, Metrics: s.Metrics, Monitor: s.Health, Log: s.Log,
		Time: s.now, Sizes: &topics.Sizes{Client: s.Conn.Client}}
	env.Fetch = s.client(env, fetch.Options{})
	progressTopic := env.Names.Progress()
	env.Progress = &progress.Log{Client: s.Conn.Client, Fetch: env.Fetch, Topic: progressTopic,
		OnRetry: env.Writing(progressTopic)}
	return env
}

// client reads topics, and reports failures.
func (s *Service) client(env stage.Env, o fetch.Options) *fetch.Client {
	o.ClientID, o.MaxWait = s.Conn.ClientID, maxWait
	o.OnRetry = func(topic string, _ int, err error) { env.Reading(topic)(err) }
	return fetch.New(s.Conn.Transport, s.Conn.Addr, o)
}

// checkpointEvery is how many entries there are between two checkpoints. Reading so many takes some thirty
// milliseconds.
const checkpointEvery = 1000

// DefaultBagBytes is 32 MiB.
const DefaultBagBytes = 32 << 20

func (s *Service) bagBytes() int64 {
	if s.BagBytes > 0 {
		return s.BagBytes
	}
	return DefaultBagBytes
}

// share returns how many bytes each worker of the release stage gets of a quarter of BagBytes. Only workers that decide
// budgets need any.
func (s *Service) share(editions []config.Edition, place func(budget string) int) int64 {
	places := map[int]bool{}
	for _, e := range editions {
		places[place(e.Stream.Budget.Name)] = true
	}
	return s.bagBytes() / 4 / int64(max(len(places), 1))
}

// leastMerge prevents passes so small that rereading parts would dominate.
const leastMerge = 1 << 20
