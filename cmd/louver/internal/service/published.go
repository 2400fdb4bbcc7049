package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/web"
)

// published shows the content of the output topics, whichever process drew it, on the page, in the API and in the
// public metrics.
type published struct {
	topics  []string
	streams []*config.Stream // those that a streams file declares
	store   *web.Store
	gauges  *outputs.Gauges
	// released, if not nil, is called with every figure. fresh says that it was published after following began.
	released func(r outputs.Record, fresh bool)
	// demo, if not nil, tells what only a demo knows.
	demo web.Demo
	// now is the time by which windows close, and own says that it is not the machine's.
	now func() time.Time
	own bool
}

const (
	// historyBytes is how much memory records may take.
	historyBytes = 64 << 20
	// unknownPast is how far back a topic is read if no streams file tells its windows.
	unknownPast = 30 * 24 * time.Hour
)

func newPublished(topics []string, streams []*config.Stream, now func() time.Time) *published {
	gauges := outputs.NewGauges(now)
	gauges.Pays(paying(streams, now()))
	gauges.Finds(finding(streams))
	for _, s := range streams {
		gauges.Objectives(s.Objectives())
	}
	return &published{topics: topics, streams: streams, store: web.NewStore(historyBytes), gauges: gauges, now: now}
}

// finding returns the streams whose groups are found.
func finding(streams []*config.Stream) map[string]outputs.Found {
	all := map[string]outputs.Found{}
	for _, s := range streams {
		if s.Found != nil {
			all[s.Name] = outputs.Found{From: s.Found.From, Max: s.Found.Max, Always: s.Found.Always}
		}
	}
	return all
}

// config returns the configuration of the page and the API.
func (p *published) config() web.Config {
	c := web.Config{Store: p.store, Streams: p.streams, Demo: p.demo}
	if p.own {
		c.Now = p.now
	}
	return c
}

// follow reads until ctx ends. It reads from the window end since on or, if that is zero, as far back as the store has
// room for.
func (p *published) follow(ctx context.Context, reader *outputs.Reader, since time.Time) error {
	var before cluster.Ends
	reader.Begins = func(topic string, number int, from, end int64) {
		before.Begins(topic, number, from, end)
		p.store.Begin(topic, number, from, end)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, topic := range p.topics {
		group.Go(func() error { return p.topic(ctx, reader, topic, p.begin(topic, since), &before) })
	}
	err := group.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return cluster.WithExitCode(err)
}

// topic reads one topic. If it is recreated, all of it is new.
func (p *published) topic(ctx context.Context, reader *outputs.Reader, topic string, from time.Time,
	before *cluster.Ends) error {
	for {
		err := reader.Follow(ctx, []string{topic}, from, func(m outputs.Message, r outputs.Record) error {
			p.store.Add(m, r)
			p.gauges.Update(r)
			if p.released != nil {
				p.released(r, !before.Had(m))
			}
			return nil
		})
		var anew *fetch.TruncatedError
		if ctx.Err() != nil || !errors.As(err, &anew) || anew.Topic != topic {
			return err
		}
		p.store.Renew(topic)
		from = time.Unix(0, 0)
	}
}

// begin returns how far back a topic is read: as many windows as the store keeps of each series, and at least those
// that the public metrics show. Sums of objectives reach furthest back.
func (p *published) begin(topic string, since time.Time) time.Time {
	series := 0
	for _, s := range p.streams {
		series += s.MostGroups() * (len(s.Series()) + len(s.LastingSeries()))
	}
	windows := time.Duration(web.Windows(historyBytes, series))
	now := p.now()
	begin := now.Add(-unknownPast)
	var backs []time.Duration
	for _, s := range p.streams {
		if s.Output == topic {
			backs = append(backs, max(windows*s.Window.Every, 4*s.Window.Size)+s.Window.Grace)
		}
	}
	if len(backs) > 0 {
		begin = now.Add(-slices.Max(backs))
	}
	if !since.IsZero() && since.Before(begin) {
		return since
	}
	return begin
}
