package demo

import (
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// board collects figures into windows, and shows complete windows in order. It is safe for concurrent use.
type board struct {
	show func(picture)
	over func() // there are no more windows

	mu sync.Mutex
	// streams whose windows are not all shown; those of a turn run side by side
	turns   [][]*config.Stream
	next    windows.Window                                     // of the first turn
	shown   map[string]bool                                    // the series that windows need
	waiting map[string]map[time.Time]map[string]outputs.Record // by stream, window end, series
	spent   map[string]decimal.Decimal                         // by stream
	count   int
}

// newBoard returns a board for streams that follow one another: the windows of the second come after those of the
// first. Streams with the same windows run side by side.
func newBoard(streams []*config.Stream, show func(picture), over func()) *board {
	var turns [][]*config.Stream
	for _, s := range streams {
		if last := len(turns) - 1; last >= 0 && turns[last][0].Window == s.Window {
			turns[last] = append(turns[last], s)
		} else {
			turns = append(turns, []*config.Stream{s})
		}
	}
	shown := map[string]bool{}
	for _, turn := range turns {
		for _, s := range turn {
			for _, key := range slices.Concat(series(s), watchKeys(s)) {
				shown[key] = true
			}
		}
		if turn[0].Window.End == 0 {
			break // the next turn never comes
		}
	}
	return &board{show: show, over: over, turns: turns, next: first(turns[0]), shown: shown,
		waiting: map[string]map[time.Time]map[string]outputs.Record{}, spent: map[string]decimal.Decimal{}}
}

// first returns the first window of a turn.
func first(turn []*config.Stream) windows.Window {
	w := turn[0].Window
	return w.Schedule(w.Start).First()
}

// figures describes what is shown of a group: the stream's series without its histograms, and its totals.
func figures(s *config.Stream) []record.Series {
	all := slices.DeleteFunc(s.Series(), func(x record.Series) bool { return x.Buckets != nil })
	for _, f := range s.Lasting() {
		if f.About().Since != "" {
			all = append(all, f.Series()...)
		}
	}
	return all
}

// series names the figures of a stream's window, in the order of the streams file.
func series(s *config.Stream) (keys []string) {
	for _, g := range s.Groups {
		for _, x := range figures(s) {
			keys = append(keys, outputs.Record{Stream: s.Name, Group: g, Release: x.Name}.Key())
		}
	}
	return keys
}

// add adds a figure, and shows the windows that it completes. Others, such as those of all groups together, may come
// after their window is complete.
func (b *board) add(r outputs.Record) {
	if !b.shown[r.Key()] {
		return
	}
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

// step shows the next window if all of its streams have it.
func (b *board) step() bool {
	if len(b.turns) == 0 {
		return false
	}
	turn, end := b.turns[0], time.Unix(0, b.next.End).UTC()
	for _, s := range turn {
		for _, key := range slices.Concat(series(s), watchKeys(s)) {
			if _, out := b.waiting[s.Name][end][key]; !out {
				return false
			}
		}
	}
	p := b.take(turn[0], end)
	for _, s := range turn[1:] {
		p.beside = append(p.beside, b.take(s, end))
	}
	for _, d := range b.spent {
		p.lost = p.lost.Add(d)
	}
	b.count++
	p.count = b.count
	b.show(p)
	b.advance()
	return true
}

// take takes the figures of a stream out of those that wait.
func (b *board) take(s *config.Stream, end time.Time) picture {
	p, have := picture{stream: s, start: time.Unix(0, b.next.Start).UTC(), end: end}, b.waiting[s.Name][end]
	delete(b.waiting[s.Name], end)
	for _, key := range series(s) {
		p.records = append(p.records, have[key])
	}
	for _, key := range watchKeys(s) {
		p.watches = append(p.watches, have[key])
	}
	lost := p.records[0].StreamSpent
	if p.records[0].LossFields != nil {
		lost = p.records[0].StreamLost
	}
	if d := record.Read(lost); d != nil {
		b.spent[s.Name] = *d
	}
	if p.records[0].LossFields != nil {
		p.inPeriod = record.Read(p.records[0].BudgetLost)
	}
	return p
}

// advance goes to the next window, or after the last one to the next turn.
func (b *board) advance() {
	s := b.turns[0][0]
	var ok bool
	if b.next, ok = s.Window.Schedule(s.Window.Start).Next(b.next); ok {
		return
	}
	if b.turns = b.turns[1:]; len(b.turns) > 0 {
		b.next = first(b.turns[0])
	} else {
		b.over()
	}
}
