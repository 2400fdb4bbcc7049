package release

import (
	"slices"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// discovered returns the end of the last period of a discovery in the ledger.
func (cs *charges) discovered(p *program, row int) int64 {
	if last, ok := cs.own.fold.Books.LastOf(p.stream.Name, p.epoch, p.discoveries[row].Name); ok {
		return last.UnixNano()
	}
	return p.schedule.Start
}

// period returns the first period of a discovery that ends after a moment. Periods end at multiples of their length
// since 1970, and the first one begins with the definition of the stream.
func (p *program) period(row int, after int64) (w windows.Window) {
	every := p.discoveries[row].Every
	w.End = windows.NextBoundary(max(after+1, p.schedule.First().End), every)
	w.Start = max(w.End-int64(every), p.schedule.Start)
	return w
}

// period returns the next period of a discovery. Each definition of the stream draws what ends until the first window
// of the next one does. ok is false if there is nothing left to draw.
func (cs *charges) period(p *program, row int) (w windows.Window, ok bool) {
	w = p.period(row, cs.discovered(p, row))
	replaced := slices.ContainsFunc(cs.Editions, func(e config.Edition) bool {
		return e.Stream.Name == p.stream.Name && e.Number > p.epoch && e.Schedule.First().End <= w.End
	})
	return w, !replaced && (p.schedule.End == 0 || w.End <= p.schedule.End)
}
