package windows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// names holds the names in an open bag, and numbers them: 0 for the first, 1 for the second. A name takes no pointer of
// its own, and is never moved.
type names struct {
	// rows has a row for each name, by its hash: order is where its text begins, and value how long it is.
	rows   table
	blocks [][]byte // of texts, one after another. Only the first block grows
}

// textBlock is the size of a block of texts, unless one name is longer. textBits is how many bits of a place say where
// in its block a text is.
const (
	textBlock = 1 << 16
	textBits  = 32
)

func newNames() *names { return &names{rows: newTable()} }

// number returns the number of a name with this hash. It does not keep name.
func (s *names) number(name []byte, hash [2]uint64) int32 {
	r, slot := s.rows.next(hash, s.rows.place(hash))
	if r != nil {
		return int32(s.rows.number(slot))
	}
	s.rows.insertAt(slot, &row{user: hash, order: s.store(name), value: int64(len(name))})
	return int32(s.rows.n - 1)
}

// store keeps a text, and returns where.
func (s *names) store(text []byte) int64 {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last])+len(text) > max(textBlock, cap(s.blocks[last])) {
		var block []byte
		if last >= 0 {
			block = make([]byte, 0, max(textBlock, len(text)))
		}
		s.blocks = append(s.blocks, block)
		last++
	}
	at := len(s.blocks[last])
	s.blocks[last] = append(s.blocks[last], text...)
	return int64(last)<<textBits | int64(at)
}

func (s *names) len() int { return s.rows.n }

// hash returns the hash of the name with this number.
func (s *names) hash(number int32) [2]uint64 { return s.rows.row(uint32(number)).user }

// text returns the name with this number. It must not be changed.
func (s *names) text(number int32) []byte {
	r := s.rows.row(uint32(number))
	at := r.order & (1<<textBits - 1)
	return s.blocks[r.order>>textBits][at : at+r.value]
}

// bytes returns how much memory the names take.
func (s *names) bytes() int64 {
	sum := s.rows.bytes() + 24*int64(cap(s.blocks))
	if n := len(s.blocks); n > 0 {
		sum += int64(cap(s.blocks[0])) + textBlock*int64(n-1)
	}
	return sum
}

// A payload of an open bag is
//
//	version, flags, policy, unit of times    1 byte each
//	number of rows
//	length of the block of names; if it is packed, also its length when it is unpacked
//	block of names: for every name, ascending
//	    how much of it is that of the name before, length of the rest, rest, number of rows
//	column of hashes, column of values, column of orders
//	CRC-32C of all before                    4 bytes, big-endian
//
// Columns and numbers are as in payloads with a list, and hold the rows of one name after those of another. Names that
// belong together resemble each other, so the block is packed with zstd where that helps. Hashes do not pack.
const (
	flagOpen   = 1 << 0
	flagPacked = 1 << 1
)

// worthPacking is the length from which on a block of names is tried to be packed.
const worthPacking = 1 << 10

// longestEntry is more than a name takes in a block: names have at most 800 bytes, and numbers at most 10. A block that
// claims to be longer is not unpacked.
const longestEntry = 1 << 10

// openPayload is a payload of an open bag that is being read.
type openPayload struct {
	names []byte // block
	all   column // of all rows
}

// sealOpen is Seal for an open bag.
func (b *Bag) sealOpen() []byte {
	named := b.byName()
	var names, before []byte
	for _, n := range named {
		name := b.names.text(n.name)
		names = appendName(names, before, name)
		names = binary.AppendUvarint(names, uint64(len(n.rows)))
		before = name
	}
	unit := b.unit()
	data := make([]byte, 0, 64+28*b.rows.n)
	data = append(data, payloadVersion, flagOpen, byte(b.spec.Policy.code()), byte(unit))
	data = binary.AppendUvarint(data, uint64(b.rows.n))
	if packed := pack(names); packed != nil {
		data[1] |= flagPacked
		data = binary.AppendUvarint(data, uint64(len(packed)))
		data = binary.AppendUvarint(data, uint64(len(names)))
		data = append(data, packed...)
	} else {
		data = binary.AppendUvarint(data, uint64(len(names)))
		data = append(data, names...)
	}
	var c columns
	for _, n := range named {
		data = b.appendColumns(data, n.rows, b.names.hash(n.name), units[unit], &c)
	}
	data = append(append(data, c.values...), c.orders...)
	return binary.BigEndian.AppendUint32(data, castagnoli(data))
}

// pack returns a block packed, or nil if that does not save an eighth.
func pack(block []byte) []byte {
	if len(block) < worthPacking {
		return nil
	}
	if packed := compress(block); len(packed) < len(block)-len(block)/8 {
		return packed
	}
	return nil
}

// named holds the numbers of the rows of a name, by user.
type named struct {
	name int32 // its number
	rows []uint32
}

// byName returns the rows of an open bag, by name.
func (b *Bag) byName() []named {
	all := make([]named, b.names.len())
	counts := make([]int, len(all))
	b.rows.each(func(_ uint32, r *row) { counts[r.group]++ })
	numbers := make([]uint32, b.rows.n)
	for i, n := range counts {
		all[i] = named{int32(i), numbers[:0:n]}
		numbers = numbers[n:]
	}
	b.rows.each(func(i uint32, r *row) { all[r.group].rows = append(all[r.group].rows, i) })
	type ofUser struct {
		user UserHash
		row  uint32
	}
	var sorted []ofUser
	for _, n := range all {
		if len(n.rows) == 1 {
			continue
		}
		sorted = sorted[:0]
		for _, i := range n.rows {
			sorted = append(sorted, ofUser{b.rows.row(i).user.with(b.names.hash(n.name)), i})
		}
		slices.SortFunc(sorted, func(x, y ofUser) int { return compareUsers(x.user, y.user) })
		for i, s := range sorted {
			n.rows[i] = s.row
		}
	}
	slices.SortFunc(all, func(x, y named) int { return bytes.Compare(b.names.text(x.name), b.names.text(y.name)) })
	return all
}

// decodeOpen decodes what follows the flags of a payload. No error has a name in it.
func decodeOpen(r *reader, flags uint8, start int64) (*openPayload, error) {
	policy := r.policy()
	unit := r.unit()
	p := &openPayload{all: column{policy: policy, start: start, unit: unit}}
	p.all.n = r.count(16+1, "rows")
	size := r.count(1, "names")
	if flags&flagPacked != 0 {
		unpacked := r.uvarint("names")
		if unpacked > longestEntry*uint64(p.all.n) {
			r.fail("names: %d bytes are too many for %d rows", unpacked, p.all.n)
		}
		p.names = r.unpack(size, int(unpacked))
	} else {
		p.names = r.bytes(size, "names")
	}
	p.all.users = r.bytes(16*p.all.n, "users")
	p.all.values = r.varints(p.all.n, "value")
	p.all.orders = r.orders(p.all.n, policy)
	if err := r.end(); err != nil {
		return nil, err
	}
	return p, p.check()
}

// unpack returns a block that takes size bytes when it is packed, and unpacked bytes when it is not.
func (r *reader) unpack(size, unpacked int) []byte {
	packed := r.bytes(size, "names")
	if r.err != nil {
		return nil
	}
	block, err := decompressInto(packed, unpacked)
	if err != nil || len(block) != unpacked {
		r.fail("names: %d bytes do not unpack to %d", size, unpacked)
	}
	return block
}

// check reports what is wrong with the names.
func (p *openPayload) check() error {
	c := p.cursor()
	for c.nextName() {
		last, _ := c.nextUser()
		for u, ok := c.nextUser(); ok; u, ok = c.nextUser() {
			if compareUsers(last, u) >= 0 {
				return errors.New("users are not ascending")
			}
			last = u
		}
	}
	if c.err == nil && len(c.rows.users) > 0 {
		return fmt.Errorf("%d rows have no name", len(c.rows.users)/16)
	}
	return c.err
}

// cursor reads an open payload from its beginning: nextName, then next for each of its rows. It is right for a payload
// that was checked.
type cursor struct {
	reader        // of names
	name   []byte // valid until nextName
	left   int    // rows of the name
	rows   rows

	begun bool
}

func (p *openPayload) cursor() cursor {
	return cursor{reader: reader{rest: p.names}, rows: p.all.rows()}
}

// nextName moves to the next name. It returns false if there is none, or if it is not valid.
func (c *cursor) nextName() bool {
	if len(c.rest) == 0 {
		return false
	}
	shared := c.uvarint("name")
	if shared > uint64(len(c.name)) {
		c.fail("name: it shares %d bytes with one of %d", shared, len(c.name))
		return false
	}
	rest := c.bytes(c.count(1, "name"), "name")
	// a name is greater than the one before if what it does not share is
	if c.err == nil && c.begun && bytes.Compare(rest, c.name[shared:]) <= 0 {
		c.fail("names are not ascending")
	}
	c.name, c.begun = append(c.name[:shared], rest...), true
	n := c.uvarint("rows")
	if c.err == nil && (n == 0 || n > uint64(len(c.rows.users)/16)) {
		c.fail("rows: %d of a name; want from 1 to %d", n, len(c.rows.users)/16)
	}
	c.left = int(n)
	return c.err == nil
}

// next moves to the next row of the name.
func (c *cursor) next() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	return c.rows.next()
}

// nextUser moves to the next row of the name and reads only its user. Do not mix it with next.
func (c *cursor) nextUser() (UserHash, bool) {
	if c.left == 0 {
		return UserHash{}, false
	}
	u := c.rows.peek()
	c.left--
	c.rows.users = c.rows.users[16:]
	return u, true
}

// skip moves to the end of the name, as nextUser would.
func (c *cursor) skip() { c.rows.users, c.left = c.rows.users[16*c.left:], 0 }

// PutName puts a record of a group with this name into an open bag, as Put does. It does not keep name.
//
// A row's place in the table depends on user and name together, so that the names of one user do not cluster. The hash
// that stands for the user there is the hash of the user XOR that of the name. Within one name it differs from user to
// user, so no row is ever taken for another one's.
func (b *Bag) PutName(u UserHash, name []byte, time, value int64) {
	hash := b.spec.Hasher.nameBytes(name)
	b.waiting = append(b.waiting, row{user: u.with(hash), order: b.order(u, time, value), value: value,
		group: b.names.number(name, hash)})
	if len(b.waiting) == ahead {
		b.settle()
	}
}

// with returns the hash that stands for a user and a name: the XOR of both. Given that hash and the name, it returns
// the user again.
func (u UserHash) with(name [2]uint64) UserHash { return UserHash{u[0] ^ name[0], u[1] ^ name[1]} }
