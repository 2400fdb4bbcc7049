package histogram

import "slices"

// project returns the vector nearest to x that is nowhere negative and has the sum t: max(x_i − τ, 0), in whole
// numbers, with τ rounded to the nearest. It is all zeros if t ≤ 0. The sum may miss t by a rounding of each number.
//
// Source: Duchi, Shalev-Shwartz, Singer, Chandra (2008), Figure 1: with x in descending order, τ = (Σ_{j≤k} x_j − t)/k
// for the largest k whose x_k is greater than that.
func project(x []int64, t int64) []int64 {
	shown := make([]int64, len(x))
	if t <= 0 {
		return shown
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	var sum, above, kept int64
	for j, v := range sorted {
		sum += v
		if k := int64(j + 1); v*k > sum-t {
			above, kept = sum-t, k
		}
	}
	tau := nearest(above, kept)
	for i, v := range x {
		shown[i] = max(0, v-tau)
	}
	return shown
}

// nearest returns num/den rounded to the nearest whole number, halves upward, for den > 0.
func nearest(num, den int64) int64 {
	q, r := num/den, num%den
	if r < 0 {
		q, r = q-1, r+den
	}
	if r >= den-r {
		q++
	}
	return q
}
