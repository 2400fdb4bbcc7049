// Package config reads streams files. These files say which topics hold personal numbers, which statistics are
// published, how often, and how much privacy that may cost the people concerned.
//
// [Load] reads one file, a directory or a glob and returns a [File]. Everything in it is checked, resolved and typed,
// so it can be run. An error lists all mistakes, one a line. Each line says where the mistake is, what was found, and
// what would be right:
//
//	file:line: streams[checkout].window.size: 7m is not a multiple of every, which is 5m; want 5m or 10m
//
// Each key is declared once, as a [form.Key] of the [form.Form] of its mapping, with its name, kind of value, default, meaning
// and an example. The reader, the reference ([Reference]) and the JSON Schema ([Schema]) all use that declaration.
//
// The package does not know the broker. Others check whether topics exist and keep their records long enough.
package config
