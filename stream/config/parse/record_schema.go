package parse

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/form"
)

// schemaKeys are the keys of a schema as they are written.
type schemaKeys struct {
	file, text, message string
	sound               bool
}

var schemaForm = form.Form{
	{Name: "file", Absent: "`text` has it", Example: "checkout.avsc",
		Meaning: "the file that holds the schema, from the folder of the streams file: `.avsc` for avro; for " +
			"protobuf a `.proto` file, or a set of descriptors that `protoc --include_imports --descriptor_set_out` " +
			"writes",
		Value: form.Into(form.Prose(), func(s *schemaKeys, v string) { s.file = v })},
	{Name: "text", Absent: "`file` has it", Example: `'{"type": "record", …}'`,
		Meaning: "the schema itself: JSON for avro, a set of descriptors in base64 for protobuf",
		Value:   form.Into(form.Prose(), func(s *schemaKeys, v string) { s.text = v })},
	{Name: "message", Absent: "needed for protobuf alone", Example: "shop.Checkout",
		Meaning: "the full name of the message that a record holds",
		Value: form.Into(
			form.Name("name", "the full name of a message, for example shop.Checkout", `^[A-Za-z_][A-Za-z0-9_.]*$`,
				500),
			func(s *schemaKeys, v string) { s.message = v })},
}

// recordSchema reads a schema, from its file if need be.
func recordSchema() form.Kind[codec.Schema] {
	const want = "registry, or {file: …}"
	keys := form.MappingOf(schemaForm, func(_ form.Mapping, k *schemaKeys, ok bool) { k.sound = ok })
	word := form.OneOf("registry")
	word.Want = want
	described := form.Spec{Name: "registry, or mapping", Want: want, Keys: schemaForm,
		Schema: form.Schema{"anyOf": []any{word.Schema, keys.Schema}}}
	return form.Kind[codec.Schema]{Spec: described, Read: func(n form.Node) (s codec.Schema, ok bool) {
		if text, ok := n.Text(); ok && text == "registry" {
			return codec.Schema{Registry: true}, true
		}
		if !n.IsMapping() {
			n.Refuse("%s; want %s", n.Shown(), want)
			return s, false
		}
		k, _ := keys.Read(n)
		switch {
		case !k.sound:
			return s, false
		case (k.file == "") == (k.text == ""):
			n.Refuse("want either file or text, for example {file: checkout.avsc}")
			return s, false
		case k.file != "":
			var err error
			if k.text, err = schemaText(n.Beside(k.file)); err != nil {
				n.Refuse("%s; want the name of a schema's file, from the folder of the streams file", err)
				return s, false
			}
			n.Embed("file", "text", k.text)
		}
		if len(k.text) > codec.MaxSchema {
			n.Refuse("a schema of %s; want at most %s", humanize.IBytes(uint64(len(k.text))),
				humanize.IBytes(codec.MaxSchema))
			return s, false
		}
		return codec.Schema{Text: k.text, Message: k.message}, true
	}}
}

// schemaText reads a file into the text that stands for it.
func schemaText(path string) (string, error) {
	if filepath.Ext(path) == ".proto" {
		return codec.CompileProto(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var compact bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return base64.StdEncoding.EncodeToString(data), nil
	}
	// Whatever looks like a variable here is none. In JSON, a dollar sign is always in a string.
	return strings.ReplaceAll(compact.String(), "${", `\u0024{`), nil
}
