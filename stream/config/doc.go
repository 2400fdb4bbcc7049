// Package config is the model of streams files. They say which topics hold personal numbers, which statistics are
// published, how often, and how much privacy that may cost the people concerned. Package parse reads a [File]:
// parse.Load from the disk, and parse.File from text. Everything in it is checked, resolved and typed, so it can be
// run.
//
// A [Stream] reads one topic and publishes to another. Its parts are the [Window], the number of windows in which one
// user counts ([MaxWindows]), the [Budget] that pays for it, and what it publishes: an ordered list of figures. A
// [Figure] is of one of the [Kinds], and says itself what it costs and which series it has. So whoever goes through the
// figures need not know the kinds. What all of them cost together is in price.go.
//
// A [Definition] is a stream in a normal form. All processes agree on it. [Changes] says what differs between two of
// them, and [Consequences] what it costs that one follows the other.
//
// The package knows nothing of the broker. Others check whether topics exist and keep their records long enough.
package config
