package windows

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/windows/period"
)

// CapSpec limits the number of windows of a period in which one user counts.
type CapSpec struct {
	// Count is k: nobody counts in more than k windows of any period. It is at least Parts + 1. For windows that
	// overlap, it is at least that number times the number of windows that hold a moment.
	Count int64
	// Per is the length of the period, which is at least as long as a window.
	Per time.Duration
	// Parts is how many blocks a period is divided into. 0 means 3. With more blocks a user counts at more times of the
	// period, and in fewer windows of each block.
	Parts int64
}

// defaultParts replaces Parts 0.
const defaultParts = 3

// CapRule says in which windows a user counts.
//
// Windows have numbers: the start divided by the step from one window to the next. For each user they are divided into
// blocks of Block windows. A keyed hash of the user shifts the borders of the blocks, so that they begin at different
// times for different users. In each block the user counts in the first Most windows in which they appear, and in no
// later one.
//
// Nobody counts in more than k windows of any period: W consecutive windows touch at most Parts + 1 blocks of one user,
// for Block ≥ W/Parts, and Most is k/(Parts + 1), rounded down. This holds for every period, whenever it begins.
//
// Whether a user counts depends on the schedule, the key and that user's own records. So adding or removing everything
// that one user ever sent changes the samples of at most k windows of a period, and in each as much as without a cap.
type CapRule struct {
	Windows int64 // W, the windows of a period
	Block   int64 // windows in a block
	Most    int64 // windows of a block in which a user counts
	every   time.Duration
}

// CapError says which field of a [CapSpec] is wrong, by its name in streams files, and what would be right.
type CapError struct{ Field, Problem string }

func (e *CapError) Error() string { return "max_windows " + e.Field + ": " + e.Problem }

// Rule returns the rule for the windows of a schedule. Its error is a [CapError].
func (c CapSpec) Rule(s Schedule) (CapRule, error) {
	parts := c.Parts
	if parts == 0 {
		parts = defaultParts
	}
	if parts < 1 || parts > 1000 {
		return CapRule{}, &CapError{"parts", fmt.Sprintf("%d; want a whole number from 1 to 1000", parts)}
	}
	if c.Per < s.Size || c.Per > longest {
		return CapRule{}, &CapError{"per", fmt.Sprintf("%s; want from %s, the size of a window, to %s",
			period.Text(c.Per), period.Text(s.Size), period.Text(longest))}
	}
	overlap := int64(s.Size / s.Every)
	if least := overlap * (parts + 1); c.Count < least || c.Count > 1e9 {
		why := fmt.Sprintf("a period reaches into %d parts, and a user counts in a window of each", parts+1)
		if overlap > 1 {
			why = fmt.Sprintf("a period reaches into %d parts, and in each a user counts in the %d windows "+
				"that hold one event", parts+1, overlap)
		}
		return CapRule{}, &CapError{"count", fmt.Sprintf("%d; want from %d to 1000000000, because %s",
			c.Count, least, why)}
	}
	r := CapRule{Windows: ceilDiv(int64(c.Per), int64(s.Every)), Most: c.Count / (parts + 1), every: s.Every}
	// Blocks that divide a day would always begin at the same times of day. Then a user who comes only at one hour
	// would always be in the first windows of a block, or never.
	for r.Block = ceilDiv(r.Windows, parts); 24*time.Hour%(time.Duration(r.Block)*s.Every) == 0; r.Block++ {
	}
	return r, nil
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// Every returns the step from one window to the next.
func (r CapRule) Every() time.Duration { return r.every }

// AtMost returns in how many windows of any period one user counts at most. It may be less than the Count of the spec,
// since every block has the same share.
func (r CapRule) AtMost() int64 { return r.AtMostOf(r.Windows) }

// AtMostOf returns in how many of n windows in a row one user counts at most, for n ≥ 1.
//
// n consecutive windows touch at most 1 + ⌈(n−1)/Block⌉ blocks: the first one holds at least one of them.
func (r CapRule) AtMostOf(n int64) int64 { return min(n, r.Most*(1+ceilDiv(n-1, r.Block))) }

// ChangedBy returns how many windows can have another sample if a user takes back all or a part of what they have in n
// windows in a row, for n ≥ 1. That is more than AtMostOf(n), because a turn that is not used there is used later in
// the same block.
//
// In a block of B windows a user counts in the first m in which they appear, and taking back only makes these fewer. A
// block that ends within the n windows has no later window, so only the last block gains windows outside. Each window
// that is gained replaces one that is lost, so at most n and at most m are gained. None of the first m windows of the
// block is gained, so at most B − m are. If windows overlap, those at the end of the n also hold events that stay.
// There are fewer than m of those windows, and for each turn that they gain, the last block counts for one less.
func (r CapRule) ChangedBy(n int64) int64 {
	return r.AtMostOf(n) + min(n, r.Most, max(0, r.Block-r.Most))
}

// number returns the number of a window.
func (r CapRule) number(w Window) int64 { return floor(w.Start, r.every) / int64(r.every) }

// block returns the number of a user's block that holds a window.
func (r CapRule) block(u UserHash, window int64) int64 {
	shifted := window + int64(u[1]%uint64(r.Block))
	block := shifted / r.Block
	if shifted%r.Block < 0 {
		block-- // Go rounds towards 0
	}
	return block
}

// Cap applies a CapRule to one window after another. It remembers for each user the last window in which they counted,
// and in how many windows of its block. It knows everybody who counted in the last Block windows or up to a quarter
// more. It is not safe for concurrent use.
type Cap struct {
	rule CapRule
	// users has a row for each user: order is the number of the last window in which the user counted, and value is in
	// how many windows of its block the user had counted by then.
	users table
	now   int64 // the number of the window that has begun
	swept int64 // the window at which users were forgotten
	begun bool
}

// NewCap returns a cap that knows of no users. It decides rightly once it has been through [CapRule.Reach] windows.
func NewCap(rule CapRule) *Cap { return &Cap{rule: rule, users: newTable()} }

// Reach returns how many windows before a window decide who counts in it. A new cap that has been through that many
// decides like one that has been through all windows.
func (r CapRule) Reach() int64 { return r.Block - 1 }

// Begin goes on to a window, which must not lie before the one that began last. To begin the same one again changes
// nothing.
func (c *Cap) Begin(w Window) error {
	now := c.rule.number(w)
	if c.begun && now < c.now {
		return fmt.Errorf("a window that starts at %s comes after one that starts at %s; want windows in their order",
			format(w.Start), format(c.Began()))
	}
	if !c.begun {
		c.swept, c.begun = now, true
	}
	c.now = now
	if now-c.swept > c.rule.Block/4 {
		c.sweep()
	}
	return nil
}

// Began returns the start of the window that has begun, in Unix nanoseconds.
func (c *Cap) Began() int64 { return c.now * int64(c.rule.every) }

// sweep forgets users whose block is over.
func (c *Cap) sweep() {
	c.users = c.users.without(func(r *row) bool { return !c.live(r) })
	c.swept = c.now
}

// live reports whether the window that has begun is in the block in which the user counted last.
func (c *Cap) live(r *row) bool { return c.rule.block(r.user, r.order) == c.rule.block(r.user, c.now) }

// Counts reports whether a user counts in the window that has begun. The user must have something there: the answer
// uses up a turn. A second question about the same window has the same answer.
func (c *Cap) Counts(u UserHash) bool {
	r, _ := c.users.next(u, c.users.place(u))
	switch {
	case r == nil:
		c.users.insert(row{user: u, order: c.now, value: 1})
		return true
	case !c.live(r):
		r.value = 0
	case r.order == c.now:
		return true
	case r.value >= c.rule.Most:
		return false
	}
	r.order, r.value = c.now, r.value+1
	return true
}

// Bytes returns how much memory the cap takes: 46 to 51 bytes for each user. The number tells how many users there are,
// so it is private.
func (c *Cap) Bytes() int64 { return c.users.bytes() }

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
const capVersion = 1

// Snapshot writes down the cap as it is in the window that has begun. It holds hashes of users: personal, as a payload
// is. A cap that has not begun a window has nothing to write down, and the snapshot of it is empty.
func (c *Cap) Snapshot() []byte {
	if !c.begun {
		return nil
	}
	users := slices.DeleteFunc(c.users.ascending(), func(i uint32) bool { return !c.live(c.users.row(i)) })
	data := []byte{capVersion}
	for _, n := range c.rule.numbers() {
		data = binary.AppendUvarint(data, n)
	}
	data = binary.AppendVarint(data, c.now)
	data = appendRows(data, &c.users, users, func(r *row) (ago, count int64) { return c.now - r.order, r.value })
	return compress(data)
}

// numbers returns what must be the same in a snapshot.
func (r CapRule) numbers() [4]uint64 {
	return [4]uint64{uint64(r.Windows), uint64(r.Block), uint64(r.Most), uint64(r.every)}
}

// RestoreCap returns the cap of a snapshot. It goes on with the window after the one that had begun, or begins that one
// again. A snapshot that is damaged, or was taken under another rule, is an error: its users would count by the wrong
// rule.
func RestoreCap(rule CapRule, snapshot []byte) (*Cap, error) {
	r := openSnapshot(snapshot, capVersion)
	for _, want := range rule.numbers() {
		if n := r.uvarint("rule"); r.err == nil && n != want {
			r.fail("it was taken under another rule; want one of %d windows in %d, and blocks of %d", rule.Most,
				rule.Windows, rule.Block)
		}
	}
	c := NewCap(rule)
	c.now, c.begun = r.window(rule.every), true
	c.swept = c.now
	readRows(r, &c.users, false, "last window", "windows", func(u UserHash, ago, count uint64) {
		if ago >= uint64(rule.Block) || count < 1 || count > uint64(rule.Most) {
			r.fail("a user counted in %d windows of a block, the last of them %d ago", count, ago)
			return
		}
		c.users.insert(row{user: u, order: c.now - int64(ago), value: int64(count)})
	})
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot of a cap: %w", err)
	}
	return c, nil
}
