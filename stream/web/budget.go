package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/shopspring/decimal"
)

// reports makes the report on budgets and keeps it for a moment, because it is expensive and anyone may ask. It is safe
// for concurrent use.
type reports struct {
	source
	mu    sync.Mutex
	until time.Time
	last  ledger.Report
	texts map[brief][]byte // answers from the last report
}

// brief says what an answer leaves out of the report. The zero value leaves out nothing.
type brief struct {
	// budgets leaves out the streams' own figures.
	budgets bool
	// returns, if not 0, is how many entries a list of returns may have. With many short windows these lists make up
	// nearly all of the report, but a picture of them needs few entries.
	returns int
}

// mostReturns is more than a picture needs.
const mostReturns = 1000

// answer answers with what has been spent, what is left, and until when.
func (k *reports) answer(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("only", "returns")
	want := brief{returns: p.number("returns", 0, mostReturns)}
	switch only := p.values.Get("only"); only {
	case "":
	case "budgets":
		want.budgets = true
	default:
		p.refuse("only=%q; want budgets", only)
	}
	if p.err != nil {
		return invalid(p.err)
	}
	text, err := k.report(want)
	if err != nil {
		return err
	}
	answer(w, r, "application/json", text)
	return nil
}

// report returns the text of the report.
func (k *reports) report(want brief) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refresh(); err != nil {
		return nil, err
	}
	if text := k.texts[want]; text != nil {
		return text, nil
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(want.of(k.last)); err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	if len(k.texts) < mostTexts {
		k.texts[want] = text.Bytes()
	}
	return text.Bytes(), nil
}

// refresh makes a new report if the last one is old. The caller holds the lock.
func (k *reports) refresh() error {
	now := k.now()
	if now.Before(k.until) {
		return nil
	}
	books, err := k.books()
	if err != nil {
		return err
	}
	newest, err := k.store.newestOfStreams()
	if err != nil {
		return err
	}
	k.last, k.texts = ledger.Published(books, newest, now), map[brief][]byte{}
	took := k.now().Sub(now)
	k.until = now.Add(max(time.Second, 10*took))
	return nil
}

// lastDay returns what the windows that ended in the last 24 hours were charged to a budget; nil if that is not known.
func (k *reports) lastDay(b *config.Budget) (*decimal.Decimal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refresh(); err != nil {
		return nil, err
	}
	for _, of := range k.last.Budgets {
		switch {
		case of.Budget != b.Name:
		case of.EpsilonDay != nil:
			return &of.EpsilonDay.Decimal, nil
		case of.EpsilonSpent != nil && b.Per == 24*time.Hour: // published with the newest figure
			return &of.EpsilonSpent.Decimal, nil
		}
	}
	return nil, nil
}

// mostTexts bounds the memory of kept answers: anyone may ask for any number of returns.
const mostTexts = 4

// of returns the wanted part of a report, which it does not change.
func (b brief) of(r ledger.Report) any {
	if b.returns > 0 {
		r.Budgets, r.Streams = slices.Clone(r.Budgets), slices.Clone(r.Streams)
		for i := range r.Budgets {
			r.Budgets[i].Returns = fewer(r.Budgets[i].Returns, b.returns)
		}
		for i := range r.Streams {
			r.Streams[i].Returns = fewer(r.Streams[i].Returns, b.returns)
		}
	}
	if b.budgets {
		return struct {
			Budgets []ledger.Figures `json:"budgets"`
		}{r.Budgets}
	}
	return r
}

// fewer adds up neighbouring returns until there are at most n ≥ 1. If n > 1, the first stays as it is. The others are
// added up over equal stretches of time, and each sum stands at the time of its last return: by then all of it is back.
func fewer(all []ledger.ReturnFigure, n int) []ledger.ReturnFigure {
	if len(all) <= n {
		return all
	}
	few, rest := []ledger.ReturnFigure{}, all
	if n > 1 {
		few, rest, n = append(few, all[0]), all[1:], n-1
	}
	from := rest[0].At.Unix()
	length := rest[len(rest)-1].At.Unix() - from + 1
	last := int64(-1)
	for _, x := range rest {
		part := (x.At.Unix() - from) * int64(n) / length
		if part == last {
			sum := &few[len(few)-1]
			sum.At, sum.Epsilon.Decimal = x.At, sum.Epsilon.Add(x.Epsilon.Decimal)
			continue
		}
		few, last = append(few, x), part
	}
	return few
}

// books returns the books of the windows in memory. Records say whether a window was paid for, and which instances of
// watches looked at it. The public definition says what a window cost.
func (s source) books() (*ledger.Books, error) {
	books := ledger.NewBooks()
	for _, of := range s.streams {
		e := ledger.Entry{Stream: of.Name, Budget: of.Budget.Name, Every: of.Window.Every, Limit: of.Budget.Limit,
			Price: of.Price(), Cap: of.Cap(0)}
		if of.Window.End != 0 {
			e.Until = time.Unix(0, of.Window.End).UTC()
		}
		for _, w := range s.store.windows(of.Name, len(of.Releases) > 0) {
			e.WindowStart, e.WindowEnd, e.Reason = time.Unix(w.start, 0).UTC(), time.Unix(w.end, 0).UTC(), ""
			if w.unpaid && len(of.Releases) > 0 {
				e.Reason = record.BudgetExhausted
			}
			if err := books.Add(e); err != nil {
				return nil, err
			}
		}
		for _, d := range of.Discoveries() {
			if err := s.addDiscovery(books, e, d); err != nil {
				return nil, err
			}
		}
		for _, w := range of.Steps() {
			seen, err := s.store.seen(of, w.Name)
			if err == nil {
				err = books.AddSeen(of.Budget.Name, of.Name, w.Name, seen)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return books, nil
}

// addDiscovery adds what a discovery cost in its periods. Each has a record about all names.
func (s source) addDiscovery(books *ledger.Books, e ledger.Entry, d config.Discovery) error {
	e.Row, e.Price, e.Every, e.Cap = d.Name, d.Price(), d.Every, d.Cap(0)
	for _, f := range s.store.all(e.Stream, "", d.Name) {
		e.WindowStart, e.WindowEnd, e.Reason = time.Unix(f.start, 0).UTC(), time.Unix(f.end, 0).UTC(), ""
		if f.unpaid {
			e.Reason = record.BudgetExhausted
		}
		if err := books.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// windows returns one figure of each window of a stream, in order. priced leaves out records that do not say whether
// their window was paid for.
func (s *Store) windows(stream string, priced bool) []*figure {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*figure
	for _, e := range s.series {
		if e.stream != stream || e.discovery || e.watch && priced || covers(all, e.figures) {
			continue
		}
		all = append(all, e.figures...)
		slices.SortFunc(all, (*figure).order)
		all = slices.CompactFunc(all, func(a, b *figure) bool { return a.order(b) == 0 })
	}
	return all
}

// covers reports whether the windows of some figures are all among those of others, both in order. The series of a group
// that is found has gaps: it leaves the list and comes back.
func covers(all, some []*figure) bool {
	at := 0
	for _, f := range some {
		for at < len(all) && all[at].order(f) < 0 {
			at++
		}
		if at == len(all) || all[at].order(f) != 0 {
			return false
		}
	}
	return true
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
		if f.series.discovery {
			continue
		}
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
