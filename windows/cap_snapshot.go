package windows

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A snapshot of a cap is one zstd frame, whose checksum guards it, of
//
//	version             1 byte
//	W, Block, Most, step from one window to the next
//	window that has begun
//	number of users
//	for every user whose block is not over, ascending by hash
//	    hash            16 bytes
//	    windows since the one in which the user counted last, windows of the block in which the user counted
//
// Numbers are varints. That of the window is zigzag.
const snapshotVersion = 1

// Snapshot writes down the cap as it is in the window that has begun. It holds hashes of users: personal, as a payload
// is. A cap that has not begun a window has nothing to write down, and the snapshot of it is empty.
func (c *Cap) Snapshot() []byte {
	if !c.begun {
		return nil
	}
	users := slices.DeleteFunc(c.users.ascending(), func(i uint32) bool { return !c.live(c.users.row(i)) })
	data := make([]byte, 0, 64+20*len(users))
	data = append(data, snapshotVersion)
	for _, n := range c.rule.numbers() {
		data = binary.AppendUvarint(data, n)
	}
	data = binary.AppendVarint(data, c.now)
	data = binary.AppendUvarint(data, uint64(len(users)))
	for _, i := range users {
		r := c.users.row(i)
		data = binary.BigEndian.AppendUint64(data, r.user[0])
		data = binary.BigEndian.AppendUint64(data, r.user[1])
		data = binary.AppendUvarint(data, uint64(c.now-r.order))
		data = binary.AppendUvarint(data, uint64(r.value))
	}
	return compress(data)
}

// numbers are those that must be the same in a snapshot.
func (r CapRule) numbers() [4]uint64 {
	return [4]uint64{uint64(r.Windows), uint64(r.Block), uint64(r.Most), uint64(r.every)}
}

// RestoreCap returns the cap of a snapshot. It goes on with the window after the one that had begun, or begins that one
// again. A snapshot that is damaged, or was taken under another rule, is an error: its users would count by the wrong
// rule.
func RestoreCap(rule CapRule, snapshot []byte) (*Cap, error) {
	raw, err := decompress(snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot of a cap: %w", err)
	}
	r := &reader{rest: raw}
	if v := r.uint8("version"); r.err == nil && v != snapshotVersion {
		return nil, fmt.Errorf("snapshot of a cap: version %d; want %d", v, snapshotVersion)
	}
	for _, want := range rule.numbers() {
		if n := r.uvarint("rule"); r.err == nil && n != want {
			return nil, fmt.Errorf("snapshot of a cap: it was taken under another rule; want one of %d windows in %d, "+
				"and blocks of %d", rule.Most, rule.Windows, rule.Block)
		}
	}
	c := NewCap(rule)
	c.now, c.begun = r.varint("window"), true
	if last := horizon / int64(rule.every); r.err == nil && (c.now < -last || c.now > last) {
		r.fail("window %d; want one from %d to %d", c.now, -last, last)
	}
	c.swept = c.now
	var before UserHash
	n := r.count(18, "users")
	c.users.reserve(n)
	for i := 0; i < n && r.err == nil; i++ {
		u := UserHash{r.uint64("user"), r.uint64("user")}
		ago, count := r.uvarint("last window"), r.uvarint("windows")
		switch {
		case r.err != nil:
		case i > 0 && compareUsers(before, u) >= 0:
			r.fail("user %d does not come after the one before", i)
		case ago >= uint64(rule.Block) || count < 1 || count > uint64(rule.Most):
			r.fail("a user counted in %d windows of a block, the last of them %d ago", count, ago)
		default:
			c.users.insert(row{user: u, order: c.now - int64(ago), value: int64(count)})
			before = u
		}
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot of a cap: %w", err)
	}
	return c, nil
}
