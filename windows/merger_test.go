package windows

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPassesBoundMemory merges more users than fit in a pass. The heap shows what a pass holds: it must stay near the
// limit for any number of users. Without passes they take more than ten times as much.
func TestPassesBoundMemory(t *testing.T) {
	const users, parts, values, limit = 100_000, 6, 1000, 1 << 18
	spec := benchSpec(Last, 1, 1)
	var payloads [][]byte
	for p := range parts { // each part has half of the users, and each user is in three parts
		b := NewBag(spec)
		for i := p % 2; i < users; i += 2 {
			b.Add(spec.Hasher.User([]byte{byte(i), byte(i >> 8), byte(i >> 16)}), 0, int64(p), int64((i+p)%values))
		}
		payloads = append(payloads, b.Seal())
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	merge := func(limit int64) (sample []Point, passes int, most int64) {
		before, looked := heap(), 0
		m := NewMerger(spec, limit)
		m.Visit(func(UserHash, []Contribution) { // at the end of a pass, when all its users are in the bag
			if looked < passes {
				looked, most = passes, max(most, heap()-before)
			}
		})
		for m.Pass() {
			passes++
			for _, p := range payloads {
				if err := m.Add(p, spec.Window); err != nil {
					t.Fatal(err)
				}
				most = max(most, heap()-before)
			}
		}
		return m.Sample(0), passes, most
	}
	want, passes, most := merge(1 << 30)
	if passes != 1 {
		t.Errorf("%d passes without a limit", passes)
	}
	got, passes, bounded := merge(limit)
	t.Logf("%d users: at once %d KiB; in %d passes %d KiB", users, most>>10, passes, bounded>>10)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("in passes another sample: (-at once +in passes)\n%s", d)
	}
	// Bytes is correct within a third. The sample, one point for each value, takes little memory.
	if bounded > 3*limit/2 || most < 10*limit {
		t.Errorf("the heap grows by %d bytes with a limit of %d, and by %d at once", bounded, limit, most)
	}
	// No pass except the last ends with much less than half of what fits.
	if least := int(most / limit); passes < least*2/3 || passes > 3*least+1 {
		t.Errorf("%d passes; %d would do", passes, least)
	}
}

// A user whose hash is the last of a pass, or the first of the next, is in exactly one of the two.
func TestPassesShareNoUser(t *testing.T) {
	spec := benchSpec(Last, 1, 1)
	bag := NewBag(spec)
	var want []Point
	for i := range uint64(64) {
		for _, second := range [2]uint64{i << 58, i<<58 - 1} {
			want = append(want, Point{int64(len(want)), 1})
			bag.Add(UserHash{i << 58, second}, 0, 0, int64(len(want)-1))
		}
	}
	payload := bag.Seal()
	m, passes := NewMerger(spec, 0), 0
	for m.Pass() {
		passes++
		if err := m.Add(payload, spec.Window); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, m.Sample(0)); d != "" || passes < 64 {
		t.Errorf("%d passes: (-want +got)\n%s", passes, d)
	}
}

// A restricted merger makes the sample of the users who count, in one pass or many, and asks about each user once.
func TestMergerRestricted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		events := drawEvents(t, spec)
		counts := map[string]bool{}
		for _, u := range testUsers {
			counts[u] = rapid.Bool().Draw(t, "counts")
		}
		name := map[UserHash]string{}
		there, kept := map[string]bool{}, []event(nil)
		for _, e := range events {
			name[spec.Hasher.User([]byte(e.User))], there[e.User] = e.User, true
			if counts[e.User] {
				kept = append(kept, e)
			}
		}
		half := rapid.IntRange(0, len(events)).Draw(t, "half")
		m := NewMerger(spec, rapid.Int64Range(1, 4000).Draw(t, "limit"))
		asked := map[string]int{}
		m.Restrict(func(u UserHash) bool {
			asked[name[u]]++
			return counts[name[u]]
		})
		for m.Pass() {
			for _, part := range [][]event{events[:half], events[half:]} {
				if err := m.Add(fillBag(spec, part).Seal(), spec.Window); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d := cmp.Diff(model(spec, kept), samples(spec.Groups, m.Sample)); d != "" {
			t.Fatalf("the sample of those who count (−want +got):\n%s", d)
		}
		if d := cmp.Diff(model(spec, events), samples(spec.Groups, m.All)); d != "" {
			t.Fatalf("the sample of everybody (−want +got):\n%s", d)
		}
		for u := range there {
			if asked[u] != 1 {
				t.Fatalf("asked %d times whether %s counts", asked[u], u)
			}
		}
	})
}
