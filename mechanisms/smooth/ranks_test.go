package smooth

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanksAreThoseOfTheCutValues compares all ranks and sums with those of a list of the values, one for each user,
// that was cut, moved and stretched value by value. Some samples have several blocks, and sums beyond 64 bits.
func TestRanksAreThoseOfTheCutValues(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for round := range 400 {
		distinct, step := random.IntN(1+round%100), []int64{1, 3, 1 << 40}[round%3]
		var values, counts []int64
		for v := random.Int64N(4) * step; len(values) < distinct; v += (1 + random.Int64N(3)) * step {
			count := 1 + random.Int64N(3)
			if round%4 < 2 && random.IntN(20) > 0 {
				count = 1 // most blocks have a stretch of such values
			}
			values, counts = append(values, v), append(counts, count)
		}
		end := int64(4)
		if distinct > 0 {
			end = values[distinct-1]/step + 3
		}
		low := random.Int64N(end) * step
		high := low + random.Int64N(end)*step
		parts := []int64{1, 1000}[round%2]
		x := NewValues(values, upTo(counts)).within(low, high, parts)
		var users []int64
		for j, v := range values {
			for range counts[j] {
				users = append(users, (min(max(v, low), high)-low)*parts)
			}
		}
		n, last := int64(len(users)), (high-low)*parts
		list := slices.Concat([]int64{0, 0}, users, []int64{last, last}) // from rank −1 on
		sum := new(big.Int)
		for i, want := range list {
			r := int64(i) - 1
			if x.n != n || x.last != last || x.at(r) != want {
				t.Fatalf("round %d: rank %d of %d is %d of %d; want %d of %d", round, r, x.n,
					x.at(r), x.last, want, last)
			}
			if sum.Add(sum, big.NewInt(want)); x.sum(r).Big().Cmp(sum) != 0 {
				t.Fatalf("round %d: the values up to rank %d sum up to %s, want %s", round, r, x.sum(r).Big(), sum)
			}
		}
	}
}
