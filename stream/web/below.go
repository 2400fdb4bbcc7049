package web

import (
	"context"
	"encoding/json"
	"net/http"
)

// below is the key of a request's context for the path of a proxy.
type below struct{}

// Below returns a request that knows the path under which a proxy shows this server, such as /louver: escaped, and
// without a / at its end. Most addresses in the page's answers are relative. The few that cannot be begin with that
// path.
func Below(r *http.Request, path string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), below{}, pathOf(r)+path))
}

// pathOf returns the path of Below, or "".
func pathOf(r *http.Request) string {
	path, _ := r.Context().Value(below{}).(string)
	return path
}

// servedAt puts the address of this server into the description of its API.
func servedAt(document json.RawMessage, path string) (json.RawMessage, error) {
	if path == "" {
		return document, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(document, &all); err != nil {
		return nil, err
	}
	servers, err := json.Marshal([]map[string]string{{"url": path + "/"}})
	if err != nil {
		return nil, err
	}
	all["servers"] = servers
	return json.Marshal(all)
}
