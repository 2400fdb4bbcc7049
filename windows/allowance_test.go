package windows

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// visit is a record of a stream for tests.
type visit struct {
	user   UserHash
	group  int
	window int
	value  int64
}

// TestAllowanceByBruteForce takes random events through bags, payloads, mergers of several passes and an allowance that
// is written down and restored after some windows. What users add is what a plain reading of the rule says.
func TestAllowanceByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 4, rapid.ID).Draw(t, "groups")
		spec := BagSpec{Groups: groups, MaxGroups: rapid.IntRange(1, len(groups)).Draw(t, "max groups"), Policy: Max,
			Hasher: NewHasher([16]byte{byte(rapid.Int().Draw(t, "key"))})}
		least := rapid.Int64Range(-9, 5).Draw(t, "least")
		rule := AllowanceRule{MaxGroups: spec.MaxGroups, Most: rapid.Int64Range(1, 12).Draw(t, "most"),
			Adds: func(value int64) int64 {
				if value < least { // the filter of a count, or a sum
					return 0
				}
				return value
			}}
		places := rapid.IntRange(1, 3).Draw(t, "places")
		if places > 1 || rapid.Bool().Draw(t, "one place by name") {
			rule.Places, rule.Place = places, func(value int64) int { return int(value+5) % places }
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		windows := 6
		var events []visit
		for range rapid.IntRange(0, 200).Draw(t, "events") {
			events = append(events, visit{spec.Hasher.User([]byte{byte(r.IntN(12))}),
				r.IntN(len(groups)), r.IntN(windows), r.Int64N(15) - 5})
		}

		a := NewAllowance(rule)
		used, in := map[UserHash]map[int]int64{}, map[UserHash][]int{}
		for w := range windows {
			start := int64(w) * int64(time.Minute)
			spec.Window = Window{start, start + int64(time.Minute)}
			bags := []*Bag{NewBag(spec), NewBag(spec)}
			values := map[UserHash]map[int]int64{} // the greatest of each user and group
			for i, e := range events {
				if e.window != w {
					continue
				}
				for range 1 + i%2 { // some are read twice
					bags[r.IntN(2)].Add(e.user, e.group, start+int64(i), e.value)
				}
				if values[e.user] == nil {
					values[e.user] = map[int]int64{}
				}
				if v, ok := values[e.user][e.group]; !ok || e.value > v {
					values[e.user][e.group] = e.value
				}
			}
			got := make([]int64, len(groups)*places)
			m := NewMerger(spec, int64(r.IntN(2000)))
			m.Restrict(func(u UserHash) bool { return u[0]%2 == 0 }) // has no influence
			m.Visit(func(u UserHash, seen []Contribution) { a.Visit(u, seen, got) })
			for m.Pass() {
				for _, b := range bags {
					if err := m.Add(b.Seal(), spec.Window); err != nil {
						t.Fatal(err)
					}
				}
			}

			want := make([]int64, len(groups)*places)
			for u, of := range values {
				var order []int
				for g := range of {
					order = append(order, g)
				}
				slices.SortFunc(order, func(x, y int) int {
					rank := func(g int) uint64 { return spec.Hasher.rank(u, start, spec.Hasher.name(groups[g])) }
					return cmp.Compare(rank(x), rank(y))
				})
				for _, g := range order[:min(len(order), spec.MaxGroups)] {
					adds := rule.Adds(of[g])
					if adds == 0 || !slices.Contains(in[u], g) && len(in[u]) == rule.MaxGroups {
						continue
					}
					if !slices.Contains(in[u], g) {
						in[u] = append(in[u], g)
					}
					if used[u] == nil {
						used[u] = map[int]int64{}
					}
					size := min(max(adds, -adds), rule.Most-used[u][g])
					used[u][g] += size
					if adds < 0 {
						size = -size
					}
					want[g*places+int(of[g]+5)%places] += size
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("window %d adds %d, want %d", w, got, want)
			}
			if w%2 == 0 {
				snapshot := a.Snapshot()
				var err error
				if a, err = RestoreAllowance(rule, len(groups), snapshot); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Snapshot(), snapshot) {
					t.Fatal("the snapshot of what was restored is another one")
				}
			}
		}
	})
}

// FuzzRestoreAllowance: whatever the bytes are, compressed or not, they are an error or an allowance of the rule, which
// writes the same down again.
func FuzzRestoreAllowance(f *testing.F) {
	rule := AllowanceRule{MaxGroups: 2, Most: 3, Adds: func(value int64) int64 { return value }}
	a := NewAllowance(rule)
	for i := range uint64(20) {
		a.Visit(UserHash{i * 7, i}, []Contribution{{int(i % 3), 1}, {int((i + 1) % 3), 2}}, make([]int64, 3))
		addSnapshot(f, a.Snapshot())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, snapshot := range [][]byte{data, compress(data)} {
			a, err := RestoreAllowance(rule, 3, snapshot)
			if err != nil {
				continue
			}
			written := a.Snapshot()
			again, err := RestoreAllowance(rule, 3, written)
			if err != nil || !bytes.Equal(again.Snapshot(), written) {
				t.Fatalf("what was restored does not come back (%v)", err)
			}
			for _, i := range a.users.ascending() {
				if r := a.users.row(i); r.value < 1 || r.value > rule.Most || r.group < 0 || r.group > 2 {
					t.Fatalf("user %x has used up %d in group %d", r.user, r.value, r.group)
				}
			}
		}
	})
}

// TestOtherSnapshots: a snapshot of another rule is refused.
func TestOtherSnapshots(t *testing.T) {
	rule := AllowanceRule{MaxGroups: 2, Most: 3, Adds: func(value int64) int64 { return value }}
	a := NewAllowance(rule)
	a.Visit(UserHash{1, 2}, []Contribution{{1, 3}, {2, 2}}, make([]int64, 3))
	fewer, less := rule, rule
	fewer.MaxGroups, less.Most = 1, 2
	for name, c := range map[string]struct {
		rule   AllowanceRule
		groups int
		ok     bool
	}{"the same": {rule, 3, true}, "fewer groups of a user": {fewer, 3, false}, "less": {less, 3, false},
		"fewer groups": {rule, 2, false}} {
		if _, err := RestoreAllowance(c.rule, c.groups, a.Snapshot()); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
