package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/codec"
)

// schemaKeys are the keys of a schema as they are written.
type schemaKeys struct{ file, text, message string }

var schemaForm = form{
	{name: "file", absent: "`text` has it", example: "checkout.avsc",
		meaning: "the file that holds the schema, from the folder of the streams file: `.avsc` for avro; for protobuf a `.proto` file, or a set of descriptors that `protoc --include_imports --descriptor_set_out` writes",
		value:   into(prose(), func(s *schemaKeys, v string) { s.file = v })},
	{name: "text", absent: "`file` has it", example: `'{"type": "record", …}'`, meaning: "the schema itself: JSON for avro, a set of descriptors in base64 for protobuf",
		value: into(prose(), func(s *schemaKeys, v string) { s.text = v })},
	{name: "message", absent: "needed for protobuf alone", example: "shop.Checkout", meaning: "the full name of the message that a record holds",
		value: into(name("name", "the full name of a message, for example shop.Checkout", `^[A-Za-z_][A-Za-z0-9_.]*$`, 500), func(s *schemaKeys, v string) { s.message = v })},
}

// recordSchema reads a schema, from its file if need be.
func recordSchema() kind[codec.Schema] {
	const want = "registry, or {file: …}"
	keys := mappingOf[schemaKeys](schemaForm, nil)
	word := oneOf("registry")
	word.want = want
	described := spec{name: "registry, or mapping", want: want, keys: schemaForm, schema: schema{"anyOf": []any{word.schema, keys.schema}}}
	return kind[codec.Schema]{described, func(n node) (s codec.Schema, ok bool) {
		if text, ok := n.text(); ok && text == "registry" {
			return codec.Schema{Registry: true}, true
		}
		if !n.isMapping() {
			n.refuse("%s; want %s", n.shown(), want)
			return s, false
		}
		before := n.refused
		k, _ := keys.read(n)
		switch {
		case n.refused > before:
			return s, false
		case (k.file == "") == (k.text == ""):
			n.refuse("want either file or text, for example {file: checkout.avsc}")
			return s, false
		case k.file != "":
			var err error
			if k.text, err = schemaText(filepath.Join(filepath.Dir(n.file), k.file)); err != nil {
				n.refuse("%s; want the name of a schema's file, from the folder of the streams file", err)
				return s, false
			}
			n.embed("file", "text", k.text)
		}
		if len(k.text) > codec.MaxSchema {
			n.refuse("a schema of %s; want at most %s", humanize.IBytes(uint64(len(k.text))), humanize.IBytes(codec.MaxSchema))
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
	// What looks like a variable is none. JSON has the dollar sign in strings alone.
	return strings.ReplaceAll(compact.String(), "${", `\u0024{`), nil
}

// embed puts a text in the place of a reference to it, so that the stream's definition holds it.
func (n node) embed(reference, key, text string) {
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if k := n.yaml.Content[i]; k.Value == reference {
			k.Value = key
			n.yaml.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: text, Line: n.yaml.Content[i+1].Line}
		}
	}
}
