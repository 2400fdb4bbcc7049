package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/record"
)

// The groups of a stream whose names nobody lists follow from what its discoveries found. What a discovery finds is
// published, and paid for. The list is computed from that and from the stream's definition, so it costs nothing, and
// anyone can compute it again.

// mostNames bounds the bytes of the names of a list, as they are written, so that every entry fits into a record.
const mostNames = 160 << 10

// Lists are the names that discoveries of a partition have found lately. They follow from its entries, in the order of
// the ledger. Lists are not safe for concurrent use.
type Lists struct {
	of map[listName]*found
	// shown are the groups of the last window of each stream that follows another one's list.
	shown   map[listName][]string
	matches map[string]*regexp.Regexp
}

// NewLists begins before the first entry of a partition.
func NewLists() *Lists {
	return &Lists{map[listName]*found{}, map[listName][]string{}, map[string]*regexp.Regexp{}}
}

// listName names a list. A stream that changes its budget begins another one.
type listName struct{ budget, stream string }

func (n listName) compare(o listName) int {
	return cmp.Or(cmp.Compare(n.budget, o.budget), cmp.Compare(n.stream, o.stream))
}

// found is what is known of a stream's names. Times are in Unix seconds.
type found struct {
	source string
	end    int64 // of the last discovery of any lane
	names  map[string]map[string]finding
	// lanes hold for each lane the names on the list as its last discovery left it, and when each had last been found.
	lanes  map[string]map[string]int64
	listed []string // after the last discovery, with those that are always on the list
}

// finding is what a lane last found of a name: when, in Unix seconds, and the count.
type finding struct{ end, value int64 }

// Of returns the groups on the list of a stream under a budget, in the order that entries have them, and the end of the
// last discovery; nil if there was none.
func (l *Lists) Of(budget, stream string, r Rules) (groups []string, of *record.Second, err error) {
	f, may, err := l.under(budget, stream, r)
	if err != nil {
		return nil, nil, err
	}
	groups = f.list(r, may)
	if r.Other != "" {
		groups = append(groups, r.Other)
	}
	if f.end != 0 {
		of = new(record.Whole(time.Unix(f.end, 0)))
	}
	return groups, of, nil
}

// Last returns the names for which a user counts last, in the period of a lane that ends at end. They are those that
// the lane's last discovery left on the list, and that had last been found at most half of Keep before end.
func (l *Lists) Last(budget, stream, lane string, r Rules, end time.Time) map[string]bool {
	last := map[string]bool{}
	if f := l.of[listName{budget, stream}]; f != nil && f.source == r.Source {
		for name, at := range f.lanes[lane] {
			if 2*(end.Unix()-at) <= r.Keep {
				last[name] = true
			}
		}
	}
	return last
}

// ListOf returns the stream whose list the entry's groups come from; "" if the stream's definition names them.
func (e Entry) ListOf() string {
	if e.List == nil {
		return ""
	}
	return cmp.Or(e.List.Stream, e.Stream)
}

// Listed is a name on a list, for those who show it.
type Listed struct {
	Name string
	// Until is when it leaves the list unless it is found again. It is zero for a name that is always listed.
	Until time.Time
	// Value is the largest count that a lane has found within Keep; 0 for a name that is always listed.
	Value int64
}

// Show lists the names of a list, with what is known of each.
func (l *Lists) Show(budget, stream string, r Rules) ([]Listed, error) {
	f, may, err := l.under(budget, stream, r)
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, name := range f.list(r, may) {
		one := Listed{Name: name}
		if _, always := slices.BinarySearch(r.Always, name); !always {
			last, value := f.lately(name, r.Keep)
			one.Until, one.Value = time.Unix(last+r.Keep, 0).UTC(), value
		}
		all = append(all, one)
	}
	return all, nil
}

// under returns what is known of a list under some rules.
func (l *Lists) under(budget, stream string, r Rules) (*found, func(string) bool, error) {
	f := l.of[listName{budget, stream}]
	if f == nil || f.source != r.Source {
		f = &found{}
	}
	match, err := l.match(r.Match)
	return f, func(name string) bool { return r.may(name, match) }, err
}

func (l *Lists) match(text string) (*regexp.Regexp, error) {
	if text == "" || l.matches[text] != nil {
		return l.matches[text], nil
	}
	match, err := regexp.Compile(text)
	if err == nil {
		l.matches[text] = match
	}
	return match, err
}

// lately returns when a name was last found, and the largest count of a lane, within keep of the last discovery. last
// is 0 if it was not found.
func (f *found) lately(name string, keep int64) (last, value int64) {
	for _, x := range f.names[name] {
		if x.end+keep > f.end {
			last, value = max(last, x.end), max(value, x.value)
		}
	}
	return last, value
}

// list returns the names on the list, sorted by bytes, without Other.
func (f *found) list(r Rules, may func(string) bool) []string {
	var all []Finding
	for name := range f.names {
		if last, value := f.lately(name, r.Keep); last != 0 && may(name) {
			all = append(all, Finding{name, value})
		}
	}
	all = Largest(all, r.Max)
	names := slices.Clone(r.Always)
	for _, x := range all {
		names = append(names, x.Name)
	}
	slices.Sort(names)
	return names
}

// Largest returns the findings with the largest counts, the largest first: at most most of them, and no more than an
// entry can hold. Where counts are equal, names are in the order of their bytes.
func Largest(all []Finding, most int64) []Finding {
	all = slices.Clone(all)
	slices.SortFunc(all, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Value, x.Value), strings.Compare(x.Name, y.Name))
	})
	bytes := 0
	for i, x := range all {
		text, _ := json.Marshal(x.Name) // a string never fails
		if bytes += len(text); int64(i) >= most || bytes > mostNames {
			return all[:i]
		}
	}
	return all
}

// Gone returns the groups that the next window of a stream no longer has and the last one had, sorted by bytes. The
// stream follows another one's list: for all others there are none.
func (l *Lists) Gone(next Entry) (gone []string) {
	here := map[string]bool{}
	for _, g := range next.Groups {
		here[g.Name] = true
	}
	for _, name := range l.shown[listName{next.Budget, next.Stream}] {
		if !here[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// Add adds what the next entry found, or which groups it has.
func (l *Lists) Add(e Entry) error {
	if e.Discovery == nil {
		of := listName{e.Budget, e.Stream}
		if delete(l.shown, of); e.List != nil && e.List.Stream != "" && len(e.Groups) > 0 {
			l.shown[of] = e.GroupNames()
		}
		return nil
	}
	f, _, err := l.after(e)
	if err == nil {
		l.of[listName{e.Budget, e.Stream}] = f
	}
	return err
}

// Settle finds the groups of a window whose groups are found, and which of them left since the window before, if their
// series end. A group keeps what was drawn for it. A window whose list is empty costs nothing and publishes nothing.
func (l *Lists) Settle(e *Entry) error {
	if e.List == nil {
		return nil
	}
	names, of, err := l.Of(e.Budget, e.ListOf(), e.List.Rules)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name(), err)
	}
	e.List.Of = of
	if !slices.Equal(names, e.GroupNames()) {
		e.Groups = regrouped(e.Groups, names)
	}
	if e.unlisted() {
		e.Price, e.Releases, e.Continual = nil, nil, nil
	}
	// The series of groups that left end with the discovery in its own stream, and with the first window without them
	// in others.
	if e.List.Left = nil; e.List.Stream != "" && len(e.List.Tombstones) > 0 {
		e.List.Left = l.Gone(*e)
	}
	if len(e.List.Left) == 0 {
		e.List.Tombstones = nil
	}
	return nil
}

// regrouped makes groups with these names, with what some of them have.
func regrouped(groups []Group, names []string) (all []Group) {
	have := make(map[string]Group, len(groups))
	for _, g := range groups {
		have[g.Name] = g
	}
	for _, name := range names {
		g := have[name]
		g.Name = name
		all = append(all, g)
	}
	return all
}

// Finish fills in how a discovery changes the list, and which series end with it. It does not add the entry.
func (l *Lists) Finish(e *Entry) error {
	f, before, err := l.after(*e)
	if err != nil {
		return err
	}
	d := e.Discovery
	d.Joined, d.Left, d.Listed = without(f.listed, before), without(before, f.listed), int64(len(f.listed))
	d.Unlisted = nil
	for _, x := range d.Found {
		if _, listed := slices.BinarySearch(f.listed, x.Name); !listed {
			d.Unlisted = append(d.Unlisted, x.Name)
		}
	}
	if len(d.Left) == 0 {
		d.Tombstones = nil
	}
	return nil
}

// after returns what is known after a discovery, and the list before it. It does not change what is known before.
func (l *Lists) after(e Entry) (*found, []string, error) {
	d := e.Discovery
	old, may, err := l.under(e.Budget, e.Stream, d.Rules)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: match: %w", e.Name(), err)
	}
	before := old.listed
	if old.end == 0 {
		before = d.Rules.Always
	}
	f := &found{source: d.Rules.Source, end: max(old.end, e.WindowEnd.Unix()), names: map[string]map[string]finding{},
		lanes: maps.Clone(old.lanes)}
	for name, lanes := range old.names {
		f.names[name] = maps.Clone(lanes)
	}
	for _, x := range d.Found {
		if !may(x.Name) {
			continue
		}
		if f.names[x.Name] == nil {
			f.names[x.Name] = map[string]finding{}
		}
		f.names[x.Name][e.Lane] = finding{e.WindowEnd.Unix(), x.Value}
	}
	f.listed = f.list(d.Rules, may)
	last := map[string]int64{}
	for name, lanes := range f.names {
		maps.DeleteFunc(lanes, func(_ string, x finding) bool { return x.end+d.Rules.Keep <= f.end })
		if _, listed := slices.BinarySearch(f.listed, name); !listed || len(lanes) == 0 || !may(name) {
			delete(f.names, name)
			continue
		}
		last[name], _ = f.lately(name, d.Rules.Keep)
	}
	if f.lanes == nil {
		f.lanes = map[string]map[string]int64{}
	}
	f.lanes[e.Lane] = last
	for name, lane := range f.lanes { // also of lanes that the stream no longer has
		lane = maps.Clone(lane)
		maps.DeleteFunc(lane, func(_ string, at int64) bool { return at+d.Rules.Keep <= f.end })
		if f.lanes[name] = lane; len(lane) == 0 {
			delete(f.lanes, name)
		}
	}
	return f, before, nil
}

// without returns the names of x that are not in y. Both are sorted.
func without(x, y []string) (left []string) {
	for _, name := range x {
		if _, in := slices.BinarySearch(y, name); !in {
			left = append(left, name)
		}
	}
	return left
}

// storedList is what is known of a list, in a checkpoint. Names are in a table, and stand for their numbers in it
// elsewhere. Times are in Unix seconds.
type storedList struct {
	Stream string   `json:"stream"`
	Source string   `json:"source"`
	End    int64    `json:"end"`
	Names  []string `json:"names"`
	Listed []int    `json:"listed,omitempty"`
	Lanes  []struct {
		Lane string `json:"row"`
		// Found has the number of a name, when the lane last found it, and the count. Last has the number of each name
		// that the lane left on the list, and when that name was last found.
		Found [][3]int64 `json:"found,omitempty"`
		Last  [][2]int64 `json:"last,omitempty"`
	} `json:"rows,omitempty"`
}

// storedShown are the groups of the last window of a stream that follows another one's list.
type storedShown struct {
	Stream string   `json:"stream"`
	Groups []string `json:"groups"`
}

// followers returns the last groups of each stream of a budget that follows another stream's list, by stream.
func (l *Lists) followers(budget string) (all []storedShown) {
	for _, of := range slices.SortedFunc(maps.Keys(l.shown), listName.compare) {
		if of.budget == budget {
			all = append(all, storedShown{of.stream, l.shown[of]})
		}
	}
	return all
}

// stored returns the lists of a budget, by stream.
func (l *Lists) stored(budget string) (all []storedList) {
	for _, of := range slices.SortedFunc(maps.Keys(l.of), listName.compare) {
		if of.budget == budget {
			all = append(all, l.of[of].stored(of.stream))
		}
	}
	return all
}

func (f *found) stored(stream string) storedList {
	s := storedList{Stream: stream, Source: f.source, End: f.end}
	names, lanes := map[string]bool{}, map[string]bool{}
	for _, name := range f.listed {
		names[name] = true
	}
	for name, of := range f.names {
		names[name] = true
		for lane := range of {
			lanes[lane] = true
		}
	}
	for lane, last := range f.lanes {
		lanes[lane] = true
		for name := range last {
			names[name] = true
		}
	}
	s.Names = slices.Sorted(maps.Keys(names))
	number := map[string]int{}
	for i, name := range s.Names {
		number[name] = i
	}
	for _, name := range f.listed {
		s.Listed = append(s.Listed, number[name])
	}
	for i, lane := range slices.Sorted(maps.Keys(lanes)) {
		s.Lanes = slices.Grow(s.Lanes, 1)[:i+1]
		of := &s.Lanes[i]
		of.Lane = lane
		for i, name := range s.Names {
			if x, ok := f.names[name][lane]; ok {
				of.Found = append(of.Found, [3]int64{int64(i), x.end, x.value})
			}
			if at, ok := f.lanes[lane][name]; ok {
				of.Last = append(of.Last, [2]int64{int64(i), at})
			}
		}
	}
	return s
}

// restore takes the lists of a budget from a checkpoint.
func (l *Lists) restore(budget string, all []storedList, followers []storedShown) error {
	for _, s := range followers {
		of := listName{budget, s.Stream}
		if l.shown[of] != nil || len(s.Groups) == 0 {
			return fmt.Errorf("stream %q has %d groups of another stream's list, or has them twice", s.Stream,
				len(s.Groups))
		}
		l.shown[of] = s.Groups
	}
	for _, s := range all {
		of := listName{budget, s.Stream}
		if l.of[of] != nil {
			return fmt.Errorf("stream %q has two lists", s.Stream)
		}
		f, err := s.found()
		if err != nil {
			return fmt.Errorf("the list of stream %q: %w", s.Stream, err)
		}
		l.of[of] = f
	}
	return nil
}

func (s storedList) found() (*found, error) {
	f := &found{source: s.Source, end: s.End, names: map[string]map[string]finding{},
		lanes: map[string]map[string]int64{}}
	ascends := func(x, y string) int {
		if x < y {
			return -1
		}
		return 1 // also for equal ones
	}
	if s.End <= -farthest || s.End >= farthest || s.End == 0 || !slices.IsSortedFunc(s.Names, ascends) {
		return nil, errors.New("names are out of order, or there was no discovery")
	}
	wrong := errors.New("a number of a name that is not in the table, or a time out of range")
	for _, i := range s.Listed {
		if i < 0 || i >= len(s.Names) {
			return nil, wrong
		}
		f.listed = append(f.listed, s.Names[i])
	}
	for _, of := range s.Lanes {
		for _, x := range of.Found {
			if x[0] < 0 || x[0] >= int64(len(s.Names)) || x[1] > s.End || x[1] <= -farthest {
				return nil, wrong
			}
			name := s.Names[x[0]]
			if f.names[name] == nil {
				f.names[name] = map[string]finding{}
			}
			f.names[name][of.Lane] = finding{x[1], x[2]}
		}
		for _, x := range of.Last {
			if x[0] < 0 || x[0] >= int64(len(s.Names)) || x[1] > s.End || x[1] <= -farthest {
				return nil, wrong
			}
			if f.lanes[of.Lane] == nil {
				f.lanes[of.Lane] = map[string]int64{}
			}
			f.lanes[of.Lane][s.Names[x[0]]] = x[1]
		}
	}
	return f, nil
}
