package windows

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

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

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
