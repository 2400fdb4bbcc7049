// Package compare says whether two published figures, or two ranges of windows, differ by more than noise explains, and
// where a series begins to differ from its last hour.
//
// It uses public records only, and what they say of their own noise: the law of a count, error_95, usual_95 or an
// interval. A probability is always that of a difference if nothing has changed. Where no public figure gives one that
// holds, nothing is claimed. Two windows also differ because other people came. Where records do not say how much that
// usually is, one window compared with another one is compared by noise alone, and says so; the marks of a series take
// it from the series itself.
package compare
