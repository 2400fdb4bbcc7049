package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/stream/record"
)

// Period is the time of a roll-up on local days: its first window begins at Since, and its last one ends at Until. A
// day may have 23 to 25 hours. It stands in the entry, so a reader needs no time zone database, and a newer database
// does not change the day.
type Period struct {
	// Release is the histogram, and Period the name of the period's usual length.
	Release string        `json:"release"`
	Period  string        `json:"period"`
	Since   record.Second `json:"since"`
	Until   record.Second `json:"until"`
}

// periodOf returns the local days of a roll-up, if it is on local days.
func periodOf(all []Period, release, name string) (p Period, local bool) {
	i := slices.IndexFunc(all, func(p Period) bool { return p.Release == release && p.Period == name })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// check checks that the period is of a roll-up of these releases, holds the window and has whole windows.
func (p Period) check(releases []record.Series, start, end time.Time, every time.Duration) error {
	if !slices.ContainsFunc(releases, func(r record.Series) bool {
		return r.Name == p.Release && r.Buckets != nil && slices.Contains(r.Rollups, p.Period)
	}) {
		return fmt.Errorf("period %s of %q, which is no histogram with that roll-up", p.Period, p.Release)
	}
	if p.Since.After(start) || p.Until.Before(end) || start.Sub(p.Since.Time)%every != 0 ||
		p.Until.Sub(p.Since.Time)%every != 0 {
		return fmt.Errorf("period %s of %q from %s to %s; want whole windows, and this one of them", p.Period,
			p.Release, p.Since, p.Until)
	}
	return nil
}
