// Package compare says whether two published figures, or the means of two ranges of windows, differ by more than their
// noise explains.
//
// It uses public records only, and what they say of their own error: an interval, error_95 or the smoothed band. The
// chance that noise alone makes a difference is computed as if the truth were the same on both sides.
package compare
