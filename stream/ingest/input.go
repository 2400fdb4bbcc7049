package ingest

import (
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
)

// input says what is read of one input partition, and into which routes.
//
// Offsets in routes and marks include the base; the reader's offsets do not.
type input struct {
	*Ingest
	at   stage.Partition
	kept *stage.Latest[progress.Input]
	last progress.Input // what was put there last, or stood there before

	reader   *fetch.Reader
	routes   []*route
	lanes    []lane // the routes that take events
	leading  []lane // the lanes, without those that follow others
	base     int64
	id       string // the topic's id; "" if unknown
	former   string // the id of the previous topic of this name
	reported int64  // records below were already seen before a restart
}

// sort finds the lanes.
func (p *input) sort() {
	p.lanes = lanes(p.routes)
	p.leading = leading(p.lanes)
}

// position is the reader's position plus the base.
func (p *input) position() int64 { return p.reader.Position() + p.base }

// lose notes that records just below the position could not be read.
func (p *input) lose(n int64, why error) {
	p.missing(n)
	p.Log.Error("records are lost: windows that they may belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Int64("records", n), zap.Error(why))
}

// missing counts records that could not be read.
func (p *input) missing(n int64) {
	p.Metrics.Lost.WithLabelValues(p.at.Topic).Add(float64(n))
	for _, r := range p.routes {
		r.lose(n)
	}
}

// keepProgress writes the progress. Nothing below it may be waiting to be sent.
func (p *input) keepProgress() {
	p.last = p.progress()
	p.kept.Put(p.last)
}

// keepAsks writes the last progress once more, and with it what all windows of the partition wait for; nil: for
// nothing.
func (p *input) keepAsks(a *progress.Asks) {
	next := p.last
	next.Streams = maps.Clone(next.Streams)
	for key, s := range next.Streams {
		s.Asks = a
		next.Streams[key] = s
	}
	p.kept.Put(next)
}

func (p *input) routeAt(r *route) at {
	return at{p.at, progress.StreamKey(r.stream.Name, r.edition)}
}

// held reports whether the windows of a route, or of one that follows it, wait because the broker was away.
func (p *input) held(r *route) bool {
	return slices.ContainsFunc(r.all(), func(r *route) bool {
		_, until := p.outages.of(p.routeAt(r), r.schedule.Grace)
		return time.Now().Before(until)
	})
}

// again says what a route's windows wait for after an outage; nil if they do not wait.
func (p *input) again(r *route) *progress.Again {
	o, until := p.outages.of(p.routeAt(r), r.schedule.Grace)
	if !time.Now().Before(until) {
		return nil
	}
	return &progress.Again{Away: o.back.Sub(o.since), Grace: r.schedule.Grace, Until: until}
}

// progress says below which offset everything is written. A route whose windows are all cut needs no more records, so
// it does not hold the offset back.
func (p *input) progress() progress.Input {
	position := p.position()
	read := position
	for _, r := range p.routes {
		read = min(read, max(r.undecided, p.base))
	}
	next := progress.Input{Offset: position, Base: p.base, TopicID: p.id, Former: p.former,
		Read: max(read, p.reported), Streams: map[string]progress.Stream{}}
	for _, r := range p.routes {
		if !r.finished() {
			next.Offset = min(next.Offset, r.from)
		}
		written := progress.Stream{From: r.from, Through: r.through}
		if !r.marked.IsZero() {
			written.Marked = r.marked.UnixNano()
		}
		written.Again = p.again(r)
		next.Streams[progress.StreamKey(r.stream.Name, r.edition)] = written
	}
	next.Offset -= p.base
	return next
}
