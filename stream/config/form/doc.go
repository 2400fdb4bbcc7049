// Package form reads YAML by declared forms. A [Form] lists the keys of a mapping, and a [Key] has everything that is
// known about it: its name, the [Kind] of its value, its default, what it means and an example. One declaration serves
// three purposes: the file is read by it, the reference in Markdown shows it ([Form.Reference]), and so does the JSON
// Schema ([Form.JSONSchema]).
//
// A file is read with all its faults. Each is noted in the [Source] with its line and its path, with what was found,
// and with what would be right. Where a word is misspelt, the nearest one is suggested. Variables of the environment,
// written ${NAME}, are replaced in values.
//
// The package knows YAML and nothing of streams, except that two of its errors ask for a streams file. Package parse
// has the forms of streams.
package form
