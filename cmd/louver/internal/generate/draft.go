package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/stream/shape"
)

// draft fills in a new streams file.
type draft struct {
	Name, Topic, Output, Format string
	User, Value, Time           string // as YAML; empty if the user has to fill it in
	Where                       string // as YAML; empty: all events count
	Contribution                string
	// Whether these come from the fields' names and types.
	GuessedUser, GuessedValue, GuessedTime bool
	Counts                                 bool      // no field has a number: events are counted
	Notes                                  []string  // lines of a comment
	Proposed                               *proposal // nil: the user has to choose

	time string // the path of the guessed time
}

// Batched reports whether records hold many events. No part of the record itself is one of theirs then.
func (d draft) Batched() bool { return codec.Spec{Format: d.Format}.Batched() }

func emptyDraft() draft {
	return draft{Name: "my-stream", Format: "json", Time: "$timestamp", Contribution: "last"}
}

// sampled are a few records of a topic.
type sampled struct {
	values [][]byte
	keyed  bool   // all of them have a key
	edges  []edge // the newest records, and the oldest
}

// newDraft looks only at names and types of fields. Two topics whose records differ only in values have the same draft.
func newDraft(topic string, s sampled) (draft, error) {
	d := emptyDraft()
	d.Topic, d.Output, d.Name = replay.YAML(topic), replay.YAML(topic+".private"), StreamName(topic)
	fields, faults := shape.Of(s.values...), faultsOf(s.values)
	note := func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) }
	switch of := telemetryOf(s.values); {
	case of != nil:
		d.telemetry(topic, of)
	case len(s.values) == 0:
		note("%s holds no records yet, so nothing is known about their fields.", topic)
	case fields != nil:
		note("Fields of a few records in %s, by name and type:", topic)
		for _, f := range fields {
			d.Notes = append(d.Notes, describe(f))
		}
		d.faulty("some", faults)
		d.guess(fields)
	case all(s.values, isNumber):
		note("The records in %s are bare numbers.", topic)
		d.Value, d.User = "$value", "$key"
	case slices.ContainsFunc(s.values, isMeantAsJSON):
		d.faulty("the", faults)
	case all(s.values, isLine):
		note("The records in %s are text, but not JSON. If they are CSV, name the columns.", topic)
		d.Format = "csv"
	default:
		return d, fmt.Errorf("topic %s: the records are neither JSON nor text: the record %s; want JSON objects, "+
			"numbers or lines of CSV. For Avro and Protocol Buffers, write the file by hand", topic, faults[0])
	}
	if s.keyed {
		note("The records have a key; $key reads it.")
	}
	return d, nil
}

// faulty notes why a stream would reject records.
func (d *draft) faulty(which string, faults []string) {
	if len(faults) > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("A stream rejects %s records as malformed. Such a record", which))
	}
	for _, fault := range faults {
		d.Notes = append(d.Notes, "  "+fault)
	}
}

// describe writes a field for a comment.
func describe(f shape.Field) string {
	line := fmt.Sprintf("  %-28s %s", replay.YAML(f.Path), f.Type)
	if f.Hidden {
		line += " (not usable: a name is empty or ends with a backslash)"
	}
	return line
}

// guess fills in the fields for which names and types leave only one choice.
func (d *draft) guess(fields []shape.Field) {
	of := Candidates(fields)
	only := func(paths []string) (path string, found bool) {
		if len(paths) != 1 {
			return "", false
		}
		return replay.YAML(paths[0]), true
	}
	d.User, d.GuessedUser = only(of.Users)
	d.Value, d.GuessedValue = only(of.Values)
	d.Counts = len(of.Values) == 0
	if t, found := only(of.Times); found {
		d.Time, d.GuessedTime, d.time = t, true, of.Times[0]
	}
}

// StreamName makes the name of a stream from the name of a topic.
func StreamName(topic string) string {
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(topic), "-"), "-")
	if name == "" {
		return emptyDraft().Name
	}
	return name
}

func all(records [][]byte, is func([]byte) bool) bool {
	return !slices.ContainsFunc(records, func(r []byte) bool { return !is(r) })
}

func isNumber(record []byte) bool {
	var n json.Number
	return json.Unmarshal(record, &n) == nil && n != "" && !bytes.ContainsRune(record, '"')
}

// faultsOf says why a stream would find some of the records malformed that are meant as JSON objects, once each.
func faultsOf(records [][]byte) (all []string) {
	for _, r := range records {
		fault := codec.NotAnObject(r)
		if fault == "" {
			if name := codec.NameTwice(r); name != "" {
				fault = fmt.Sprintf("has the field %s twice", name)
			}
		}
		if fault != "" && !slices.Contains(all, fault) {
			all = append(all, fault)
		}
	}
	return all
}

// isMeantAsJSON reports whether a record is JSON, although no object, or would be without some of its content.
func isMeantAsJSON(record []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(record, []byte("\ufeff")))
	return len(text) > 0 && (text[0] == '{' || text[0] == '[' || json.Valid(text) && !isNumber(text))
}

// isLine reports whether a record is one line of text.
func isLine(record []byte) bool {
	return utf8.Valid(record) && !bytes.ContainsFunc(bytes.TrimRight(record, "\r\n"),
		func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
}
