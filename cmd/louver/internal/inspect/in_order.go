package inspect

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// patience is how long figures wait for the others of their window. All of a window's figures are published at once,
// but come from several partitions.
const patience = time.Second

// shownFigure is a figure, and its text if that is printed as it is.
type shownFigure struct {
	outputs.Record
	text []byte
}

// partition is one partition of an output topic.
type partition struct {
	topic  string
	number int
}

// inOrder passes figures on by window and, within a window, in the order of the streams file. What was published before
// waits until all of it has been read, a new figure until those of its window are there. It is safe for concurrent use.
type inOrder struct {
	print  func(shownFigure) error
	ahead  func([]shownFigure) // is told what is printed next, if it is not nil
	done   func() error        // is called when nothing waits any more, if it is not nil
	places map[series]int
	counts map[string]int // series of each stream
	// found are the streams whose groups are found: nobody knows how many series they have. Their places are those of a
	// group "", and the stream's own is that of the release "".
	found map[string]bool

	mu      sync.Mutex
	past    map[partition]bool // what has not been read to its end
	held    []shownFigure
	missing map[window]int // series that the held windows lack
	timer   *time.Timer    // while figures wait
	err     error
}

type series struct{ stream, group, release string }

type window struct {
	stream string
	end    int64
}

func newInOrder(streams []*config.Stream, print func(shownFigure) error) *inOrder {
	o := &inOrder{print: print, places: map[series]int{}, counts: map[string]int{}, found: map[string]bool{},
		missing: map[window]int{}}
	for _, s := range streams {
		if o.found[s.Name] = s.Found != nil; s.Found != nil {
			for _, name := range append([]string{""}, namesOf(s)...) {
				o.places[series{s.Name, "", name}] = len(o.places)
			}
			o.counts[s.Name] = math.MaxInt
		}
		for _, g := range s.Groups {
			for _, name := range namesOf(s) {
				o.places[series{s.Name, g, name}] = len(o.places)
				o.counts[s.Name]++
			}
		}
	}
	return o
}

// namesOf returns the names of what a stream publishes for a group.
func namesOf(s *config.Stream) (names []string) {
	for _, x := range slices.Concat(s.Series(), s.LastingSeries()) {
		names = append(names, x.Name)
	}
	return names
}

// after says that figures wait until these partitions have been read to their ends. Call it before the first figure.
func (o *inOrder) after(past map[partition]bool) { o.past = past }

// ended says that a partition has been read to its end.
func (o *inOrder) ended(topic string, number int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.past) == 0 {
		return
	}
	if delete(o.past, partition{topic, number}); len(o.past) == 0 {
		o.pass()
	}
}

// add takes a figure. Its error is that of an earlier figure, too.
func (o *inOrder) add(f shownFigure) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, f)
	if len(o.past) > 0 {
		return nil
	}
	of := window{f.Stream, f.WindowEnd.UnixNano()}
	if _, ok := o.missing[of]; !ok {
		o.missing[of] = o.counts[f.Stream]
	}
	if o.missing[of]--; o.missing[of] <= 0 {
		delete(o.missing, of)
	}
	if len(o.missing) == 0 {
		o.pass()
	} else if o.timer == nil {
		o.timer = time.AfterFunc(patience, func() { _ = o.flush() })
	}
	return o.err
}

// flush passes on what waits.
func (o *inOrder) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pass()
	return o.err
}

func (o *inOrder) pass() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	slices.SortStableFunc(o.held, o.compare)
	if o.ahead != nil {
		o.ahead(o.held)
	}
	for _, f := range o.held {
		if o.err == nil {
			o.err = o.print(f)
		}
	}
	if len(o.held) > 0 && o.done != nil && o.err == nil {
		o.err = o.done()
	}
	o.held = nil
	clear(o.missing)
}

// compare orders figures. Those of a former definition come last in their window. Where groups are found, what was
// found comes first, and then one group after another.
func (o *inOrder) compare(a, b shownFigure) int {
	at := func(group string, f shownFigure, release string) int {
		if p, ok := o.places[series{f.Stream, group, release}]; ok {
			return p
		}
		return len(o.places)
	}
	place := func(f shownFigure) (stream, kind int, group string, release int) {
		switch {
		case !o.found[f.Stream]:
			return at(f.Group, f, f.Release), 0, "", 0
		case f.Statistic == record.StatisticGroups:
			return at("", f, ""), 0, f.Group, 0
		}
		return at("", f, ""), 1, f.Group, at("", f, f.Release)
	}
	streamA, kindA, groupA, releaseA := place(a)
	streamB, kindB, groupB, releaseB := place(b)
	return cmp.Or(a.WindowEnd.Compare(b.WindowEnd), cmp.Compare(streamA, streamB), cmp.Compare(kindA, kindB),
		cmp.Compare(groupA, groupB), cmp.Compare(releaseA, releaseB), cmp.Compare(a.Key(), b.Key()))
}
