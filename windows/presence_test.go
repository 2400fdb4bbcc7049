package windows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// everyone accepts all values.
func everyone(int64) bool { return true }

// step is a window that starts so many minutes after 1970.
func step(minutes int64) Window {
	start := minutes * int64(time.Minute)
	return Window{start, start + 5*int64(time.Minute)}
}

// TestPresenceVectors follows users as a program did that shares no code with this package.
func TestPresenceVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/active.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Windows   int64 `json:"windows_of_active"`
		MaxGroups int   `json:"max_groups"`
		Day       int64 `json:"windows_a_day"`
		Groups    int
		Seen      []map[string][]int
		Active    [][]int64
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 3 {
		t.Fatal(len(all), err)
	}
	for i, v := range all {
		p := NewPresence(PresenceRule{Windows: v.Windows, Every: time.Minute, Groups: v.Groups, MaxGroups: v.MaxGroups,
			Keep: v.Day, Counts: everyone})
		for w, seen := range v.Seen {
			if err := p.Begin(step(int64(w))); err != nil {
				t.Fatal(err)
			}
			for name, groups := range seen {
				var has []Contribution
				for _, g := range groups {
					has = append(has, Contribution{Group: g})
				}
				p.Visit(UserHash{uint64(name[0]), 1}, has)
			}
			if !slices.Equal(p.Active(), v.Active[w]) {
				t.Fatalf("walk %d, window %d: %d are active, want %d", i, w, p.Active(), v.Active[w])
			}
		}
	}
}

// TestPresenceByBruteForce takes random events through bags, payloads and mergers of several passes. After each window
// the numbers are what a plain reading of the rule says, whether it was written down and restored there or not, and
// also where windows were left out. Nobody is active in more groups within Keep windows than they may.
func TestPresenceByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 4, rapid.ID).Draw(t, "groups")
		spec := BagSpec{Groups: groups, MaxGroups: rapid.IntRange(1, len(groups)).Draw(t, "max groups"), Policy: Max,
			Hasher: NewHasher([16]byte{byte(rapid.Int().Draw(t, "key"))})}
		least := rapid.Int64Range(-9, 5).Draw(t, "least")
		rule := PresenceRule{Windows: rapid.Int64Range(1, 5).Draw(t, "windows"), Every: time.Minute,
			Groups: len(groups), MaxGroups: spec.MaxGroups, Keep: rapid.Int64Range(0, 8).Draw(t, "keep"),
			Counts: func(value int64) bool { return value >= least }}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		type at struct {
			user  UserHash
			group int
		}
		last := map[at]int64{}             // the last window of each user and group
		present := map[int64]map[at]bool{} // who is active at the end of each window
		first := rapid.Int64Range(-20, 20).Draw(t, "first")
		p, other := NewPresence(rule), NewPresence(rule)
		for w := first; w < first+40; w++ {
			if r.IntN(6) == 0 {
				continue // nobody decided it
			}
			spec.Window = step(w)
			bag := NewBag(spec)
			values := map[UserHash]map[int]int64{}
			for range r.IntN(8) {
				u, g, v := spec.Hasher.User([]byte{byte(r.IntN(6))}), r.IntN(len(groups)), r.Int64N(15)-5
				bag.Add(u, g, spec.Window.Start, v)
				if values[u] == nil {
					values[u] = map[int]int64{}
				}
				if old, ok := values[u][g]; !ok || v > old {
					values[u][g] = v
				}
			}
			for u, of := range values {
				var order []int
				for g := range of {
					order = append(order, g)
				}
				slices.SortFunc(order, func(x, y int) int {
					rank := func(g int) uint64 { return spec.Hasher.rank(u, spec.Window.Start, spec.Hasher.name(groups[g])) }
					return cmp.Compare(rank(x), rank(y))
				})
				for _, g := range order[:min(len(order), spec.MaxGroups)] {
					kept := map[int]bool{}
					for o := range groups {
						// They were active up to Windows − 1 windows after the last one, and keep it for Keep windows.
						if when, ok := last[at{u, o}]; ok && w < when+rule.Windows+rule.Keep {
							kept[o] = true
						}
					}
					if of[g] >= least && (kept[g] || len(kept) < rule.MaxGroups) {
						last[at{u, g}] = w
					}
				}
			}
			want := make([]int64, len(groups))
			present[w] = map[at]bool{}
			for a, when := range last {
				if w-when < rule.Windows {
					want[a.group]++
					present[w][a] = true
				}
			}
			for _, x := range []*Presence{p, other} {
				m := NewMerger(spec, int64(r.IntN(2000)))
				m.Restrict(func(u UserHash) bool { return u[0]%2 == 0 }) // has no influence
				m.Visit(x.Visit)
				if err := x.Begin(spec.Window); err != nil {
					t.Fatal(err)
				}
				for m.Pass() {
					if err := m.Add(bag.Seal(), spec.Window); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(x.Active(), want) {
					t.Fatalf("window %d: %d are active, want %d", w, x.Active(), want)
				}
			}
			if r.IntN(3) == 0 {
				var err error
				if other, err = RestorePresence(rule, p.Snapshot()); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(other.Snapshot(), p.Snapshot()) {
					t.Fatal("the snapshot of what was restored is another one")
				}
			}
		}
		for w := range present {
			in := map[UserHash]map[int]bool{}
			for v := w; v <= w+rule.Keep; v++ {
				for a := range present[v] {
					if in[a.user] == nil {
						in[a.user] = map[int]bool{}
					}
					in[a.user][a.group] = true
				}
			}
			for _, of := range in {
				if len(of) > rule.MaxGroups {
					t.Fatalf("a user is active in %d groups in %d windows from %d on; want at most %d", len(of),
						rule.Keep+1, w, rule.MaxGroups)
				}
			}
		}
	})
}

func TestPresenceSnapshotsOfAnotherRule(t *testing.T) {
	rule := PresenceRule{Windows: 3, Every: time.Minute, Groups: 2, MaxGroups: 2, Keep: 10, Counts: everyone}
	p := NewPresence(rule)
	if err := p.Begin(step(7)); err != nil {
		t.Fatal(err)
	}
	p.Visit(UserHash{1}, []Contribution{{Group: 0}, {Group: 1}})
	if err := p.Begin(step(6)); err == nil {
		t.Error("a window came before the last one")
	}
	snapshot := p.Snapshot()
	for _, change := range []func(r *PresenceRule){
		func(r *PresenceRule) { r.Windows++ }, func(r *PresenceRule) { r.Every *= 2 },
		func(r *PresenceRule) { r.Groups++ }, func(r *PresenceRule) { r.MaxGroups-- },
		func(r *PresenceRule) { r.Keep++ },
	} {
		other := rule
		change(&other)
		if _, err := RestorePresence(other, snapshot); err == nil {
			t.Errorf("%d takes the snapshot of another rule", other.numbers())
		}
	}
	for at := range snapshot {
		damaged := bytes.Clone(snapshot)
		damaged[at] ^= 1
		if got, err := RestorePresence(rule, damaged); err == nil && !bytes.Equal(got.Snapshot(), snapshot) {
			t.Errorf("byte %d is damaged, and nobody sees it", at)
		}
	}
	if _, err := RestorePresence(rule, snapshot[:len(snapshot)-1]); err == nil {
		t.Error("a snapshot without its end is taken")
	}
	if p.Users() != 2 || p.Bytes() <= 0 {
		t.Errorf("%d users, %d bytes", p.Users(), p.Bytes())
	}
}
