// Package smooth releases means, trimmed means, medians and quantiles by smooth sensitivity
// [Nissim, Raskhodnikova & Smith 2007]:
//
//	T + (g/α)·Z, clamped to the grid 0..N and rounded to its nearest point.
//
// T is the statistic of the users' values, which are whole numbers on the grid. g is its β-smooth sensitivity: the
// maximum over k of e^{−βk}·A_k, where A_k is the largest change of T between neighbours at most k edits away. Z is
// noise of one of eight laws, and α belongs to the law, β and ε. Neighbours differ by one user's value, added or
// removed; their number is private and may be 0.
//
// Start at [New] and [Mechanism.Draw]. median.go, trimmed.go, quantile.go and replace.go hold one statistic each with
// its sensitivity, search.go the maximum, power.go to arsinh.go one noise each with its calibration and its proof,
// round.go the way to the grid.
//
// # What is exact
//
// The law of a draw is the ideal one, that of real numbers, not of float64 (whose gaps have given such mechanisms
// away):
//
//   - T is a fraction of whole numbers of 128 bits. ε, δ, β, γ, τ and p are the rational numbers of their decimal text.
//   - g is a maximum of terms e^{−βk}·A with rational A. The search over edited samples discards what float64 proves to be
//     smaller, by more than all its rounding errors, and what is smaller for every β; the few terms left are the
//     formula of g from there on.
//   - |Z| is a formula in uniform numbers that have any number of bits; more are drawn when they are asked for.
//   - The result y = (g/α)·|Z| is enclosed in float64, each operation rounded outward. If both ends of T ± y lead to the
//     same grid point, that point is the answer for the ideal number too. If not, everything is computed again in longer
//     numbers, with more bits of the uniforms, until both ends agree (the interval refining of Haney et al. 2022).
//     Rejection in the samplers is decided in the same way. Refinement ends with probability 1; on grids of less than
//     2^30 points it is seldom needed at all.
//
// What is rounded is public and part of the law: a β that is computed from a logarithm (laplace, gaussian) is rounded
// down to 12 digits, and the σ of the log-normal laws is a number of few digits. Their α follows exactly.
//
// Privacy needs of g that it is smooth, g ≤ e^β·g' for neighbours, and that |T−T'| ≤ min(g, g'). Both follow from A_k being
// what it is defined to be. The tests compare it with a search through all edits of small samples, and compare the
// exact output probabilities of all neighbours.
//
// # What is proved and what is checked
//
// power, cauchy, student_t, laplace and gaussian have their proofs in their files. The tests check the loss of the first
// three everywhere, up to rounding, and compute the δ of the other two.
//
// lln, uln and arsinh rest on theorems of Bun & Steinke (2019), whose proofs are not repeated here. The tests pin α, β and σ
// to values of the printed formulas that were computed apart from this code. They also integrate Rényi divergences at
// orders up to 1500, which are those of a budget of ε = 0.02 and δ = 10^−7: at most 0.38 of what is promised was found.
// That is numerical evidence for the orders and shifts that were tried, and no proof.
//
// # Time
//
// A draw passes over the distinct values once and then evaluates a few hundred edited samples, typically; it takes
// about 10 µs for a thousand users and 2 ms for a million different values. The search is slowest where many edits
// are worth the same: one value held by a million users takes up to a second at τ ≥ 0.499 or p = 0.5 (the median does
// not), and some seconds at β ≤ 10^−5. So the time depends on the data, as with every exact sampler. Who draws must not
// let it show; Louver releases on a public schedule.
package smooth
