package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// A payload is
//
//	version, flags (0), policy, unit of times    1 byte each
//	MaxGroups of the bag, number of groups
//	for every group that has contributions, ascending by name
//	    how much of its name is that of the group before, length of the rest, rest
//	    number of rows
//	    column of hashes    16 bytes each
//	    column of values
//	    column of orders
//	CRC-32C of all before                4 bytes, big-endian
//
// That of an open bag is another: see payload_open.go. Numbers are varints, signed ones zigzag. The column of orders is absent for policies min and max. For first and last
// it holds the event time after the slice's start, in the largest of s, ms, µs and ns that divides all times of the
// payload, and for random the keyed hash (8 bytes each). Rows are sorted by user, and each user has one in a group. So
// the order of arrival leaves no trace.
const payloadVersion = 2

// units are those of times, in nanoseconds, by their codes.
var units = [...]int64{1e9, 1e6, 1e3, 1}

// payload is a payload that is being read.
type payload struct {
	policy Policy
	groups []column
	open   *openPayload // that of an open bag; nil: it has groups
}

// column holds a group's rows: encoded columns of equal length, which have been checked to their ends.
type column struct {
	name                  string
	n                     int
	users, values, orders []byte
	policy                Policy
	start                 int64 // of the slice
	unit                  int64 // of times
	ascend                bool  // values are differences, except the first
}

// Seal returns the bag's payload for a [Part]. It does not change the bag.
func (b *Bag) Seal() []byte {
	b.settle()
	if b.names != nil {
		return b.sealOpen()
	}
	rows := b.byGroup()
	unit := b.unit()
	data := make([]byte, 0, 64+28*b.rows.n)
	data = append(data, payloadVersion, 0, byte(b.spec.Policy.code()), byte(unit))
	data = binary.AppendUvarint(data, uint64(b.spec.MaxGroups))
	var groups []int
	for g := range rows {
		if len(rows[g]) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(x, y int) int { return strings.Compare(b.spec.Groups[x], b.spec.Groups[y]) })
	data = binary.AppendUvarint(data, uint64(len(groups)))
	before, c := "", columns{}
	for _, g := range groups {
		name := b.spec.Groups[g]
		data = appendName(data, before, name)
		data = b.appendRows(data, rows[g], units[unit], &c)
		before = name
	}
	return binary.BigEndian.AppendUint32(data, castagnoli(data))
}

// columns are those of a group that is being written. The next group uses their memory again.
type columns struct{ values, orders []byte }

func (b *Bag) appendRows(data []byte, rows []uint32, unit int64, c *columns) []byte {
	data = binary.AppendUvarint(data, uint64(len(rows)))
	c.values, c.orders = slices.Grow(c.values[:0], 2*len(rows)), slices.Grow(c.orders[:0], 3*len(rows))
	data = b.appendColumns(data, rows, [2]uint64{}, unit, c)
	return append(append(data, c.values...), c.orders...)
}

// appendColumns appends users to the column of hashes, which is in data, and the rest of their rows to the other
// columns. name is the hash of their name if the bag is open, and otherwise 0.
func (b *Bag) appendColumns(data []byte, rows []uint32, name [2]uint64, unit int64, c *columns) []byte {
	for _, i := range rows { // each row is looked at once: it is seldom in the processor's cache
		r := b.rows.row(i)
		u := r.user.with(name)
		data = binary.BigEndian.AppendUint64(data, u[0])
		data = binary.BigEndian.AppendUint64(data, u[1])
		c.values = binary.AppendVarint(c.values, r.value)
		switch {
		case b.timed:
			c.orders = binary.AppendVarint(c.orders, (r.order-b.spec.Window.Start)/unit)
		case b.random:
			c.orders = binary.BigEndian.AppendUint64(c.orders, uint64(r.order))
		}
	}
	return data
}

// byGroup returns the numbers of the rows of each group, by user.
func (b *Bag) byGroup() [][]uint32 {
	rows := make([][]uint32, len(b.spec.Groups))
	ascending := b.rows.ascending()
	if len(rows) == 1 {
		rows[0] = ascending
		return rows
	}
	for _, i := range ascending {
		g := b.rows.row(i).group
		rows[g] = append(rows[g], i)
	}
	return rows
}

// unit returns the code of the unit of times.
func (b *Bag) unit() int {
	unit := 0
	if !b.timed {
		return unit
	}
	for _, block := range b.rows.blocks {
		for i := range block {
			for (block[i].order-b.spec.Window.Start)%units[unit] != 0 {
				unit++
			}
		}
	}
	return unit
}

// sharedPrefix returns how many bytes two names have in common at their beginning.
func sharedPrefix[T string | []byte](x, y T) int {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

func castagnoli(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// decodePayload decodes a payload. For any data it returns a well-formed payload or an error.
func decodePayload(data []byte, start int64) (payload, error) {
	decode := decodeFirst
	if len(data) > 0 && data[0] == payloadVersion {
		decode = decodeSecond
	}
	p, err := decode(data, start)
	if err != nil {
		return payload{}, fmt.Errorf("payload of %d bytes: %w", len(data), err)
	}
	return p, nil
}

func decodeSecond(data []byte, start int64) (payload, error) {
	end := len(data) - 4
	if end < 0 || binary.BigEndian.Uint32(data[end:]) != castagnoli(data[:end]) {
		return payload{}, errors.New("it does not match its checksum")
	}
	r := &reader{rest: data[1:end]}
	switch flags := r.uint8("flags"); {
	case flags == flagOpen || flags == flagOpen|flagPacked:
		open, err := decodeOpen(r, flags, start)
		if err != nil {
			return payload{}, err
		}
		return payload{policy: open.all.policy, open: open}, nil
	case flags != 0:
		r.fail("flags %d are unknown", flags)
	}
	p := payload{policy: r.policy()}
	unit := r.unit()
	r.uvarint("max groups")
	name := ""
	for n := r.count(3+16+1, "groups"); n > 0 && r.err == nil; n-- {
		g := column{policy: p.policy, start: start, unit: unit}
		shared := r.uvarint("name")
		if shared > uint64(len(name)) {
			r.fail("name: it shares %d bytes with one of %d", shared, len(name))
			break
		}
		g.name = name[:shared] + string(r.bytes(r.count(1, "name"), "name"))
		if len(p.groups) > 0 && name >= g.name {
			r.fail("groups are not ascending by name")
		}
		g.readRows(r)
		p.groups, name = append(p.groups, g), g.name
	}
	return p, r.end()
}

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
	}
	return nil
}

// varints returns a column of n signed numbers.
func (r *reader) varints(n int, what string) []byte {
	from := r.rest
	for range n {
		r.varint(what)
	}
	return from[:len(from)-len(r.rest)]
}

// end returns the error of the reader. To have read less than everything is one.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	return r.err
}

// rows reads the column from its beginning.
type rows struct {
	column
	first bool
	row
}

func (g column) rows() rows { return rows{column: g, first: true} }

// next moves to the next row, and returns false if there is none.
func (r *rows) next() bool {
	if len(r.users) == 0 {
		return false
	}
	if r.ascend && !r.first {
		difference, n := binary.Uvarint(r.values)
		r.value, r.values = r.value+int64(difference), r.values[n:]
	} else {
		value, n := binary.Varint(r.values)
		r.value, r.values = value, r.values[n:]
	}
	r.first = false
	switch {
	case r.policy.timed():
		order, n := binary.Varint(r.orders)
		r.order, r.orders = order*r.unit+r.start, r.orders[n:]
	case r.policy == Random:
		r.order, r.orders = int64(binary.BigEndian.Uint64(r.orders)), r.orders[8:]
	}
	r.user = r.peek()
	r.users = r.users[16:]
	return true
}

// peek returns the user of the next row, if there is one.
func (r *rows) peek() UserHash {
	return UserHash{binary.BigEndian.Uint64(r.users), binary.BigEndian.Uint64(r.users[8:])}
}
