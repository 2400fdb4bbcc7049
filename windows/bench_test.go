package windows

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

const (
	benchUsers  = 100_000
	benchValues = 60_000
)

// traffic is a long series of records in the order of a fetch: 12-byte ids of 100 000 users, 60 000 different values,
// and increasing times.
type traffic []struct {
	id    [12]byte
	value int64
}

func newTraffic() traffic {
	r := rand.New(rand.NewPCG(1, 2))
	t := make(traffic, 1<<20)
	for i := range t {
		user := i // the first hundred thousand come from different users, later ones from random users
		if i >= benchUsers {
			user = r.IntN(benchUsers)
		}
		copy(t[i].id[:], fmt.Sprintf("user-%07d", user))
		t[i].value = r.Int64N(benchValues)
	}
	return t
}

func (t traffic) record(i int) (id []byte, time, value int64) {
	r := &t[i%len(t)]
	return r.id[:], int64(i), r.value
}

func (t traffic) fill(b *Bag, groups int) {
	for i := range benchUsers {
		id, time, value := t.record(i)
		b.Put(b.spec.Hasher.User(id), i%groups, time, value)
	}
}

func benchSpec(policy Policy, groups, maxGroups int) BagSpec {
	spec := BagSpec{MaxGroups: maxGroups, Policy: policy, Window: Window{0, int64(time.Hour)},
		Hasher: NewHasher([16]byte{1})}
	for i := range groups {
		spec.Groups = append(spec.Groups, fmt.Sprint("group-", i))
	}
	return spec
}

// BenchmarkBagAdd adds one record in steady state, including the hash of its user.
func BenchmarkBagAdd(b *testing.B) {
	for _, c := range []struct {
		policy            Policy
		groups, maxGroups int
	}{{Last, 1, 1}, {Random, 1, 1}, {Max, 1, 1}, {Sum, 1, 1}, {Mean, 1, 1}, {Last, 10, 1}, {Last, 10, 3}} {
		b.Run(fmt.Sprintf("%s/%d_of_%d_groups", c.policy, c.maxGroups, c.groups), func(b *testing.B) {
			t, bag := newTraffic(), NewBag(benchSpec(c.policy, c.groups, c.maxGroups))
			h := bag.spec.Hasher
			t.fill(bag, c.groups)
			warm := 5 * benchUsers
			for i := benchUsers; i < warm; i++ {
				id, time, value := t.record(i)
				bag.Add(h.User(id), i%c.groups, time, value)
			}
			b.ReportAllocs()
			i := warm
			for b.Loop() {
				id, time, value := t.record(i)
				bag.Put(h.User(id), i%c.groups, time, value)
				i++
			}
		})
	}
}

// BenchmarkOpenBag adds one record of a hundred thousand users, each of whom has one of so many names, in steady state,
// and seals what there is.
func BenchmarkOpenBag(b *testing.B) {
	for _, names := range []int{10, 1000, 100_000} {
		t, spec := newTraffic(), benchSpec(Last, 0, 1)
		spec.Open = true
		bag := NewBag(spec)
		put := func(i int) {
			id, time, value := t.record(i)
			bag.PutName(spec.Hasher.User(id), fmt.Appendf(nil, "/products/%06d", value*7919%int64(names)), time, value)
		}
		for i := range 5 * benchUsers {
			put(i)
		}
		b.Run(fmt.Sprintf("put/%d_names", names), func(b *testing.B) {
			name := []byte("/products/000000")
			for i := 0; b.Loop(); i++ {
				id, time, value := t.record(i)
				of := value * 7919 % int64(names)
				for d := len(name) - 1; d > 9; d, of = d-1, of/10 {
					name[d] = byte('0' + of%10)
				}
				bag.PutName(spec.Hasher.User(id), name, time, value)
			}
		})
		b.Run(fmt.Sprintf("seal/%d_names", names), func(b *testing.B) {
			size := 0
			for b.Loop() {
				size = len(bag.Seal())
			}
			b.ReportMetric(float64(size)/float64(bag.Users()), "bytes/row")
			b.ReportMetric(float64(bag.Bytes())/float64(bag.Users()), "held/row")
		})
	}
}

// BenchmarkTally finds names among as many users as names, in so much memory: half of it for who counts for what, as a
// service has, and a quarter for the counts. It says how often it reads the parts and how much memory it holds beside
// them. LOUVER_NAMES=10000000 takes some minutes and 2 GiB for the parts.
func BenchmarkTally(b *testing.B) {
	users := 200_000
	if n, err := strconv.Atoi(os.Getenv("LOUVER_NAMES")); err == nil {
		users = n
	}
	limit := int64(users) * 26 // as 256 MiB for ten million
	spec := benchSpec(Last, 0, 1)
	spec.Open = true
	var parts [][]byte
	bag, name := NewBag(spec), []byte(nil)
	for i := range users {
		name = fmt.Appendf(name[:0], "/products/%08d/reviews", i*7919%users)
		bag.PutName(spec.Hasher.User(fmt.Append(nil, i)), name, int64(i), 1)
		if bag.Bytes() > 32<<20 || i == users-1 {
			parts = append(parts, bag.Seal())
			bag = NewBag(spec)
		}
	}
	bag = nil
	for b.Loop() {
		before, most, began := heap(), int64(0), time.Now()
		t := NewTally(TallySpec{MaxGroups: 1, Period: spec.Window, Hasher: spec.Hasher,
			Draw: func(users int64) (int64, bool, error) { return users, users > 10, nil }}, limit/2, limit/4)
		for t.Pass() {
			for _, p := range parts {
				if err := t.Add(p, spec.Window); err != nil {
					b.Fatal(err)
				}
				most = max(most, heap()-before)
			}
		}
		if t.Names() != int64(users) {
			b.Fatalf("%d names, want %d", t.Names(), users)
		}
		b.ReportMetric(float64(t.Readings()), "readings")
		b.ReportMetric(float64(most)/float64(limit), "heap/limit")
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(t.Readings()*users), "ns/row")
	}
}

// BenchmarkBagFill adds the first 100 000 records to a new bag.
func BenchmarkBagFill(b *testing.B) {
	t, spec := newTraffic(), benchSpec(Last, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		t.fill(NewBag(spec), 1)
	}
}

// BenchmarkSeal seals a bag of 100 000 users and an empty bag.
func BenchmarkSeal(b *testing.B) {
	spec := benchSpec(Last, 1, 1)
	full, empty := NewBag(spec), NewBag(spec)
	newTraffic().fill(full, 1)
	for _, c := range []struct {
		name string
		bag  *Bag
	}{{"users", full}, {"empty", empty}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = len(c.bag.Seal())
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// BenchmarkMerge merges the parts of four partitions in a new merger: all records of a user are in one partition, or
// anywhere.
func BenchmarkMerge(b *testing.B) {
	spec, t := benchSpec(Last, 3, 1), newTraffic()
	for _, c := range []struct {
		name  string
		keyed bool
		limit int64
	}{{"keyed", true, 1 << 30}, {"not_keyed", false, 1 << 30}, {"in_passes", false, 1 << 20}} {
		bags, rows, payloads := make([]*Bag, 4), 0, [][]byte(nil)
		for i := range bags {
			bags[i] = NewBag(spec)
		}
		for i := range 2 * benchUsers {
			id, time, value := t.record(7 * i)
			u, at := spec.Hasher.User(id), i%len(bags)
			if c.keyed {
				at = int(u[1] % uint64(len(bags)))
			}
			bags[at].Add(u, int(u[0]>>7%3), time*1000, value%2500)
		}
		for _, bag := range bags {
			rows += bag.Users()
			payloads = append(payloads, bag.Seal())
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			passes := 0
			for b.Loop() {
				m := NewMerger(spec, c.limit)
				for passes = 0; m.Pass(); passes++ {
					for _, p := range payloads {
						if err := m.Add(p, spec.Window); err != nil {
							b.Fatal(err)
						}
					}
				}
				m.Sample(0)
			}
			b.ReportMetric(float64(passes), "passes")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// BenchmarkHashUser hashes a 12-byte id.
func BenchmarkHashUser(b *testing.B) {
	h, id := NewHasher([16]byte{1}), []byte("user-0001234")
	b.ReportAllocs()
	for b.Loop() {
		h.User(id)
	}
}

// BenchmarkCapSnapshot writes down a hundred thousand users who have counted, and reads them back.
func BenchmarkCapSnapshot(b *testing.B) {
	rule := ruleOfMinutes(b, 8, 24*time.Hour)
	c := NewCap(rule)
	hasher := NewHasher([16]byte{})
	for w := range int64(400) {
		beginMinute(b, c, w)
		for u := range 250 {
			c.Counts(hasher.User(fmt.Appendf(nil, "%d of %d", u, w)))
		}
	}
	snapshot := c.Snapshot()
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			c.Snapshot()
		}
		b.ReportMetric(float64(len(snapshot))/float64(c.users.n), "bytes/user")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := RestoreCap(rule, snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRelease is a window in the release stage: its parts come in, the window becomes ready and is merged. One
// part has a hundred users, who are in ten parts each. What it costs for each part must not depend on how many there
// are: LOUVER_BENCH_PARTS, up to a million.
func BenchmarkRelease(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		if most, err := strconv.Atoi(os.Getenv("LOUVER_BENCH_PARTS")); n > 10_000 && (err != nil || n > most) {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchRelease(b, n) })
	}
}

func benchRelease(b *testing.B, n int) {
	const users, times, partitions = 100, 10, 1000
	spec := benchSpec(Last, 3, 1)
	schedule := Schedule{Size: time.Hour, Every: time.Hour}
	w := schedule.First()
	spec.Window = w
	all := uint32(n * users / times)
	part := func(i int) (messages [2][]byte) {
		bag := NewBag(spec)
		for u := range uint32(users) {
			var id [4]byte
			binary.BigEndian.PutUint32(id[:], (uint32(i)*users+u)*2654435761%all)
			bag.Put(spec.Hasher.User(id[:]), int(u%3), int64(i), int64(u))
		}
		// each partition writes its parts one after another, and cuts the window with the last
		at := int64(i / partitions)
		o := Origin{Stream: "s", Partition: i % partitions, From: at, To: at + 1}
		binary.BigEndian.PutUint64(o.Attempt[:], uint64(i))
		m := Mark{Origin: o, Partitions: min(n, partitions), Slices: []int64{w.Start}, After: w.Start, Through: w.Start}
		if i >= n-partitions {
			m.Through = w.End
		}
		return [2][]byte{Part{o, w, bag.Seal()}.Messages(1 << 20)[0], m.Message()}
	}
	log := make([][2][]byte, min(n, 10_000))
	for b.Loop() {
		g := NewGathering(1 << 40)
		g.Follow("s", 0, schedule, 0, w.Start)
		before := heap()
		var gathering time.Duration
		for i := 0; i < n; { // messages are made in turns, so that they are not all there at once
			turn := log[:min(len(log), n-i)]
			for k := range turn {
				turn[k] = part(i + k)
			}
			begin := time.Now()
			for k, messages := range turn {
				for _, m := range messages {
					if err := g.Add(m, int64(i+k), time.Unix(0, w.End)); err != nil {
						b.Fatal(err)
					}
				}
			}
			gathering += time.Since(begin)
			i += len(turn)
		}
		clear(log)
		held := heap() - before
		if state := g.State("s", 0, w); !state.Ready || len(state.Incomplete) > 0 {
			b.Fatalf("%+v", state)
		}
		begin, passes := time.Now(), 0
		m := NewMerger(spec, 256<<20)
		for m.Pass() {
			passes++
			for _, h := range g.Parts("s", 0, w) {
				if err := m.Add(h.Payload, h.Slice); err != nil {
					b.Fatal(err)
				}
			}
		}
		merging := time.Since(begin)
		found := int64(0)
		for group := range spec.Groups {
			for _, p := range m.Sample(group) {
				found += p.Count
			}
		}
		if found < int64(all)/2 || found > int64(all) {
			b.Fatalf("%d users of %d", found, all)
		}
		b.ReportMetric(float64(gathering.Nanoseconds())/float64(n), "ns/part-gathered")
		b.ReportMetric(float64(merging.Nanoseconds())/float64(n), "ns/part-merged")
		b.ReportMetric(float64(held)/float64(n), "B/part")
		b.ReportMetric(float64(passes), "passes")
	}
}

// heap is how much memory is held, without garbage.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
