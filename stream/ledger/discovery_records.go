package ledger

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// discoveryRecords are those of a discovery: one about all names, and then one for each name that it found.
func (e Entry) discoveryRecords() ([]record.Record, error) {
	d, of := e.Discovery, e.Releases[0]
	figure := func(name string) record.Figure {
		f := e.blank(Group{Name: name}, of)
		f.Threshold = d.Threshold
		return f
	}
	all := figure("")
	all.Unit = "groups"
	all.Joined, all.Left = new(int64(len(d.Joined))), new(int64(len(d.Left)))
	if e.Reason != "" {
		withhold(&all, e.Reason)
	} else {
		all.Value = new(wholeNumber(d.Listed))
	}
	figures := []record.Figure{all}
	unlisted := map[string]bool{}
	for _, name := range d.Unlisted {
		unlisted[name] = true
	}
	for _, x := range d.Found {
		f := figure(x.Name)
		f.Value, f.Error95 = new(wholeNumber(x.Value)), new(wholeNumber(d.Error95))
		if e.Bands {
			v := Value{Value: new(decimal.NewFromInt(x.Value)), Error95: new(decimal.NewFromInt(d.Error95))}
			fillBand(&f, NewBand(v, false, fromZero))
		}
		if !unlisted[x.Name] {
			f.ListedUntil = new(e.WindowEnd.Add(time.Duration(d.Rules.Keep) * time.Second))
		}
		figures = append(figures, f)
	}
	out := make([]record.Record, len(figures))
	for i, f := range figures {
		var err error
		if out[i], err = e.record(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ending returns the groups whose series end with the entry, and which of their series do.
func (e Entry) ending() (groups, series []string) {
	switch {
	case e.Discovery != nil && len(e.Discovery.Tombstones) > 0:
		return e.Discovery.Left, e.Discovery.Tombstones
	case e.List != nil:
		return e.List.Left, e.List.Tombstones
	}
	return nil, nil
}

// tombstones are the records that end series.
func (e Entry) tombstones() (all []record.Record) {
	groups, series := e.ending()
	for _, group := range groups {
		for _, name := range series {
			all = append(all, record.Left{Stream: e.Stream, Group: group, Release: name, Discovery: e.Row,
				End: e.WindowEnd, Due: e.DueAt}.Tombstone(e.destination()))
		}
	}
	return all
}

func wholeNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
