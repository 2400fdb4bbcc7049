package period

import (
	"testing"
	"time"
)

// A stretch has as many windows as fit, of which the oldest begins a block. Windows before 1970 do too.
func TestStretches(t *testing.T) {
	for _, c := range []struct {
		length, every time.Duration
		blocks        int64
	}{{time.Hour, 5 * time.Minute, 12}, {day, 5 * time.Minute, 288}, {day, time.Minute, 288}, {day, 4 * time.Minute, 180},
		{3 * day, time.Minute, 288}, {25 * time.Hour, time.Minute, 250}, {366 * day, time.Second, 288},
		{time.Hour, time.Hour, 1}} {
		s := NewStretch(c.length, c.every)
		if s.Blocks() != c.blocks {
			t.Errorf("%s of %s has %d blocks; want %d", Name(c.length), c.every, s.Blocks(), c.blocks)
		}
		n := int64(c.length / c.every)
		for _, newest := range []int64{-3 * n, -1, 0, 1, 999, 1_000_003} {
			first, size := s.First(newest), s.block()
			start, windows := s.Since(newest)
			// The oldest window begins a block, is in the stretch, and the block before it is not as a whole.
			if windows > n || windows <= n-size || first*size < newest-n+1 || (first-1)*size >= newest-n+1 ||
				s.Block(first*size) != first || s.Block(first*size-1) != first-1 || s.Window(start) != first*size ||
				s.Block(newest)-first+1 > c.blocks+1 {
				t.Errorf("%s of %s up to %d: from block %d of %d windows, %d in all", Name(c.length), c.every, newest, first,
					size, windows)
			}
		}
	}
}
