package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// reports makes the report on budgets. A report is kept for a moment, because it is expensive and anyone may ask for
// it. The methods are safe for concurrent use.
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
	p := query(r, "only", "returns")
	want := brief{returns: p.number("returns", 0, mostReturns)}
	switch only := p.values.Get("only"); only {
	case "":
	case "budgets":
		want.budgets = true
	default:
		p.refuse("only=%q; want budgets", only)
	}
	if err := p.mistake(); err != nil {
		return err
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

// lastDay is the most that one person can have lost through the windows of a budget in the last 24 hours. If partial,
// some of these windows are unknown, and the number is that of the newest record.
type lastDay struct {
	lost    decimal.Decimal
	partial bool
}

// lastDay returns what the books say of the last day of a budget that pays for streams; nil if that is not known, or if
// the definitions bound all that was charged.
func (k *reports) lastDay(pays cost.Payer) (*lastDay, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refresh(); err != nil {
		return nil, err
	}
	for _, of := range k.last.Budgets {
		switch {
		case of.Budget != pays.Name:
		case of.EpsilonDayLost != nil && pays.Covers(of.ChargedDay):
			return nil, nil
		case of.EpsilonDayLost != nil:
			return &lastDay{of.EpsilonDayLost.Decimal, false}, nil
		case of.EpsilonLost != nil && pays.Per == 24*time.Hour: // published with the newest figure
			return &lastDay{of.EpsilonLost.Decimal, true}, nil
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
			Budgets []ledger.BudgetReport `json:"budgets"`
		}{r.Budgets}
	}
	return r
}

// fewer adds up neighbouring returns until there are at most n ≥ 1. If n > 1, the first stays as it is. The others are
// added up over equal stretches of time. Each sum stands at the time of its last return, because by then all of it is
// back.
func fewer(all []ledger.Return, n int) []ledger.Return {
	if len(all) <= n {
		return all
	}
	few, rest := []ledger.Return{}, all
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

// books returns the books of the windows in memory. Records say what their window was charged, and which instances
// looked at it. What a record does not say, the newest definition says.
func (s source) books() (*ledger.Books, error) {
	books := ledger.NewBooks()
	for _, of := range s.streams {
		e := ledger.Entry{Stream: of.Name, Budget: of.Budget.Name, Every: of.Window.Every, Limit: of.Budget.Limit,
			Cap: of.Cap(0)}
		if of.Window.End != 0 {
			e.Until = time.Unix(0, of.Window.End).UTC()
		}
		for _, w := range s.store.windows(of.Name, len(of.Price()) > 0) {
			if err := books.Add(w.entry(e, of.Price())); err != nil {
				return nil, err
			}
		}
		for _, d := range config.All[*config.Discovery](of) {
			e.Lane, e.Every, e.Cap = d.Name, d.Every, d.Cap(0)
			for _, f := range s.store.all(of.Name, "", d.Name) { // each has a record about all names
				if err := books.Add(f.entry(e, d.Cost().Items)); err != nil {
					return nil, err
				}
			}
		}
		if err := s.addInstances(books, of); err != nil {
			return nil, err
		}
		books.Expect(of.Budget.Name, of.Name, of)
	}
	return books, nil
}

// addInstances adds the instances of the figures that a stream has beside its windows.
func (s source) addInstances(books *ledger.Books, of *config.Stream) error {
	all, err := s.store.instances(of)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := books.AddPublished(of.Budget.Name, of.Name, name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

// entry returns what the point's window, or the period of a discovery, was charged, as an entry like e. A price that
// is not in the record is that of the newest definition.
func (f *point) entry(e ledger.Entry, price []budget.Item) ledger.Entry {
	e.WindowStart, e.WindowEnd, e.Reason, e.Price = time.Unix(f.start, 0).UTC(), time.Unix(f.end, 0).UTC(), "", price
	switch {
	case f.series.watch: // the window itself had no releases
		e.Price = nil
	case f.unpaid:
		e.Reason = record.BudgetExhausted
	case f.charged:
		e.Price = f.charge
	}
	return e
}

// windows returns one point of each window of a stream, in order: one that says whether the window was paid for, if it
// has any. priced leaves out windows that have none.
func (s *Store) windows(stream string, priced bool) []*point {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*point
	add := func(watches bool) {
		for _, e := range s.series {
			if e.stream != stream || e.discovery || e.rollup || e.watch != watches || covers(all, e.points) {
				continue
			}
			all = append(all, e.points...)
			slices.SortStableFunc(all, (*point).order)
			all = slices.CompactFunc(all, func(a, b *point) bool { return a.order(b) == 0 })
		}
	}
	add(false)
	if !priced {
		add(true)
	}
	return all
}

// covers reports whether the windows of some points are all among those of others, both in order. The series of a
// group that is found has gaps: it leaves the list and comes back.
func covers(all, some []*point) bool {
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
	var last *point
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

// Exhausts is the metric that says when each budget is exhausted. It follows from the windows in the store and from the
// definitions, as the report on budgets does. It is safe for concurrent use.
type Exhausts struct {
	reports *reports
	desc    *prometheus.Desc
}

// NewExhausts returns the metric of what a configuration shows.
func NewExhausts(c Config) *Exhausts {
	return &Exhausts{&reports{source: source{c.Store, c.Streams, c.now()}}, prometheus.NewDesc(
		"louver_budget_exhausts_timestamp_seconds",
		"End of the first window that the budget cannot pay if all of its streams go on unchanged, in seconds since "+
			"1970. Absent if it pays them all, or as long as not all windows of its period are known.",
		[]string{"budget"}, nil)}
}

// Describe implements prometheus.Collector.
func (x *Exhausts) Describe(c chan<- *prometheus.Desc) { c <- x.desc }

// Collect implements prometheus.Collector.
func (x *Exhausts) Collect(c chan<- prometheus.Metric) {
	x.reports.mu.Lock()
	defer x.reports.mu.Unlock()
	if err := x.reports.refresh(); err != nil {
		c <- prometheus.NewInvalidMetric(x.desc, err)
		return
	}
	for _, b := range x.reports.last.Budgets {
		if b.ExhaustedAt != nil {
			c <- prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, float64(b.ExhaustedAt.Unix()), b.Budget)
		}
	}
}
