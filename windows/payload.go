package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
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
//	    column of hashes, column of values, column of orders: see column.go
//	CRC-32C of all before                        4 bytes, big-endian
//
// Numbers are varints, signed ones zigzag. The payload of an open bag has another form: see open.go.

// payload is a payload that is being read.
type payload struct {
	policy Policy
	groups []column
	open   *openPayload // that of an open bag; nil: it has groups
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

func (b *Bag) appendRows(data []byte, rows []uint32, unit int64, c *columns) []byte {
	data = binary.AppendUvarint(data, uint64(len(rows)))
	c.values, c.orders = slices.Grow(c.values[:0], 3*len(rows)), slices.Grow(c.orders[:0], 4*len(rows))
	data = b.appendColumns(data, rows, [2]uint64{}, unit, c)
	return append(append(data, c.values...), c.orders...)
}

// byGroup returns the numbers of the rows of each group, by user.
func (b *Bag) byGroup() [][]uint32 {
	rows := make([][]uint32, len(b.spec.Groups))
	ascending := b.rows.ascending()
	if len(rows) == 1 {
		rows[0] = ascending
		return rows
	}
	counts := make([]int, len(rows))
	for _, block := range b.rows.blocks {
		for i := range block {
			counts[block[i].group]++
		}
	}
	all := make([]uint32, len(ascending))
	for g, n := range counts {
		rows[g], all = all[:0:n], all[n:]
	}
	for _, i := range ascending {
		g := b.rows.row(i).group
		rows[g] = append(rows[g], i)
	}
	return rows
}

// decodePayload decodes a payload. For any data it returns a well-formed payload or an error.
func decodePayload(data []byte, start int64) (payload, error) {
	p, err := decodeGroups(data, start)
	if err != nil {
		return payload{}, fmt.Errorf("payload of %d bytes: %w", len(data), err)
	}
	return p, nil
}

func decodeGroups(data []byte, start int64) (payload, error) {
	end := len(data) - 4
	switch {
	case len(data) == 0:
		return payload{}, errors.New("it is empty")
	case data[0] != payloadVersion:
		return payload{}, fmt.Errorf("version %d; want %d", data[0], payloadVersion)
	case end < 0 || binary.BigEndian.Uint32(data[end:]) != castagnoli(data[:end]):
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
