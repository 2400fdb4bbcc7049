package windows

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
)

// TallySpec says who counts where in a [Tally].
type TallySpec struct {
	MaxGroups int    // for how many of their names a user counts; below 1 means 1
	Period    Window // the names of a user take turns from one period to the next, by its start
	Hasher    *Hasher

	// May says whether a name can be found. Others take no place among a user's names, and are not counted. nil: all
	// can. It must not depend on data.
	May func(name string) bool
	// Last says whether a name comes last among a user's names. nil: none does. It may depend on what was published.
	Last func(name string) bool
	// Counts leaves out users for whom it is false, such as those whom a [Cap] has no period left for. It is asked,
	// perhaps several times, for each user who has any record in the period. nil leaves nobody out.
	Counts func(u UserHash) bool

	// Draw says what to publish of a name for which so many users count, if anything. It is asked once for each name
	// for which somebody counts, in no order that tells anything.
	Draw func(users int64) (value int64, found bool, err error)
	// Most is how many names are found at most: those with the greatest values, and of equal ones the lesser names. 0:
	// all.
	Most int
}

// Found is a name that a [Tally] has found, with the value that was drawn for it.
type Found struct {
	Name  string
	Value int64
}

// Tally counts the users of each name in the parts of a period, which are payloads of open bags, draws what to publish
// of each, and looks up the names that are found. The payloads may come in any order, repeat, or overlap. They are
// added in passes, as to a [Merger]:
//
//	for t.Pass() {
//		// Add all payloads. Those of slices that the pass does not need may be left out.
//	}
//	found, err := t.Found()
//
// The first pass may take the whole period: payloads are added as they come, and the others when the period ends.
// Nothing is drawn, and Counts is not asked, before that pass ends.
//
// Each user counts once for each of at most MaxGroups names of the period. Which ones depends on that user's own
// records, the key and what is public: names that come last do so, and among equals the least keyed hash of (user,
// start of the period, name) comes first. So adding or removing everything that one user sent changes the counts of at
// most MaxGroups names, each by one, given which names come last. The choice must never look at how many users a name
// has: then one user could move a crowd of others from one name to another.
//
// # Memory
//
// Two limits bound it, for any number of users and names. One is for who counts for what: about 50 bytes for each user
// and name that counts. If that is too little, there is a pass for each of several ranges of users. The other is for
// the counts: about 50 bytes a name, however long it is. If that is too little, all of this is done for each of several
// ranges of names. In the end one more pass looks up the texts of what was found: only in slices in which somebody was
// first seen with such a name. So u times too many users and n times too many names take between u·n+1 and about
// 2u·2n+1 readings. Found names are in memory, beside the limits.
//
// A Tally is not safe for concurrent use.
type Tally struct {
	spec  TallySpec
	limit struct{ notes, counts int64 }

	notes  *notes
	counts table           // a row for each name, by its hash: value is the number of users, and group the first place
	places []int64         // starts of the slices that were added, as they came
	place  map[int64]int32 // the place of each
	first  uint64
	last   uint64 // the range of names: the second words of their hashes

	readings int
	names    int64
	found    []found
	missing  map[[2]uint64]int // names that are looked up: their places in found
	wanted   map[int64]int     // how many of them are known to be in the slice that starts then; nil: any may be anywhere
	err      error
}

// found is a name that was found, by its hash, and its text if that was looked up.
type found struct {
	hash  [2]uint64
	value int64
	slice int64 // the start of one in which somebody was seen with it
	text  string
	known bool
}

// lastHash is the last word of a hash.
const lastHash = math.MaxUint64

// NewTally returns an empty tally that takes about so many bytes for who counts for what, and so many for the counts.
func NewTally(spec TallySpec, notes, counts int64) *Tally {
	empty := newTable()
	t := &Tally{spec: spec, counts: empty, last: lastHash, place: map[int64]int32{}}
	t.limit.notes, t.limit.counts = notes+empty.bytes(), counts+empty.bytes()
	return t
}

// Pass ends a pass and begins the next. It returns false when there is nothing more to do.
func (t *Tally) Pass() bool {
	switch {
	case t.err != nil || t.missing != nil && (len(t.missing) == 0 || t.wanted == nil):
		return false
	case t.missing != nil: // parts are gone: the names may be in others
		t.wanted = nil
	case t.notes == nil:
		t.notes = newNotes(t.spec, 0)
	default:
		if t.count(); t.notes.last < lastHash {
			t.notes = newNotes(t.spec, t.notes.last+1)
			break
		}
		for t.draw(); t.err == nil && t.last < lastHash; t.draw() {
			t.first, t.last, t.counts = t.last+1, lastHash, newTable()
			if t.notes.first > 0 { // the notes of the users before are gone
				t.notes = newNotes(t.spec, 0)
				t.readings++
				return true
			}
			t.count()
		}
		t.notes, t.counts = nil, table{}
		if t.look(); t.err != nil || len(t.missing) == 0 {
			return false
		}
	}
	t.readings++
	return true
}

// Needs reports whether this pass needs the payloads of a slice.
func (t *Tally) Needs(slice Window) bool {
	if t.missing == nil || t.wanted == nil {
		return t.missing == nil || len(t.missing) > 0
	}
	return t.wanted[slice.Start] > 0
}

// Bytes is how much memory it takes for who counts for what.
func (t *Tally) Bytes() int64 {
	if t.notes == nil {
		return 0
	}
	return t.notes.users.bytes()
}

// Readings is how many passes there were.
func (t *Tally) Readings() int { return t.readings }

// Names is for how many names somebody counts. It is private.
func (t *Tally) Names() int64 { return t.names }

// Add adds the payload of a slice. One that is corrupt, or has a list of groups, is an error and changes nothing.
func (t *Tally) Add(data []byte, slice Window) error {
	p, err := decodePayload(data, slice.Start)
	switch {
	case err != nil:
		return err
	case p.open == nil:
		return errors.New("payload has a list of groups; want one with names as they come")
	case t.missing != nil:
		t.read(p.open)
	default:
		t.note(p.open, t.number(slice))
	}
	return nil
}

// number returns the place of a slice.
func (t *Tally) number(slice Window) int32 {
	place, known := t.place[slice.Start]
	if !known {
		place = int32(len(t.places))
		t.place[slice.Start], t.places = place, append(t.places, slice.Start)
	}
	return place
}

// note notes the names of users, who were seen in a place.
func (t *Tally) note(p *openPayload, place int32) {
	var some [ahead]row
	n := 0
	for c := p.cursor(); c.nextName(); {
		hash, class, known := [2]uint64{}, nameless, false
		for u, ok := c.nextUser(); ok; u, ok = c.nextUser() {
			if !t.notes.has(u) {
				continue
			}
			if !known { // most names have few users, and none of them may be of this pass
				hash, class = t.of(c.name)
				known = true
			}
			// users of whom nothing is known but that they are there matter for Counts alone
			if class == nameless && t.spec.Counts == nil {
				c.skip()
				break
			}
			some[n] = noted(u, hash, class, place)
			if n++; n == ahead {
				t.take(some[:])
				n = 0
			}
		}
	}
	t.take(some[:n])
}

// of returns the hash of a name, and its class.
func (t *Tally) of(name []byte) (hash [2]uint64, class int32) {
	text := string(name)
	switch {
	case t.spec.May != nil && !t.spec.May(text):
		return hash, nameless
	case t.spec.Last != nil && t.spec.Last(text):
		class = late
	}
	return t.spec.Hasher.nameBytes(name), class
}

// take notes rows. If the notes are too large then, the pass is for fewer users.
func (t *Tally) take(rows []row) {
	t.notes.add(rows)
	for t.notes.users.bytes() > t.limit.notes && t.notes.users.n > t.notes.k && t.notes.first < t.notes.last {
		t.notes.narrow()
	}
}

// count counts the users of this pass for the names in the range. If there are too many names, the range gets smaller.
func (t *Tally) count() {
	t.notes.users.each(func(_ uint32, r *row) {
		name := r.nameHash()
		switch {
		case t.spec.Counts != nil && !t.spec.Counts(r.user):
			return
		case classOf(r) == nameless || !t.inRange(name):
			return
		}
		if c, slot := t.counts.next(name, t.counts.place(name)); c != nil {
			c.value++
			c.group = min(c.group, placeOf(r))
		} else {
			t.counts.insertAt(slot, &row{user: name, value: 1, group: placeOf(r)})
		}
		for t.counts.bytes() > t.limit.counts && t.counts.n > 1 && t.first < t.last {
			t.last = t.first + (t.last-t.first)/2
			t.counts = t.counts.only(t.inRange)
		}
	})
}

// inRange reports whether the hash of a name is in the range.
func (t *Tally) inRange(name UserHash) bool { return name[1] >= t.first && name[1] <= t.last }

// draw draws for each name in the range. They come in the order of their keyed hashes.
func (t *Tally) draw() {
	t.names += int64(t.counts.n)
	for _, i := range t.counts.ascending() {
		r := t.counts.row(i)
		value, ok, err := t.spec.Draw(r.value)
		if err != nil {
			t.err = err
			return
		}
		if ok {
			t.found = append(t.found, found{hash: r.user, value: value, slice: t.places[r.group]})
		}
	}
}

// look begins to look up the texts of found names: of all that may be among the Most of the greatest values.
func (t *Tally) look() {
	if t.missing = map[[2]uint64]int{}; t.err != nil {
		return
	}
	slices.SortFunc(t.found, func(x, y found) int { return cmp.Compare(y.value, x.value) })
	if most := t.spec.Most; most > 0 && len(t.found) > most {
		n := most
		for n < len(t.found) && t.found[n].value == t.found[most-1].value {
			n++
		}
		t.found = t.found[:n]
	}
	t.wanted = map[int64]int{}
	for i, f := range t.found {
		t.missing[f.hash] = i
		t.wanted[f.slice]++
	}
}

// read looks up the texts of found names in a payload.
func (t *Tally) read(p *openPayload) {
	for c := p.cursor(); len(t.missing) > 0 && c.nextName(); c.skip() {
		hash := t.spec.Hasher.nameBytes(c.name)
		if i, ok := t.missing[hash]; ok {
			t.found[i].text, t.found[i].known = string(c.name), true
			delete(t.missing, hash)
			if t.wanted != nil {
				t.wanted[t.found[i].slice]--
			}
		}
	}
}

// Found returns what was found, in the order of the names' bytes, once there is no pass left.
func (t *Tally) Found() ([]Found, error) {
	if t.err != nil {
		return nil, t.err
	}
	var all []Found
	for _, f := range t.found {
		if f.known {
			all = append(all, Found{f.text, f.value})
		}
	}
	if most := t.spec.Most; most > 0 && len(all) > most {
		slices.SortFunc(all, func(x, y Found) int {
			return cmp.Or(cmp.Compare(y.Value, x.Value), strings.Compare(x.Name, y.Name))
		})
		all = all[:most]
	}
	slices.SortFunc(all, func(x, y Found) int { return strings.Compare(x.Name, y.Name) })
	return all, nil
}

// Unknown is how many names were found whose texts are in none of the parts any more, so that nobody can publish them.
func (t *Tally) Unknown() int { return len(t.missing) }

// notes say for each user which names they count for, while the parts of a period are read.
//
// A user counts for at most k of their names. Names of an earlier class come first, and within a class the name with
// the least keyed hash of (user, start of the period, name) does. This is a total order, and it looks only at the
// user's own records, the key and what is public. So the k first of all names are among the k first of those that any
// part has: parts may come in any order, overlap and repeat.
type notes struct {
	k      int
	start  int64 // of the period
	hasher *Hasher
	// users has a row for each user and name: order and value are the hash of the name, and group is its class with the
	// first slice in which the user was seen with it.
	users table
	first uint64 // the users of these notes: the second words of their hashes
	last  uint64
}

// The classes of names, in the order in which they are chosen.
const (
	early    int32 = iota
	late           // names that come last
	nameless       // no name: the user is there, but has no name that could be found

	classBits = 2 // the bits above are the place
	classMask = 1<<classBits - 1
)

// classOf is the class of a row's name, and placeOf the number of the slice in which it was seen.
func classOf(r *row) int32 { return r.group & classMask }
func placeOf(r *row) int32 { return r.group >> classBits }

func newNotes(spec TallySpec, first uint64) *notes {
	return &notes{k: max(spec.MaxGroups, 1), start: spec.Period.Start, hasher: spec.Hasher, users: newTable(),
		first: first, last: lastHash}
}

// has reports whether a user is in the range of these notes.
func (n *notes) has(u UserHash) bool { return u[1] >= n.first && u[1] <= n.last }

// noted is the row of a user's name.
func noted(u UserHash, name [2]uint64, class, place int32) row {
	return row{user: u, order: int64(name[0]), value: int64(name[1]), group: place<<classBits | class}
}

// nameHash is the hash of the name of a row.
func (r *row) nameHash() [2]uint64 { return [2]uint64{uint64(r.order), uint64(r.value)} }

// add notes rows: at most as many as are looked for at once.
func (n *notes) add(rows []row) {
	var slots [ahead]uint32
	n.users.find(rows, &slots)
	bits := n.users.bits
	for i := range rows {
		r := &rows[i]
		if bits != n.users.bits { // it has grown
			slots[i] = n.users.place(r.user)
		}
		n.addAt(slots[i], r)
	}
}

// addAt notes a row. The search for its user begins at this slot. If the user has k names already, the row takes the
// place of the one that is chosen last, if it is chosen before that one.
func (n *notes) addAt(slot uint32, added *row) {
	has := 0
	var last *row
	r, slot := n.users.next(added.user, slot)
	for ; r != nil; r, slot = n.users.next(added.user, n.users.after(slot)) {
		if r.nameHash() == added.nameHash() && classOf(r) == classOf(added) {
			r.group = min(r.group, added.group)
			return
		}
		if has++; last == nil || n.before(last, r) {
			last = r
		}
	}
	switch {
	case has < n.k:
		n.users.insertAt(slot, added)
	case n.before(added, last):
		*last = *added
	}
}

// before reports whether the name of x is chosen before the name of y, another name of the same user. Mostly the upper
// halves of their ranks decide, which are kept. If two ranks collide, the hashes of the names decide.
func (n *notes) before(x, y *row) bool {
	if classOf(x) != classOf(y) {
		return classOf(x) < classOf(y)
	}
	for _, r := range [2]*row{x, y} {
		if r.rank == 0 {
			r.rank = upper(n.rank(r))
		}
	}
	order := cmp.Compare(x.rank, y.rank)
	if order == 0 {
		order = cmp.Or(cmp.Compare(n.rank(x), n.rank(y)), compareUsers(x.nameHash(), y.nameHash()))
	}
	return order < 0
}

// rank returns the rank of a row's name for its user.
func (n *notes) rank(r *row) uint64 { return n.hasher.rank(r.user, n.start, r.nameHash()) }

// narrow leaves the upper half of the range to later notes. Hashes are keyed, and so about half of the users stay.
func (n *notes) narrow() {
	n.last = n.first + (n.last-n.first)/2
	n.users = n.users.only(n.has)
}
