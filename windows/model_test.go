package windows

import (
	"encoding/binary"
	"math/big"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// event is the model's view of a record.
type event struct {
	User        string
	Group       string
	Time, Value int64
}

// model computes the sample of each group with plain maps and sorting. It is the definition that the code must match.
func model(spec BagSpec, events []event) map[string][]Point {
	of := map[string]map[string][]event{} // user → group → records
	for _, e := range events {
		if of[e.User] == nil {
			of[e.User] = map[string][]event{}
		}
		of[e.User][e.Group] = append(of[e.User][e.Group], e)
	}
	counts := map[string]map[int64]int64{}
	for user, groups := range of {
		names := make([]string, 0, len(groups))
		for g := range groups {
			names = append(names, g)
		}
		hash := spec.Hasher.User([]byte(user))
		rank := func(g string) uint64 { return spec.Hasher.rank(hash, spec.Window.Start, spec.Hasher.name(g)) }
		sort.Slice(names, func(i, j int) bool { return rank(names[i]) < rank(names[j]) })
		for _, g := range names[:min(len(names), spec.MaxGroups)] {
			if counts[g] == nil {
				counts[g] = map[int64]int64{}
			}
			counts[g][chosen(spec, hash, groups[g])]++
		}
	}
	samples := map[string][]Point{}
	for g, values := range counts {
		for v, n := range values {
			samples[g] = append(samples[g], Point{v, n})
		}
		sort.Slice(samples[g], func(i, j int) bool { return samples[g][i].Index < samples[g][j].Index })
	}
	return samples
}

// added returns the point of what one user's records in one group add up to, by fractions.
func added(spec BagSpec, records []event) int64 {
	total := new(big.Rat)
	for _, r := range records {
		total.Add(total, big.NewRat(r.Value, 1))
	}
	if spec.Policy == Mean {
		total.Quo(total, big.NewRat(int64(len(records)), 1))
	}
	a := spec.Adding
	switch lower, upper := big.NewRat(a.Lower, 1), big.NewRat(a.Lower+a.Step*a.Last, 1); {
	case total.Cmp(lower) < 0:
		return -1
	case total.Cmp(upper) > 0:
		return a.Last + 1
	}
	// the last point whose distance to the total is no more than that of the point before
	point := int64(0)
	for point < a.Last && new(big.Rat).Sub(total, big.NewRat(a.Lower+a.Step*point, 1)).Cmp(big.NewRat(a.Step, 2)) >= 0 {
		point++
	}
	return point
}

// chosen returns the value that counts among one user's records in one group.
func chosen(spec BagSpec, u UserHash, records []event) int64 {
	if spec.Policy.Adds() {
		return added(spec, records)
	}
	r := slices.Clone(records)
	sort.Slice(r, func(i, j int) bool {
		a, b := r[i], r[j]
		switch spec.Policy {
		case First:
			return a.Time < b.Time || a.Time == b.Time && a.Value < b.Value
		case Last:
			return a.Time > b.Time || a.Time == b.Time && a.Value > b.Value
		case Min:
			return a.Value < b.Value
		case Max:
			return a.Value > b.Value
		default:
			return spec.Hasher.pick(u, a.Time, a.Value) < spec.Hasher.pick(u, b.Time, b.Value)
		}
	})
	return r[0].Value
}

var (
	testGroups = []string{"", "ap", "eu", "us", "ü/x"}
	testUsers  = []string{"a", "b", "c", "d", "e", "f", "g"}
)

func drawSpec(t *rapid.T) BagSpec {
	start := rapid.SampledFrom([]int64{0, -3600e9, 1763625600e9}).Draw(t, "start")
	key := rapid.Byte().Draw(t, "key")
	return BagSpec{
		Groups:    testGroups[:rapid.IntRange(1, len(testGroups)).Draw(t, "groups")],
		MaxGroups: rapid.IntRange(1, len(testGroups)+1).Draw(t, "max groups"),
		Policy:    rapid.SampledFrom(policies[:]).Draw(t, "policy"),
		Window:    Window{start, start + int64(time.Hour)},
		Hasher:    NewHasher([16]byte{key}),
		Adding: Adding{Lower: rapid.Int64Range(-5, 5).Draw(t, "lower"), Step: rapid.Int64Range(1, 4).Draw(t, "step"),
			Last: rapid.Int64Range(1, 5).Draw(t, "last")},
	}
}

// drawEvents draws from few users, times and values, so that all of them often collide.
func drawEvents(t *rapid.T, spec BagSpec) []event {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
		return event{
			User:  rapid.SampledFrom(testUsers).Draw(t, "user"),
			Group: rapid.SampledFrom(spec.Groups).Draw(t, "group"),
			Time:  spec.Window.Start + rapid.Int64Range(0, 4).Draw(t, "time"),
			Value: rapid.Int64Range(-1, 5).Draw(t, "value"),
		}
	}), 0, 60).Draw(t, "events")
}

func (e event) addTo(b *Bag) bool {
	return b.Add(b.spec.Hasher.User([]byte(e.User)), slices.Index(b.spec.Groups, e.Group), e.Time, e.Value)
}

func fillBag(spec BagSpec, events []event) *Bag {
	b := NewBag(spec)
	for _, e := range events {
		e.addTo(b)
	}
	return b
}

// samples returns the non-empty samples of all groups by name.
func samples(groups []string, sample func(int) []Point) map[string][]Point {
	all := map[string][]Point{}
	for i, g := range groups {
		if s := sample(i); s != nil {
			all[g] = s
		}
	}
	return all
}

func TestBagMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		events := drawEvents(t, spec)
		want := model(spec, events)
		for _, order := range [][]event{events, rapid.Permutation(events).Draw(t, "order")} {
			b, superseded, users := NewBag(spec), 0, map[string]bool{}
			for _, e := range order {
				if users[e.User] = true; e.addTo(b) {
					superseded++
				}
			}
			if d := cmp.Diff(want, samples(spec.Groups, b.Sample)); d != "" {
				t.Fatalf("(-want +got)\n%s", d)
			}
			contributions := 0
			for _, points := range want {
				for _, p := range points {
					contributions += int(p.Count)
				}
			}
			if lost := len(events) - contributions; superseded != lost && (superseded > 0 || !spec.Policy.Adds()) {
				t.Fatalf("%d of %d records superseded, but %d count", superseded, len(events), contributions)
			}
			if b.Users() != len(users) {
				t.Fatalf("Users = %d, want %d", b.Users(), len(users))
			}
		}
	})
}

// The privacy of every release depends on this: without one user, at most MaxGroups samples differ, and each lacks one
// value once.
func TestOneUserChangesLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		events := drawEvents(t, spec)
		user := rapid.SampledFrom(testUsers).Draw(t, "without")
		others := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.User == user })
		with := samples(spec.Groups, fillBag(spec, rapid.Permutation(events).Draw(t, "order")).Sample)
		without := samples(spec.Groups, fillBag(spec, others).Sample)

		if changed := countsIn(t, spec.Groups, with, without); changed > int64(spec.MaxGroups) {
			t.Fatalf("user %s counts in %d groups, more than %d", user, changed, spec.MaxGroups)
		}
	})
}

// countsIn returns in how many groups a user counts who is in the first samples and not in the second. More than one
// value of a group is an error.
func countsIn(t *rapid.T, groups []string, with, without map[string][]Point) (changed int64) {
	for _, g := range groups {
		difference := map[int64]int64{}
		for _, p := range with[g] {
			difference[p.Index] += p.Count
		}
		for _, p := range without[g] {
			difference[p.Index] -= p.Count
		}
		gone := int64(0)
		for v, n := range difference {
			if n < 0 || n > 1 {
				t.Fatalf("group %q: value %d counts %+d by the user", g, v, n)
			}
			gone += n
		}
		if gone > 1 {
			t.Fatalf("group %q: the user counts %d times", g, gone)
		}
		changed += gone
	}
	return changed
}

// Tests the whole path. Records are spread over partitions and, at random places, over parts that may overlap. Bags
// hold their groups in any order. There are several attempts, and messages of any size are repeated. Slices of hopping
// windows are merged in any order, at once or in passes of a few users.
func TestMergeMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		events := drawEvents(t, spec)
		partitions := rapid.IntRange(1, 4).Draw(t, "partitions")
		slicesOf := rapid.SampledFrom([]int64{1, 3}).Draw(t, "slices of a window")
		size := spec.Window.End - spec.Window.Start
		every := size / slicesOf
		schedule := Schedule{Size: time.Duration(size), Every: time.Duration(every), Start: spec.Window.Start}
		parts := make([][]event, partitions)
		for _, e := range events {
			p := rapid.IntRange(0, partitions-1).Draw(t, "partition")
			parts[p] = append(parts[p], e)
		}

		g := NewGathering(rapid.Int64Range(0, 2000).Draw(t, "bytes held"))
		g.Follow("s", 1, schedule, 0, spec.Window.End-1)
		if spec.Policy.Adds() {
			g.Adds("s", 1)
		}
		var log [][]byte
		add := func(message []byte) {
			log = append(log, message)
			if err := g.Add(message, int64(len(log)-1), time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		for i, part := range parts {
			own := spec
			own.Groups = rapid.Permutation(spec.Groups).Draw(t, "groups of a worker")
			if slicesOf > 1 {
				own.MaxGroups = len(own.Groups)
			}
			for from := 0; ; {
				to := rapid.IntRange(from, len(part)).Draw(t, "to")
				again := from
				if !spec.Policy.Adds() { // see line_model_test.go for those
					again = rapid.IntRange(0, from).Draw(t, "records read again")
				}
				o := Origin{Stream: "s", Epoch: 1, Partition: i, From: int64(again), To: int64(to),
					Attempt: [16]byte{byte(i), 1}}
				// no two attempts of a partition share an id
				binary.BigEndian.PutUint32(o.Attempt[2:], uint32(len(log)))
				mark := Mark{Origin: o, Partitions: partitions, After: spec.Window.End - 1,
					Through: spec.Window.End - 1}
				for k := range slicesOf {
					slice := Window{spec.Window.Start + k*every, spec.Window.Start + (k+1)*every}
					var inside []event
					for _, e := range part[again:to] {
						if e.Time >= slice.Start && e.Time < slice.End {
							inside = append(inside, e)
						}
					}
					if len(inside) == 0 {
						continue
					}
					own.Window = slice
					p := Part{Origin: o, Slice: slice, Payload: fillBag(own, inside).Seal()}
					for _, m := range p.Messages(p.partOverhead() + rapid.IntRange(1, 300).Draw(t, "message")) {
						for range rapid.IntRange(1, 2).Draw(t, "times sent") {
							add(m)
						}
					}
					mark.Slices = append(mark.Slices, slice.Start)
				}
				if to == len(part) {
					mark.Through = spec.Window.End
				}
				add(mark.Message())
				if to == len(part) {
					break
				}
				from = to
			}
			// Parts that are read after the cut do not count.
			own.Window = Window{spec.Window.Start, spec.Window.Start + every}
			o := Origin{Stream: "s", Epoch: 1, Partition: i, From: int64(len(part)), To: int64(len(part) + 1),
				Attempt: [16]byte{byte(i), 0, 2}}
			payload := fillBag(own, []event{{"later", spec.Groups[0], spec.Window.Start, 3}}).Seal()
			for _, m := range (Part{Origin: o, Slice: own.Window, Payload: payload}).Messages(1000) {
				add(m)
			}
		}

		if st := g.State("s", 1, spec.Window); !st.Ready || len(st.Incomplete) > 0 {
			t.Fatalf("the window stands at %+v", st)
		}
		m := NewMerger(spec, rapid.SampledFrom([]int64{0, 200, 600, 1 << 20}).Draw(t, "bytes of a pass"))
		for m.Pass() {
			for _, h := range rapid.Permutation(g.Parts("s", 1, spec.Window)).Draw(t, "order of parts") {
				payload := h.Payload
				if payload == nil {
					var messages [][]byte
					for _, at := range h.Offsets {
						messages = append(messages, log[at])
					}
					var err error
					if payload, err = h.Assemble(messages); err != nil {
						t.Fatal(err)
					}
				}
				if err := m.Add(payload, h.Slice); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d := cmp.Diff(model(spec, events), samples(spec.Groups, m.Sample)); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
	})
}

// A payload reveals nothing about the order in which its records came. An open bag knows how many of them count.
func TestSealForgetsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		sealsAlike(t, spec, drawEvents(t, spec), fillBag)
		spec = openSpec(t)
		events := openEvents(t, spec)
		bag := sealsAlike(t, spec, events, fillOpen)
		pairs := map[[2]string]bool{}
		for _, e := range events {
			pairs[[2]string{e.User, e.Group}] = true
		}
		superseded := len(events) - len(pairs)
		if spec.Policy.Adds() {
			superseded = 0
		}
		if bag.Users() != len(pairs) || bag.Superseded() != superseded {
			t.Fatalf("%d pairs, want %d", bag.Users(), len(pairs))
		}
	})
}

func sealsAlike(t *rapid.T, spec BagSpec, events []event, fill func(BagSpec, []event) *Bag) *Bag {
	one, two := fill(spec, events), fill(spec, rapid.Permutation(events).Draw(t, "order"))
	if !slices.Equal(one.Seal(), two.Seal()) {
		t.Fatalf("two orders, two payloads:\n%x\n%x", one.Seal(), two.Seal())
	}
	return one
}

func TestBagWithoutAllocation(t *testing.T) {
	without := func(name string, add func(i int)) {
		t.Helper()
		i := 0
		step := func() {
			i++
			add(i)
		}
		for range 100_000 {
			step()
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s allocates %v times in steady state", name, n)
		}
	}
	id, name := []byte("user-0000"), []byte("/products/0000")
	for _, policy := range policies {
		b := NewBag(BagSpec{Groups: testGroups, MaxGroups: 2, Policy: policy, Window: Window{0, 3600e9},
			Hasher: NewHasher([16]byte{})})
		without("Add by policy "+string(policy), func(i int) {
			id[8] = byte(i % 50)
			b.Add(b.spec.Hasher.User(id), i%len(testGroups), int64(i), int64(i*7919%300))
		})
	}
	spec := testSpec
	spec.Open = true
	b := NewBag(spec)
	without("PutName", func(i int) {
		id[8], name[13] = byte(i%50), byte(i%60)
		b.PutName(spec.Hasher.User(id), name, int64(i), int64(i*7919%300))
	})
}
