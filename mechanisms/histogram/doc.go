// Package histogram computes what a private histogram says. It knows the public buckets, and the noisy numbers that
// were drawn for them. Everything here is post-processing of public figures and costs nothing.
//
// buckets.go and native.go divide a grid into buckets. estimate.go turns the drawn numbers into the least-variance
// estimate of each bucket, and into counts that are never negative. band.go says how far a figure may be off, and
// evidence.go which excess noise alone hardly ever makes.
//
// Package mechanisms draws the numbers.
package histogram
