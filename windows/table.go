package windows

import (
	"cmp"
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
}

const (
	blockBits = 9 // a block has 512 rows; only the first grows, so no other row is ever moved
	blockRows = 1 << blockBits
	leastBits = 3
)

func newTable() table { return table{slots: make([]uint32, 1<<leastBits), bits: leastBits} }

// place is the slot at which the search for a user begins. It ascends with the hash.
func (t *table) place(u UserHash) uint32 { return uint32(u[0] >> (64 - t.bits)) }

// after is the next slot.
func (t *table) after(slot uint32) uint32 { return (slot + 1) & uint32(len(t.slots)-1) }

func (t *table) row(i uint32) *row { return &t.blocks[i>>blockBits][i&(blockRows-1)] }

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

// insert adds a row. Memory ends long before the numbers of rows do.
func (t *table) insert(r row) {
	if t.n == len(t.slots)/4*3 {
		t.grow()
	}
	t.enter(r.user, uint32(t.n))
	last := t.n >> blockBits
	if last == len(t.blocks) {
		var block []row
		if last > 0 {
			block = make([]row, 0, blockRows)
		}
		t.blocks = append(t.blocks, block)
	}
	t.blocks[last] = append(t.blocks[last], r)
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

func (t *table) grow() {
	t.bits++
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
// so only rows that stand in slots next to each other have to be sorted.
func (t *table) ascending() []uint32 {
	rows, run := make([]uint32, 0, t.n), 0
	end := func() {
		slices.SortFunc(rows[run:], func(i, j uint32) int { return compareUsers(t.row(i).user, t.row(j).user) })
		run = len(rows)
	}
	var wrapped []uint32 // those that found no slot until the last, and began anew at the first
	for slot, s := range t.slots {
		if s == 0 {
			end()
			continue
		}
		i := s&uint32(len(t.slots)-1) - 1
		if t.place(t.row(i).user) > uint32(slot) {
			wrapped = append(wrapped, i)
		} else {
			rows = append(rows, i)
		}
	}
	rows = append(rows, wrapped...)
	end()
	return rows
}

func compareUsers(x, y UserHash) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) }

// bytes is how much memory the table takes.
func (t *table) bytes() int64 {
	rows := 0
	if n := len(t.blocks); n > 0 {
		rows = cap(t.blocks[0]) + (n-1)*blockRows
	}
	return rowBytes*int64(rows) + 4*int64(len(t.slots)) + 24*int64(cap(t.blocks))
}
