// Package config is the model of streams files. They say which topics hold personal numbers, which statistics are
// published, how often, and how much privacy that may cost the people concerned. Package parse reads a [File]:
// parse.Load from the disk, and parse.File from text. Everything in it is checked, resolved and typed, so it can be
// run.
//
// A [Stream] reads one topic and publishes to another. Its parts are the [Window], the releases that are drawn in each
// window ([Release]), the alarms and the releases that are published on change ([Watch]), the number of windows in
// which one user counts ([MaxWindows]), and the [Budget] that pays for it. What all of it costs is in price.go.
//
// A [Definition] is a stream in a normal form. All processes agree on it. [Changes] says what differs between two of
// them, and [Consequences] what it costs that one follows the other.
//
// The package knows nothing of the broker. Others check whether topics exist and keep their records long enough.
package config
