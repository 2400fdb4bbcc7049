package service

import (
	"slices"
	"testing"
)

// TestMemoryLimitGrowsWithWhatMayNotBeDropped: the limit follows what the partitions of the release stage remember, in
// steps, and goes back when a partition goes to another process.
func TestMemoryLimitGrowsWithWhatMayNotBeDropped(t *testing.T) {
	const least = 100<<20 + besidesBags
	var set []int64
	m := &memory{bags: 100 << 20, set: func(limit int64) { set = append(set, limit) }, fixed: map[int]int64{}}
	m.move()
	for _, said := range []struct {
		partition int
		bytes     int64
	}{{3, 0}, {3, 1 << 20}, {3, 2 << 20}, {5, 302 << 20}, {5, 302<<20 + 1}, {3, 0}, {5, 0}} {
		m.remembers(said.partition, said.bytes)
	}
	want := []int64{least, least + memoryStep, least + 19*memoryStep, least + 20*memoryStep,
		least + 19*memoryStep, least}
	if !slices.Equal(set, want) {
		t.Errorf("the limits were %d, want %d", set, want)
	}
}
