package config

import (
	"regexp"
	"slices"
	"time"
)

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
