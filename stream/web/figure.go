package web

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// series holds the records of one stream, group and release, by the ends of their windows.
type series struct {
	stream, group, release string
	watch                  bool // its records do not say whether windows were paid
	discovery              bool // its records say what a discovery found, and are no figures of windows
	other                  bool // the group is everybody whose groups are not found
	rollup                 bool // its records add up windows, and cost nothing
	figures                []*figure
}

// figure is one record. Once it is in a Store only its offset may change, under the lock.
type figure struct {
	series     *series
	start, end int64 // of the window, Unix seconds
	value      []byte
	unpaid     bool // the budget could not pay for the window
	noise      bool // the value is only noise
	blank      bool // withheld: there is no value
	// charge is what was charged for the window, the instance or the period, if charged: records of earlier releases do
	// not say it. Figures of the same price share it.
	charge  []budget.Item
	charged bool
	glance  glance
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

func (f *figure) size() int64 { return int64(len(f.value)) + overhead }

// readable reports whether there is a value that is more than noise.
func (f *figure) readable() bool { return !f.blank && !f.noise }

// order compares windows by their ends. Windows of two definitions may end at once.
func (f *figure) order(o *figure) int {
	return cmp.Or(cmp.Compare(f.end, o.end), cmp.Compare(f.start, o.start))
}

// decode decodes a record of a Store. It was decoded before, when it was added, so this does not fail.
func (f *figure) decode() (outputs.Record, error) {
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

// glance is what the record of a watch, a figure on change or a total says about its instance: nothing if its number is
// 0.
type glance struct {
	instance     int64
	looks, fires bool
	since        int64 // of a total: when its instance began, Unix seconds
}

func glanceOf(r outputs.Record) glance {
	g := glance{instance: r.Instance}
	switch {
	case r.Value == nil:
	case r.Final != nil:
		g.looks = true
		if r.Since != nil {
			g.since = r.Since.Unix()
		}
	case r.Changed != nil: // whether it ends the instance, the next record says: one with another number
		g.looks = true
	case r.Since == nil:
		g.looks = true
	case r.Since.Equal(r.WindowEnd):
		g.looks, g.fires = true, true
	}
	return g
}
