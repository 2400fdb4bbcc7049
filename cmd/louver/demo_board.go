package main

import (
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/windows"
)

// board collects figures into windows, and shows complete windows in order. It is safe for concurrent use.
type board struct {
	show func(picture)
	over func() // there are no more windows

	mu      sync.Mutex
	streams []*config.Stream                                   // those whose windows are not all shown
	next    windows.Window                                     // of the first of these
	waiting map[string]map[time.Time]map[string]outputs.Record // by stream, window end, series
	spent   map[string]decimal.Decimal                         // by stream
	count   int
}

// newBoard returns a board for streams that follow one another: the windows of the second come after those of the
// first.
func newBoard(streams []*config.Stream, show func(picture), over func()) *board {
	return &board{show: show, over: over, streams: streams, next: streams[0].Window.Schedule(streams[0].Window.Start).First(),
		waiting: map[string]map[time.Time]map[string]outputs.Record{}, spent: map[string]decimal.Decimal{}}
}

// series names the figures of a stream's window, in the order of the streams file.
func series(s *config.Stream) (keys []string) {
	for _, g := range s.Groups {
		for _, r := range s.Releases {
			for _, name := range r.Names() {
				keys = append(keys, outputs.Record{Stream: s.Name, Group: g, Release: name}.Key())
			}
		}
	}
	return keys
}

// add adds a figure, and shows the windows that it completes.
func (b *board) add(r outputs.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ends := b.waiting[r.Stream]
	if ends == nil {
		ends = map[time.Time]map[string]outputs.Record{}
		b.waiting[r.Stream] = ends
	}
	end := r.WindowEnd.UTC()
	if ends[end] == nil {
		ends[end] = map[string]outputs.Record{}
	}
	ends[end][r.Key()] = r
	for b.step() {
	}
}

// step shows the next window if it is complete.
func (b *board) step() bool {
	if len(b.streams) == 0 {
		return false
	}
	s := b.streams[0]
	end := time.Unix(0, b.next.End).UTC()
	have, keys, watches := b.waiting[s.Name][end], series(s), watchKeys(s)
	if len(have) < len(keys)+len(watches) {
		return false
	}
	p := picture{stream: s, start: time.Unix(0, b.next.Start).UTC(), end: end}
	for _, key := range keys {
		p.records = append(p.records, have[key])
	}
	for _, key := range watches {
		p.watches = append(p.watches, have[key])
	}
	if spent := p.records[0].StreamSpent; spent != nil {
		if d, err := decimal.NewFromString(spent.String()); err == nil {
			b.spent[s.Name] = d
		}
	}
	for _, d := range b.spent {
		p.lost = p.lost.Add(d)
	}
	b.count++
	p.count = b.count
	delete(b.waiting[s.Name], end)
	b.show(p)
	b.advance()
	return true
}

// advance goes to the next window, or after the last one to the next stream.
func (b *board) advance() {
	s := b.streams[0]
	var ok bool
	if b.next, ok = s.Window.Schedule(s.Window.Start).Next(b.next); ok {
		return
	}
	if b.streams = b.streams[1:]; len(b.streams) > 0 {
		b.next = b.streams[0].Window.Schedule(b.streams[0].Window.Start).First()
	} else {
		b.over()
	}
}
