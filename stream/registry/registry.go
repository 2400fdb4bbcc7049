// Package registry reads schemas from a schema registry that speaks the API of Confluent's, and adds those of the
// outputs.
package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/louver/louver/stream/codec"
)

// Config says where the registry is.
type Config struct {
	// URLs are the addresses of its nodes, tried in turn. Required.
	URLs []string
	// Username, if not "", is sent with the password that Password returns for each request.
	Username string
	Password func() (string, error)
	// Timeout is how long one request may take. Defaults to 10 seconds.
	Timeout time.Duration
}

// Client reads schemas and remembers them: a schema never changes. It is safe for concurrent use.
type Client struct {
	client *sr.Client
	nodes  []*sr.Client // one for each address: a node may be behind the others
	mu     sync.Mutex
	known  map[codec.SchemaID]codec.Registered
}

// mostKnown bounds the memory for schemas.
const mostKnown = 1000

// New makes a client. It sends nothing yet.
func New(c Config) (*Client, error) {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	options := []sr.ClientOpt{sr.HTTPClient(&http.Client{Timeout: c.Timeout}), sr.UserAgent("louver")}
	if c.Username != "" {
		options = append(options, sr.PreReq(func(req *http.Request) error {
			password, err := c.Password()
			req.SetBasicAuth(c.Username, password)
			return err
		}))
	}
	at := func(urls ...string) (*sr.Client, error) {
		return sr.NewClient(append([]sr.ClientOpt{sr.URLs(urls...)}, options...)...)
	}
	client, err := at(c.URLs...)
	if err != nil {
		return nil, err
	}
	all := &Client{client: client, known: map[codec.SchemaID]codec.Registered{}}
	for _, url := range c.URLs {
		node, err := at(url)
		if err != nil {
			return nil, err
		}
		all.nodes = append(all.nodes, node)
	}
	return all, nil
}

// Schema implements [codec.Registry].
func (c *Client) Schema(ctx context.Context, id codec.SchemaID) (codec.Registered, error) {
	c.mu.Lock()
	r, ok := c.known[id]
	c.mu.Unlock()
	if ok {
		return r, nil
	}
	if id.Number > math.MaxInt32 {
		return r, codec.ErrNoSchema // registries count in 31 bits
	}
	r, err := c.ask(ctx, id)
	if err != nil {
		return r, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostKnown {
		clear(c.known)
	}
	c.known[id] = r
	return r, nil
}

// ask asks one node after another until one has the schema. There is no such schema if a node says so and none has it:
// a node that does not answer must not make windows wait for records whose numbers are no schemas.
func (c *Client) ask(ctx context.Context, id codec.SchemaID) (r codec.Registered, failed error) {
	for _, node := range c.nodes {
		r, err := schemaAt(ctx, node, id)
		if err == nil {
			return r, nil
		}
		if err = answer(err); failed == nil || errors.Is(err, codec.ErrNoSchema) {
			failed = err
		}
	}
	return codec.Registered{}, failed
}

// schemaAt reads a schema and those that it builds upon from one node.
func schemaAt(ctx context.Context, node *sr.Client, id codec.SchemaID) (r codec.Registered, err error) {
	s, err := named(ctx, node, id)
	if err != nil {
		return r, err
	}
	r = codec.Registered{Format: strings.ToLower(s.Type.String()), Text: s.Schema}
	// A schema may build upon one that was deleted since: records of it are still there.
	r.References, err = references(sr.WithParams(ctx, sr.ShowDeleted), node, s, map[string]bool{}, nil)
	return r, err
}

// named reads a schema by its number or its GUID. A registry that knows no GUIDs has none of that id: its windows must
// not wait for a request that it never answers in another way.
func named(ctx context.Context, node *sr.Client, id codec.SchemaID) (sr.Schema, error) {
	if id == codec.Numbered(id.Number) {
		return node.SchemaByID(ctx, int(id.Number))
	}
	s, err := node.SchemaByGUID(ctx, id.String())
	if told := (*sr.ResponseError)(nil); errors.As(err, &told) && told.StatusCode == http.StatusNotFound {
		err = codec.ErrNoSchema
	}
	return s.Schema, err
}

// Register adds a schema of Avro to a subject, unless the subject has it, and returns its number.
func (c *Client) Register(ctx context.Context, subject, schema string) (uint32, error) {
	s, err := c.client.CreateSchema(ctx, subject, sr.Schema{Schema: schema, Type: sr.TypeAvro})
	if err != nil {
		var told *sr.ResponseError
		if errors.As(err, &told) && told.StatusCode == http.StatusConflict {
			return 0, fmt.Errorf("subject %s has a schema that is not compatible; "+
				"want a topic whose subject is new, or one with figures of Louver", subject)
		}
		return 0, answer(err)
	}
	return uint32(s.ID), nil
}

// references adds the schemas that a schema builds upon. Each comes after those that it builds upon itself.
func references(ctx context.Context, node *sr.Client, s sr.Schema, seen map[string]bool, all []codec.Reference) (
	[]codec.Reference, error) {
	for _, ref := range s.References {
		if seen[ref.Name] {
			continue
		}
		seen[ref.Name] = true
		found, err := node.SchemaByVersion(ctx, ref.Subject, ref.Version)
		if err != nil {
			return nil, fmt.Errorf("subject %s, version %d: %w", ref.Subject, ref.Version, err)
		}
		if all, err = references(ctx, node, found.Schema, seen, all); err != nil {
			return nil, err
		}
		all = append(all, codec.Reference{Name: ref.Name, Text: found.Schema.Schema})
	}
	return all, nil
}

// answer returns [codec.ErrNoSchema] if the registry says that there is no such schema. Other errors say what it
// answered.
func answer(err error) error {
	var told *sr.ResponseError
	switch {
	case !errors.As(err, &told):
		return err
	case sr.IsNotFoundError(told.ErrorCode):
		return codec.ErrNoSchema
	}
	return fmt.Errorf("the registry answers %d %s to %s", told.StatusCode, http.StatusText(told.StatusCode), told.URL)
}
