package ledger

import (
	"encoding/json"
	"strconv"
	"time"

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
	left := map[string]bool{}
	for _, name := range d.Unlisted {
		left[name] = true
	}
	for _, x := range d.Found {
		f := figure(x.Name)
		f.Value, f.Error95 = new(wholeNumber(x.Value)), new(wholeNumber(d.Error95))
		if !left[x.Name] {
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

func wholeNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
