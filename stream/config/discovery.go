package config

import (
	"regexp"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Discovery is a draw at the end of each period that counts the users of each name, and publishes the names whose
// noisy count reaches a public threshold.
type Discovery struct {
	Head
	// Every is the length of a period. Periods end at multiples of it since 1970, and the first one begins with the
	// stream.
	Every time.Duration
	// Mechanism makes the draw for a name.
	Mechanism *mechanisms.TruncatedGeometric
	// MaxWindows limits in how many periods one user counts, of those that end in a longer one. It is nil if everybody
	// counts in every period.
	MaxWindows *MaxWindows
	// AtMost is the most periods for which a user is charged, of those that end in any period of the budget.
	AtMost int64
}

// Kind is Searched.
func (d *Discovery) Kind() Kind { return Searched }

// Cost is a draw for each name of a period for which a user counts.
//
// Privacy: given what was published before, adding or removing a user changes the counts of at most Groups names, each
// by one, and each name's outcome is (ε, δ)-DP. So these charges are those of Groups draws. If only some of a
// user's events of a period are removed, at most Groups names lose the user, and as many others may gain one.
func (d *Discovery) Cost() Cost {
	items := d.once(d.Mechanism)
	return Cost{Per: PerPeriod, Items: items, Partly: budget.Times(items, 2), AtMost: d.AtMost,
		Daily: d.Cap(0).Most(int64((Day-1)/max(1, d.Every))+1, d.Every), Cap: d.MaxWindows}
}

// Cap returns how the costs of the discovery's periods add up, in an era. It is the zero value if everybody counts in
// every period.
//
// Privacy: everybody with any record in a period that has a good name takes a turn in it, whether or not the name is
// listed or can be found. So whether a user counts depends only on the user's own records, the schedule and the key,
// and on no list and nobody else. By [windows.CapRule] nobody counts in more than Count periods of any length Per. A
// user who does not count in a period changes nothing in it: the user's names are left out of all counts. Given what
// was published before, each of the others costs what Cost says. So a user loses at most the Count largest prices.
func (d *Discovery) Cap(era int64) budget.Cap {
	c := d.MaxWindows.cap(era)
	if d.MaxWindows != nil {
		c.Lane = d.Name
	}
	return c
}

// Series describes the records of a discovery, with the ε and δ of one name.
func (d *Discovery) Series() []record.Series {
	p := d.Mechanism.Promise()
	return []record.Series{{Name: d.Name, Statistic: record.StatisticGroups, Mechanism: d.Mechanism.Name(),
		Unit: "users", Epsilon: p.Epsilon, Delta: p.Delta}}
}

// WithDelta is the discovery itself: it needs a δ.
func (d *Discovery) WithDelta(bool) Figure { return d }

// About says what one draw costs, and how often there is one.
func (d *Discovery) About() About {
	return About{Epsilon: d.Mechanism.Promise().Epsilon, Update: d.Every}
}

// Found says how the groups of a stream are found if nobody lists them. Discoveries publish the names that many users
// share, and these form the list, which is public from then on. The list follows from the ledger alone: see
// ledger.List.
type Found struct {
	// From is the stream whose list this one follows, of the same topic, field and budget; "" if the list is its own.
	// The fields below are those of that stream, whose discoveries they are.
	From string
	// Keep is how long a name stays on the list after it was last found, at least the longest time between two
	// discoveries.
	Keep time.Duration
	// Max is the most names on the list. Those of Always and Other do not count.
	Max int64
	// Other is the group for everybody who is in no group of the list; "" if there is none.
	Other string
	// Always are on every list, sorted. Except are on none, sorted.
	Always, Except []string
	// Match is what a name has to match to be found; nil: all may be.
	Match *regexp.Regexp
}

// May reports whether a name can be found. Other names take no place among a user's names.
func (f *Found) May(name string) bool {
	_, always := slices.BinarySearch(f.Always, name)
	_, except := slices.BinarySearch(f.Except, name)
	return !always && !except && name != f.Other && (f.Match == nil || f.Match.MatchString(name))
}

// Most is how many groups a window has at most.
func (f *Found) Most() int {
	n := int(f.Max) + len(f.Always)
	if f.Other != "" {
		n++
	}
	return n
}

// MostGroups is how many groups a window of the stream has at most.
func (s *Stream) MostGroups() int {
	if s.Found != nil {
		return s.Found.Most()
	}
	return len(s.Groups)
}

// Source says where the names come from. Names from another source are not on the list.
func (s *Stream) Source() string { return s.Input.Topic + " " + s.Input.Group }
