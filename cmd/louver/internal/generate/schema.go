// Package generate has the commands that write files for others: a first streams file, alert rules, and the schemas of
// what louver reads and publishes.
package generate

import (
	_ "embed" // introductions
	"encoding/json"
	"fmt"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/web"
)

// SchemaCommand prints the schemas of files, records and the API.
type SchemaCommand struct {
	Of     string `arg:"" name:"streams|release|check|openapi|asyncapi" enum:"streams,release,check,openapi,asyncapi" help:"streams: the streams file. release: the published record. check: what check and plan print as JSON. openapi: the HTTP API. asyncapi: the output topics."`
	Format string `default:"" enum:",json,markdown,avro" placeholder:"FORMAT" help:"json: a JSON Schema (draft 2020-12), OpenAPI 3.1 or AsyncAPI 3.0. markdown: a reference to read, of streams, release and check. avro: the schema of release in Avro. Default: json, and markdown for check."`
}

// Help is the long help.
func (SchemaCommand) Help() string {
	return `Editors complete and check a streams file that begins with this line:

  # yaml-language-server: $schema=louver-streams.schema.json

Write the schema next to the file:

  louver schema streams > louver-streams.schema.json`
}

// Run prints one contract or reference.
func (c SchemaCommand) Run(app *cli.App) error {
	switch {
	case c.Format == "avro" && c.Of != "release":
		return cli.UsageError(fmt.Errorf("--format avro: there is no schema of %s in Avro; want release, or json",
			c.Of))
	case c.Format == "avro":
		schema, err := record.AvroSchema()
		if err != nil {
			return err
		}
		return cli.WriteJSON(app.Out, json.RawMessage(schema))
	case c.Format == "markdown", c.Format == "" && contracts[c.Of] == nil:
		reference, ok := references[c.Of]
		if !ok {
			return cli.UsageError(fmt.Errorf("--format markdown: there is no reference of %s; want json", c.Of))
		}
		text, err := reference()
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(app.Out, text)
		return err
	}
	contractOf, ok := contracts[c.Of]
	if !ok {
		return cli.UsageError(fmt.Errorf("--format json: there is no JSON Schema of %s; want markdown", c.Of))
	}
	contract, err := contractOf()
	if err != nil {
		return err
	}
	return cli.WriteJSON(app.Out, contract)
}

// contracts make what can be printed as JSON.
var contracts = map[string]func() (any, error){
	"streams":  func() (any, error) { return parse.Schema(), nil },
	"release":  func() (any, error) { return json.RawMessage(record.JSONSchema()), nil },
	"openapi":  func() (any, error) { return web.OpenAPI() },
	"asyncapi": func() (any, error) { return web.AsyncAPI() },
}

var (
	//go:embed schema_streams.md
	streamsIntroduction string
	//go:embed schema_release.md
	releaseIntroduction string
	//go:embed schema_check.md
	checkReference string
)

// references make the printed documents.
var references = map[string]func() (string, error){
	"streams": func() (string, error) { return streamsIntroduction + "\n" + parse.Reference(), nil },
	"check":   func() (string, error) { return checkReference, nil },
	"release": func() (string, error) {
		fields, err := record.Reference()
		return releaseIntroduction + "\n" + fields, err
	},
}
