package form

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Reference returns the reference of files of this form, in Markdown: a table of keys for the file and for each mapping
// in it.
func (f Form) Reference() string {
	var b strings.Builder
	f.reference(&b, "", "The file")
	return strings.TrimSpace(b.String()) + "\n"
}

// reference writes the table of a mapping's keys and the tables of the mappings in it.
func (f Form) reference(b *strings.Builder, path, title string) {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"key", "type", "default", "meaning", "example"})
	for _, k := range f {
		typ := strings.ReplaceAll(k.Value.Name, "|", "\\|")
		t.AppendRow(table.Row{code(k.Name), typ, k.otherwise(), k.told(), code(k.Example)})
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, t.RenderMarkdown())
	for _, k := range f {
		if k.Value.Keys == nil {
			continue
		}
		at := strings.TrimPrefix(path+"."+k.Name, ".")
		if k.Value.Schema["type"] == "array" {
			at += "[]"
		}
		k.Value.Keys.reference(b, at, code(at))
	}
}

// otherwise says what happens without the key.
func (k Key) otherwise() string {
	switch {
	case k.Required && k.Unless != "":
		return "required without " + code(k.Unless)
	case k.Required:
		return "required"
	case k.Fallback != "":
		return code(k.Fallback)
	}
	return k.Absent
}

func (k Key) told() string {
	text := sentence(k.Meaning)
	if k.Unless != "" && !k.Required {
		text = fmt.Sprintf("Not with %s. %s", code(k.Unless), text)
	}
	if k.Only.Key != "" {
		var words []string
		for _, w := range k.Only.Is {
			words = append(words, code(w))
		}
		text = fmt.Sprintf("Only with %s %s. %s", code(k.Only.Key), List(words, "or"), text)
	}
	return text
}

// sentence turns a meaning into sentences.
func sentence(meaning string) string {
	r, size := utf8.DecodeRuneInString(meaning)
	return string(unicode.ToUpper(r)) + meaning[size:] + "."
}

func code(text string) string { return "`" + text + "`" }
