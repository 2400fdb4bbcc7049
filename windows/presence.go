package windows

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// PresenceRule says who is active at the end of a window: users who counted in one of the newest windows.
type PresenceRule struct {
	// Windows is how many windows up to a moment make a user active then, at least 1. Every is the step from one window
	// to the next.
	Windows int64
	Every   time.Duration
	// Groups is how many groups the stream has, at least 1. MaxGroups is in how many of them one user counts at the
	// same time, from 1 to Groups.
	Groups, MaxGroups int
	// Keep is for how many windows a user keeps a group in which they are no longer active.
	Keep int64
	// Counts reports whether a value of a window counts. Apart from the value, it must depend on public figures only.
	Counts func(value int64) bool
}

// Presence counts who is active in each group, window by window, in their order. It remembers for each user and group
// the last window in which they counted.
//
// A user counts in the first MaxGroups groups in which they are seen. Inside a window these are taken in the order in
// which a bag chooses groups: by a keyed hash. They keep these groups, and give one up after Keep windows at whose ends
// they were not active in it.
//
// So a user is active in at most MaxGroups groups in any Keep + 1 windows in a row. Whether a user is active depends
// only on that user's own records, the schedule and the key. So removing all that one user ever sent changes each
// number by 0 or 1, and at most MaxGroups of them within so many windows. A Presence is not safe for concurrent use.
type Presence struct {
	rule PresenceRule
	// users has a row for each user and group: order is the number of the last window in which the user counted there.
	users table
	// newest holds, for each group and each of the newest windows, how many users counted there last. Their sums are
	// active. So nobody has to be looked for who is no longer active.
	newest []int64
	active []int64
	now    int64 // the number of the window that has begun
	swept  int64 // the window at which users were forgotten
	begun  bool
}

// NewPresence returns the presence of nobody.
func NewPresence(rule PresenceRule) *Presence {
	return &Presence{rule: rule, users: newTable(), newest: make([]int64, int64(rule.Groups)*rule.Windows),
		active: make([]int64, rule.Groups)}
}

// slot is where the users of a group are counted whose last window this is.
func (p *Presence) slot(group int32, window int64) *int64 {
	at := window % p.rule.Windows
	if at < 0 {
		at += p.rule.Windows
	}
	return &p.newest[int64(group)*p.rule.Windows+at]
}

// Begin goes on to a window, which must not lie before the one that began last. To begin the same one again changes
// nothing.
func (p *Presence) Begin(w Window) error {
	now := floor(w.Start, p.rule.Every) / int64(p.rule.Every)
	if p.begun && now < p.now {
		return fmt.Errorf("a window that starts at %s comes after one that starts at %s; want windows in their order",
			format(w.Start), format(p.Began()))
	}
	if !p.begun {
		p.now, p.swept, p.begun = now, now, true
	}
	for at := max(p.now, now-p.rule.Windows) + 1; at <= now; at++ {
		for g := range p.active { // those who were last seen so long ago leave
			of := p.slot(int32(g), at)
			p.active[g], *of = p.active[g]-*of, 0
		}
	}
	p.now = now
	if reach := p.reach(); now-p.swept > reach/4 {
		p.users = p.users.without(func(r *row) bool { return now-r.order >= reach })
		p.swept = now
	}
	return nil
}

// Began returns the start of the window that has begun, in Unix nanoseconds.
func (p *Presence) Began() int64 { return p.now * int64(p.rule.Every) }

// reach is how many windows after the last one a user has given up a group.
func (p *Presence) reach() int64 { return p.rule.Windows + p.rule.Keep }

// Remembers is how many windows there are at most whose users are remembered. Users who have given up a group are
// forgotten up to a quarter of that time later.
func (r PresenceRule) Remembers() int64 { return r.Windows + r.Keep + (r.Windows+r.Keep)/4 }

// Visit takes note of what a user has in the window that has begun, in the order in which groups are chosen: earlier
// ones take the places that MaxGroups leaves. Call it once for each user.
func (p *Presence) Visit(u UserHash, has []Contribution) {
	for _, c := range has {
		if p.rule.Counts(c.Value) {
			p.see(u, int32(c.Group))
		}
	}
}

// see has a user count in a group, if they may.
func (p *Presence) see(u UserHash, group int32) {
	var old *row // of a group that was given up
	groups := 0
	for r, slot := p.users.next(u, p.users.place(u)); r != nil; r, slot = p.users.next(u, p.users.after(slot)) {
		switch {
		case p.now-r.order >= p.reach():
			old = r
		case r.group == group:
			p.move(r)
			return
		default:
			groups++
		}
	}
	switch {
	case groups == p.rule.MaxGroups:
		return
	case old != nil:
		old.group, old.order = group, p.now
	default:
		p.users.insert(row{user: u, group: group, order: p.now})
	}
	*p.slot(group, p.now)++
	p.active[group]++
}

// move notes that the window that has begun is the last one of a user and group.
func (p *Presence) move(r *row) {
	if p.now-r.order < p.rule.Windows {
		*p.slot(r.group, r.order)--
		p.active[r.group]--
	}
	r.order = p.now
	*p.slot(r.group, p.now)++
	p.active[r.group]++
}

// Active returns how many users are active in each group at the end of the window that has begun. The numbers are
// exact, and so private: they leave only with noise. The caller must not change the slice.
func (p *Presence) Active() []int64 { return p.active }

// Bytes returns how much memory it takes: about 50 bytes for each user and group. The number tells how many users there
// are, so it is private.
func (p *Presence) Bytes() int64 { return p.users.bytes() + 8*int64(len(p.newest)+len(p.active)) }

// Users returns how many pairs of a user and a group are remembered. The number is private.
func (p *Presence) Users() int { return p.users.n }

// A snapshot of a presence is one zstd frame, whose checksum guards it, of
//
//	version                               1 byte
//	Windows, Every, Groups, MaxGroups, Keep
//	number of the last window             0 if none has begun
//	number of rows
//	for every user and group, ascending
//	    hash                              16 bytes
//	    group, how many windows ago the user counted there
//
// Numbers are varints.
const presenceVersion = 1

// numbers returns what must be the same in a snapshot.
func (r PresenceRule) numbers() [5]uint64 {
	return [5]uint64{uint64(r.Windows), uint64(r.Every), uint64(r.Groups), uint64(r.MaxGroups), uint64(r.Keep)}
}

// Snapshot writes down who is active, and who keeps a group. It holds hashes of users: personal, as a payload is.
func (p *Presence) Snapshot() []byte {
	rows := slices.DeleteFunc(p.users.ascendingGroups(p.rule.MaxGroups),
		func(i uint32) bool { return p.now-p.users.row(i).order >= p.reach() })
	data := []byte{presenceVersion}
	for _, n := range p.rule.numbers() {
		data = binary.AppendUvarint(data, n)
	}
	data = binary.AppendVarint(data, p.now)
	return compress(appendRows(data, &p.users, rows,
		func(r *row) (group, ago int64) { return int64(r.group), p.now - r.order }))
}

// RestorePresence returns the presence of a snapshot. It goes on with the window after the one that had begun, or
// begins that one again. A snapshot that is damaged, or was taken under another rule, is an error: its users would
// count by the wrong rule.
func RestorePresence(rule PresenceRule, snapshot []byte) (*Presence, error) {
	r := openSnapshot(snapshot, presenceVersion)
	for _, want := range rule.numbers() {
		if n := r.uvarint("rule"); r.err == nil && n != want {
			r.fail("it was taken under another rule: %d; want %d", n, want)
		}
	}
	p := NewPresence(rule)
	p.now, p.begun = r.window(rule.Every), true
	p.swept = p.now
	readRows(r, &p.users, true, "group", "last window", func(u UserHash, group, ago uint64) {
		groups, twice := 0, false
		for o, slot := p.users.next(u, p.users.place(u)); o != nil; o, slot = p.users.next(u, p.users.after(slot)) {
			groups, twice = groups+1, twice || o.group == int32(group)
		}
		if group >= uint64(rule.Groups) || ago >= uint64(p.reach()) || groups == rule.MaxGroups || twice {
			r.fail("user %d counted in group %d, the user's group number %d, %d windows ago; want each group once, at "+
				"most %d of %d groups, and less than %d windows ago", p.users.n, group, groups+1, ago, rule.MaxGroups,
				rule.Groups, p.reach())
			return
		}
		p.users.insert(row{user: u, group: int32(group), order: p.now - int64(ago)})
		if ago < uint64(rule.Windows) {
			*p.slot(int32(group), p.now-int64(ago))++
			p.active[group]++
		}
	})
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot of who is active: %w", err)
	}
	return p, nil
}
