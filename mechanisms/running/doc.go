// Package running publishes a number again and again for one ε: a sum that grows, such as the users so far today, or a
// number that rises and falls, such as the users seen lately.
//
// Time is divided into leaves. What the persons add in a leaf is a whole number. In a sum that grows one person adds at
// most c in all leaves of a period together, in absolute amounts: Σ|v| ≤ c. Of the users seen lately, one person is 0
// or 1 in each leaf, and there are no periods. A [Strategy] publishes noisy sums of leaves, each once. The values
// follow from these draws alone. So no noise has to be kept secret, and anyone can compute the values again.
//
// [NewTree] is ε-DP for a period, and [NewSquareRoot] is ρ-zCDP and more exact. [NewCentred] and [NewCentredGaussian]
// are ε-DP and ρ-zCDP for any day.
package running
