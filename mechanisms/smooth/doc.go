// Package smooth releases means, trimmed means, medians and quantiles by smooth sensitivity
// [Nissim, Raskhodnikova & Smith 2007]:
//
//	T + (g/α)·Z, clamped to the grid 0..N and rounded to its nearest point.
//
// T is the statistic of the users' values, which are whole numbers on the grid. g is its β-smooth sensitivity: the
// maximum over k of e^{−βk}·A_k, where A_k is the largest change of T between neighbours at most k edits away. Z is
// noise with one of eight laws, and α depends on the law, β and ε. Neighbours differ by one user's value, added or
// removed; the number of users is private and may be 0.
//
// Start at [New] and [Mechanism.Draw]. statistics.go holds the statistics and their sensitivities, search.go finds the
// maximum, and round.go rounds to the grid. The noises have files of their own, with calibration and proof. noise.go
// lists them.
//
// # What is exact
//
// A draw follows the ideal law of real numbers, not that of float64, whose gaps have leaked data in such mechanisms:
//
//   - T is a fraction of whole numbers of 128 bits. ε, δ, β, γ, τ and p are the rational numbers of their decimal text.
//   - g is a maximum of terms e^{−βk}·A with rational A. The search over edited samples discards terms that float64
//     proves smaller, by more than all its rounding errors, and terms that are smaller for every β. The few terms left
//     are the formula of g from there on.
//   - |Z| is a formula in uniform numbers with any number of bits, which are drawn on demand.
//   - The result y = (g/α)·|Z| is enclosed in float64, with each operation rounded outward. If both ends of T ± y give
//     the same grid point, the ideal number gives that point too. If not, everything is computed again in longer
//     numbers, with more bits of the uniforms, until both ends agree (the interval refining of Haney et al. 2022).
//     Rejection in the samplers is decided in the same way. Refinement ends with probability 1. On grids of less than
//     2^30 points it is seldom needed at all.
//
// Rounded parameters are public and part of the law: a β computed from a logarithm (laplace, gaussian) is rounded down
// to 12 digits, and the σ of the log-normal laws has a few digits. Their α follows exactly.
//
// Privacy requires that g is smooth, g ≤ e^β·g' for neighbours, and that |T−T'| ≤ min(g, g'). Both follow from the
// definition of A_k. The tests compare A_k with a search through all edits of small samples, and compare the exact
// output probabilities of all neighbours.
//
// # What is proved and what is checked
//
// The files of power, cauchy, student_t, laplace and gaussian contain their proofs. The tests check the loss of the
// first three everywhere, up to rounding, and compute the δ of the other two.
//
// lln, uln and arsinh rely on theorems of Bun & Steinke (2019), whose proofs are not repeated here. The tests compare
// α, β and σ with values of the printed formulas that were computed independently of this code. They also integrate
// Rényi divergences at orders up to 1500, which a budget of ε = 0.02 and δ = 10^−7 uses: they reached at
// most 0.38 of the promise. That is numerical evidence for the orders and shifts tried, not a proof.
//
// # Time
//
// A draw passes over the distinct values once and then typically evaluates a few hundred edited samples. It takes about
// 10 µs for a thousand users and 2 ms for a million different values. The search is slowest if many edits have equal
// effect: one value held by a million users takes up to a second at τ ≥ 0.499 or p = 0.5 (but not for the median), and
// some seconds at β ≤ 10^−5. So the time depends on the data, as with every exact sampler. The caller must not reveal
// it; Louver releases on a public schedule.
package smooth
