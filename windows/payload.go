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
//	version, kind, policy   1 byte each
//	MaxGroups of the bag, number of groups
//	for every group that has contributions, ascending by name
//	    length of the name, name, number of rows
//	    column of values    ascending: the first as it is, then differences
//	    kind values:        column of counts
//	    kind users:         column of orders, then column of hashes (16 bytes each)
//
// Numbers are varints, signed ones zigzag. The column of orders is absent for policies min and max, the event time
// after the slice's start for first and last, and the keyed hash (8 bytes each) for random. Rows are sorted by value
// and user, so that nothing remains of the order of arrival.
const (
	payloadVersion = 1

	kindUsers  = 0
	kindValues = 1

	// mostUsers bounds the users of a payload, so that no sum of counts overflows.
	mostUsers = 1 << 40
)

// payload is the decoded form.
type payload struct {
	valuesOnly bool
	policy     Policy
	maxGroups  uint64
	groups     []column
}

// column holds a group's rows by columns of one length; orders, users and counts are empty where the kind or the
// policy has none.
type column struct {
	name   string
	values []int64
	counts []int64
	orders []int64
	users  []UserHash
}

func (p payload) encode(start int64) []byte {
	kind := byte(kindUsers)
	if p.valuesOnly {
		kind = kindValues
	}
	size := 64
	for _, g := range p.groups {
		size += 16 + len(g.name) + 16*len(g.users) + 8*len(g.orders) + 3*len(g.values) + 2*len(g.counts)
	}
	b := append(make([]byte, 0, size), payloadVersion, kind, byte(p.policy.code()))
	b = binary.AppendUvarint(b, p.maxGroups)
	b = binary.AppendUvarint(b, uint64(len(p.groups)))
	for _, g := range p.groups {
		b = binary.AppendUvarint(b, uint64(len(g.name)))
		b = append(b, g.name...)
		b = binary.AppendUvarint(b, uint64(len(g.values)))
		for i, v := range g.values {
			if i == 0 {
				b = binary.AppendVarint(b, v)
			} else {
				b = binary.AppendUvarint(b, uint64(v-g.values[i-1]))
			}
		}
		for _, n := range g.counts {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, o := range g.orders {
			if p.policy.timed() {
				b = binary.AppendVarint(b, o-start)
			} else {
				b = binary.BigEndian.AppendUint64(b, uint64(o))
			}
		}
		for _, u := range g.users {
			b = binary.BigEndian.AppendUint64(b, u[0])
			b = binary.BigEndian.AppendUint64(b, u[1])
		}
	}
	return compress(b)
}

// decodePayload is the inverse of encode. Whatever data is, it returns a well-formed payload or an error.
func decodePayload(data []byte, start int64) (payload, error) {
	raw, err := decompress(data)
	if err != nil {
		return payload{}, fmt.Errorf("payload of %d bytes: %w", len(data), err)
	}
	r := &reader{rest: raw}
	if v := r.uint8("version"); r.err == nil && v != payloadVersion {
		return payload{}, fmt.Errorf("payload has version %d, this program reads %d", v, payloadVersion)
	}
	kind, policy := r.uint8("kind"), r.uint8("policy")
	if kind > kindValues || int(policy) >= len(policies) {
		return payload{}, fmt.Errorf("payload has kind %d and policy %d, which are unknown", kind, policy)
	}
	p := payload{valuesOnly: kind == kindValues, policy: policies[policy], maxGroups: r.uvarint("max groups")}
	users := uint64(0)
	for n := r.count(4, "groups"); n > 0 && r.err == nil; n-- {
		g := p.decodeColumn(r, start)
		if last := len(p.groups) - 1; last >= 0 && p.groups[last].name >= g.name {
			r.fail("groups are not ascending by name")
		}
		for _, c := range g.counts {
			users += min(uint64(c), mostUsers+1) // c is unsigned in its encoded form
			if c == 0 || users > mostUsers {
				r.fail("count of users outside 1 to %d", mostUsers)
				break
			}
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

func (p payload) decodeColumn(r *reader, start int64) column {
	g := column{name: string(r.bytes(r.count(1, "name"), "name"))}
	least := 2 // a value and a count
	if !p.valuesOnly {
		least = 1 + 16
	}
	n := r.count(least, "rows")
	if n == 0 {
		r.fail("a group without rows")
		return g
	}
	g.values = make([]int64, n)
	for i := range g.values {
		if i == 0 {
			g.values[i] = r.varint("value")
			continue
		}
		last := g.values[i-1]
		g.values[i] = last + int64(r.uvarint("value"))
		if g.values[i] < last || p.valuesOnly && g.values[i] == last {
			r.fail("values are not ascending")
		}
	}
	if p.valuesOnly {
		g.counts = make([]int64, n)
		for i := range g.counts {
			g.counts[i] = int64(r.uvarint("count"))
		}
		return g
	}
	switch {
	case p.policy.timed():
		g.orders = make([]int64, n)
		for i := range g.orders {
			g.orders[i] = r.varint("time") + start
		}
	case p.policy == Random:
		g.orders = make([]int64, n)
		for i := range g.orders {
			g.orders[i] = int64(r.uint64("choice"))
		}
	}
	g.users = make([]UserHash, n)
	for i := range g.users {
		g.users[i] = UserHash{r.uint64("user"), r.uint64("user")}
	}
	return g
}

// Seal returns the bag's payload for a [Part]; the bag stays as it is. valuesOnly leaves the users out, and is right
// only if all records of a user are in one partition: what other partitions know of a user can't be dropped then.
func (b *Bag) Seal(valuesOnly bool) []byte {
	p := payload{valuesOnly: valuesOnly, policy: b.spec.Policy, maxGroups: uint64(b.spec.MaxGroups)}
	if valuesOnly {
		p.groups = b.counts()
	} else {
		p.groups = b.rows()
	}
	slices.SortFunc(p.groups, func(x, y column) int { return cmp.Compare(x.name, y.name) })
	return p.encode(b.spec.Window.Start)
}

// counts returns the groups' columns of kind values.
func (b *Bag) counts() (groups []column) {
	for i, m := range b.values {
		if m.tree.Len() == 0 {
			continue
		}
		g := column{name: b.spec.Groups[i], values: make([]int64, 0, m.tree.Len()), counts: make([]int64, 0, m.tree.Len())}
		m.tree.Ascend(func(t item) bool {
			g.values, g.counts = append(g.values, t.value), append(g.counts, t.point.Count)
			return true
		})
		groups = append(groups, g)
	}
	return groups
}

// rows returns the groups' columns of kind users.
func (b *Bag) rows() (groups []column) {
	type row struct {
		user         UserHash
		value, order int64
		group        int32
	}
	rows := make([]row, 0, len(b.arena))
	for u, head := range b.heads {
		for i := head; i != none; i = b.arena[i].next {
			c := &b.arena[i]
			rows = append(rows, row{u, c.point.Index, c.order, c.group})
		}
	}
	slices.SortFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.value, y.value),
			cmp.Compare(x.user[0], y.user[0]), cmp.Compare(x.user[1], y.user[1]))
	})
	for len(rows) > 0 {
		group := rows[0].group
		n := sort.Search(len(rows), func(i int) bool { return rows[i].group > group })
		g := column{name: b.spec.Groups[group], values: make([]int64, n), users: make([]UserHash, n)}
		if b.timed || b.random {
			g.orders = make([]int64, n)
		}
		for i, r := range rows[:n] {
			g.values[i], g.users[i] = r.value, r.user
			if g.orders != nil {
				g.orders[i] = r.order
			}
		}
		groups, rows = append(groups, g), rows[n:]
	}
	return groups
}

// compress and decompress make their coder anew: a seal is rare beside its records, and a shared one would be state.
// The fastest level, for hashes do not compress, values as differences do at any, and its coder is small.
func compress(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("windows: zstd refuses constant options: " + err.Error())
	}
	return w.EncodeAll(b, make([]byte, 0, len(b)+64))
}

func decompress(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("empty")
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(b, nil)
}
