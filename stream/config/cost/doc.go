// Package cost says what streams cost one person: through a window, an event, a watch, a stretch of time, a day, or all
// that a budget pays for. Everything that tells people about a loss asks this package, so that all of it agrees.
//
// A [Stream] has what a loss depends on, and a [Payer] is a budget with the streams that it pays for. A [Loss] is a
// bound, together with the plain sum.
package cost
