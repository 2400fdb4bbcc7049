// Package running publishes a sum that grows, such as the users so far today, again and again for one ε.
//
// Time is divided into leaves. What the persons add in a leaf is a whole number, and one person adds at most c in all
// leaves of a period together, in absolute amounts: Σ|v| ≤ c. A [Strategy] publishes noisy sums of leaves, each once.
// The totals follow from these draws alone. So no noise has to be kept secret, and anyone can compute the totals again.
//
// There are two strategies: [NewTree] is ε-DP, and [NewSquareRoot] is ρ-zCDP and more exact.
package running
