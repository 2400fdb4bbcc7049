package windows

import "cmp"

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
