package windows

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Policy random must not favour any record: each of 10 values is chosen by about a tenth of the users.
func TestRandomChoosesEvenly(t *testing.T) {
	const users, values = 20_000, 10
	spec := BagSpec{Groups: []string{""}, Policy: Random, Hasher: NewHasher([16]byte{5})}
	b := NewBag(spec)
	for u := range users {
		for v := range int64(values) {
			b.Add(spec.Hasher.User(fmt.Append(nil, u)), 0, v, v)
		}
	}
	evenly(t, b.Sample(0), users, values)
}

// The choice of groups in which a user counts must not favour any group either.
func TestGroupsAreChosenEvenly(t *testing.T) {
	const users, groups = 20_000, 10
	spec := benchSpec(Last, groups, 1)
	b := NewBag(spec)
	for u := range users {
		for g := range groups {
			b.Add(spec.Hasher.User(fmt.Append(nil, u)), g, 0, 0)
		}
	}
	var counts []Point
	for g := range groups {
		for _, p := range b.Sample(g) {
			counts = append(counts, Point{int64(g), p.Count})
		}
	}
	evenly(t, counts, users, groups)
}

// evenly checks n draws over k cells: each cell is binomial with mean n/k; by Hoeffding it is off by more than
// t = sqrt(n·ln(2k/p)/2) in any of them with probability at most p = 1e-9. The key is fixed, so a run repeats.
func evenly(t *testing.T, cells []Point, n, k int64) {
	t.Helper()
	const off = 490 // sqrt(20000·ln(20/1e-9)/2) = 487.03
	sum := int64(0)
	for _, c := range cells {
		if sum += c.Count; c.Count < n/k-off || c.Count > n/k+off {
			t.Errorf("cell %d has %d, want about %d", c.Index, c.Count, n/k)
		}
	}
	if len(cells) != int(k) || sum != n {
		t.Errorf("%d cells, %d draws, want %d and %d", len(cells), sum, k, n)
	}
}

// The choice of groups in one window tells nothing about the next.
func TestGroupsChangeWithWindow(t *testing.T) {
	spec := benchSpec(Last, 10, 1)
	same := 0
	for u := range 1000 {
		var chosen [2]int
		for i := range chosen {
			spec.Window = Window{int64(i) * 1e9, int64(i+1) * 1e9}
			b := NewBag(spec)
			for g := range spec.Groups {
				b.Add(UserHash{uint64(u)}, g, 0, 0)
				if b.Sample(g) != nil {
					chosen[i] = g
				}
			}
		}
		if chosen[0] == chosen[1] {
			same++
		}
	}
	// of 1000 with probability 0.1 each; by Hoeffding above 300 with probability < exp(−2·1000·0.2²) < 1e-34
	if same > 300 {
		t.Errorf("%d of 1000 users have the same group in both windows, want about 100", same)
	}
}

// The upper halves of ranks decide as the whole ranks do, and so do the whole ranks if the halves collide.
func TestCollidingRanks(t *testing.T) {
	b := NewBag(benchSpec(Last, 3, 1))
	for i := range 100 {
		u := b.spec.Hasher.User(fmt.Append(nil, i))
		x, y := row{user: u, group: 0}, row{user: u, group: 1}
		want := b.rank(&x) < b.rank(&y)
		if b.before(&x, &y) != want || b.before(&y, &x) == want {
			t.Fatalf("user %d: with equal halves, group 0 is before group 1: %v, want %v", i, !want, want)
		}
		x.rank, y.rank = upper(b.rank(&x)), upper(b.rank(&y))
		if b.before(&x, &y) != want || b.before(&y, &x) == want {
			t.Fatalf("user %d: group 0 is before group 1: %v, want %v", i, !want, want)
		}
	}
}

// All workers of an application must hash alike, including those of another version. The expected hashes come from a
// second implementation, written from the paper.
func TestHashesAreFixed(t *testing.T) {
	h := NewHasher([16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	u := h.User([]byte("alice"))
	got := fmt.Sprintf("%x %x %x", u, h.rank(u, 1e18, h.name("eu")), uint64(h.pick(u, 1e18, -1)))
	if want := "[6fe050cdd4e2c2ad f939df7dcfa404fa] 5a0fe45f4124bcc7 cd7ced46ab63e650"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if NewHasher([16]byte{1}).User([]byte("alice")) == u {
		t.Error("the hash does not depend on the key")
	}
}

// Memory limits and metrics use Bytes: it is correct within a third.
func TestBytesMatchesHeap(t *testing.T) {
	f := func(users int, values int64) {
		t.Helper()
		before := heap()
		b := NewBag(benchSpec(Last, 10, 2))
		for i := range users {
			b.Add(b.spec.Hasher.User(fmt.Append(nil, i)), i%10, int64(i), int64(i)*7919%values)
		}
		held := heap() - before
		if ratio := float64(b.Bytes()) / float64(held); ratio < 0.66 || ratio > 1.5 {
			t.Errorf("%d users, %d values: Bytes = %d, the heap grew by %d", users, values, b.Bytes(), held)
		}
		runtime.KeepAlive(b)
	}
	f(100_000, 60_000)
	f(70_000, 10)
	f(3_000, 3_000)
}

// Records that are put make the same bag as records that are added, whenever somebody looks at it in between.
func TestPutMatchesAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		users := rapid.IntRange(1, 200).Draw(t, "users")
		put, added := NewBag(spec), NewBag(spec)
		superseded, want := 0, 0
		for i := range rapid.IntRange(0, 400).Draw(t, "records") {
			u := spec.Hasher.User([]byte{byte(i * i % users)})
			group, time, value := i/3%len(spec.Groups), spec.Window.Start+int64(i*7%5), int64(i*11%6)
			put.Put(u, group, time, value)
			if added.Add(u, group, time, value) {
				want++
			}
			switch rapid.IntRange(0, 20).Draw(t, "look") {
			case 0:
				superseded += put.Superseded()
			case 1:
				if got, want := put.Users(), added.Users(); got != want {
					t.Fatalf("%d users, want %d", got, want)
				}
			case 2:
				if d := cmp.Diff(added.Seal(), put.Seal()); d != "" {
					t.Fatalf("payload (-want +got)\n%s", d)
				}
			}
		}
		if superseded += put.Superseded(); superseded != want {
			t.Fatalf("%d superseded, want %d", superseded, want)
		}
		if d := cmp.Diff(samples(spec.Groups, added.Sample), samples(spec.Groups, put.Sample)); d != "" {
			t.Fatalf("samples (-want +got)\n%s", d)
		}
		if d := cmp.Diff(added.Seal(), put.Seal()); d != "" {
			t.Fatalf("payload (-want +got)\n%s", d)
		}
	})
}
