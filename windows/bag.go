package windows

import (
	"math"
	"slices"
)

// BagSpec says what a [Bag] or [Merger] holds.
type BagSpec struct {
	Groups    []string // public list of names, each once; groups are given by their index in it
	MaxGroups int      // in how many groups one user counts; below 1 means 1
	Policy    Policy   // which of a user's values counts, or what all of them make
	Window    Window
	Hasher    *Hasher

	// Open says that names are not known before they come. An open bag has no list and no limit of groups: it keeps all
	// that its users have, for a merger that knows the list. See [Bag.PutName].
	Open bool
	// Other says that the last of Groups is for all names that are not in Groups. It is chosen last: a user counts
	// there only while fewer than MaxGroups of the other groups are theirs.
	Other bool

	// Adding says how totals become points, if the Policy adds. A bag that is only sealed needs none.
	Adding Adding
}

// limited reports whether a user may have records in more groups than count.
func (s BagSpec) limited() bool { return s.MaxGroups < len(s.Groups) }

// Bag holds the contributions to one (stream, slice, partition), or to one window while its parts are merged. It keeps
// one value for each user and group, in at most MaxGroups groups of a user. An open bag has no such limit, and can only
// be sealed; all methods that take or return the index of a group are for others.
//
// Promise: if two series of Adds, in any order, differ only by all Adds of one user, then at most MaxGroups samples
// differ, each by one value.
//
// A Bag is not safe for concurrent use.
type Bag struct {
	spec     BagSpec
	hashes   [][2]uint64 // of the groups' names
	timed    bool        // policy first or last
	random   bool        // policy random
	greatest bool        // policy last or max
	adds     bool        // policy sum, count or mean
	of       int64       // policy mean: 1, the number of events that an event is; else 0

	last  int32  // the group that is chosen last, if the spec has one
	names *names // of an open bag

	rows       table
	users      int
	waiting    []row // put and not added yet
	superseded int   // by those that were
}

// NewBag returns an empty bag.
func NewBag(spec BagSpec) *Bag {
	spec.MaxGroups = min(max(spec.MaxGroups, 1), max(len(spec.Groups), 1))
	b := &Bag{
		spec:     spec,
		timed:    spec.Policy.timed(),
		random:   spec.Policy == Random,
		greatest: spec.Policy.greatest(),
		adds:     spec.Policy.Adds(),
		last:     noGroup,
		rows:     newTable(),
	}
	if spec.Policy == Mean {
		b.of = 1
	}
	if spec.Open {
		b.spec.MaxGroups, b.names = math.MaxInt, newNames()
		return b
	}
	if spec.Other {
		b.last = int32(len(spec.Groups) - 1)
	}
	if spec.limited() || spec.Other {
		b.hashes = make([][2]uint64, len(spec.Groups))
		for i, g := range spec.Groups {
			b.hashes[i] = spec.Hasher.name(g)
		}
	}
	return b
}

// Expect makes room for so many users, except for their contributions themselves: a table that need not grow is filled
// faster. It is a guess, and need not be right.
func (b *Bag) Expect(users int) { b.rows.reserve(users) }

// Add adds a record of user u in the group with this index. Its event time is in Unix nanoseconds and its value is an
// index on the grid (−1 and N+1 are beyond the bounds, and compare as integers). If the policy adds, it is a number of
// units, at most [MostUnits] in size, or 1 for count. superseded says that the user already had a contribution here,
// and one of the two, old or new, no longer counts.
func (b *Bag) Add(u UserHash, group int, time, value int64) (superseded bool) {
	added := row{user: u, order: b.order(u, time, value), value: value, group: int32(group)}
	return b.addAt(b.rows.place(u), &added)
}

// Put adds a record as Add does, but later, together with others: it is faster to look for several users at once. All
// methods behave as if the record had been added, and [Bag.Superseded] tells what Add would have returned.
func (b *Bag) Put(u UserHash, group int, time, value int64) {
	b.waiting = append(b.waiting, row{user: u, order: b.order(u, time, value), value: value, group: int32(group)})
	if len(b.waiting) == ahead {
		b.settle()
	}
}

// Superseded returns how many contributions no longer count because of records that were put since the last call.
func (b *Bag) Superseded() (n int) {
	b.settle()
	n, b.superseded = b.superseded, 0
	return n
}

// settle adds the records that were put.
func (b *Bag) settle() {
	if len(b.waiting) > 0 {
		b.superseded += b.addAll(b.waiting)
		b.waiting = b.waiting[:0]
	}
}

// order returns what the policy compares before the value, or how many values a mean is of.
func (b *Bag) order(u UserHash, time, value int64) int64 {
	switch {
	case b.timed:
		return time
	case b.random:
		return b.spec.Hasher.pick(u, time, value)
	}
	return b.of
}

// addAll adds as many rows as are looked for at once, or fewer.
func (b *Bag) addAll(rows []row) (superseded int) {
	var slots [ahead]uint32
	b.rows.find(rows, &slots)
	bits := b.rows.bits
	for i := range rows {
		r := &rows[i]
		if bits != b.rows.bits { // it has grown
			slots[i] = b.rows.place(r.user)
		}
		if b.addAt(slots[i], r) {
			superseded++
		}
	}
	return superseded
}

// addAt adds a row for whose user the search begins at this slot.
func (b *Bag) addAt(slot uint32, added *row) (superseded bool) {
	groups := 0
	r, slot := b.rows.next(added.user, slot)
	for ; r != nil; r, slot = b.rows.next(added.user, b.rows.after(slot)) {
		if r.group == added.group {
			if b.adds {
				r.order, r.value = r.order+added.order, r.value+added.value
				return false
			}
			if b.wins(added.order, added.value, r) {
				r.order, r.value = added.order, added.value
			}
			return true
		}
		groups++
	}
	if groups < b.spec.MaxGroups {
		if groups == 0 {
			b.users++
		}
		b.rows.insertAt(slot, added)
		return false
	}
	b.displace(*added)
	return !b.adds
}

// displace adds a row of a user who already has MaxGroups groups. It replaces the group that is chosen last, if its own
// group is chosen before that one.
func (b *Bag) displace(added row) {
	added.rank = upper(b.rank(&added))
	var last *row
	for r, slot := b.rows.next(added.user, b.rows.place(added.user)); r != nil; {
		if r.rank == 0 {
			r.rank = upper(b.rank(r))
		}
		if last == nil || b.before(last, r) {
			last = r
		}
		r, slot = b.rows.next(added.user, b.rows.after(slot))
	}
	if b.before(&added, last) {
		*last = added
	}
}

// wins reports whether a record counts instead of row r of the same user and group. It compares (order, value), a total
// order, so the sequence of reading does not matter.
func (b *Bag) wins(order, value int64, r *row) bool {
	if order != r.order {
		return (order < r.order) != b.greatest
	}
	return value != r.value && (value < r.value) != b.greatest
}

// before reports whether the group of x is chosen before the group of y. Both rows know the upper halves of their
// ranks, which mostly decide. If two ranks collide, the name decides. The index can't, because another process may have
// the groups in another order.
func (b *Bag) before(x, y *row) bool {
	if x.group == b.last || y.group == b.last {
		return y.group == b.last && x.group != b.last
	}
	if x.rank != y.rank {
		return x.rank < y.rank
	}
	if rx, ry := b.rank(x), b.rank(y); rx != ry {
		return rx < ry
	}
	return b.spec.Groups[x.group] < b.spec.Groups[y.group]
}

// rank returns the rank of a row's group for its user. The rank of the group that is chosen last does not matter:
// before looks at the group first.
func (b *Bag) rank(r *row) uint64 {
	return b.spec.Hasher.rank(r.user, b.spec.Window.Start, b.hashes[r.group])
}

func upper(rank uint64) uint32 { return uint32(rank >> 32) }

// Sample returns the values of a group, ascending, with the number of users that have each. The slice is the caller's.
func (b *Bag) Sample(group int) []Point {
	b.settle()
	samples := newMultisets(len(b.spec.Groups))
	b.tally(samples)
	return samples[group].points()
}

const (
	leftOut int32 = -1 // the group of rows that do not count
	noGroup int32 = -2 // that of no row
)

// tally adds the values that count to the multisets of their groups, as far as there are multisets.
func (b *Bag) tally(samples []multiset) {
	runs := make([]run, len(samples))
	for _, block := range b.rows.blocks {
		for i := range block {
			if r := &block[i]; uint32(r.group) < uint32(len(runs)) {
				runs[r.group].expect(b.point(r))
			}
		}
	}
	for g := range runs {
		runs[g].begin()
	}
	for _, block := range b.rows.blocks {
		for i := range block {
			if r := &block[i]; uint32(r.group) < uint32(len(runs)) {
				runs[r.group].add(b.point(r))
			}
		}
	}
	for g := range runs {
		runs[g].each(samples[g].add)
	}
}

// leaveOut marks the rows of all users for whom counts is false. It asks once for each user.
func (b *Bag) leaveOut(counts func(u UserHash) bool) {
	b.rows.users(func(rows []uint32) {
		if counts(b.rows.row(rows[0]).user) {
			return
		}
		for _, i := range rows {
			b.rows.row(i).group = leftOut
		}
	})
}

// Visit passes each user once to a function, with what they have, in the order in which groups are chosen. has is
// valid during the call.
func (b *Bag) Visit(visit func(u UserHash, has []Contribution)) {
	b.settle()
	var of []*row
	var has []Contribution
	b.rows.users(func(rows []uint32) {
		of, has = of[:0], has[:0]
		for _, i := range rows {
			r := b.rows.row(i)
			if of = append(of, r); b.hashes != nil && r.rank == 0 {
				r.rank = upper(b.rank(r))
			}
		}
		if len(of) > 1 && b.hashes != nil {
			slices.SortFunc(of, b.compare)
		}
		for _, r := range of {
			has = append(has, Contribution{int(r.group), b.point(r)})
		}
		visit(of[0].user, has)
	})
}

// compare sorts the rows of a user in the order in which their groups are chosen.
func (b *Bag) compare(x, y *row) int {
	switch {
	case x == y:
		return 0
	case b.before(x, y):
		return -1
	}
	return 1
}

// only returns a bag of the users for whom keep is true: this bag if all are.
func (b *Bag) only(keep func(u UserHash) bool) *Bag {
	n := b.rows.count(keep)
	if n == b.rows.n {
		return b
	}
	some := &Bag{spec: b.spec, timed: b.timed, random: b.random, greatest: b.greatest, adds: b.adds, of: b.of,
		last: b.last, hashes: b.hashes, rows: tableFor(n)}
	for _, block := range b.rows.blocks {
		for i := range block {
			if r := &block[i]; keep(r.user) {
				some.addAt(some.rows.place(r.user), r)
			}
		}
	}
	return some
}

// Users returns how many users have a contribution in the bag; of an open bag, how many pairs of a user and a name. The
// number is personal: it must not be released.
func (b *Bag) Users() int {
	b.settle()
	return b.users
}

// Bytes estimates the memory held, in bytes, from a few lengths.
func (b *Bag) Bytes() int64 {
	const perBag = 256
	bytes := perBag + 16*int64(len(b.hashes)) + rowBytes*int64(cap(b.waiting)) + b.rows.bytes()
	if b.names != nil {
		bytes += b.names.bytes()
	}
	return bytes
}

// Policy says which of a user's records in one group of a window counts, or what all of them make.
type Policy string

// The policies that choose. Each looks only at that user's records, and chooses the same one in any order of reading.
const (
	First  Policy = "first"  // the earliest event time; among equals the smallest value
	Last   Policy = "last"   // the latest event time; among equals the largest value
	Min    Policy = "min"    // the smallest value
	Max    Policy = "max"    // the largest value
	Random Policy = "random" // the least keyed hash of (user, time, value)
)

// policies lists the policies in the order of their codes in a payload. The codes never change.
var policies = [...]Policy{First, Last, Min, Max, Random, Sum, Count, Mean}

func (p Policy) code() int {
	for i, q := range policies {
		if p == q {
			return i
		}
	}
	return -1
}

// timed reports whether the policy compares event times.
func (p Policy) timed() bool { return p == First || p == Last }

// greatest reports whether the greatest (order, value) counts instead of the least.
func (p Policy) greatest() bool { return p == Last || p == Max }

// Contribution is what a user has in a window: a value in one group. Value is as in [Bag.Add].
type Contribution struct {
	Group int
	Value int64
}
