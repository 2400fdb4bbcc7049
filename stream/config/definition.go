package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/louver/louver/stream/config/form"
)

// Definition is a stream and its budget, written as a streams file of one line: variables are replaced, keys are
// sorted, and comments are gone. Keys that do not change a window are left out: the description, the start,
// user_partitioned, fresh and continues. So two definitions are equal if their windows would be the same.
type Definition string

// Fingerprint is a short name for a definition.
func (d Definition) Fingerprint() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:6])
}

// Stream reads the definition back. Its start is "now", because a definition does not hold the real one.
func (d Definition) Stream() (*Stream, error) {
	var one parser
	// Variables were replaced when the definition was made.
	one.read("definition", []byte(d), func(name string) (string, bool) { return "${" + name + "}", true })
	f, err := one.resolve()
	if err != nil {
		return nil, err
	}
	return f.Streams[0], nil
}

// define writes a stream and the shared budget that it names, if any, as a definition.
func define(stream form.Node, shared *form.Node) Definition {
	var b strings.Builder
	b.WriteString(`{version: 1, `)
	if shared != nil {
		b.WriteString(`budgets: [`)
		shared.Flow(&b)
		b.WriteString(`], `)
	}
	b.WriteString(`streams: [`)
	stream.Flow(&b, "description", "fresh", "continues", "window.start", "input.user_partitioned")
	b.WriteString(`]}`)
	return Definition(b.String())
}
