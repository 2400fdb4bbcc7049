package control

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/stream/config"
)

// History holds every definition of every stream of an app, and when each applies.
type History struct {
	// Epoch is the number of the newest epoch; 0 if there is none yet.
	Epoch    int `json:"epoch"`
	Revision int `json:"revision"`
	// At is when the epoch was agreed on; nil if there is none.
	At *time.Time `json:"at"`
	// By is the process that proposed it; nil if there is no epoch.
	By          *Proposer `json:"by"`
	Definitions []Dated   `json:"definitions"`
}

// Dated is one definition of a stream and when it applies.
type Dated struct {
	Stream string `json:"stream"`
	// Number counts a stream's definitions, from 0.
	Number uint32 `json:"number"`
	// From is the start of the first window that follows the definition, Until the end of the last one; nil if there is
	// no last one.
	From  time.Time  `json:"from"`
	Until *time.Time `json:"until"`
	// Removed says that the streams files ended the stream with this definition.
	Removed     bool   `json:"removed"`
	Fingerprint string `json:"fingerprint"`
	// Size and Every describe the windows, written as in streams files.
	Size   string `json:"size"`
	Every  string `json:"every"`
	Budget string `json:"budget"`
	// Changes are the differences from the previous definition.
	Changes []config.Difference `json:"changes"`
}

// History returns the definitions of the newest epoch, by stream and number.
func (s *State) History() (History, error) {
	h := History{Definitions: []Dated{}}
	e := s.newest()
	if e == nil {
		return h, nil
	}
	h.Epoch, h.Revision, h.At, h.By = e.Number, e.Revision, &e.At, &e.By
	for _, name := range slices.Sorted(maps.Keys(e.Streams)) {
		for i, ed := range e.Streams[name] {
			stream, err := s.defined.stream(ed.Definition)
			if err != nil {
				return h, err
			}
			d := ed.dated(stream)
			if i > 0 {
				if d.Changes, err = config.Changes(e.Streams[name][i-1].Definition, ed.Definition); err != nil {
					return h, err
				}
			}
			h.Definitions = append(h.Definitions, d)
		}
	}
	return h, nil
}

func (e *edition) dated(stream *config.Stream) Dated {
	s := e.schedule(stream)
	d := Dated{Stream: stream.Name, Number: e.Number, From: time.Unix(0, s.Start).UTC(), Removed: e.Removed,
		Fingerprint: e.Definition.Fingerprint(), Size: config.Duration(s.Size), Every: config.Duration(s.Every),
		Budget: stream.Budget.Name, Changes: []config.Difference{}}
	if s.End != 0 {
		d.Until = new(time.Unix(0, s.End).UTC())
	}
	return d
}

// Preview shows what an app would agree on if a process with other streams files started now.
type Preview struct {
	// Before and After are the same if nothing would change.
	Before, After History
	// Older says that the files belong to an earlier epoch. A process that has them would follow the newer definitions.
	Older bool
	// Notes say which parts of the files would have no effect, and what changed definitions would cost in addition to
	// their windows.
	Notes []string
}

// Foresee previews the effect of the files w at a moment, and writes nothing. It fails with [ErrRefused] if [Load]
// would.
func Foresee(ctx context.Context, log Records, w Wanted, charged Charged, now time.Time) (Preview, error) {
	var p Preview
	s, err := Read(ctx, log)
	if err != nil {
		return p, err
	}
	if p.Before, err = s.History(); err != nil {
		return p, err
	}
	if _, err := s.complete(ctx, w, charged, now); err != nil {
		return p, err
	}
	p.After, err = s.History()
	p.Older, p.Notes = s.Older, s.Notes
	return p, err
}

// Begins returns the definitions that the files would add.
func (p Preview) Begins() []Dated {
	return slices.DeleteFunc(slices.Clone(p.After.Definitions), func(d Dated) bool {
		return slices.ContainsFunc(p.Before.Definitions, d.same)
	})
}

// Ends returns the definitions that the files would end.
func (p Preview) Ends() []Dated {
	return slices.DeleteFunc(slices.Clone(p.After.Definitions), func(after Dated) bool {
		return !slices.ContainsFunc(p.Before.Definitions, func(before Dated) bool {
			return before.same(after) && (before.Removed != after.Removed || !equal(before.Until, after.Until))
		})
	})
}

// Replaces returns the definitions that would never begin, because the files replace them.
func (p Preview) Replaces() []Dated {
	return slices.DeleteFunc(slices.Clone(p.Before.Definitions), func(d Dated) bool {
		return slices.ContainsFunc(p.After.Definitions, d.same)
	})
}

// same reports whether both are the same definition. Their ends may differ.
func (d Dated) same(o Dated) bool {
	return d.Stream == o.Stream && d.Number == o.Number && d.Fingerprint == o.Fingerprint && d.From.Equal(o.From)
}

func equal(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
