package windows

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// A payload is one zstd frame, whose checksum guards it, of
//
//	version, 0, policy      1 byte each
//	MaxGroups of the bag, number of groups
//	for every group that has contributions, ascending by name
//	    length of the name, name, number of rows
//	    column of values    ascending: the first as it is, then differences
//	    column of orders
//	    column of hashes    16 bytes each
//
// Numbers are varints, signed ones zigzag. The column of orders is absent for policies min and max. For first and last
// it holds the event time after the slice's start, and for random the keyed hash (8 bytes each). Rows are sorted by
// value and user, so the order of arrival leaves no trace.
const payloadVersion = 1

// payload is a payload that is being read.
type payload struct {
	policy Policy
	groups []column
}

// column holds a group's rows: encoded columns of equal length, which have been checked to their ends.
type column struct {
	name                  string
	n                     int
	values, orders, users []byte
	policy                Policy
	start                 int64 // of the slice
}

// row is a user's contribution to a group.
type row struct {
	user         UserHash
	value, order int64
	group        int32
}

// Seal returns the bag's payload for a [Part]. It does not change the bag.
func (b *Bag) Seal() []byte {
	rows := b.rows()
	data := make([]byte, 0, 64+28*len(rows))
	data = append(data, payloadVersion, 0, byte(b.spec.Policy.code()))
	data = binary.AppendUvarint(data, uint64(b.spec.MaxGroups))
	groups := byGroup(rows)
	slices.SortFunc(groups,
		func(x, y []row) int { return cmp.Compare(b.spec.Groups[x[0].group], b.spec.Groups[y[0].group]) })
	data = binary.AppendUvarint(data, uint64(len(groups)))
	for _, g := range groups {
		name := b.spec.Groups[g[0].group]
		data = binary.AppendUvarint(data, uint64(len(name)))
		data = append(data, name...)
		data = binary.AppendUvarint(data, uint64(len(g)))
		for i, r := range g {
			if i == 0 {
				data = binary.AppendVarint(data, r.value)
			} else {
				data = binary.AppendUvarint(data, uint64(r.value-g[i-1].value))
			}
		}
		switch {
		case b.timed:
			for _, r := range g {
				data = binary.AppendVarint(data, r.order-b.spec.Window.Start)
			}
		case b.random:
			for _, r := range g {
				data = binary.BigEndian.AppendUint64(data, uint64(r.order))
			}
		}
		for _, r := range g {
			data = binary.BigEndian.AppendUint64(data, r.user[0])
			data = binary.BigEndian.AppendUint64(data, r.user[1])
		}
	}
	return compress(data)
}

// rows returns the contributions by group, value and user.
func (b *Bag) rows() []row {
	rows := make([]row, 0, len(b.arena))
	for u, head := range b.heads {
		for i := head; i != none; i = b.arena[i].next {
			c := &b.arena[i]
			rows = append(rows, row{u, c.point.Index, c.order, c.group})
		}
	}
	slices.SortFunc(rows, func(x, y row) int {
		switch {
		case x.group != y.group:
			return cmp.Compare(x.group, y.group)
		case x.value != y.value:
			return cmp.Compare(x.value, y.value)
		case x.user[0] != y.user[0]:
			return cmp.Compare(x.user[0], y.user[0])
		}
		return cmp.Compare(x.user[1], y.user[1])
	})
	return rows
}

// byGroup divides sorted rows.
func byGroup(rows []row) (groups [][]row) {
	for len(rows) > 0 {
		n := sort.Search(len(rows), func(i int) bool { return rows[i].group > rows[0].group })
		groups, rows = append(groups, rows[:n]), rows[n:]
	}
	return groups
}

// decodePayload decodes a payload. For any data it returns a well-formed payload or an error.
func decodePayload(data []byte, start int64) (payload, error) {
	raw, err := decompress(data)
	if err != nil {
		return payload{}, fmt.Errorf("payload of %d bytes: %w", len(data), err)
	}
	r := &reader{rest: raw}
	if v := r.uint8("version"); r.err == nil && v != payloadVersion {
		return payload{}, fmt.Errorf("payload has version %d; want %d", v, payloadVersion)
	}
	kind, policy := r.uint8("kind"), r.uint8("policy")
	if kind != 0 || int(policy) >= len(policies) {
		return payload{}, fmt.Errorf("payload has kind %d and policy %d, which are unknown", kind, policy)
	}
	p := payload{policy: policies[policy]}
	r.uvarint("max groups")
	for n := r.count(3+16, "groups"); n > 0 && r.err == nil; n-- {
		g := decodeColumn(r, p.policy, start)
		if last := len(p.groups) - 1; last >= 0 && p.groups[last].name >= g.name {
			r.fail("groups are not ascending by name")
		}
		p.groups = append(p.groups, g)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	if r.err != nil {
		return payload{}, fmt.Errorf("payload of %d bytes: %w", len(data), r.err)
	}
	return p, nil
}

func decodeColumn(r *reader, policy Policy, start int64) column {
	g := column{name: string(r.bytes(r.count(1, "name"), "name")), policy: policy, start: start}
	if g.n = r.count(1+16, "rows"); g.n == 0 {
		r.fail("a group without rows")
		return g
	}
	from := r.rest
	value := r.varint("value")
	for range g.n - 1 {
		next := value + int64(r.uvarint("value"))
		if next < value {
			r.fail("values are not ascending")
		}
		value = next
	}
	g.values = from[:len(from)-len(r.rest)]
	switch {
	case policy.timed():
		from = r.rest
		for range g.n {
			r.varint("time")
		}
		g.orders = from[:len(from)-len(r.rest)]
	case policy == Random:
		g.orders = r.bytes(8*g.n, "choices")
	}
	g.users = r.bytes(16*g.n, "users")
	return g
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
	value, n := int64(0), 0
	if r.first {
		value, n = binary.Varint(r.values)
	} else {
		difference, length := binary.Uvarint(r.values)
		value, n = r.value+int64(difference), length
	}
	r.first, r.value, r.values = false, value, r.values[n:]
	switch {
	case r.policy.timed():
		order, n := binary.Varint(r.orders)
		r.order, r.orders = order+r.start, r.orders[n:]
	case r.policy == Random:
		r.order, r.orders = int64(binary.BigEndian.Uint64(r.orders)), r.orders[8:]
	}
	r.user = UserHash{binary.BigEndian.Uint64(r.users), binary.BigEndian.Uint64(r.users[8:])}
	r.users = r.users[16:]
	return true
}

// compress and decompress make a new coder each time, because seals are rare compared with records, and a shared coder
// would be state. The fastest level is enough: hashes do not compress at all, differences of values compress at any
// level, and its coder is small.
func compress(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("windows: zstd refuses constant options: " + err.Error())
	}
	return w.EncodeAll(b, make([]byte, 0, len(b)+64))
}

// mostPacked bounds how many times its size a payload or a snapshot unpacks to. In each row 16 bytes are a hash, which
// does not pack but where a user is in several groups. The longest names of those take 800 bytes, and differ.
const mostPacked = 1 << 10

// decompress trusts the size that a frame claims only as far as there are bytes.
func decompress(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("empty")
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostPacked*uint64(len(b))))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(b, nil)
}
