// Package parse makes a [config.File] out of streams files. [Load] reads them from the disk, [File] reads a text, and
// [Definition] reads back what the control topic holds. An error lists all mistakes, one a line. Each line says where
// the mistake is, what was found, and what would be right:
//
//	file:line: streams[checkout].window.size: 7m is not a multiple of every, which is 5m; want 5m or 10m
//
// A file is read in three steps. Package form reads the keys by the forms that are declared here. Each part of a
// stream has a file with its form and with what makes the part sound: input.go, window.go, release.go, watch.go and so
// on. A part that is read keeps its place until the file is done (releaseNode, watchNode, streamNode), so that
// mistakes found later have a place too. Then [parser.resolve] finds the budget of each stream and makes what depends
// on it. Finally, relations.go and payable.go check that streams go together and that budgets can pay for them.
//
// The reference ([Reference]) and the JSON Schema ([Schema]) follow from the same forms.
package parse
