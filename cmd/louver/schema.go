package main

import (
	_ "embed" // introductions
	"encoding/json"
	"fmt"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// The documents under deploy are made from the code that they describe; a test holds them.
//go:generate go test -run TestDocuments -update .

// schemaCommand prints what files and records look like.
type schemaCommand struct {
	Of     string `arg:"" name:"streams|release" enum:"streams,release" help:"streams: the streams file. release: the published record."`
	Format string `default:"json" enum:"json,markdown" placeholder:"FORMAT" help:"json: a JSON Schema, draft 2020-12. markdown: a reference to read."`
}

// Help is the long help.
func (schemaCommand) Help() string {
	return `Editors complete and check a streams file that begins with this line:

  # yaml-language-server: $schema=louver-streams.schema.json

Write the schema next to the file:

  louver schema streams > louver-streams.schema.json`
}

// Run prints one schema or reference.
func (c schemaCommand) Run(app *App) error {
	if c.Format == "markdown" {
		text, err := references[c.Of]()
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(app.Out, text)
		return err
	}
	var schema any = config.Schema()
	if c.Of == "release" {
		schema = json.RawMessage(ledger.RecordSchema())
	}
	return writeJSON(app.Out, schema)
}

var (
	//go:embed schema_streams.md
	streamsIntroduction string
	//go:embed schema_release.md
	releaseIntroduction string
)

// references make the documents of what can be printed.
var references = map[string]func() (string, error){
	"streams": func() (string, error) { return streamsIntroduction + "\n" + config.Reference(), nil },
	"release": func() (string, error) {
		fields, err := ledger.RecordReference()
		return releaseIntroduction + "\n" + fields, err
	},
}
