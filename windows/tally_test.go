package windows

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// exactly publishes every name with its count.
func exactly(users int64) (int64, bool, error) { return users, true, nil }

// tallied runs a tally over parts.
func tallied(t interface{ Fatal(...any) }, spec TallySpec, limit int64, parts ...[]byte) *Tally {
	tally := NewTally(spec, limit/2, limit/2)
	for tally.Pass() {
		for _, p := range parts {
			if !tally.Needs(spec.Period) {
				break
			}
			if err := tally.Add(p, spec.Period); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tally
}

// tallyModel counts with maps and sorting. It is the definition that a Tally must match.
func tallyModel(spec TallySpec, events []event) map[string]int64 {
	of := map[string]map[string]bool{}
	for _, e := range events {
		if spec.May != nil && !spec.May(e.Group) || spec.Counts != nil && !spec.Counts(spec.Hasher.User([]byte(e.User))) {
			continue
		}
		if of[e.User] == nil {
			of[e.User] = map[string]bool{}
		}
		of[e.User][e.Group] = true
	}
	counts := map[string]int64{}
	for user, names := range of {
		sorted := make([]string, 0, len(names))
		for name := range names {
			sorted = append(sorted, name)
		}
		u := spec.Hasher.User([]byte(user))
		rank := func(name string) uint64 { return spec.Hasher.rank(u, spec.Period.Start, spec.Hasher.name(name)) }
		last := func(name string) bool { return spec.Last != nil && spec.Last(name) }
		sort.Slice(sorted, func(i, j int) bool {
			if x, y := last(sorted[i]), last(sorted[j]); x != y {
				return y
			}
			return rank(sorted[i]) < rank(sorted[j])
		})
		for _, name := range sorted[:min(spec.MaxGroups, len(sorted))] {
			counts[name]++
		}
	}
	return counts
}

// some draws a set of names.
func some(t *rapid.T, what string) func(name string) bool {
	set := map[string]bool{}
	for _, name := range testNames {
		set[name] = rapid.Bool().Draw(t, what)
	}
	return func(name string) bool { return set[name] }
}

// The same users count for the same names, and each name is drawn once, whatever the parts, their order and the memory
// are: down to passes of one user, and ranges of one name.
func TestTallyMatchesModel(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		bag := drawSpec(t)
		events := openEvents(t, bag)
		spec := TallySpec{MaxGroups: rapid.IntRange(1, 4).Draw(t, "max groups"), Period: bag.Window, Hasher: bag.Hasher}
		if rapid.Bool().Draw(t, "only some can be found") {
			spec.May = some(t, "may")
		}
		if rapid.Bool().Draw(t, "some come last") {
			spec.Last = some(t, "last")
		}
		there, asked := map[string]bool{}, map[string]bool{}
		name := map[UserHash]string{}
		for _, e := range events {
			there[e.User], name[bag.Hasher.User([]byte(e.User))] = true, e.User
		}
		if rapid.Bool().Draw(t, "capped") {
			counts := map[string]bool{}
			for _, u := range testUsers {
				counts[u] = rapid.Bool().Draw(t, "counts")
			}
			spec.Counts = func(u UserHash) bool {
				asked[name[u]] = true
				return counts[name[u]]
			}
		}
		want := tallyModel(spec, events)
		if clear(asked); spec.Counts == nil {
			asked = there
		}
		var drawn []int64
		spec.Draw = func(users int64) (int64, bool, error) {
			drawn = append(drawn, users)
			return -users, users > 1, nil
		}
		half := rapid.IntRange(0, len(events)).Draw(t, "half")
		again := rapid.IntRange(0, half).Draw(t, "records read again")
		parts := [][]byte{fillOpen(bag, events[:half]).Seal(), fillOpen(bag, events[again:]).Seal()}
		apart := rapid.IntRange(0, 1).Draw(t, "of different slices")
		limits := rapid.SampledFrom([]int64{0, 100, 400, 1 << 19})
		tally := NewTally(spec, limits.Draw(t, "limit of notes"), limits.Draw(t, "limit of counts"))
		for pass := 0; tally.Pass(); pass++ {
			order := rapid.Permutation([]int{0, 1}).Draw(t, "order of parts")
			if pass == 0 && rapid.Bool().Draw(t, "some are noted twice") {
				order = append(order, order[0])
			}
			for _, i := range order {
				slice := Window{bag.Window.Start + int64(i*apart), bag.Window.End}
				if !tally.Needs(slice) {
					continue
				}
				if err := tally.Add(parts[i], slice); err != nil {
					t.Fatal(err)
				}
			}
		}
		var counts []int64
		var found []Found
		for name, n := range want {
			if counts = append(counts, n); n > 1 {
				found = append(found, Found{name, -n})
			}
		}
		slices.Sort(counts)
		slices.Sort(drawn)
		slices.SortFunc(found, func(x, y Found) int { return strings.Compare(x.Name, y.Name) })
		if d := cmp.Diff(counts, drawn); d != "" || tally.Names() != int64(len(counts)) {
			t.Fatalf("%d names; counts that were drawn from (-want +got):\n%s", tally.Names(), d)
		}
		got, err := tally.Found()
		if d := cmp.Diff(found, got); d != "" || err != nil || tally.Unknown() > 0 {
			t.Fatalf("error %v, found (-want +got):\n%s", err, d)
		}
		if d := cmp.Diff(there, asked); d != "" {
			t.Fatalf("who is asked for (-want +got):\n%s", d)
		}
		most = max(most, tally.Readings())
	})
	if most < 20 { // 7 users and 8 names: otherwise memory is not narrow here
		t.Errorf("at most %d readings", most)
	}
}

// Texts are looked for where somebody was seen with the name first. If the parts of that slice are gone, they are
// looked for everywhere.
func TestTallyLooksWhereNamesWere(t *testing.T) {
	w := testSpec.Window
	slice := func(i int) Window { return Window{w.Start + int64(i), w.Start + int64(i) + 1} }
	var parts [][]byte
	for i := range 4 {
		all := []event{{User: "one", Group: "/of/one", Time: 1e18}}
		if i <= 1 {
			all = append(all, event{User: fmt.Sprint("d", i), Group: "/d", Time: 1e18})
		}
		if i >= 2 {
			all = append(all, event{User: fmt.Sprint("a", i), Group: "/a", Time: 1e18})
		}
		if i == 3 {
			all = append(all, event{User: "b", Group: "/b", Time: 1e18}, event{User: "c", Group: "/b", Time: 1e18})
		}
		parts = append(parts, fillOpen(testSpec, all).Seal())
	}
	for gone, want := range map[int]string{9: "0, 2, 3", 0: "2, 3; 1", 2: "0, 3", 3: "0, 2; 0, 1, 2"} {
		tally := NewTally(TallySpec{MaxGroups: 1, Period: w, Hasher: testSpec.Hasher,
			Draw: func(n int64) (int64, bool, error) { return n, n > 1, nil }}, 1<<20, 1<<20)
		var passes []string
		for pass := 0; tally.Pass(); pass++ {
			var read []string
			for _, i := range []int{3, 2, 1, 0} { // as they may come
				if i = 3 - i; pass == 0 || i != gone && tally.Needs(slice(i)) {
					if err := tally.Add(parts[i], slice(i)); err != nil {
						t.Fatal(err)
					}
					read = append(read, fmt.Sprint(i))
				}
			}
			passes = append(passes, strings.Join(read, ", "))
		}
		found, err := tally.Found()
		if err != nil || len(found) != 3-tally.Unknown() || (tally.Unknown() > 0) != (gone == 3) {
			t.Errorf("found %v (%v), %d are unknown", found, err, tally.Unknown())
		}
		if got := strings.Join(passes[1:], "; "); got != want {
			t.Errorf("without slice %d, slices %s are read for texts, want %s", gone, got, want)
		}
	}
}

// Vectors: which names a user counts for. Ranks are the upper halves here. Where they are equal, the lower halves would
// decide, and the vector has none.
func TestTallyChoice(t *testing.T) {
	file, err := os.ReadFile("testdata/choice.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		MaxGroups int `json:"max_groups"`
		Ranks     map[string]uint32
		Late      []string
		Kept      []string
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if len(v.Ranks) == 2 && v.Ranks["a"] == v.Ranks["b"] {
			continue
		}
		n := newNotes(TallySpec{MaxGroups: v.MaxGroups, Hasher: NewHasher([16]byte{1})}, 0)
		for name, rank := range v.Ranks {
			class := early
			if slices.Contains(v.Late, name) {
				class = late
			}
			r := noted(UserHash{1}, [2]uint64{uint64(name[0])}, class, int32(rank%3))
			r.rank = rank
			n.addAt(n.users.place(r.user), &r)
		}
		var kept []string
		n.users.each(func(_ uint32, r *row) { kept = append(kept, string(rune(r.order))) })
		slices.Sort(kept)
		slices.Sort(v.Kept)
		if d := cmp.Diff(v.Kept, kept); d != "" {
			t.Errorf("%+v: (-want +got)\n%s", v, d)
		}
	}
}

// If too many names are found, those with the greatest values stay, and of equal ones the lesser names.
func TestTallyFindsAtMost(t *testing.T) {
	var events []event
	for i, name := range []string{"f", "e", "d", "c", "b", "a"} {
		for u := range 1 + i/2 { // f and e have one user, d and c two, b and a three
			events = append(events, event{User: fmt.Sprint(name, u), Group: name, Time: 1e18})
		}
	}
	payload := fillOpen(testSpec, events).Seal()
	for most, want := range map[int]string{0: "a3 b3 c2 d2 e1 f1", 1: "a3", 2: "a3 b3",
		3: "a3 b3 c2", 5: "a3 b3 c2 d2 e1", 6: "a3 b3 c2 d2 e1 f1", 9: "a3 b3 c2 d2 e1 f1"} {
		tally := tallied(t, TallySpec{MaxGroups: 1, Period: testSpec.Window, Hasher: testSpec.Hasher, Draw: exactly,
			Most: most}, 1<<20, payload)
		found, err := tally.Found()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprint(f.Name, f.Value))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
}

// A tally of more users and names than fit stays near its limit, and takes about as many readings as that needs.
func TestTallyBoundsMemory(t *testing.T) {
	const users, limit = 60_000, 1 << 20
	bag := testSpec
	var parts [][]byte
	for p := range 3 {
		b := fillOpen(bag, nil)
		for i := p; i < users; i += 2 { // the parts overlap
			name := fmt.Appendf(nil, "/a/long/name/that/few/have/%d", i/2)
			b.PutName(bag.Hasher.User(fmt.Append(nil, i)), name, bag.Window.Start, 1)
		}
		parts = append(parts, b.Seal())
	}
	most, before := int64(0), heap()
	drawn := 0
	spec := TallySpec{MaxGroups: 1, Period: bag.Window, Hasher: bag.Hasher,
		Draw: func(users int64) (int64, bool, error) {
			if drawn++; users != 2 {
				t.Errorf("a name of two has %d users", users)
			}
			return users, drawn%100 == 0, nil
		}}
	tally := NewTally(spec, limit/2, limit/2)
	for tally.Pass() {
		for i, p := range parts {
			if err := tally.Add(p, bag.Window); err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				most = max(most, heap()-before)
			}
		}
	}
	found, err := tally.Found()
	if err != nil || drawn != users/2 || len(found) != drawn/100 {
		t.Errorf("error %v, %d names drawn, %d found; want %d and %d", err, drawn, len(found), users/2, users/200)
	}
	perUser, perName := float64(users*50)/(limit/2), float64(users/2*50)/(limit/2)
	t.Logf("%d readings; %.1f times too many users and %.1f times too many names; at most %d KiB",
		tally.Readings(), perUser, perName, most>>10)
	if least, worst := perUser*perName, (2*perUser+1)*(2*perName+1)+1; float64(tally.Readings()) < least/2 ||
		float64(tally.Readings()) > worst {
		t.Errorf("%d readings, want from %.0f to %.0f", tally.Readings(), least/2, worst)
	}
	if most > 2*limit {
		t.Errorf("the heap grows by %d bytes with a limit of %d", most, limit)
	}
}

// A user whose hash is the last of a pass, or the first of the next, counts once, and so does a name at such an edge
// have its users together.
func TestTallyUsersAtTheEdge(t *testing.T) {
	bag := fillOpen(testSpec, nil)
	for i := range uint64(64) {
		for _, second := range [2]uint64{i << 58, i<<58 - 1} {
			bag.PutName(UserHash{i << 58, second}, []byte("/a"), testSpec.Window.Start, 1)
		}
	}
	tally := tallied(t, TallySpec{MaxGroups: 1, Period: testSpec.Window, Hasher: testSpec.Hasher, Draw: exactly}, 0,
		bag.Seal())
	found, err := tally.Found()
	if d := cmp.Diff([]Found{{"/a", 128}}, found); d != "" || err != nil || tally.Readings() < 64 {
		t.Errorf("error %v, %d readings, found (-want +got):\n%s", err, tally.Readings(), d)
	}
}

func TestTallyRefuses(t *testing.T) {
	spec := TallySpec{MaxGroups: 1, Period: testSpec.Window, Hasher: testSpec.Hasher, Draw: exactly}
	tally := NewTally(spec, 1<<19, 1<<19)
	for tally.Pass() {
		for _, data := range [][]byte{nil, {2}, testBag(testSpec).Seal(), openBag(testSpec).Seal()[1:]} {
			if err := tally.Add(data, testSpec.Window); err == nil {
				t.Errorf("payload %x is accepted", data)
			}
		}
	}
	if found, err := tally.Found(); found != nil || err != nil || tally.Readings() != 1 {
		t.Errorf("nothing was added: %v, %v, %d readings", found, err, tally.Readings())
	}

	spec.Draw = func(int64) (int64, bool, error) { return 0, false, errors.New("no randomness") }
	if _, err := tallied(t, spec, 0, openBag(testSpec).Seal()).Found(); err == nil || err.Error() != "no randomness" {
		t.Errorf("error %v, want the one of Draw", err)
	}

	spec.Draw = exactly
	tally = NewTally(spec, 1<<19, 1<<19)
	for pass := 0; tally.Pass(); pass++ {
		if pass == 0 { // the part is gone when the texts are looked up
			if err := tally.Add(openBag(testSpec).Seal(), testSpec.Window); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found, err := tally.Found(); found != nil || err != nil || tally.Unknown() != int(tally.Names()) {
		t.Errorf("%v, %v, %d of %d names are unknown", found, err, tally.Unknown(), tally.Names())
	}
}
