package windows

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// payloadVersion is the version of payloads.
const payloadVersion = 2

// The rows of a group are columns of equal length: hashes (16 bytes each), values, and orders. Rows are sorted by user,
// and each user has one in a group, so the order of arrival leaves no trace. Policies min and max have no orders. Those
// of first and last are the event times after the slice's start, in the largest of s, ms, µs and ns that divides all
// times of the payload. Those of random are keyed hashes (8 bytes each).

// units are the units of times, in nanoseconds, by their codes.
var units = [...]int64{1e9, 1e6, 1e3, 1}

// column holds a group's rows: encoded columns of equal length, which have been checked to their ends.
type column struct {
	name                  string
	n                     int
	users, values, orders []byte
	policy                Policy
	start                 int64 // of the slice
	unit                  int64 // of times
}

// columns are the columns of a group that is being written. The next group uses their memory again.
type columns struct{ values, orders []byte }

// appendColumns appends users to the column of hashes, which is in data, and the rest of their rows to the other
// columns. name is the hash of their name if the bag is open, and otherwise 0.
func (b *Bag) appendColumns(data []byte, rows []uint32, name [2]uint64, unit int64, c *columns) []byte {
	at := len(data)
	data = slices.Grow(data, 16*len(rows))[:at+16*len(rows)]
	for _, i := range rows { // each row is loaded once: it is seldom in the processor's cache
		r := b.rows.row(i)
		u, to := r.user.with(name), data[at:at+16]
		binary.BigEndian.PutUint64(to, u[0])
		binary.BigEndian.PutUint64(to[8:], u[1])
		at += 16
		value := r.value
		if b.adds {
			value /= unit
		}
		c.values = binary.AppendVarint(c.values, value)
		switch {
		case b.spec.Policy == Mean:
			c.orders = binary.AppendVarint(c.orders, r.order)
		case b.timed:
			c.orders = binary.AppendVarint(c.orders, (r.order-b.spec.Window.Start)/unit)
		case b.random:
			c.orders = binary.BigEndian.AppendUint64(c.orders, uint64(r.order))
		}
	}
	return data
}

// unit returns the code of the unit of times or values: the largest that divides all of them.
func (b *Bag) unit() int {
	unit := 0
	if !b.timed && !b.adds {
		return unit
	}
	for _, block := range b.rows.blocks {
		for i := range block {
			x := block[i].value
			if b.timed {
				x = block[i].order - b.spec.Window.Start
			}
			for x%units[unit] != 0 {
				unit++
			}
		}
	}
	return unit
}

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

func castagnoli(data []byte) uint32 { return crc32.Checksum(data, castagnoliTable) }

func (g *column) readRows(r *reader) {
	if g.n = r.rows(); g.n == 0 {
		return
	}
	g.users = r.bytes(16*g.n, "users")
	for i := 16; i < len(g.users); i += 16 {
		if string(g.users[i-16:i]) >= string(g.users[i:i+16]) {
			r.fail("users are not ascending")
			return
		}
	}
	g.values = r.varints(g.n, "value")
	g.orders = r.orders(g.n, g.policy)
}

// policy reads the code of a policy.
func (r *reader) policy() Policy {
	code := r.uint8("policy")
	if int(code) >= len(policies) {
		r.fail("policy %d is unknown", code)
		return ""
	}
	return policies[code]
}

// unit reads the code of a unit of times.
func (r *reader) unit() int64 {
	code := r.uint8("unit")
	if int(code) >= len(units) {
		r.fail("unit %d of times is unknown", code)
		return 1
	}
	return units[code]
}

// rows reads the number of a group's rows.
func (r *reader) rows() int {
	n := r.count(1+16, "rows")
	if n == 0 {
		r.fail("a group without rows")
	}
	return n
}

// orders returns the column of orders.
func (r *reader) orders(n int, p Policy) []byte {
	switch {
	case p.timed():
		return r.varints(n, "time")
	case p == Random:
		return r.bytes(8*n, "choices")
	case p == Mean:
		numbers := r.varints(n, "number of events")
		for rest := numbers; len(rest) > 0; {
			of, size := varint(rest)
			if rest = rest[size:]; of < 1 {
				r.fail("a mean is of %d events; want at least 1", of)
				break
			}
		}
		return numbers
	}
	return nil
}

// ends has the bits with which bytes say that a number goes on, or if inverted, that it ends.
const ends = 0x8080808080808080

// varints returns a column of n signed numbers.
func (r *reader) varints(n int, what string) []byte {
	from := r.rest
	at, begun := 0, 0 // begun is where the number begins that ends next
	for n >= 8 && at+8 <= len(from) {
		ending := ^binary.LittleEndian.Uint64(from[at:]) & ends
		if ending == 0 || at+bits.TrailingZeros64(ending)/8-begun > binary.MaxVarintLen64-2 {
			break // its end, or whether it is too large, takes a closer look
		}
		n -= bits.OnesCount64(ending)
		at += 8
		begun = at - bits.LeadingZeros64(ending)/8
	}
	r.rest = from[begun:]
	for range n {
		r.varint(what)
	}
	return from[:len(from)-len(r.rest)]
}

// varint returns a signed number that was checked, and how many bytes it takes. Eight bytes or fewer take no loop.
func varint(b []byte) (int64, int) {
	if len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if ending := ^x & ends; ending != 0 {
			x &= ending ^ (ending - 1)
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
			return int64(x>>1) ^ -int64(x&1), bits.TrailingZeros64(ending)/8 + 1
		}
	}
	return binary.Varint(b)
}

// end returns the error of the reader. Bytes that are left are an error too.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	return r.err
}

// rows reads the column from its beginning.
type rows struct {
	column
	row
}

func (g column) rows() rows { return rows{column: g} }

// next moves to the next row, and returns false if there is none.
func (r *rows) next() bool {
	if len(r.users) == 0 {
		return false
	}
	value, n := varint(r.values)
	r.value, r.values = value, r.values[n:]
	switch {
	case r.policy == Mean:
		order, n := varint(r.orders)
		r.value, r.order, r.orders = r.value*r.unit, order, r.orders[n:]
	case r.policy.Adds():
		r.value *= r.unit
	case r.policy.timed():
		order, n := varint(r.orders)
		r.order, r.orders = order*r.unit+r.start, r.orders[n:]
	case r.policy == Random:
		r.order, r.orders = int64(binary.BigEndian.Uint64(r.orders)), r.orders[8:]
	}
	r.user = r.peek()
	r.users = r.users[16:]
	return true
}

// peek returns the user of the next row. There must be one.
func (r *rows) peek() UserHash {
	return UserHash{binary.BigEndian.Uint64(r.users), binary.BigEndian.Uint64(r.users[8:])}
}

// appendName appends a name without the beginning that it shares with the name before.
func appendName[T string | []byte](data []byte, before, name T) []byte {
	shared := sharedPrefix(before, name)
	data = binary.AppendUvarint(data, uint64(shared))
	data = binary.AppendUvarint(data, uint64(len(name)-shared))
	return append(data, name[shared:]...)
}

// sharedPrefix returns how many bytes two names have in common at their beginning.
func sharedPrefix[T string | []byte](x, y T) int {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}
