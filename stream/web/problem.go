package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// problem is an error answer in the form of RFC 9457.
type problem struct {
	status int
	detail string
}

func (p *problem) Error() string { return p.detail }

// invalid is the problem of a request that asks for something impossible.
func invalid(err error) *problem {
	return &problem{status: http.StatusBadRequest, detail: err.Error()}
}

// ServeHTTP writes the problem.
func (p *problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, _ := json.Marshal(struct { // of strings and a number: never fails
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(p.status), p.status, p.detail})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}

// answering turns a function that answers or returns an error into a handler.
func answering(f func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := f(w, r)
		if err == nil {
			return
		}
		var p *problem
		if !errors.As(err, &p) {
			p = &problem{status: http.StatusInternalServerError, detail: err.Error()}
		}
		p.ServeHTTP(w, r)
	}
}
