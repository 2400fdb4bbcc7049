package windows

import (
	"cmp"
	"math/bits"
	"slices"
)

// row is a user's contribution to a group.
type row struct {
	user  UserHash
	order int64 // what the policy compares before the value: event time, keyed hash, or 0
	value int64
	group int32
	rank  uint32 // the upper half of the group's rank for this user, once somebody asked for it; 0 before
}

const rowBytes = 40

// table holds rows, and finds those of a user. Nobody needs its order while events come in, so it is a hash table with
// linear probing, and not a tree. The user's hash says where the search begins. It is keyed, so nobody can choose users
// that meet in one place. A row never leaves the table.
//
// A slot is 0 or holds the number of a row and one, in as many low bits as are needed for the number of slots. The bits
// above are bits of the user's hash. They tell most rows of other users apart without a look at them.
type table struct {
	slots  []uint32 // their number is a power of two, and at most three quarters are taken
	bits   int      // of that number
	blocks [][]row
	n      int

	touched uint64 // what find has read, so that it must read it
}

const (
	blockBits = 9 // a block has 512 rows; only the first grows, so no other row is ever moved
	blockRows = 1 << blockBits
	leastBits = 3
)

func newTable() table { return table{slots: make([]uint32, 1<<leastBits), bits: leastBits} }

// tableFor returns a table that need not grow for n rows.
func tableFor(n int) table {
	t := newTable()
	t.reserve(n)
	t.blocks = [][]row{make([]row, 0, min(n, blockRows))}
	return t
}

// place returns the slot at which the search for a user begins. Places ascend with the hash.
func (t *table) place(u UserHash) uint32 { return uint32(u[0] >> (64 - t.bits)) }

// after returns the next slot.
func (t *table) after(slot uint32) uint32 { return (slot + 1) & uint32(len(t.slots)-1) }

func (t *table) row(i uint32) *row { return &t.blocks[i>>blockBits][i&(blockRows-1)] }

// number returns the number of the row in a slot that is taken. Rows are numbered as they come in.
func (t *table) number(slot uint32) uint32 { return t.slots[slot]&uint32(len(t.slots)-1) - 1 }

// each passes all rows to f, with their numbers.
func (t *table) each(f func(number uint32, r *row)) {
	number := uint32(0)
	for _, block := range t.blocks {
		for i := range block {
			f(number, &block[i])
			number++
		}
	}
}

// next returns the first row of a user at this slot or after it, with its slot, or nil if there is none.
func (t *table) next(u UserHash, slot uint32) (*row, uint32) {
	mask := uint32(len(t.slots) - 1)
	tag := uint32(u[0]) &^ mask
	for ; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if s := t.slots[slot]; s&^mask == tag {
			if r := t.row(s&mask - 1); r.user == u {
				return r, slot
			}
		}
	}
	return nil, slot
}

// ahead is how many users are looked for at once.
const ahead = 32

// find writes for each user the slot at which a search may begin: it holds the user's first row, or is free, or tells
// the user apart from another one by luck. It stays right while rows are inserted, until the table grows. The memory of
// these slots, and of the rows that they name, is in the processor's cache then. Most of the time of a search is spent
// waiting for that memory, and the waits for several users overlap.
func (t *table) find(rows []row, slots *[ahead]uint32) {
	mask, shift := uint32(len(t.slots)-1), uint(64-t.bits)&63
	for i := range rows {
		slots[i] = t.slots[rows[i].user[0]>>shift]
	}
	for i := range rows {
		first := rows[i].user[0]
		slot, s, tag := uint32(first>>shift), slots[i], uint32(first)&^mask
		for s != 0 && s&^mask != tag {
			slot = (slot + 1) & mask
			s = t.slots[slot]
		}
		slots[i] = slot
	}
	if t.n == 0 {
		return
	}
	for _, slot := range slots[:len(rows)] {
		// a free slot stands for the first row: that is faster than to ask
		t.touched ^= t.row(max(t.slots[slot]&mask, 1) - 1).user[0]
	}
}

// insert adds a row. Memory ends long before the numbers of rows do.
func (t *table) insert(r row) {
	if t.n == len(t.slots)/4*3 {
		t.grow(t.bits + 1)
	}
	t.enter(r.user, uint32(t.n))
	t.add(&r)
}

// insertAt adds a row for whose user a search has ended at this slot.
func (t *table) insertAt(slot uint32, r *row) {
	if t.n == len(t.slots)/4*3 {
		t.insert(*r)
		return
	}
	t.slots[slot] = uint32(r.user[0])&^uint32(len(t.slots)-1) | uint32(t.n+1)
	t.add(r)
}

// reserve makes room for n rows in all, except for the rows themselves. Users who come in the order of their hashes
// need it: in a smaller table all of them would meet in the first slots, and each would have to pass those before.
func (t *table) reserve(n int) {
	bits := t.bits
	for n > 1<<bits/4*3 {
		bits++
	}
	if bits > t.bits {
		t.grow(bits)
	}
}

// add appends a row that has a slot already.
func (t *table) add(r *row) {
	last := t.n >> blockBits
	if last == len(t.blocks) {
		var block []row
		if last > 0 {
			block = make([]row, 0, blockRows)
		}
		t.blocks = append(t.blocks, block)
	}
	t.blocks[last] = append(t.blocks[last], *r)
	t.n++
}

// enter writes the number of a user's row into the next free slot.
func (t *table) enter(u UserHash, number uint32) {
	mask := uint32(len(t.slots) - 1)
	slot := t.place(u)
	for t.slots[slot] != 0 {
		slot = t.after(slot)
	}
	t.slots[slot] = uint32(u[0])&^mask | (number + 1)
}

func (t *table) grow(bits int) {
	t.bits = bits
	t.slots = make([]uint32, 1<<t.bits)
	number := uint32(0)
	for _, block := range t.blocks {
		for i := range block {
			t.enter(block[i].user, number)
			number++
		}
	}
}

// ascending returns the numbers of all rows, by user. The slots are almost in this order: places ascend with the hash,
// so a row has to pass only rows that stand in slots next to each other.
func (t *table) ascending() []uint32 {
	mask := uint32(len(t.slots) - 1)
	rows, n := make([]uint32, t.n+1), 0
	for _, s := range t.slots {
		rows[n] = s&mask - 1
		if s != 0 {
			n++
		}
	}
	rows = rows[:n]
	users := make([]uint64, n) // the first words of their hashes, which almost always decide
	for i, r := range rows {
		users[i] = t.row(r).user[0]
	}
	t.unwrap(rows, users)
	for i := 1; i < n; i++ {
		r, u := rows[i], users[i]
		j := i
		for j > 0 && (u < users[j-1] || u == users[j-1] && t.row(r).user[1] < t.row(rows[j-1]).user[1]) {
			rows[j], users[j] = rows[j-1], users[j-1]
			j--
		}
		rows[j], users[j] = r, u
	}
	return rows
}

// ascendingGroups is ascending for a table of which a user has a row for each of up to maxGroups groups: those of one
// user ascend by the group.
func (t *table) ascendingGroups(maxGroups int) []uint32 {
	rows := t.ascending()
	if maxGroups > 1 {
		slices.SortFunc(rows, func(i, j uint32) int {
			x, y := t.row(i), t.row(j)
			return cmp.Or(compareUsers(x.user, y.user), cmp.Compare(x.group, y.group))
		})
	}
	return rows
}

// unwrap moves rows to the end that found no slot until the last, and began anew at the first. Only rows of the first
// slots may have, up to the first that is free.
func (t *table) unwrap(rows []uint32, users []uint64) {
	var wrapped []uint32
	var theirs []uint64
	i, kept := 0, 0
	for ; i < len(rows) && t.slots[i] != 0; i++ {
		if t.place(UserHash{users[i]}) > uint32(i) {
			wrapped, theirs = append(wrapped, rows[i]), append(theirs, users[i])
			continue
		}
		rows[kept], users[kept] = rows[i], users[i]
		kept++
	}
	if len(wrapped) == 0 {
		return
	}
	copy(rows[kept:], rows[i:])
	copy(users[kept:], users[i:])
	copy(rows[len(rows)-len(wrapped):], wrapped)
	copy(users[len(users)-len(wrapped):], theirs)
}

func compareUsers(x, y UserHash) int {
	if x[0] != y[0] {
		return cmp.Compare(x[0], y[0])
	}
	return cmp.Compare(x[1], y[1])
}

// together is how many rows [table.users] takes in order before it goes elsewhere.
const together = 16

// users calls f for each user, with the numbers of their rows, which are valid during the call. f may put the users
// into another table that grows as they come (see reserve): they come in short stretches of ascending hashes, and the
// stretches are spread evenly from the first on, as the places of numbers whose bits are read backwards.
func (t *table) users(f func(rows []uint32)) {
	rows := t.ascending()
	same := func(i int) bool { return i < len(rows) && t.row(rows[i]).user == t.row(rows[i-1]).user }
	stretches := (len(rows) + together - 1) / together
	width := bits.Len(uint(max(stretches-1, 0)))
	for c := range uint64(1) << width {
		i := int(bits.Reverse64(c)>>(64-width)) * together
		end := min(i+together, len(rows))
		for i > 0 && i < end && same(i) {
			i++ // the stretch before this one has the user
		}
		for i < end {
			from := i
			for i++; same(i); i++ {
			}
			f(rows[from:i])
		}
	}
}

// only returns a table of the rows of those for whom keep is true.
func (t *table) only(keep func(u UserHash) bool) table {
	n := t.count(keep)
	if n == t.n {
		return *t
	}
	some := tableFor(n)
	t.each(func(_ uint32, r *row) {
		if keep(r.user) {
			some.insert(*r)
		}
	})
	return some
}

// without returns a table without some rows. The old one may not be used afterwards: both together take little more
// memory than one.
func (t *table) without(gone func(r *row) bool) table {
	live, n := newTable(), 0
	t.each(func(_ uint32, r *row) {
		if !gone(r) {
			n++
		}
	})
	live.reserve(n)
	for b, block := range t.blocks {
		for i := range block {
			if !gone(&block[i]) {
				live.insert(block[i])
			}
		}
		t.blocks[b] = nil
	}
	return live
}

// count returns how many rows belong to users whom a function accepts.
func (t *table) count(is func(u UserHash) bool) (n int) {
	t.each(func(_ uint32, r *row) {
		if is(r.user) {
			n++
		}
	})
	return n
}

// bytes returns how much memory the table takes.
func (t *table) bytes() int64 {
	rows := 0
	if n := len(t.blocks); n > 0 {
		rows = cap(t.blocks[0]) + (n-1)*blockRows
	}
	return rowBytes*int64(rows) + 4*int64(len(t.slots)) + 24*int64(cap(t.blocks))
}
