package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/shopspring/decimal"
)

// answer sends a body with its ETag, or 304 if the client has it already.
func answer(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	h := w.Header()
	sum := sha256.Sum256(body)
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	h.Set("Content-Type", contentType)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache") // the client may keep it, but has to ask each time
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// answerJSON sends a value as JSON.
func answerJSON(w http.ResponseWriter, r *http.Request, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	answer(w, r, "application/json", b.Bytes())
	return nil
}

func instant(seconds int64) *time.Time { return new(time.Unix(seconds, 0).UTC()) }

func exactly(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func optional(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	return new(exactly(*d))
}
