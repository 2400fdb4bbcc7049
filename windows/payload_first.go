package windows

import "fmt"

// decodeFirst decodes a payload of version 1, which only the release before wrote. It is one zstd frame, whose checksum
// guards it, of
//
//	version, 0, policy      1 byte each
//	MaxGroups of the bag, number of groups
//	for every group that has contributions, ascending by name
//	    length of the name, name, number of rows
//	    column of values    ascending: the first as it is, then differences
//	    column of orders    as in version 2, with times in nanoseconds
//	    column of hashes    16 bytes each
func decodeFirst(data []byte, start int64) (policy Policy, groups []column, err error) {
	raw, err := decompress(data)
	if err != nil {
		return "", nil, err
	}
	r := &reader{rest: raw}
	if v := r.uint8("version"); r.err == nil && v != 1 {
		return "", nil, fmt.Errorf("version %d; want 1 or %d", v, payloadVersion)
	}
	if kind := r.uint8("kind"); kind != 0 {
		return "", nil, fmt.Errorf("kind %d is unknown", kind)
	}
	policy = r.policy()
	r.uvarint("max groups")
	for n := r.count(3+16, "groups"); n > 0 && r.err == nil; n-- {
		g := decodeFirstColumn(r, policy, start)
		if last := len(groups) - 1; last >= 0 && groups[last].name >= g.name {
			r.fail("groups are not ascending by name")
		}
		groups = append(groups, g)
	}
	return policy, groups, r.end()
}

func decodeFirstColumn(r *reader, policy Policy, start int64) column {
	g := column{name: string(r.bytes(r.count(1, "name"), "name")), policy: policy, start: start, unit: 1, ascend: true}
	if g.n = r.rows(); g.n == 0 {
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
	g.orders = r.orders(g.n, policy)
	g.users = r.bytes(16*g.n, "users")
	return g
}
