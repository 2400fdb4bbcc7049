package ledger

import (
	"regexp"
	"slices"

	"github.com/louver/louver/stream/record"
)

// Discovery is what a discovery found at the end of a period: names that many users share. Its entry has the period as
// its window, the name of the discovery as its lane, and no groups. Names that are not in it are in no entry at all.
type Discovery struct {
	// MaxGroups is the most names for which one user counts. Threshold is the least count that is published.
	MaxGroups int64 `json:"max_groups"`
	Threshold int64 `json:"threshold"`
	// Error95 is the error that 95 % of the counts do not exceed.
	Error95 int64 `json:"error_95"`
	Rules   Rules `json:"rules"`
	// Found are the names that were found, sorted by bytes; nil if the discovery is withheld.
	Found []Finding `json:"found"`
	// Joined and Left are the names that joined the list, and those that left it. Listed is how many are on it now.
	Joined []string `json:"joined,omitempty"`
	Left   []string `json:"left,omitempty"`
	Listed int64    `json:"listed"`
	// Unlisted are the found names that are not on the list: it is full of names with more users.
	Unlisted []string `json:"unlisted,omitempty"`
	// Tombstones names the figures of each group that left, if their series end in the output.
	Tombstones []string `json:"tombstones,omitempty"`
}

// Rules say which names may be on the list of a stream. They come from its definition.
type Rules struct {
	// Source names the topic and the field that names come from. Names from another one are not of this list.
	Source string `json:"source"`
	// Keep is for how many seconds a name stays on the list after it was last found.
	Keep int64 `json:"keep"`
	// Max is the most names on the list. Always and Other do not count.
	Max int64 `json:"max"`
	// Other is the group for everybody else; "" for none.
	Other string `json:"other,omitempty"`
	// Always are on the list in any case, Except in no case; sorted. Match is a regular expression for all other names.
	Always []string `json:"always,omitempty"`
	Except []string `json:"except,omitempty"`
	Match  string   `json:"match,omitempty"`
}

// List says which list the groups of a window come from.
type List struct {
	// Stream is the stream whose list it is; "" for the entry's own.
	Stream string `json:"stream,omitempty"`
	// Of is the end of the last discovery before the window was decided; nil if there was none.
	Of    *record.Second `json:"of,omitempty"`
	Rules Rules          `json:"rules"`
	// Left are the groups of the stream's previous window that are no longer on the list. Tombstones names the figures
	// of each. Both are empty unless the list is another stream's and series end in the output.
	Left       []string `json:"left,omitempty"`
	Tombstones []string `json:"tombstones,omitempty"`
}

// Finding is what a discovery found about a name.
type Finding struct {
	Name string `json:"name"`
	// Value is the noisy number of users who counted for the name.
	Value int64 `json:"value"`
}

// may reports whether a name can be found.
func (r Rules) may(name string, match *regexp.Regexp) bool {
	_, always := slices.BinarySearch(r.Always, name)
	_, except := slices.BinarySearch(r.Except, name)
	return !always && !except && name != r.Other && (match == nil || match.MatchString(name))
}
