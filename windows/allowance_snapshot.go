package windows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// A snapshot of an allowance is one zstd frame, whose checksum guards it, of
//
//	version             1 byte
//	MaxGroups, Most
//	number of rows
//	for every user and group, ascending
//	    hash            16 bytes
//	    group, how much of Most is used up there
//
// Numbers are varints. Groups are numbers in the stream's list, which must be the same.
const allowanceVersion = 1

// Snapshot writes down who has counted. It holds hashes of users: personal, as a payload is.
func (a *Allowance) Snapshot() []byte {
	rows := a.users.ascending()
	if a.rule.MaxGroups > 1 {
		slices.SortFunc(rows, func(i, j uint32) int {
			x, y := a.users.row(i), a.users.row(j)
			return cmp.Or(compareUsers(x.user, y.user), cmp.Compare(x.group, y.group))
		})
	}
	data := make([]byte, 0, 64+20*len(rows))
	data = append(data, allowanceVersion)
	data = binary.AppendUvarint(data, uint64(a.rule.MaxGroups))
	data = binary.AppendUvarint(data, uint64(a.rule.Most))
	data = binary.AppendUvarint(data, uint64(len(rows)))
	for _, i := range rows {
		r := a.users.row(i)
		data = binary.BigEndian.AppendUint64(data, r.user[0])
		data = binary.BigEndian.AppendUint64(data, r.user[1])
		data = binary.AppendUvarint(data, uint64(r.group))
		data = binary.AppendUvarint(data, uint64(r.value))
	}
	return compress(data)
}

// RestoreAllowance returns the allowance of a snapshot, for a stream with a number of groups. A snapshot that is
// damaged, or was taken under another rule, is an error: its users would count by the wrong rule.
func RestoreAllowance(rule AllowanceRule, groups int, snapshot []byte) (*Allowance, error) {
	raw, err := decompress(snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot of an allowance: %w", err)
	}
	r := &reader{rest: raw}
	if v := r.uint8("version"); r.err == nil && v != allowanceVersion {
		r.fail("version %d; want %d", v, allowanceVersion)
	}
	if g, m := r.uvarint("groups"), r.uvarint("most"); r.err == nil &&
		(g != uint64(rule.MaxGroups) || m != uint64(rule.Most)) {
		r.fail("it was taken under another rule: %d groups and at most %d; want %d and %d",
			g, m, rule.MaxGroups, rule.Most)
	}
	a := NewAllowance(rule)
	var before UserHash
	rows := r.count(18, "users")
	a.users.reserve(rows)
	for i := 0; i < rows && r.err == nil; i++ {
		u := UserHash{r.uint64("user"), r.uint64("user")}
		group, used := r.uvarint("group"), r.uvarint("used")
		of, n := a.find(u, int32(group))
		switch {
		case r.err != nil:
		case i > 0 && compareUsers(before, u) > 0:
			r.fail("user %d does not come after the one before", i)
		case group >= uint64(groups) || n >= rule.MaxGroups || used < 1 || used > uint64(rule.Most) || of != nil:
			r.fail("a user has used up %d in group %d, their group number %d", used, group, n+1)
		default:
			a.users.insert(row{user: u, group: int32(group), value: int64(used)})
			before = u
		}
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot of an allowance: %w", err)
	}
	return a, nil
}
