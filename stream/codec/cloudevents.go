package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"
)

// cloudEventsDecoder reads CloudEvents 1.0 in both modes of the Kafka binding. A field is named as in the structured
// mode, where an event is one JSON object: time, subject, data.user_id. In the binary mode the same attribute is the
// header ce_time, and the record's value is the data.
type cloudEventsDecoder struct {
	rules
	structured *jsonDecoder // of the whole event
	version    *node        // its specversion
	data       *jsonDecoder // of the value of a binary event
	headers    [numFields]string
	found      fields
}

const (
	underData    = "data."
	eventVersion = "1.0"
	// quotedVersion is the version as Spring writes it, whose headers are JSON texts. Then those of the same record are
	// taken out of their quotes too.
	quotedVersion = `"` + eventVersion + `"`
	eventHeader   = "ce_" // before an attribute's name
	eventMedia    = "application/cloudevents"
)

var attribute = regexp.MustCompile(`^[a-z0-9]+$`)

func newCloudEvents(s Spec, r rules) (Decoder, error) {
	d := &cloudEventsDecoder{rules: r, structured: &jsonDecoder{}, data: &jsonDecoder{}}
	d.version = d.structured.path("specversion")
	for _, p := range s.parts() {
		if !p.inValue() {
			continue
		}
		d.structured.field(p.field, p.role)
		if inner, ok := strings.CutPrefix(p.field, underData); ok {
			d.data.field(inner, p.role)
		} else {
			d.headers[p.role] = eventHeader + p.field
		}
	}
	return d, nil
}

// mistakenEvent says what is wrong with a field of a CloudEvent.
func mistakenEvent(_ Spec, p part) error {
	switch {
	case p.field == ValueField:
		return errors.New("$value is for json; want a field of the data, such as data.latency_ms")
	case !strings.HasPrefix(p.field, underData) && !attribute.MatchString(p.field):
		return errors.New("want an attribute of the event, such as subject, or a field of its data, such as data." +
			p.field)
	case p.field == "data":
		return errors.New("want a field of the data, such as data.user_id")
	}
	return nil
}

func (d *cloudEventsDecoder) Decode(r Record, e *Event) Reason {
	var ok bool
	f := &d.found
	if version, binary := header(r, eventHeader+"specversion"); binary && !structured(r) {
		quotes := string(version) == quotedVersion
		ok = (quotes || string(version) == eventVersion) && d.findBinary(r, quotes, f)
	} else {
		var version field
		whole := d.structured.opener.text(r.Value)
		if ok = d.structured.find(whole, f); ok {
			d.version.tell(whole, &version)
			ok = version.kind == text && string(version.text) == eventVersion
		}
	}
	if !ok {
		return Malformed
	}
	return d.event(&r, f, e)
}

// Cause implements [Decoder].
func (d *cloudEventsDecoder) Cause(r Record) string {
	version, binary := header(r, eventHeader+"specversion")
	if binary && !structured(r) {
		switch {
		case string(version) != eventVersion && string(version) != quotedVersion:
			return "is no CloudEvent of version " + eventVersion
		case d.data.root != nil && !holdsJSON(r):
			return "has data that is not JSON, as its content-type says"
		case d.data.root != nil:
			var f fields
			if !d.data.find(d.data.opener.text(r.Value), &f) {
				return "has data that " + d.data.cause(r.Value)
			}
		}
		if string(version) == quotedVersion {
			return "has a header that is not a JSON text, as its version is"
		}
		return "has a header that " + causeEncoding
	}
	var f fields
	if !d.structured.find(d.structured.opener.text(r.Value), &f) {
		return d.structured.cause(r.Value)
	}
	return "is no CloudEvent of version " + eventVersion + ": it has neither that specversion nor the header " +
		eventHeader + "specversion"
}

// structured reports whether the value is the whole event, according to its content type.
func structured(r Record) bool {
	media, _ := header(r, "content-type")
	media = bytes.TrimPrefix(media, []byte(`"`))
	return len(media) >= len(eventMedia) && strings.EqualFold(string(media[:len(eventMedia)]), eventMedia)
}

// findBinary finds the fields of an event whose attributes are headers, perhaps in quotes.
func (d *cloudEventsDecoder) findBinary(r Record, quotes bool, f *fields) bool {
	if d.data.root != nil {
		if !holdsJSON(r) || !d.data.find(d.data.opener.text(r.Value), f) {
			return false
		}
	}
	for role, name := range d.headers {
		if name == "" {
			continue
		}
		f[role] = field{}
		if text, ok := r.Headers.Header(name); ok {
			if quotes {
				if text, ok = unquoted(text); !ok {
					return false
				}
			}
			if !utf8.Valid(text) {
				return false
			}
			f[role] = field{kind: cell, text: text} // a header has no type
		}
	}
	return true
}

// holdsJSON reports whether the data of a binary event is JSON. Without a content type it is.
func holdsJSON(r Record) bool {
	media, ok := header(r, "content-type")
	if !ok {
		return true
	}
	name, _, err := mime.ParseMediaType(strings.Trim(string(media), `"`))
	return err == nil && (name == "application/json" || name == "text/json" || strings.HasSuffix(name, "+json"))
}

// unquoted takes a JSON text out of its quotes.
func unquoted(quoted []byte) (text []byte, ok bool) {
	if n := len(quoted); n < 2 || quoted[0] != '"' || quoted[n-1] != '"' {
		return nil, false
	}
	if text = quoted[1 : len(quoted)-1]; bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, '"') < 0 {
		return text, true
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return []byte(s), err == nil
}

func header(r Record, name string) ([]byte, bool) {
	if r.Headers == nil {
		return nil, false
	}
	return r.Headers.Header(name)
}
