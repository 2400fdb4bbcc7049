package windows

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The table finds every row that was inserted and nothing else, however the users collide and the table grows, and
// gives its rows by user. Users of few different hashes meet in the same clusters, and those of the greatest hashes
// wrap around the end.
func TestTableMatchesMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 32, 1 << 63, ^uint64(0), ^uint64(0) - 1}))
		users := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) UserHash {
			return UserHash{word.Draw(t, "first"), word.Draw(t, "second")}
		}), 1, 40, func(u UserHash) UserHash { return u }).Draw(t, "users")
		rows, want := newTable(), map[UserHash][]int64{}
		for i := range rapid.IntRange(0, 1500).Draw(t, "rows") {
			u := users[(i*i+i/7)%len(users)]
			rows.insert(row{user: u, value: int64(i)})
			want[u] = append(want[u], int64(i))
		}
		n := 0
		for _, u := range users {
			var got []int64
			for r, slot := rows.next(u, rows.place(u)); r != nil; r, slot = rows.next(u, rows.after(slot)) {
				got = append(got, r.value)
			}
			if slices.Sort(got); !slices.Equal(got, want[u]) {
				t.Fatalf("user %x has rows %d, want %d", u, got, want[u])
			}
			n += len(got)
			delete(want, u)
		}
		if r, _ := rows.next(UserHash{0, 1<<40 + 7}, 0); r != nil && !slices.Contains(users, r.user) {
			t.Fatalf("a user without rows has one of user %x", r.user)
		}
		ascending := rows.ascending()
		if len(ascending) != rows.n || n != rows.n {
			t.Fatalf("%d rows ascend and %d are found, want %d", len(ascending), n, rows.n)
		}
		if !slices.IsSortedFunc(ascending, func(i, j uint32) int {
			return compareUsers(rows.row(i).user, rows.row(j).user)
		}) {
			t.Fatal("the rows do not ascend by user")
		}
		rows.users(func(numbers []uint32) {
			u := rows.row(numbers[0]).user
			for _, i := range numbers {
				if r := rows.row(i); r.user != u {
					t.Fatalf("a row of user %x is among those of %x", r.user, u)
				}
			}
			want[u] = append(want[u], int64(len(numbers)))
		})
		for _, u := range users {
			r, _ := rows.next(u, rows.place(u))
			if got := len(want[u]); r != nil && got != 1 || r == nil && got != 0 {
				t.Fatalf("user %x came %d times", u, got)
			}
			for _, got := range want[u] {
				n -= int(got)
			}
		}
		if n != 0 {
			t.Fatalf("%d rows came with no user", n)
		}
	})
}

// A search looks at few rows in vain: the bits in a slot tell most users apart.
func TestSlotsTellUsersApart(t *testing.T) {
	h, rows := NewHasher([16]byte{1}), newTable()
	for i := range 3000 {
		rows.insert(row{user: h.User(fmt.Append(nil, i))})
	}
	same := 0
	for i, s := range rows.slots {
		for j := i + 1; s != 0 && j < len(rows.slots) && rows.slots[j] != 0; j++ {
			if mask := uint32(len(rows.slots) - 1); (s^rows.slots[j])&^mask == 0 {
				same++
			}
		}
	}
	// At most a few ten thousand pairs share a cluster, and each agrees in 20 bits with probability 2⁻²⁰.
	if same > 10 {
		t.Errorf("%d pairs of rows that stand together have the same bits", same)
	}
}

// Users of one table go into another without meeting there, even if it has to grow for them. In ascending order they
// would pass each other again and again: the work would grow with the square of their number.
func TestUsersDoNotMeetInAnotherTable(t *testing.T) {
	const n = 20_000
	h, rows := NewHasher([16]byte{1}), newTable()
	for i := range n {
		rows.insert(row{user: h.User(fmt.Append(nil, i))})
	}
	passed := func(users []uint32, room int) (slots int) {
		other := newTable()
		other.reserve(room)
		for _, i := range users {
			u := rows.row(i).user
			for slot := other.place(u); other.slots[slot] != 0; slot = other.after(slot) {
				slots++
			}
			other.insert(row{user: u})
		}
		return slots
	}
	var spread []uint32
	rows.users(func(numbers []uint32) { spread = append(spread, numbers...) })
	// Linear probing passes (1/(1 − α)² − 1)/2 slots for a new row at a load of α, so at most 7.5 of three quarters.
	for _, c := range []struct {
		what  string
		users []uint32
		room  int
	}{{"spread evenly", spread, 0}, {"ascending, with room for all", rows.ascending(), n}} {
		if got := passed(c.users, c.room); got > 8*n {
			t.Errorf("%s: %d users pass %d slots, want at most 8 each", c.what, n, got)
		}
	}
	if got := passed(rows.ascending(), 0); got < 100*n {
		t.Errorf("ascending: %d slots are passed, so this test shows nothing", got)
	}
}
