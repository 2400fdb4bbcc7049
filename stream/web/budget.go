package web

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// reports makes the report on budgets and keeps it for a moment, because it is expensive and anyone may ask. It is safe
// for concurrent use.
type reports struct {
	mu    sync.Mutex
	until time.Time
	last  ledger.Report
}

// budget answers with what has been spent, what is left, and until when.
func (h *handler) budget(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	if p.allowed(); p.err != nil {
		return invalid(p.err)
	}
	report, err := h.report()
	if err != nil {
		return err
	}
	return answerJSON(w, r, report)
}

func (h *handler) report() (ledger.Report, error) {
	h.reports.mu.Lock()
	defer h.reports.mu.Unlock()
	now := h.now()
	if now.Before(h.reports.until) {
		return h.reports.last, nil
	}
	books, err := h.books()
	if err != nil {
		return ledger.Report{}, err
	}
	newest, err := h.Store.newestOfStreams()
	if err != nil {
		return ledger.Report{}, err
	}
	h.reports.last = ledger.Published(books, newest, now)
	took := h.now().Sub(now)
	h.reports.until = now.Add(max(time.Second, 10*took))
	return h.reports.last, nil
}

// books returns the books of the windows in memory. Records say whether a window was paid; the public definition says
// what it cost.
func (h *handler) books() (*ledger.Books, error) {
	books := ledger.NewBooks()
	for _, s := range h.Streams {
		e := ledger.Entry{Stream: s.Name, Budget: s.Budget.Name, Every: s.Window.Every, Limit: s.Budget.Limit, Price: s.Price()}
		if s.Window.End != 0 {
			e.Until = time.Unix(0, s.Window.End).UTC()
		}
		for _, w := range h.Store.windows(s.Name) {
			e.WindowStart, e.WindowEnd, e.Reason = time.Unix(w.start, 0).UTC(), time.Unix(w.end, 0).UTC(), ""
			if w.unpaid {
				e.Reason = ledger.BudgetExhausted
			}
			if err := books.Add(e); err != nil {
				return nil, err
			}
		}
	}
	return books, nil
}

// windows returns one figure of each window of a stream, in order.
func (s *Store) windows(stream string) []*figure {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*figure
	for _, e := range s.series {
		if e.stream == stream && (len(all) == 0 || e.figures[0].end < all[0].end || e.figures[len(e.figures)-1].end > all[len(all)-1].end) {
			all = append(all, e.figures...)
			slices.SortFunc(all, (*figure).order)
			all = slices.CompactFunc(all, func(a, b *figure) bool { return a.order(b) == 0 })
		}
	}
	return all
}

// newestOfStreams returns one of the newest records of each stream.
func (s *Store) newestOfStreams() (newest []outputs.Record, err error) {
	var last *figure
	keep := func() error {
		if last == nil {
			return nil
		}
		r, err := last.decode()
		newest = append(newest, r)
		return err
	}
	for _, f := range s.latest(selection{}) { // by series
		if last != nil && last.series.stream != f.series.stream {
			if err := keep(); err != nil {
				return nil, err
			}
			last = nil
		}
		if last == nil || f.order(last) > 0 {
			last = f
		}
	}
	return newest, keep()
}
