// Package config reads streams files: which topics hold personal numbers, which statistics of them leave, how often,
// and what that may cost the people they are about.
//
// [Load] reads one file, a directory or a glob and returns a [File], in which everything is checked, resolved and
// typed: what comes out of here can be run. What is wrong is told all at once, each mistake once and in one line: where
// it is, what was found; what would be right:
//
//	file:line: streams[checkout].window.size: 7m is not a multiple of every, 5m; want 5m or 10m
//
// Each key is declared once, as a [key] of the [form] of its mapping: its name, its kind of value, its default, what it
// means and an example. Reading, the reference ([Reference]) and the JSON Schema ([Schema]) all come from that.
//
// The package knows nothing of the broker: whether topics exist and keep their records long enough is checked against
// the broker itself.
package config
