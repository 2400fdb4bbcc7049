package parse

import "github.com/louver/louver/stream/config/form"

// Schema is the JSON Schema (draft 2020-12) of streams files. It covers keys, types and ranges. Only [File] checks how
// keys fit together.
func Schema() map[string]any { return fileForm.JSONSchema("Louver streams file") }

// Reference returns the reference of streams files, in Markdown.
func Reference() string { return fileForm.Reference() }

// document is the content of one file.
type document struct {
	revision int
	removed  []string
	budgets  []budgetNode
	streams  []streamNode
}

var fileForm = form.Form{
	{Name: "version", Required: true, Example: "1", Meaning: "the version of this format",
		Value: form.Into(version(), func(*document, int) {})},
	{Name: "revision", Absent: "0", Example: "1",
		Meaning: "raise it to go back to an earlier definition. Without that, a process with an older file follows " +
			"the newer definitions of the others",
		Value: form.Into(form.Whole(""), func(d *document, v int64) { d.revision = int(v) })},
	{Name: "removed", Absent: "none", Example: "[checkout-latency]",
		Meaning: "streams that have been taken out of the files and should end. Louver refuses files that lack a " +
			"stream and do not list it here",
		Value: form.Into(form.ListOf(streamName(), "names of streams", 0, form.Most),
			func(d *document, v []string) { d.removed = v })},
	{Name: "budgets", Absent: "each stream has its own", Example: "[{name: shoppers, epsilon: 24, per: 24h}]",
		Meaning: "budgets that several streams share",
		Value: form.Into(
			form.ListOf(sharedBudget(), "budgets, for example {name: shoppers, epsilon: 24, per: 24h}", 0, form.Most),
			func(d *document, v []budgetNode) { d.budgets = v })},
	{Name: "streams", Required: true, Example: "[{name: checkout-latency, …}]",
		Meaning: "the streams: each reads one topic and publishes to another",
		Value: form.Into(form.ListOf(streams(), "streams", 1, form.Most),
			func(d *document, v []streamNode) { d.streams = v })},
}

func version() form.Kind[int] {
	s := form.Spec{Name: "1", Want: "1", Words: []string{"1"}, Schema: form.Schema{"type": "integer", "const": 1}}
	return form.Scalar(s, func(text string) (int, error) {
		if text != "1" {
			return 0, form.ErrUnwanted
		}
		return 1, nil
	})
}
