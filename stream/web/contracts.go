package web

import (
	"bytes"
	_ "embed" // the documents
	"encoding/json"
	"fmt"
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/record"
)

var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed asyncapi.yaml
	asyncAPI []byte
)

// OpenAPI describes the HTTP API, as an OpenAPI 3.1 document in JSON.
func OpenAPI() (json.RawMessage, error) { return withRelease("openapi.yaml", openAPI) }

// AsyncAPI describes the output topics, as an AsyncAPI 3.0 document in JSON.
func AsyncAPI() (json.RawMessage, error) { return withRelease("asyncapi.yaml", asyncAPI) }

// withRelease adds the schema of published records to the schemas of a document.
func withRelease(name string, document []byte) (json.RawMessage, error) {
	var all struct {
		Components map[string]any
		Rest       map[string]any `yaml:",inline"`
	}
	if err := yaml.Unmarshal(document, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// References in the record's schema begin at its root. Here the root is the document.
	var release map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(record.JSONSchema(), []byte(`"#/$defs/`),
		[]byte(`"#/components/schemas/`)),
		&release); err != nil {
		return nil, fmt.Errorf("the schema of records: %w", err)
	}
	schemas, _ := all.Components["schemas"].(map[string]any)
	if schemas == nil {
		schemas = map[string]any{}
		all.Components["schemas"] = schemas
	}
	parts, _ := release["$defs"].(map[string]any)
	for part, schema := range parts {
		schemas[part] = schema
	}
	delete(release, "$defs")
	delete(release, "$schema")
	schemas["Release"] = release
	all.Rest["components"] = all.Components
	return json.Marshal(all.Rest)
}

// describe answers with the description of the API.
func describe(w http.ResponseWriter, r *http.Request) error {
	document, err := OpenAPI()
	if err == nil {
		document, err = servedAt(document, pathOf(r))
	}
	if err != nil {
		return err
	}
	return answerJSON(w, r, document)
}
