package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/silence"
)

// Store keeps the newest published records of each series in memory, as they were published. It is safe for concurrent
// use.
type Store struct {
	bytes int64 // the most that records may take

	mu     sync.RWMutex
	series map[string]*series
	held   int64 // bytes
	depth  int   // how many windows a series may have; the same for all
	logs   map[partition]*extent
	// recent are the newest records in order of arrival, and first counts those before them. Live clients read from
	// here.
	recent  []*point
	first   int64
	prices  map[string][]budget.Item // charges of records, each held once
	renewed map[string]bool          // topics that were recreated
	life    int                      // counts how often that happened
	changed chan struct{}            // closed by the next change
	silence silence.Tracker

	reading reading
}

// extent says what a Store has read of a partition.
type extent struct {
	begin, end int64 // where reading began, and the end of the records that were there then
	next       int64 // the offset after the newest record
	gone       int64 // the highest offset whose record is no longer in memory; −1: none
}

const (
	// mostWindows is how many windows a series may have, however little memory they take.
	mostWindows = 10000
	// recentRecords is how far a live client may fall behind before all series have to be searched for what it has
	// missed.
	recentRecords = 4096
	// mostPrices bounds the charges that are held once: a stream has one, and another one after an edit.
	mostPrices = 10_000
	// typical is about how many bytes a record takes in all.
	typical = 1100
)

// NewStore makes an empty Store whose records take about so many bytes. As more series come, each one keeps fewer
// windows; the newest record of each series always stays.
func NewStore(bytes int64) *Store {
	return &Store{bytes: bytes, depth: mostWindows, series: map[string]*series{}, logs: map[partition]*extent{},
		prices: map[string][]budget.Item{}, renewed: map[string]bool{}, changed: make(chan struct{})}
}

// Windows returns about how many windows of each series a Store of this size keeps if there are so many series.
func Windows(bytes int64, series int) int {
	return int(min(mostWindows, bytes/typical/int64(max(1, series))))
}

// Begin sets the offset at which reading of a partition begins, and the end of the records that were there before. Live
// clients that want only new records do not get those.
func (s *Store) Begin(topic string, number int, from, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := partition{topic, number}
	if s.renewed[topic] {
		end = from
	}
	if _, known := s.logs[at]; !known {
		s.logs[at] = &extent{begin: from, end: end, gone: -1}
	}
	s.wake()
}

// Reading says whether the output topics can be read now.
func (s *Store) Reading() Reading { return s.reading.now() }

// Retrying makes hooks for an outputs.Reader. They note failures, and pass them on to the hooks that hear makes.
func (s *Store) Retrying(hear func(problem, solved string) func(error)) func(problem, solved string) func(error) {
	return func(problem, solved string) func(error) {
		pass := hear(problem, solved)
		return func(err error) {
			pass(err)
			if s.reading.note(problem, err != nil) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.wake()
			}
		}
	}
}

// Renew records that a topic was deleted and recreated. Earlier records stay, but no longer have offsets.
func (s *Store) Renew(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.series {
		for _, f := range e.points {
			if f.at.topic == topic {
				f.offset = -1
			}
		}
	}
	for at := range s.logs {
		if at.topic == topic {
			delete(s.logs, at)
		}
	}
	s.recent = slices.DeleteFunc(s.recent, func(f *point) bool { return f.offset < 0 })
	s.renewed[topic] = true
	s.life++
	s.wake()
}

// Add adds a record. It replaces one of the same series and window.
func (s *Store) Add(m outputs.Message, r outputs.Record) {
	f := &point{start: r.WindowStart.Unix(), end: r.WindowEnd.Unix(), value: oneLine(m.Value),
		at: partition{m.Topic, m.Partition}, offset: m.Offset,
		unpaid: r.Reason != nil && *r.Reason == record.BudgetExhausted,
		noise:  r.Quality == record.Quality(mechanisms.Noise), blank: r.Value == nil, look: r.Look(),
		finding: findingOf(r)}
	f.named = f.start
	if r.Last() { // windows that share a block begin with the same one
		f.named = f.end - (f.end-f.start)/max(1, r.Windows.Of)
	}
	if r.List != nil {
		f.list = r.List.Unix()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silence.Add(r)
	f.charge, f.charged = s.charge(r)
	key := keyOf(r.Stream, r.Group, r.Release)
	e := s.series[key]
	if e == nil {
		e = &series{stream: r.Stream, group: r.Group, release: r.Release, watch: r.Held(),
			computed: r.From != "", discovery: f.finding != nil, other: r.Other, together: r.Together,
			rollup: r.Windows != nil || r.Together}
		s.series[key] = e
	}
	f.series = e
	i, found := slices.BinarySearchFunc(e.points, f, func(a, b *point) int { return a.order(b) })
	if found {
		s.held -= e.points[i].size()
		e.points[i] = f
	} else {
		e.points = slices.Insert(e.points, i, f)
	}
	s.held += f.size()
	log := s.logs[f.at]
	if log == nil {
		log = &extent{begin: m.Offset, end: m.Offset, gone: -1}
		s.logs[f.at] = log
	}
	log.next = max(log.next, m.Offset+1)
	s.trim(e)
	s.remember(f)
	s.wake()
}

// keyOf is the key of a series in memory. Names of streams and releases have no slash, so a slash in that of a group
// needs no escape.
func keyOf(stream, group, release string) string { return stream + "/" + group + "/" + release }

// charge returns what a record says that was charged. The caller holds the lock.
func (s *Store) charge(r outputs.Record) (items []budget.Item, known bool) {
	if r.LossFields == nil {
		return nil, false
	}
	var text strings.Builder
	for _, c := range r.Charge {
		fmt.Fprintf(&text, "%d×%s:%s,%s,%s;", c.Times, c.Kind, c.Epsilon, cell(c.Delta), cell(c.Rho))
	}
	items, known = s.prices[text.String()]
	if !known {
		var err error
		if items, err = record.Items(r.Charge); err != nil {
			return nil, false // no record of louver
		}
		if len(s.prices) >= mostPrices {
			clear(s.prices)
		}
		s.prices[text.String()] = items
	}
	return items, true
}

// trim drops old records: first of the series that has grown and, if that is not enough, of all.
func (s *Store) trim(grown *series) {
	s.shorten(grown)
	for s.held > s.bytes && s.depth > 1 {
		s.depth = max(1, s.depth*9/10)
		for _, e := range s.series {
			s.shorten(e)
		}
	}
}

func (s *Store) shorten(e *series) {
	n := len(e.points) - s.depth
	if n <= s.depth/8 { // drop several at once, because all others move up each time
		return
	}
	for _, f := range e.points[:n] {
		s.held -= f.size()
		if log := s.logs[f.at]; log != nil && f.offset >= 0 {
			log.gone = max(log.gone, f.offset)
		}
	}
	e.points = slices.Delete(e.points, 0, n)
}

func (s *Store) remember(f *point) {
	if len(s.recent) == 2*recentRecords {
		s.first += recentRecords
		s.recent = slices.Delete(s.recent, 0, recentRecords)
	}
	s.recent = append(s.recent, f)
}

// wake wakes everything that waits for a change.
func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// each calls f for every series.
func (s *Store) each(f func(*series)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.series {
		f(e)
	}
}

// series holds the records of one stream, group and release, by the ends of their windows.
type series struct {
	stream, group, release string
	watch                  bool // of a figure with instances: the records do not say whether windows were paid
	computed               bool // from a histogram, at no cost: instances are those of the histogram
	discovery              bool // the records say what a discovery found, and are no values of windows
	other                  bool // the group is everybody whose groups are not found
	together               bool // the group is all groups together
	rollup                 bool // the records add up windows or groups, and cost nothing
	points                 []*point
}

// point is one record: a value of a series. Once a Store has a point, only the offset may change, under the lock.
type point struct {
	series     *series
	start, end int64 // of the window, Unix seconds
	named      int64 // the start that the id has: over the newest time, that of the newest window
	value      []byte
	unpaid     bool // the budget could not pay for the window
	noise      bool // the value is only noise
	blank      bool // withheld: there is no value
	// charge is what was charged for the window, the instance or the period. charged says that the record has it.
	// Figures of the same price share one charge.
	charge  []budget.Item
	charged bool
	look    record.Look
	list    int64    // of a window whose groups are found: the end of the discovery that found them, or 0
	finding *finding // of a discovery's record
	at      partition
	offset  int64 // −1 if its topic is gone
}

// finding is what a discovery's record says about a name, or about all names together.
type finding struct {
	value, error95 *json.Number
	band           record.BandFields
	until          int64 // when the name leaves the list unless it is found again, Unix seconds; 0: it is not on it
}

func findingOf(r outputs.Record) *finding {
	if r.Statistic != record.StatisticGroups {
		return nil
	}
	f := &finding{value: r.Value, error95: r.Error95}
	if r.BandFields != nil {
		f.band = *r.BandFields
	}
	if r.ListedUntil != nil {
		f.until = r.ListedUntil.Unix()
	}
	return f
}

// overhead is about how many bytes a record takes besides its text.
const overhead = 200

func (f *point) size() int64 { return int64(len(f.value)) + overhead }

// readable reports whether there is a value that is more than noise.
func (f *point) readable() bool { return !f.blank && !f.noise }

// order compares windows by their ends. Windows of two definitions may end at once.
func (f *point) order(o *point) int {
	return cmp.Or(cmp.Compare(f.end, o.end), cmp.Compare(f.start, o.start))
}

// decode decodes a record of a Store. It was decoded before, when it was added, so this does not fail.
func (f *point) decode() (outputs.Record, error) {
	r, _, err := outputs.Decode(f.value)
	return r, err
}

// oneLine returns a copy of a record's text without line breaks.
func oneLine(value []byte) []byte {
	if !bytes.ContainsAny(value, "\r\n") {
		return bytes.Clone(value)
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return bytes.Clone(value)
	}
	return b.Bytes()
}

// cell is a number of a record as text; "" if there is none.
func cell(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// source is what answers are made from. It is safe for concurrent use.
type source struct {
	store   *Store
	streams []*config.Stream // the definitions; nil: only the records are known
	now     func() time.Time
}

// wanted reads a query that may name streams and nothing else.
func (s source) wanted(r *http.Request) (selection, error) {
	p := query(r, "stream")
	want := p.selection()
	return want, s.check(p, want)
}

// check refuses wrong parameters, and names that are in no definition and in no record.
func (s source) check(p *parameters, want selection) error {
	if err := p.mistake(); err != nil {
		return err
	}
	streams, groups, releases := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(set map[string]bool, names ...string) {
		for _, name := range names {
			set[name] = true
		}
	}
	wanted := func(stream string) bool { return len(want.streams) == 0 || slices.Contains(want.streams, stream) }
	followers := map[string][]string{} // of the list of a stream
	for _, of := range s.streams {
		add(streams, of.Name) // even if no group has a record yet
		if of.Found != nil {
			followers[of.Found.From] = append(followers[of.Found.From], of.Name)
		}
		if !wanted(of.Name) {
			continue
		}
		add(releases, of.SeriesNames()...)
		add(groups, of.Groups...)
		if f := of.Found; f != nil {
			add(groups, f.Other)
			add(groups, f.Always...)
		}
	}
	s.store.each(func(e *series) {
		add(streams, e.stream)
		if wanted(e.stream) {
			add(groups, e.group)
			add(releases, e.release)
		}
		if e.discovery && slices.ContainsFunc(followers[e.stream], wanted) {
			add(groups, e.group)
		}
	})
	for _, x := range []struct {
		kind  string
		want  []string
		known map[string]bool
	}{{"stream", want.streams, streams}, {"group", want.groups, groups}, {"release", want.releases, releases}} {
		for _, name := range x.want {
			if !x.known[name] {
				return &problem{http.StatusNotFound, fmt.Sprintf("there is no %s %q; want one of %s", x.kind, name,
					some(x.known))}
			}
		}
	}
	return nil
}

// definition returns the definition of a stream; nil if only its records are known.
func (s source) definition(stream string) *config.Stream {
	return (&config.File{Streams: s.streams}).Stream(stream)
}

// some returns the first names of a set.
func some(set map[string]bool) string {
	const most = 20
	names := slices.Sorted(maps.Keys(set))
	if len(names) == 0 {
		return "none: nothing is known yet"
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
