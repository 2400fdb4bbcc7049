package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// A discovery is decided like a window, at the end of its period, and before all windows that are due at the same time.
// So the list of a window is known when its turn comes: all discoveries that are due no later have been decided.
//
// Who counts for what is noted while the parts of its period are read for windows (noting.go). Users count for the
// first of their names, in the order of a keyed hash. Names that were found lately come last ([ledger.Lists.Last]).
// Each name with users is drawn once, and nothing is kept of names that are not found.
//
// A crash draws nothing twice: what was found is in the entry, with its charge, like any draw.

// turn is what is decided next: a window of a program, or the period of one of its discoveries.
type turn struct {
	lane   *attendance.Lane
	window windows.Window
	due    int64 // the latest time there is if nothing is left
}

// discover settles the discovery of a period and draws it.
func (d *decisions) discover(ctx context.Context, t turn, state windows.State,
	before ledger.Before) (ledger.Entry, error) {
	p, of := d.programs[t.lane.Place], t.lane.Of
	e := p.blank(d.Names.App, t.window)
	e.Lane, e.Every, e.Price, e.Releases = of.Name, of.Every, of.Cost().Items, of.Series()
	e.Discovery = &ledger.Discovery{MaxGroups: of.Groups, Threshold: of.Mechanism.Threshold(),
		Error95: of.Mechanism.Error95(), Rules: p.rules, Tombstones: p.ending}
	d.settled(&e, before)
	d.attendance.Overtake(t.lane)
	d.tellLosses()
	counts := t.lane.Cap
	if counts != nil {
		e.Cap = counts.Of
	}
	if err := d.charges.own.fold.Settle(&e); err != nil {
		return e, err
	}
	d.began(&e, state)
	if e.Reason == "" || counts != nil { // everybody in the period takes a turn, even if it is withheld
		found, err := d.find(ctx, t, &e)
		if err != nil {
			return e, err
		}
		if e.Reason == "" {
			e.Discovery.Found = found
		}
	}
	return e, nil
}

// find draws each name of a period, and returns those that are found, at most as many as the list may have, in the
// order of their bytes. Under a cap, only users who still count do. If the discovery is withheld, nothing is drawn.
func (d *decisions) find(ctx context.Context, t turn, e *ledger.Entry) ([]ledger.Finding, error) {
	p, began := d.programs[t.lane.Place], time.Now()
	held := d.parts.gather.All(p.stream.Name, p.epoch, t.window)
	tally := d.notes.take(t.lane, t.window, held)
	tally.withheld = e.Reason != ""
	round := d.attendance.Round(t.lane, t.window, nil)
	if err := round.Begin(); err != nil {
		return nil, err
	}
	_, lost, err := d.parts.each(ctx, p, t.window, held, tally)
	if err != nil {
		return nil, err
	}
	round.End(lost)
	names, err := tally.Found()
	if err != nil {
		return nil, fmt.Errorf("discovery %s of stream %s: %w", e.Lane, e.Stream, err)
	}
	if e.Reason != "" {
		return nil, nil
	}
	e.Incomplete = e.Incomplete || lost || tally.Unknown() > 0
	d.Metrics.DrawDuration.WithLabelValues(record.StatisticGroups).Observe(time.Since(began).Seconds())
	d.Metrics.GroupNames.WithLabelValues(e.Stream, e.Lane).Set(float64(tally.Names()))
	d.Metrics.DiscoveryReadings.WithLabelValues(e.Stream, e.Lane).Set(float64(tally.Readings()))
	found := make([]ledger.Finding, 0, len(names))
	for _, x := range names {
		found = append(found, ledger.Finding{Name: x.Name, Value: x.Value})
	}
	found = ledger.Largest(found, p.rules.Max)
	slices.SortFunc(found, func(x, y ledger.Finding) int { return strings.Compare(x.Name, y.Name) })
	return found, nil
}
