package windows

import (
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Merger merges the payloads of all parts of a window into one sample for each group. A user counts as if all records
// had been in one bag. The payloads may come in any order, repeat, or overlap.
//
// It works in passes over ranges of the users' hashes, so that the memory for users is limited for any number of users.
// Every payload is added in every pass, and each pass keeps only the users of its range:
//
//	for m.Pass() {
//		// Add all payloads.
//	}
//
// A user's hash is in one range, so all records of a user meet in one pass, and the sum of the passes equals a single
// pass. Only the sample grows: one [Point] for each distinct value of each group. The grid and the groups bound it.
//
// Payloads of open bags are merged for a list: each name becomes its group if that is on the list, and otherwise the
// spec's Other, if there is one. Then the user counts as ever: by the policy once in each group, and in at most
// MaxGroups groups. The list is public, and a user's own records alone decide which of its groups are theirs. So the
// promise of package windows holds for any list.
//
// A Merger is not safe for concurrent use.
type Merger struct {
	spec   BagSpec // of its bags
	groups map[string]int32
	limit  int64                 // of the bag's bytes
	counts func(u UserHash) bool // nil: everybody does
	visits []func(u UserHash, has []Contribution)

	unlisted int32 // the group of names that are not on the list; noGroup: their rows are ignored

	bag         *Bag       // the users of this pass
	waiting     []rows     // columns whose rows are not in the bag yet
	waits       int64      // bytes of these columns
	first, last uint64     // the second words of their hashes: tables look at the first
	merged      []multiset // of the passes before, by group
	all         []multiset // the same with users who do not count; merged itself if all do
}

// NewMerger returns an empty merger, whose passes hold about limit bytes of users. When a pass turns out to be too
// large, it briefly takes half as much again. The spec must match that of the bags, but may have other groups, and in
// another order. For open bags it has Open too, and Groups is the list.
func NewMerger(spec BagSpec, limit int64) *Merger {
	m := &Merger{groups: make(map[string]int32, len(spec.Groups)), merged: newMultisets(len(spec.Groups)),
		unlisted: noGroup}
	for i, g := range spec.Groups {
		m.groups[g] = int32(i)
	}
	if spec.Open && !spec.Other {
		// Users whose names are all unlisted are there, even if they count in no group: see Restrict.
		spec.Groups, spec.Other = append(slices.Clone(spec.Groups), ""), true
	}
	if spec.Open {
		m.unlisted = int32(len(spec.Groups) - 1)
	}
	spec.Open = false
	m.spec, m.all, m.limit = spec, m.merged, NewBag(spec).Bytes()+limit
	return m
}

// Restrict leaves out users for whom counts is false, such as those whom a [Cap] has no window left for. It is asked
// once for each user who has something in the window, listed or not, before the last Pass returns false. So who counts
// does not depend on the list. nil leaves nobody out. Call it before the first Pass.
func (m *Merger) Restrict(counts func(u UserHash) bool) {
	m.counts, m.all = counts, m.merged
	if counts != nil {
		m.all = newMultisets(len(m.merged))
	}
}

// Visit has everybody who has something in the window passed to a function, once, with what they have: also users whom
// Restrict leaves out. The groups are in the order in which they are chosen. has is valid during the call. Call it
// before the first Pass. Several functions may be there.
func (m *Merger) Visit(visit func(u UserHash, has []Contribution)) {
	m.visits = append(m.visits, visit)
}

// Pass ends a pass and begins the next. It returns false when the passes have covered all users.
func (m *Merger) Pass() bool {
	if m.bag != nil {
		m.collect()
		if m.last == math.MaxUint64 {
			return false
		}
		m.first = m.last + 1
	}
	m.bag, m.last = NewBag(m.spec), math.MaxUint64
	return true
}

// collect adds what the users of this pass have to what those before had.
func (m *Merger) collect() {
	m.pour()
	if len(m.visits) > 0 {
		m.bag.Visit(func(u UserHash, has []Contribution) {
			if n := len(has); n > 0 && has[n-1].Group == len(m.merged) {
				has = has[:n-1] // only there because they are: they count in no group
			}
			for _, visit := range m.visits {
				visit(u, has)
			}
		})
	}
	if m.counts != nil {
		m.bag.tally(m.all)
		m.bag.leaveOut(m.counts)
	}
	m.bag.tally(m.merged)
	m.bag = nil
}

// Add adds the payload of a slice, which must not change until the pass ends. It ignores groups that the spec does not
// have. A payload that is corrupt, or was sealed by another policy, is an error and changes nothing.
func (m *Merger) Add(data []byte, slice Window) error {
	p, err := decodePayload(data, slice.Start)
	if err != nil {
		return err
	}
	if p.policy != m.spec.Policy {
		return fmt.Errorf("payload has contribution policy %q; want %q", p.policy, m.spec.Policy)
	}
	if p.open != nil {
		// Not every row stays: a bag leaves out names beyond a user's max_groups.
		m.bag.rows.reserve(min(m.bag.rows.n+m.inRange(p.open.all.n), int(m.limit/(rowBytes+8))))
		m.addOpen(p.open)
		return nil
	}
	for _, g := range p.groups {
		if group, known := m.groups[g.name]; known {
			r := g.rows()
			r.group = group
			m.waiting = append(m.waiting, r)
			m.waits += int64(unsafe.Sizeof(r)) + int64(len(r.users)+len(r.values)+len(r.orders))
		}
	}
	if m.waits > m.limit/4 {
		m.pour()
	}
	return nil
}

// fewest is how many rows a turn of all columns has at least, if there are so many.
const fewest = 1 << 12

// pour puts the rows of the columns that wait into the bag. The users of a column ascend. So the columns take turns,
// and each turn fills the next stretch of the bag's table. A stretch is short enough for the processor's cache.
func (m *Merger) pour() {
	n := 0
	for i := range m.waiting {
		n += m.waiting[i].n
	}
	m.expect(n)
	turns := uint64(1)
	for n > 2*max(fewest, 8*len(m.waiting)) {
		turns, n = 2*turns, n/2
	}
	var some [ahead]row
	k := 0
	for turn := range turns {
		last := (turn+1)*(math.MaxUint64/turns+1) - 1
		for i := range m.waiting {
			r := &m.waiting[i]
			for len(r.users) > 0 && r.peek()[0] <= last {
				r.next()
				if r.user[1] >= m.first && r.user[1] <= m.last {
					some[k] = r.row
					k++
				}
				if k == ahead {
					m.take(some[:])
					k = 0
				}
			}
		}
	}
	m.take(some[:k])
	clear(m.waiting)
	m.waiting, m.waits = m.waiting[:0], 0
}

// addOpen adds the payload of an open bag. Rows of several names are looked for at once, since most names have few.
func (m *Merger) addOpen(p *openPayload) {
	var some [ahead]row
	n := 0
	for c := p.cursor(); c.nextName(); {
		group, known := m.groups[string(c.name)]
		if !known {
			group = m.unlisted
		}
		for c.next() {
			if r := &c.rows; group != noGroup && r.user[1] >= m.first && r.user[1] <= m.last {
				some[n] = r.row
				some[n].group = group
				n++
			}
			if n == ahead {
				m.take(some[:])
				n = 0
			}
		}
	}
	m.take(some[:n])
}

// take adds rows to the bag. If that is too large then, the pass becomes narrower.
func (m *Merger) take(rows []row) {
	m.bag.addAll(rows)
	for m.bag.Bytes() > m.limit && m.bag.Users() > 1 && m.first < m.last {
		m.narrow()
	}
}

// expect makes room for so many rows of payloads, as far as they are in the pass's range: they come in ascending order,
// see [table.reserve]. If they alone are too many for a pass, it becomes narrower before they come.
func (m *Merger) expect(rows int) {
	for int64(m.inRange(rows))*(rowBytes+5) > m.limit && m.first < m.last {
		m.narrow()
	}
	m.bag.rows.reserve(m.bag.rows.n + m.inRange(rows))
}

// inRange returns about how many of so many rows are in the pass's range: hashes spread evenly.
func (m *Merger) inRange(rows int) int {
	return int(float64(m.last-m.first) / math.MaxUint64 * float64(rows))
}

// narrow leaves the upper half of the pass's range to later passes. Hashes are keyed and so spread evenly. So about
// half of the users stay, and there are at most about twice as many passes as full bags are needed for all users.
func (m *Merger) narrow() {
	m.last = m.first + (m.last-m.first)/2
	m.bag = m.bag.only(func(u UserHash) bool { return u[1] <= m.last })
}

// Sample returns the merged values of a group, ascending, with the number of users that have each, once there is no
// pass left. The slice is the caller's.
func (m *Merger) Sample(group int) []Point { return m.merged[group].points() }

// All returns what Sample does, with the users whom Restrict left out.
func (m *Merger) All(group int) []Point { return m.all[group].points() }
