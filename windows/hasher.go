package windows

import (
	"encoding/binary"

	"github.com/dchest/siphash"
)

// UserHash represents a user: the 128-bit keyed hash of the id.
type UserHash [2]uint64

// Hasher makes keyed SipHash-2-4 hashes (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012). Without the key
// nobody can find the user of a hash by trying ids, or choose an id that collides with another. A Hasher is immutable
// and safe for concurrent use.
type Hasher struct{ user, group, choice sipKey }

type sipKey struct{ k0, k1 uint64 }

// NewHasher returns the hasher of a key, which should be 16 random bytes. All workers of an application need the same
// key, so that a user has the same hash in every partition.
func NewHasher(key [16]byte) *Hasher {
	k := sipKey{binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])}
	return &Hasher{k.derive("user"), k.derive("group"), k.derive("choice")}
}

// derive returns a key for one purpose, so that no input of one purpose is ever an input of another.
func (k sipKey) derive(purpose string) sipKey {
	k0, k1 := siphash.Hash128(k.k0, k.k1, []byte(purpose))
	return sipKey{k0, k1}
}

// User returns the hash of a user's id. It does not keep id and does not allocate.
func (h *Hasher) User(id []byte) UserHash {
	a, b := siphash.Hash128(h.user.k0, h.user.k1, id)
	return UserHash{a, b}
}

// name returns the hash of a group's name, for rank.
func (h *Hasher) name(group string) [2]uint64 { return h.nameBytes([]byte(group)) }

// nameBytes does not keep group and does not allocate.
func (h *Hasher) nameBytes(group []byte) [2]uint64 {
	a, b := siphash.Hash128(h.group.k0, h.group.k1, group)
	return [2]uint64{a, b}
}

// rank returns the keyed hash of (user, window start, group), with the hash of its name for the group. The user counts
// in the groups of least rank.
func (h *Hasher) rank(u UserHash, start int64, name [2]uint64) uint64 {
	var b [40]byte
	putUser(b[:], u)
	binary.LittleEndian.PutUint64(b[16:], uint64(start))
	putUser(b[24:], name)
	return siphash.Hash(h.group.k0, h.group.k1, b[:])
}

// pick returns the keyed hash of (user, time, value) by which policy random chooses, as a signed number because it
// takes the place of an event time.
func (h *Hasher) pick(u UserHash, time, value int64) int64 {
	var b [32]byte
	putUser(b[:], u)
	binary.LittleEndian.PutUint64(b[16:], uint64(time))
	binary.LittleEndian.PutUint64(b[24:], uint64(value))
	return int64(siphash.Hash(h.choice.k0, h.choice.k1, b[:]))
}

func putUser(b []byte, u UserHash) {
	binary.LittleEndian.PutUint64(b, u[0])
	binary.LittleEndian.PutUint64(b[8:], u[1])
}
