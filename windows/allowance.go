package windows

import (
	"encoding/binary"
	"fmt"
)

// AllowanceRule says what a user adds to the running totals of groups, such as the users so far today.
type AllowanceRule struct {
	// MaxGroups is in how many groups of a period one user counts at most. It is at least 1.
	MaxGroups int
	// Most limits what one user adds in each of these groups, in absolute amounts.
	Most int64
	// Adds returns what a value of a window adds while enough of Most is left, or 0 if the user does not count there.
	// Apart from the value, it must depend on public figures only.
	Adds func(value int64) int64
	// Places is how many amounts of a group are kept apart, such as those of the buckets of a histogram, and Place is
	// that of a value, from 0. The zero values keep one amount.
	Places int
	Place  func(value int64) int
}

// Allowance applies an AllowanceRule to the windows of a period, in their order. It remembers for each user in which
// groups they have counted, and how much of Most is used up there.
//
// A user counts in the first MaxGroups groups of the period in which a value adds something. Inside a window these are
// taken in the order in which a bag chooses groups: by a keyed hash. In each, a value adds no more than what is left of
// Most, so the last one may add only a part.
//
// So all that one user ever sent changes the totals of at most MaxGroups groups of a period, and the leaves of each by
// Most in all, Σ|Δ| ≤ Most. What a user adds depends only on that user's own records, the schedule and the key: nobody
// is ever left out because of what others do. An Allowance is not safe for concurrent use.
type Allowance struct {
	rule AllowanceRule
	// users has a row for each user and group: value is how much is used up there.
	users table
}

// NewAllowance returns the allowance of a period that begins, in which nobody has counted yet.
func NewAllowance(rule AllowanceRule) *Allowance { return &Allowance{rule: rule, users: newTable()} }

// Visit adds to the amounts of the groups what a user adds in a window. has is what the user has there, in the order in
// which groups are chosen: earlier ones take those that MaxGroups leaves. Call it once for each user of a window.
// amounts has the places of the first group, then those of the second one, and so on.
func (a *Allowance) Visit(u UserHash, has []Contribution, amounts []int64) {
	for _, c := range has {
		adds, at := a.rule.Adds(c.Value), c.Group
		if adds == 0 {
			continue
		}
		if a.rule.Places > 1 {
			at = c.Group*a.rule.Places + a.rule.Place(c.Value)
		}
		amounts[at] += a.use(u, int32(c.Group), adds)
	}
}

// use takes an amount off what a user has left in a group, and returns how much of the amount there was.
func (a *Allowance) use(u UserHash, group int32, adds int64) int64 {
	of, groups := a.find(u, group)
	switch size := min(max(adds, -adds), a.rule.Most); {
	case of != nil:
		size = min(size, a.rule.Most-of.value)
		of.value += size
		return signed(size, adds)
	case groups < a.rule.MaxGroups:
		a.users.insert(row{user: u, group: group, value: size})
		return signed(size, adds)
	}
	return 0
}

// find returns the row of a user and group, or nil and in how many other groups the user has counted.
func (a *Allowance) find(u UserHash, group int32) (of *row, groups int) {
	for r, slot := a.users.next(u, a.users.place(u)); r != nil; r, slot = a.users.next(u, a.users.after(slot)) {
		if r.group == group {
			return r, groups
		}
		groups++
	}
	return nil, groups
}

// signed returns a size with the sign of x.
func signed(size, x int64) int64 {
	if x < 0 {
		return -size
	}
	return size
}

// Bytes returns how much memory the allowance takes: about 50 bytes for each user and group. The number tells how many
// users there are, so it is private.
func (a *Allowance) Bytes() int64 { return a.users.bytes() }

// Users returns how many pairs of a user and a group have counted. The number is private.
func (a *Allowance) Users() int { return a.users.n }

// A snapshot of an allowance is one zstd frame, whose checksum guards it, of
//
//	version             1 byte
//	MaxGroups, Most
//	number of rows
//	for every user and group, ascending
//	    hash            16 bytes
//	    group, how much of Most is used up there
//
// Numbers are varints. Groups are numbers in the stream's list, which must be the same.
const allowanceVersion = 1

// Snapshot writes down who has counted. It holds hashes of users: personal, as a payload is.
func (a *Allowance) Snapshot() []byte {
	data := binary.AppendUvarint([]byte{allowanceVersion}, uint64(a.rule.MaxGroups))
	data = binary.AppendUvarint(data, uint64(a.rule.Most))
	return compress(appendRows(data, &a.users, a.users.ascendingGroups(a.rule.MaxGroups),
		func(r *row) (group, used int64) { return int64(r.group), r.value }))
}

// RestoreAllowance returns the allowance of a snapshot, for a stream with a number of groups. A snapshot that is
// damaged, or was taken under another rule, is an error: its users would count by the wrong rule.
func RestoreAllowance(rule AllowanceRule, groups int, snapshot []byte) (*Allowance, error) {
	r := openSnapshot(snapshot, allowanceVersion)
	if g, m := r.uvarint("groups"), r.uvarint("most"); r.err == nil &&
		(g != uint64(rule.MaxGroups) || m != uint64(rule.Most)) {
		r.fail("it was taken under another rule: %d groups and at most %d; want %d and %d",
			g, m, rule.MaxGroups, rule.Most)
	}
	a := NewAllowance(rule)
	readRows(r, &a.users, true, "group", "used", func(u UserHash, group, used uint64) {
		if of, n := a.find(u, int32(group)); group >= uint64(groups) || n >= rule.MaxGroups || used < 1 ||
			used > uint64(rule.Most) || of != nil {
			r.fail("a user has used up %d in group %d, their group number %d", used, group, n+1)
			return
		}
		a.users.insert(row{user: u, group: int32(group), value: int64(used)})
	})
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot of an allowance: %w", err)
	}
	return a, nil
}
