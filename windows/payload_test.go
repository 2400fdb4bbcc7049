package windows

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var testSpec = BagSpec{Groups: []string{"ap", "eu", "us"}, MaxGroups: 2, Policy: Last,
	Window: Window{1e18, 1e18 + 900e9},
	Hasher: NewHasher([16]byte{1}), Adding: Adding{Lower: -10, Step: 3, Last: 30}}

func testBag(spec BagSpec) *Bag {
	return fillBag(spec, []event{
		{"a", "eu", 1e18 + 1, 5}, {"b", "eu", 1e18 + 2, -1}, {"c", "eu", 1e18 + 3, 5}, {"a", "us", 1e18 + 4, 60001},
		{"a", "us", 1e18 + 5, 7},
	})
}

func testMerger(t *testing.T, spec BagSpec, payloads ...[]byte) *Merger {
	t.Helper()
	m := NewMerger(spec, 1<<20)
	for m.Pass() {
		for _, p := range payloads {
			if err := m.Add(p, spec.Window); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func TestMergerLeavesOutUnknownGroups(t *testing.T) {
	spec := testSpec
	spec.Groups = []string{"us", "new"}
	m := testMerger(t, spec, testBag(testSpec).Seal())
	if d := cmp.Diff(map[string][]Point{"us": {{7, 1}}}, samples(spec.Groups, m.Sample)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Times are written relative to the window, which keeps them short, and read back as absolute times.
func TestPayloadTimes(t *testing.T) {
	payload := testBag(testSpec).Seal()
	p, err := decodePayload(payload, testSpec.Window.Start)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.groups[1].rows(); r.name != "us" || !r.next() || r.order != 1e18+5 || r.next() {
		t.Errorf("group %q has a row of time %d, want one of us: 1e18+5", r.name, r.order)
	}
	if want := 6 + (3 + 2 + 3*16 + 3 + 3) + (3 + 2 + 16 + 1 + 1) + 4; len(payload) != want { // header; eu; us; checksum
		t.Errorf("the payload has %d bytes, want %d", len(payload), want)
	}
}

// Times that are whole seconds, milliseconds or microseconds after the slice's start are written as such.
func TestPayloadUnits(t *testing.T) {
	spec := testSpec
	spec.Groups = []string{""}
	for unit, want := range map[int64]int64{1e9: 1e9, 1e6: 1e6, 1e3: 1e3, 1: 1, 60e9: 1e9, 2500: 1} {
		start := spec.Window.Start
		p, err := decodePayload(fillBag(spec, []event{{"a", "", start, 1}, {"b", "", start + 3*unit, 1}}).Seal(), start)
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		for r := p.groups[0].rows(); r.next(); {
			times = append(times, r.order-start)
		}
		slices.Sort(times)
		if p.groups[0].unit != want || !slices.Equal(times, []int64{0, 3 * unit}) {
			t.Errorf("times 0 and %d are read as %d in units of %d, want units of %d", 3*unit, times,
				p.groups[0].unit, want)
		}
	}
}

// Payloads that a release wrote are in testdata. Their bytes are kept, so a decoder that changes what they mean is
// noticed. Beside the payload of the same bag they change nothing: each user counts once.
func TestPayloadsOfReleases(t *testing.T) {
	for _, policy := range policies {
		listed := testSpec
		listed.Policy = policy
		open := listed
		open.Open, open.Other, open.MaxGroups = true, true, 1
		open.Groups = []string{"/hats", "/products/0007/reviews", "/shoes/1", "(other)"}
		for _, c := range []struct {
			kind  string
			spec  BagSpec
			bag   *Bag
			flags byte
		}{{"", listed, testBag(listed), 0}, {"-open", open, openBag(open), flagOpen},
			{"-packed", open, packedBag(open), flagOpen | flagPacked}} {
			payload, err := os.ReadFile(filepath.Join("testdata", "payloads", "2-"+string(policy)+c.kind))
			if err != nil {
				t.Fatal(err)
			}
			own := c.bag.Seal()
			sample := c.bag.Sample
			if c.spec.Open { // only a merger knows its list
				sample = testMerger(t, c.spec, own).Sample
			}
			want := samples(c.spec.Groups, sample)
			beside := [][]byte{own, payload}
			if policy.Adds() { // what is in both would count twice
				beside = beside[1:]
			}
			for _, parts := range [][][]byte{{payload}, beside} {
				if d := cmp.Diff(want, samples(c.spec.Groups, testMerger(t, c.spec, parts...).Sample)); d != "" {
					t.Errorf("policy %s%s, %d parts: (-want +got)\n%s", policy, c.kind, len(parts), d)
				}
			}
			if payload[1] != c.flags {
				t.Errorf("policy %s%s: flags are %d, want %d", policy, c.kind, payload[1], c.flags)
			}
			if c.kind != "-packed" && !slices.Equal(payload, own) {
				t.Errorf("policy %s%s: the bag is sealed into other bytes than before", policy, c.kind)
			}
		}
	}
}

func TestPayloadKeepsExtremes(t *testing.T) {
	for _, policy := range policies {
		spec := testSpec
		spec.Policy, spec.Groups = policy, []string{""}
		extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, math.MaxInt64 - 1, math.MaxInt64}
		var events []event
		for _, value := range extremes {
			for _, time := range extremes {
				events = append(events, event{string(rune('a' + len(events)%9)), "", time, value})
			}
		}
		b := fillBag(spec, events)
		if d := cmp.Diff(b.Sample(0), testMerger(t, spec, b.Seal()).Sample(0)); d != "" {
			t.Errorf("policy %s: (-want +got)\n%s", policy, d)
		}
		half := fillBag(spec, events[:18]).Seal()
		want := b.Sample(0) // totals wrap, and the model's do not
		if !policy.Adds() {
			want = model(func() BagSpec { s := spec; s.MaxGroups = 1; return s }(), events)[""]
		}
		if d := cmp.Diff(want,
			testMerger(t, spec, fillBag(spec, events[18:]).Seal(), half).Sample(0)); d != "" {
			t.Errorf("policy %s, merged: (-want +got)\n%s", policy, d)
		}
	}
}

func TestMergerRefuses(t *testing.T) {
	f := func(data []byte, want string) {
		t.Helper()
		m, payload := NewMerger(testSpec, 1<<20), testBag(testSpec).Seal()
		for m.Pass() {
			if err := m.Add(payload, testSpec.Window); err != nil {
				t.Fatal(err)
			}
			if err := m.Add(data, testSpec.Window); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not say %q", err, want)
			}
		}
		if d := cmp.Diff(samples(testSpec.Groups, testMerger(t, testSpec, payload).Sample),
			samples(testSpec.Groups, m.Sample)); d != "" {
			t.Errorf("%s: samples changed (-before +after)\n%s", want, d)
		}
	}
	other := testSpec
	other.Policy = First
	f(testBag(other).Seal(), `policy "first"; want "last"`)
	f(nil, "empty")
	f([]byte{1, 0, 0}, "version 1; want 2")
	f([]byte("nonsense"), "payload of 8 bytes: version 110; want 2")

	last := byte(Last.code())
	user, later := slices.Repeat([]byte{7}, 16), slices.Repeat([]byte{8}, 16)
	two := func(b ...[]byte) []byte { return summed(slices.Concat(append([][]byte{{2, 0, last, 3, 1}}, b...)...)) }
	f([]byte{2}, "checksum")
	f(append(two([]byte{0}), 0), "checksum")
	f(summed([]byte{2, 4, last, 3, 1, 0}), "flags 4")
	f(summed([]byte{2, 2, last, 3, 1, 0}), "flags 2")
	f(summed([]byte{2, 0, 8, 3, 1, 0}), "policy 8")
	f(summed([]byte{2, 0, last, 4, 1, 0}), "unit 4")
	f(two([]byte{9}), "groups: 9 do not fit")
	f(two([]byte{1, 1, 1, 'u', 1}, user, []byte{0, 0}), "shares 1 bytes with one of 0")
	f(two([]byte{1, 0, 99, 'u', 1}, user, []byte{0, 0}), "name: 99 do not fit")
	f(two([]byte{1, 0, 1, 'u', 0}, user, []byte{0, 0}), "without rows")
	f(two([]byte{1, 0, 1, 'u', 1}, user, []byte{0, 0, 0}), "1 bytes too many")
	f(two([]byte{1, 0, 1, 'u', 2}, user, user, []byte{0, 0, 0, 0}), "users are not ascending")
	f(two([]byte{1, 0, 1, 'u', 2}, later, user, []byte{0, 0, 0, 0}), "users are not ascending")
	f(two([]byte{1, 0, 1, 'u', 1}, user, slices.Repeat([]byte{0xff}, 11)), "value: not a number")
	f(two([]byte{1, 0, 1, 'u', 1}, user, []byte{0, 0x80}), "time: not a number")
	f(two([]byte{2, 0, 1, 'u', 1}, user, []byte{0, 0, 1, 0, 1}, user, []byte{0, 0}), "groups are not ascending")
}

// summed adds the checksum to the bytes of a payload.
func summed(b []byte) []byte { return binary.BigEndian.AppendUint32(b, castagnoli(b)) }

// A changed payload is an error.
func TestMergerNoticesAnyChangedBit(t *testing.T) {
	payload := testBag(testSpec).Seal()
	for i := range 8 * len(payload) {
		p, m := slices.Clone(payload), NewMerger(testSpec, 1<<20)
		m.Pass()
		p[i/8] ^= 1 << (i % 8)
		if err := m.Add(p, testSpec.Window); err == nil {
			t.Errorf("bit %d was changed, and the payload accepted", i)
		}
	}
	for i := range payload {
		m := NewMerger(testSpec, 1<<20)
		m.Pass()
		if err := m.Add(payload[:i], testSpec.Window); err == nil {
			t.Fatalf("cut off after %d of %d bytes and accepted", i, len(payload))
		}
	}
}

// FuzzMerger checks that any bytes, with a checksum or as they are, are either an error that changes nothing or a
// payload that merges. They never cause a panic.
func FuzzMerger(f *testing.F) {
	for _, policy := range policies {
		spec := testSpec
		spec.Policy = policy
		payload := testBag(spec).Seal()
		f.Add(payload, byte(policy.code()))
		f.Add(payload[:len(payload)-4], byte(policy.code()))
		spec.Open = true
		for _, b := range []*Bag{openBag(spec), packedBag(spec)} {
			payload := b.Seal()
			f.Add(payload, byte(policy.code()))
			f.Add(payload[:len(payload)-4], byte(policy.code()))
		}
	}
	f.Add([]byte{}, byte(0))
	f.Add([]byte{2, 0, 0, 3, 1, 1, 0, 2, 'e', 'u', 0xff, 0xff, 0xff, 0xff, 0x0f}, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, policy byte) {
		spec := testSpec
		spec.Policy, spec.Open = policies[int(policy)%len(policies)], policy >= 128
		for _, d := range [][]byte{data, summed(slices.Clone(data))} {
			m := NewMerger(spec, 1<<20)
			m.Pass()
			err := m.Add(d, spec.Window)
			m.Pass()
			all := samples(spec.Groups, m.Sample)
			tally := NewTally(TallySpec{MaxGroups: 1, Period: spec.Window, Hasher: spec.Hasher,
				Draw: exactly}, 1<<19, 1<<19)
			tally.Pass()
			if second := tally.Add(d, spec.Window); err != nil && second == nil &&
				!strings.Contains(err.Error(), "policy") {
				t.Fatalf("a tally takes what a merger refuses: %v", err)
			}
			for tally.Pass() {
			}
			if err != nil && len(all) > 0 {
				t.Fatalf("%v, and yet %v", err, all)
			}
			for _, points := range all {
				for i, p := range points {
					if p.Count < 1 || i > 0 && points[i-1].Index >= p.Index {
						t.Fatalf("not a sample: %v", points)
					}
				}
			}
		}
	})
}

// Columns of numbers are read eight bytes at a time. They must mean, and refuse, what a loop over single numbers does.
func TestVarints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		n := rapid.IntRange(0, 40).Draw(t, "numbers")
		for range n {
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 { // most likely too long
				some := rapid.SampledFrom([]byte{0, 1, 2, 0x80, 0xff, 0xff})
				data = append(data, rapid.SliceOfN(some, 9, 12).Draw(t, "bytes")...)
			} else {
				number := rapid.Int64().Draw(t, "number")
				data = binary.AppendVarint(data, number>>rapid.IntRange(0, 63).Draw(t, "shift"))
			}
		}
		data = data[:len(data)-min(rapid.IntRange(0, 20).Draw(t, "cut off"), len(data))]

		plain, fast := &reader{rest: data}, &reader{rest: data}
		var want []int64
		for range n {
			want = append(want, plain.varint("value"))
		}
		column := fast.varints(n, "value")
		if fmt.Sprint(fast.err) != fmt.Sprint(plain.err) {
			t.Fatalf("error %v; want %v", fast.err, plain.err)
		}
		if plain.err != nil {
			return
		}
		if string(fast.rest) != string(plain.rest) {
			t.Fatalf("it leaves %d bytes; want %d", len(fast.rest), len(plain.rest))
		}
		for i := range n {
			value, size := varint(column)
			if value != want[i] {
				t.Fatalf("number %d is %d; want %d", i, value, want[i])
			}
			column = column[size:]
		}
		if len(column) > 0 {
			t.Fatalf("the column has %d bytes too many", len(column))
		}
	})
}
