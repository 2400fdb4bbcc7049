package windows

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var testNames = []string{"/", "/a", "/a/b", "/b", "b", "ü", "", "(other)"}

// openEvents draws records whose names nobody has listed.
func openEvents(t *rapid.T, spec BagSpec) []event {
	spec.Groups = testNames
	return drawEvents(t, spec)
}

// fillOpen puts records into an open bag.
func fillOpen(spec BagSpec, events []event) *Bag {
	spec.Open, spec.Groups = true, nil
	b := NewBag(spec)
	for _, e := range events {
		b.PutName(spec.Hasher.User([]byte(e.User)), []byte(e.Group), e.Time, e.Value)
	}
	return b
}

// openSpec draws a list, and whether there is a group for everybody else.
func openSpec(t *rapid.T) BagSpec {
	spec := drawSpec(t)
	spec.Open, spec.Groups = true, nil
	for _, name := range append(testNames[:7:7], "nobody sends this") {
		if rapid.Bool().Draw(t, "listed") {
			spec.Groups = append(spec.Groups, name)
		}
	}
	if spec.Other = rapid.Bool().Draw(t, "other"); spec.Other {
		spec.Groups = append(spec.Groups, "(other)")
	}
	return spec
}

// openModel computes the samples from records: names become groups, and then a user counts in the listed groups of
// least rank, and in the one for everybody else if there are fewer than MaxGroups.
func openModel(spec BagSpec, events []event) map[string][]Point {
	listed := spec.Groups
	if spec.Other {
		listed = listed[:len(listed)-1]
	}
	var inside, outside []event
	in := map[string]map[string]bool{}
	for _, e := range events {
		if !slices.Contains(listed, e.Group) {
			e.Group = "(other)"
			outside = append(outside, e)
			continue
		}
		inside = append(inside, e)
		if in[e.User] == nil {
			in[e.User] = map[string]bool{}
		}
		in[e.User][e.Group] = true
	}
	all := model(spec, inside)
	if spec.Other {
		maps.Copy(all, model(spec, slices.DeleteFunc(outside, func(e event) bool {
			return len(in[e.User]) >= spec.MaxGroups
		})))
	}
	return all
}

// Without one user, at most MaxGroups samples of a list lack one value each, that of everybody else among them.
func TestOneUserChangesLittleOfAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := openSpec(t)
		events := openEvents(t, spec)
		user := rapid.SampledFrom(testUsers).Draw(t, "without")
		others := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.User == user })
		sample := func(events []event) map[string][]Point {
			m := NewMerger(spec, 1<<20)
			m.Pass()
			if err := m.Add(fillOpen(spec, events).Seal(), spec.Window); err != nil {
				t.Fatal(err)
			}
			m.Pass()
			return samples(spec.Groups, m.Sample)
		}
		if changed := countsIn(t, spec.Groups, sample(events), sample(others)); changed > int64(spec.MaxGroups) {
			t.Fatalf("user %s counts in %d groups, more than %d", user, changed, spec.MaxGroups)
		}
	})
}

// openBag is testBag with names that nobody listed.
func openBag(spec BagSpec) *Bag {
	return fillOpen(spec, []event{
		{"a", "/shoes/1", 1e18 + 1, 5}, {"b", "/shoes/1", 1e18 + 2, -1}, {"c", "/shoes/2", 1e18 + 3, 5},
		{"a", "/hats", 1e18 + 4, 60001}, {"a", "/hats", 1e18 + 5, 7},
	})
}

// packedBag is an open bag whose payload is packed.
func packedBag(spec BagSpec) *Bag {
	var events []event
	for i := range 200 {
		events = append(events, event{string(rune('a' + i%3)),
			fmt.Sprintf("/products/%04d/reviews", i), 1e18 + int64(i), 3})
	}
	return fillOpen(spec, events)
}

func TestMergerRefusesOpen(t *testing.T) {
	spec := testSpec
	spec.Open, spec.Policy = true, Max
	good := openBag(spec).Seal()
	f := func(want string, data ...[]byte) {
		t.Helper()
		m := NewMerger(spec, 1<<20)
		m.Pass()
		if err := m.Add(summed(slices.Concat(data...)), spec.Window); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
		if m.bag.Users() > 0 {
			t.Errorf("%s: and yet somebody is there", want)
		}
	}
	head := []byte{2, flagOpen, byte(Max.code()), 0}
	user, later := slices.Repeat([]byte{7}, 16), slices.Repeat([]byte{8}, 16)
	f("flags 9", []byte{2, 9, 0, 0})
	f("unit 4", []byte{2, 1, 0, 4})
	f("rows: 99 do not fit", head, []byte{99})
	f("names: 99 do not fit", head, []byte{1, 99}, user, []byte{0})
	f("users: 16 bytes wanted, 14 left", head, []byte{1, 4, 0, 1, 'u', 1}, user[:14])
	f("value: not a number", head, []byte{1, 4, 0, 1, 'u', 1}, user, []byte{0x80})
	f("1 bytes too many", head, []byte{1, 4, 0, 1, 'u', 1}, user, []byte{0, 0})
	f("name: it shares 1 bytes with one of 0", head, []byte{1, 4, 1, 1, 'u', 1}, user, []byte{0})
	f("name: 9 do not fit", head, []byte{1, 4, 0, 9, 'u', 1}, user, []byte{0})
	f("rows: not a number", head, []byte{1, 3, 0, 1, 'u'}, user, []byte{0})
	f("rows: 0 of a name", head, []byte{1, 4, 0, 1, 'u', 0}, user, []byte{0})
	f("rows: 2 of a name; want from 1 to 1", head, []byte{1, 4, 0, 1, 'u', 2}, user, []byte{0})
	f("1 rows have no name", head, []byte{2, 4, 0, 1, 'u', 1}, user, later, []byte{0, 0})
	f("users are not ascending", head, []byte{2, 4, 0, 1, 'u', 2}, later, user, []byte{0, 0})
	f("users are not ascending", head, []byte{2, 4, 0, 1, 'u', 2}, user, user, []byte{0, 0})
	f("names are not ascending", head, []byte{2, 8, 0, 1, 'u', 1, 0, 1, 'a', 1}, user, later, []byte{0, 0})
	f("names are not ascending", head, []byte{2, 7, 0, 1, 'u', 1, 1, 0, 1}, user, later, []byte{0, 0})
	packed := func(size uint64, block []byte) []byte {
		p := compress(block)
		b := binary.AppendUvarint(slices.Concat(head, []byte{1}), uint64(len(p)))
		b[1] |= flagPacked
		return slices.Concat(binary.AppendUvarint(b, size), p, user, []byte{0})
	}
	m := NewMerger(spec, 1<<20)
	m.Pass()
	if err := m.Add(summed(packed(4, []byte{0, 1, 'u', 1})), spec.Window); err != nil || m.bag.Users() != 1 {
		t.Errorf("a packed name is refused: %v", err)
	}
	f("do not unpack to 5", packed(5, []byte{0, 1, 'u', 1}))
	f("do not unpack to 3", packed(3, []byte{0, 1, 'u', 1}))
	f("1025 bytes are too many for 1 rows", packed(1025, make([]byte, 1025)))
	f("do not unpack to 1024", packed(1024, make([]byte, 1<<20)))

	// No changed bit is accepted, and no error tells a name, whatever is changed in a payload with a good checksum.
	for i := range 8 * len(good) {
		p := slices.Clone(good)
		p[i/8] ^= 1 << (i % 8)
		if err := NewMerger(spec, 1<<20).Add(p, spec.Window); err == nil {
			t.Errorf("bit %d was changed, and the payload accepted", i)
		}
	}
	for _, payload := range [][]byte{good, packedBag(spec).Seal()} {
		for i := 0; i < len(payload)-4; i += 1 + len(payload)/1000 {
			for _, x := range []byte{1, 0x20, 0x80, 0xff} {
				p := slices.Clone(payload[:len(payload)-4])
				p[i] ^= x
				m := NewMerger(spec, 1<<20)
				m.Pass()
				if err := m.Add(summed(p), spec.Window); err != nil && strings.ContainsAny(err.Error(), "/") {
					t.Fatalf("an error tells a name: %v", err)
				}
			}
		}
	}
}

// Names of every length come back in the order of their bytes, packed or not.
func TestOpenPayloadKeepsNames(t *testing.T) {
	spec := testSpec
	spec.Open = true
	var want []string
	for i := range 3000 {
		want = append(want, fmt.Sprintf("/%d/%s", i%7, strings.Repeat("é", i%99)), fmt.Sprint(i))
	}
	want = append(want, strings.Repeat("x", 2*textBlock), strings.Repeat("x", textBlock), "\x00", "\xff")
	slices.Sort(want)
	want = slices.Compact(want)
	b := NewBag(spec)
	for i := range want {
		name := []byte(want[i*7919%len(want)])
		b.PutName(UserHash{uint64(i)}, name, spec.Window.Start, int64(i))
		b.PutName(UserHash{uint64(i), 1}, name, spec.Window.Start, int64(i))
		clear(name) // the bag has its own
	}
	payload := b.Seal()
	if payload[1] != flagOpen|flagPacked {
		t.Errorf("flags %d, want those of a packed block of names", payload[1])
	}
	p, err := decodePayload(payload, spec.Window.Start)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c := p.open.cursor(); c.nextName(); {
		got = append(got, string(c.name))
		for c.next() {
			if string(c.name) != want[c.rows.value*7919%int64(len(want))] {
				t.Fatalf("user %d has another name", c.rows.value)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Many names of one user are no cluster: rows begin their search as evenly as if each were another user's.
func TestNamesOfOneUserAreNoCluster(t *testing.T) {
	spec := testSpec
	spec.Open = true
	b := NewBag(spec)
	for i := range 100_000 {
		b.PutName(UserHash{7, 7}, fmt.Append(nil, i), spec.Window.Start, 1)
	}
	b.settle()
	at, most := map[uint32]int{}, 0
	b.rows.each(func(_ uint32, r *row) {
		at[b.rows.place(r.user)]++
		most = max(most, at[b.rows.place(r.user)])
	})
	// at most ¾ of the places are taken on average, so 12 in one of 2^18 by chance: 2^18·(¾)^13/13! < 1e-6
	if most > 12 {
		t.Errorf("%d rows begin at one place", most)
	}
}
