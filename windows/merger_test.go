package windows

import (
	"fmt"
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

// Records are spread over bags, which have a list or take names as they come. The bags overlap and come in any order.
// Their payloads are merged for any list, in one pass or many, for the users who count and for all. Each user is passed
// on once, and asked for once.
func TestMergerMatchesModel(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open=%t", open), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				draw, drawRecords, fill, want := drawSpec, drawEvents, fillBag, model
				if open {
					draw, drawRecords, fill, want = openSpec, openEvents, fillOpen, openModel
				}
				spec := draw(t)
				mergerMatches(t, spec, drawRecords(t, spec), fill, want)
			})
		})
	}
}

func mergerMatches(t *rapid.T, spec BagSpec, events []event, fill func(BagSpec, []event) *Bag,
	want func(BagSpec, []event) map[string][]Point) {
	counts, there := map[string]bool{}, map[string]bool{}
	for _, u := range testUsers {
		counts[u] = rapid.Bool().Draw(t, "counts")
	}
	name := map[UserHash]string{}
	var kept []event
	for _, e := range events {
		name[spec.Hasher.User([]byte(e.User))], there[e.User] = e.User, true
		if counts[e.User] {
			kept = append(kept, e)
		}
	}
	half := rapid.IntRange(0, len(events)).Draw(t, "half")
	again := half
	if !spec.Policy.Adds() {
		again = rapid.IntRange(0, half).Draw(t, "records read again")
	}
	m := NewMerger(spec, rapid.SampledFrom([]int64{0, 200, 600, 1 << 20}).Draw(t, "bytes of a pass"))
	asked, visited := map[string]int{}, map[string]int{}
	if rapid.Bool().Draw(t, "restricted") {
		m.Restrict(func(u UserHash) bool {
			asked[name[u]]++
			return counts[name[u]]
		})
	} else {
		kept = events
	}
	m.Visit(func(u UserHash, has []Contribution) {
		visited[name[u]]++
		for i, c := range has {
			if c.Group >= len(spec.Groups) || spec.Other && c.Group == len(spec.Groups)-1 && i < len(has)-1 {
				t.Fatalf("user %s has %v", name[u], has)
			}
		}
	})
	parts := [][]byte{fill(spec, events[:half]).Seal(), fill(spec, events[again:]).Seal()}
	for m.Pass() {
		for _, payload := range rapid.Permutation(parts).Draw(t, "order of parts") {
			if err := m.Add(payload, spec.Window); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := cmp.Diff(want(spec, kept), samples(spec.Groups, m.Sample)); d != "" {
		t.Fatalf("list %q: the sample of those who count (−want +got):\n%s", spec.Groups, d)
	}
	if d := cmp.Diff(want(spec, events), samples(spec.Groups, m.All)); d != "" {
		t.Fatalf("list %q: the sample of everybody (−want +got):\n%s", spec.Groups, d)
	}
	for u := range there {
		if visited[u] != 1 || len(asked) > 0 && asked[u] != 1 {
			t.Fatalf("user %s was visited %d times, and asked for %d times", u, visited[u], asked[u])
		}
	}
}
