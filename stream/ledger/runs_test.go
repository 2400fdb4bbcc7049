package ledger

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := rapid.SliceOf(rapid.Map(rapid.Int64Range(0, 30),
			func(s int64) int64 { return s * int64(time.Second) })).Draw(t, "ends")
		slices.Sort(ends)
		left := int64(len(ends))
		got, err := runsOf(ends).ends(&left)
		if err != nil || !slices.Equal(got, ends) || left != 0 {
			t.Fatalf("%v (%v), %d left, want %v", got, err, left, ends)
		}
	})
}
