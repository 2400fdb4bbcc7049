package windows

// BagSpec says what a [Bag] or [Merger] holds.
type BagSpec struct {
	Groups    []string // public list of names, each once; groups are given by their index in it
	MaxGroups int      // in how many groups one user counts; below 1 means 1
	Policy    Policy   // which of a user's values counts
	Window    Window
	Hasher    *Hasher
}

// limited reports whether a user may have records in more groups than count.
func (s BagSpec) limited() bool { return s.MaxGroups < len(s.Groups) }

// Bag holds the contributions to one (stream, slice, partition), or to one window while its parts are merged. It keeps
// one value for each user and group, in at most MaxGroups groups of a user, and for each group the ordered multiset of
// its values.
//
// Promise: if two series of Adds, in any order, differ only by all Adds of one user, then at most MaxGroups samples
// differ, each by one value.
//
// A Bag is not safe for concurrent use.
type Bag struct {
	spec     BagSpec
	names    [][2]uint64 // hashes of the groups' names
	timed    bool        // policy first or last
	random   bool        // policy random
	greatest bool        // policy last or max

	heads  map[UserHash]int32 // each user's first contribution in arena
	arena  []contribution
	values []multiset // one a group
	pool   *pool
}

// contribution is a user's value in a group. The contributions of one user are a list in the arena.
type contribution struct {
	point *Point // the value, in the multiset of the group
	order int64  // what the policy compares before the value: event time, keyed hash, or 0
	rank  uint64 // of the group for this user; 0 if all groups count
	group int32
	next  int32 // index in the arena, or none
}

const none int32 = -1

// NewBag returns an empty bag.
func NewBag(spec BagSpec) *Bag {
	spec.MaxGroups = min(max(spec.MaxGroups, 1), max(len(spec.Groups), 1))
	b := &Bag{
		spec:     spec,
		timed:    spec.Policy.timed(),
		random:   spec.Policy == Random,
		greatest: spec.Policy.greatest(),
		heads:    make(map[UserHash]int32),
		values:   make([]multiset, len(spec.Groups)),
		pool:     newPool(),
	}
	for i := range b.values {
		b.values[i] = newMultiset(b.pool)
	}
	if spec.limited() {
		b.names = make([][2]uint64, len(spec.Groups))
		for i, g := range spec.Groups {
			b.names[i] = spec.Hasher.name(g)
		}
	}
	return b
}

// Add adds a record of user u in the group with this index. Its event time is in Unix nanoseconds and its value is an
// index on the grid (−1 and N+1 are beyond the bounds, and compare as integers). superseded says that the user already
// had a contribution here, and one of the two, old or new, no longer counts.
func (b *Bag) Add(u UserHash, group int, time, value int64) (superseded bool) {
	var order int64
	switch {
	case b.timed:
		order = time
	case b.random:
		order = b.spec.Hasher.pick(u, time, value)
	}
	return b.add(u, int32(group), order, value)
}

func (b *Bag) add(u UserHash, group int32, order, value int64) (superseded bool) {
	head, known := b.heads[u]
	if !known {
		b.heads[u] = int32(len(b.arena))
		b.push(u, group, order, value, none)
		return false
	}
	groups, worst := 0, head
	for i := head; i != none; i = b.arena[i].next {
		c := &b.arena[i]
		if c.group == group {
			if b.wins(order, value, c) {
				b.values[group].remove(c.point)
				c.order, c.point = order, b.values[group].add(value, 1)
			}
			return true
		}
		if groups++; b.before(b.arena[worst].rank, b.arena[worst].group, c) {
			worst = i
		}
	}
	if groups < b.spec.MaxGroups {
		at := int32(len(b.arena))
		b.push(u, group, order, value, b.arena[head].next)
		b.arena[head].next = at // after the head, so that the map need not change
		return false
	}
	// Here the spec is limited, and the user has a group beyond the MaxGroups that are kept.
	if c, rank := &b.arena[worst], b.rank(u, group); b.before(rank, group, c) {
		b.values[c.group].remove(c.point)
		*c = contribution{b.values[group].add(value, 1), order, rank, group, c.next}
	}
	return true
}

func (b *Bag) push(u UserHash, group int32, order, value int64, next int32) {
	b.arena = append(b.arena, contribution{b.values[group].add(value, 1), order, b.rank(u, group), group, next})
}

// wins reports whether a record counts instead of contribution c of the same user and group. It compares (order,
// value), a total order, so the sequence of reading does not matter.
func (b *Bag) wins(order, value int64, c *contribution) bool {
	if order != c.order {
		return (order < c.order) != b.greatest
	}
	return value != c.point.Index && (value < c.point.Index) != b.greatest
}

// before reports whether a group of this rank is chosen before the group of c. If two ranks collide, the name decides.
// The index can't, because another process may have the groups in another order.
func (b *Bag) before(rank uint64, group int32, c *contribution) bool {
	if rank != c.rank {
		return rank < c.rank
	}
	return b.spec.Groups[group] < b.spec.Groups[c.group]
}

func (b *Bag) rank(u UserHash, group int32) uint64 {
	if !b.spec.limited() {
		return 0
	}
	return b.spec.Hasher.rank(u, b.spec.Window.Start, b.names[group])
}

// Sample returns the values of a group, ascending, with the number of users that have each. The slice is the caller's.
func (b *Bag) Sample(group int) []Point { return b.values[group].points() }

// only returns a bag of the users for whom keep is true. It asks once for each.
func (b *Bag) only(keep func(u UserHash) bool) *Bag {
	some := NewBag(b.spec)
	for u, head := range b.heads {
		if !keep(u) {
			continue
		}
		for i := head; i != none; i = b.arena[i].next {
			c := &b.arena[i]
			some.add(u, c.group, c.order, c.point.Index)
		}
	}
	return some
}

// Users returns how many users have a contribution in the bag. The number is personal: it must not be released.
func (b *Bag) Users() int { return len(b.heads) }

// Bytes estimates the memory held, in bytes, from a few lengths.
func (b *Bag) Bytes() int64 {
	const (
		perBag   = 1 << 10
		perGroup = 96
		perUser  = 38      // map: 25 bytes a slot, two thirds of the slots in use
		perSlot  = 32      // contribution
		perPoint = 16 + 12 // and its pointer in a tree whose nodes are two thirds full
	)
	return perBag + perGroup*int64(len(b.values)) + perUser*int64(len(b.heads)) +
		perSlot*int64(cap(b.arena)) + perPoint*int64(b.pool.made)
}
