package codec

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"
)

// otlpSignal is one of the kinds of telemetry.
type otlpSignal struct {
	name, item string // the format; what an item is called in a field
	// path are the numbers of the fields that lead from a request to its items, level by level, as bits.
	path []uint64
	// attributes is the number of an item's attributes.
	attributes uint64
	// scalars are fields of an item that are read.
	scalars []otlpScalar
	own     []otlpOwn
	json    otlpNames
	// numeric are the fields of a metric that have numbers as points, and sums those of them that say whether these are
	// differences.
	numeric, sums uint64
}

// otlpScalar is a field of an item.
type otlpScalar struct {
	number uint64
	wire   uint64 // 0 varint, 1 eight bytes, 2 bytes
	json   string
	at     int // where its number or text is kept
}

// otlpOwn is a field of an item, of its scope or of its metric that has a name in a streams file.
type otlpOwn struct {
	name  string
	fits  otlpFits
	value func(r *otlpRaw, f *field)
}

// otlpFits says which parts of an event a field can be.
type otlpFits uint8

const (
	otlpText otlpFits = iota
	otlpNumber
	otlpTime
	otlpWord // one of a few texts, or true or false
	otlpAny  // as attributes
)

func (f otlpFits) takes(r role) bool {
	switch {
	case f == otlpAny:
		return true
	case r == roleValue:
		return f == otlpNumber
	case r == roleTime:
		return f == otlpTime
	case r == roleUser, r == roleClock:
		return f == otlpText
	case r == roleGroup:
		return f == otlpText || f == otlpWord || f == otlpNumber
	}
	return f != otlpTime // a condition
}

// Numbers and texts of an item, of its metric and of its scope, as they are in the record.
const (
	otlpStart = iota // numbers
	otlpEnd
	otlpKind
	otlpStatus
	otlpAt
	otlpObserved
	otlpSeverity
	otlpFlags
	otlpDouble
	otlpInt
	otlpItemNumbers // those that follow are of the metric
)

const (
	otlpNumeric     = otlpItemNumbers + iota // it has numbers as points
	otlpTemporality                          // whether they are differences: one of those below
	otlpNumbers
)

const (
	otlpName = iota // texts
	otlpParent
	otlpSeverityText
	otlpEvent
	otlpItemTexts // those that follow are of the metric and of the scope
)

const (
	otlpMetric = otlpItemTexts + iota
	otlpUnit
	otlpScopeName
	otlpScopeVersion
	otlpTexts
)

// otlpRaw is what an item holds beside its attributes. A number that is not there is 0, and a text is empty.
type otlpRaw struct {
	set     uint32 // the numbers that are there, as bits
	numbers [otlpNumbers]uint64
	texts   [otlpTexts][]byte
	body    field
}

func (r *otlpRaw) put(at int, n uint64) { r.numbers[at], r.set = n, r.set|1<<at }

func (r *otlpRaw) has(at int) bool { return r.set&(1<<at) != 0 }

// reset forgets an item. The metric and the scope stay.
func (r *otlpRaw) reset() {
	r.set = 0
	if r.body.kind != none {
		r.body = field{}
	}
	clear(r.numbers[:otlpItemNumbers])
	for i := range r.texts[:otlpItemTexts] {
		r.texts[i] = r.texts[i][:0]
	}
}

// What the points of a metric are. A gauge's are values of a moment.
const (
	otlpGauge       = iota
	otlpUnspecified // of a sum that does not say
	otlpDelta       // differences
	otlpCumulative  // totals so far
)

// temporal notes what the points of a sum are, by the number of AggregationTemporality.
func (r *otlpRaw) temporal(n uint64) {
	r.numbers[otlpTemporality] = otlpUnspecified
	if n == 1 || n == 2 {
		r.numbers[otlpTemporality] += n
	}
}

// total reports whether an item may be a total so far, and so is no event: its sum does not say that it is a
// difference.
func (r *otlpRaw) total() bool {
	return r.numbers[otlpTemporality] == otlpCumulative || r.numbers[otlpTemporality] == otlpUnspecified
}

// These functions make a field where it is wanted. A field is large, and to return it would copy it several times.

// otlpString is a text; one that is not UTF-8 is none. An empty one cannot be told from one that is not there.
func otlpString(f *field, b []byte) {
	switch {
	case len(b) == 0:
		*f = field{}
	case !ascii(b) && !utf8.Valid(b):
		*f = field{kind: other}
	default:
		*f = field{kind: text, text: b}
	}
}

// otlpTextAt is a text of an item.
func otlpTextAt(at int) func(*otlpRaw, *field) {
	return func(r *otlpRaw, f *field) { otlpString(f, r.texts[at]) }
}

// ascii reports whether a text is ASCII. It is quicker than looking at it as UTF-8.
func ascii(b []byte) bool {
	if n := len(b); n >= 8 {
		high := binary.LittleEndian.Uint64(b[n-8:])
		for ; len(b) >= 8; b = b[8:] {
			high |= binary.LittleEndian.Uint64(b)
		}
		return high&highs == 0
	}
	var high byte
	for _, c := range b {
		high |= c
	}
	return high < 0x80
}

// otlpInstant is a time; 0 is none.
func otlpInstant(f *field, ns uint64) {
	switch {
	case ns == 0:
		*f = field{}
	case ns > math.MaxInt64:
		*f = field{kind: other}
	default:
		*f = field{kind: instant, n: int64(ns)}
	}
}

// otlpTimeAt is a time of an item.
func otlpTimeAt(at int) func(*otlpRaw, *field) {
	return func(r *otlpRaw, f *field) { otlpInstant(f, r.numbers[at]) }
}

// duration is how long a span took, in units of 10^exp nanoseconds. An end before the start is none.
func (r *otlpRaw) duration(f *field, exp int8) {
	start, end := r.numbers[otlpStart], r.numbers[otlpEnd]
	switch {
	case start == 0 || end == 0:
		*f = field{}
	case end < start || end-start > math.MaxInt64:
		*f = field{kind: other}
	default:
		*f = field{kind: exact, n: int64(end - start), exp: exp}
	}
}

func otlpWords(words ...string) (all []field) {
	for _, w := range words {
		all = append(all, field{kind: text, text: []byte(w)})
	}
	return all
}

var (
	otlpKinds    = otlpWords("unspecified", "internal", "server", "client", "producer", "consumer")
	otlpStatuses = otlpWords("unset", "ok", "error")

	otlpTemporalities = []field{otlpGauge: {}, otlpUnspecified: {kind: text, text: []byte("unspecified")},
		otlpDelta: {kind: text, text: []byte("delta")}, otlpCumulative: {kind: text, text: []byte("cumulative")}}
)

// word is the word of an enum's number, or the number itself.
func (r *otlpRaw) word(f *field, at int, words []field) {
	if n := r.numbers[at]; n < uint64(len(words)) {
		*f = words[n]
	} else {
		*f = whole(int64(int32(n)))
	}
}

// root says whether a span has no parent. Some write an id of zeros where there is none.
func (r *otlpRaw) root() field {
	return truthOf(!slices.ContainsFunc(r.texts[otlpParent], func(c byte) bool { return c != 0 && c != '0' }))
}

// point is the number of a data point.
func (r *otlpRaw) point() field {
	if r.has(otlpInt) {
		return whole(int64(r.numbers[otlpInt]))
	}
	if r.has(otlpDouble) {
		return double(r.numbers[otlpDouble])
	}
	return field{}
}

// unrecorded reports whether an item is a data point without a number.
func (r *otlpRaw) unrecorded() bool {
	return r.numbers[otlpNumeric] == 0 || r.numbers[otlpFlags]&1 != 0 || !r.has(otlpInt) && !r.has(otlpDouble)
}

// shared are the fields of all signals.
var otlpShared = []otlpOwn{
	{"scope.name", otlpText, otlpTextAt(otlpScopeName)},
	{"scope.version", otlpText, otlpTextAt(otlpScopeVersion)},
}

var otlpTraces = &otlpSignal{name: "otlp_traces", item: "span", path: []uint64{1 << 1, 1 << 2, 1 << 2}, attributes: 9,
	scalars: []otlpScalar{{4, 2, "parentSpanId", otlpParent}, {5, 2, "name", otlpName}, {6, 0, "kind", otlpKind},
		{7, 1, "startTimeUnixNano", otlpStart}, {8, 1, "endTimeUnixNano", otlpEnd}, {15, 2, "status", otlpStatusMessage}},
	own: append([]otlpOwn{
		{"span.name", otlpText, otlpTextAt(otlpName)},
		{"span.kind", otlpWord, func(r *otlpRaw, f *field) { r.word(f, otlpKind, otlpKinds) }},
		{"span.status.code", otlpWord, func(r *otlpRaw, f *field) { r.word(f, otlpStatus, otlpStatuses) }},
		{"span.root", otlpWord, func(r *otlpRaw, f *field) { *f = r.root() }},
		{"span.duration_ms", otlpNumber, func(r *otlpRaw, f *field) { r.duration(f, -6) }},
		{"span.duration_s", otlpNumber, func(r *otlpRaw, f *field) { r.duration(f, -9) }},
		{"span.start_time_unix_nano", otlpTime, otlpTimeAt(otlpStart)},
		{"span.end_time_unix_nano", otlpTime, otlpTimeAt(otlpEnd)},
	}, otlpShared...),
	json: otlpNames{levels: []string{"resourceSpans", "scopeSpans", "spans"}},
}

var otlpLogs = &otlpSignal{name: "otlp_logs", item: "log", path: []uint64{1 << 1, 1 << 2, 1 << 2}, attributes: 6,
	scalars: []otlpScalar{{1, 1, "timeUnixNano", otlpAt}, {2, 0, "severityNumber", otlpSeverity},
		{3, 2, "severityText", otlpSeverityText}, {5, 2, "body", otlpBody}, {11, 1, "observedTimeUnixNano", otlpObserved},
		{12, 2, "eventName", otlpEvent}},
	own: append([]otlpOwn{
		{"log.body", otlpAny, func(r *otlpRaw, f *field) { *f = r.body }},
		{"log.severity_number", otlpNumber, func(r *otlpRaw, f *field) {
			*f = whole(int64(int32(r.numbers[otlpSeverity])))
		}},
		{"log.severity_text", otlpText, otlpTextAt(otlpSeverityText)},
		{"log.event_name", otlpText, otlpTextAt(otlpEvent)},
		{"log.time_unix_nano", otlpTime, func(r *otlpRaw, f *field) {
			otlpInstant(f, cmp.Or(r.numbers[otlpAt], r.numbers[otlpObserved]))
		}},
	}, otlpShared...),
	json: otlpNames{levels: []string{"resourceLogs", "scopeLogs", "logRecords"}},
}

// These stand for what is no text but a message: the body of a log record, and the status of a span.
const (
	otlpBody          = -1
	otlpStatusMessage = -2
)

// otlpTemporalityName is OTTL's name for whether the points of a metric are differences. A stream whose where asks for
// it says itself which points it wants.
const otlpTemporalityName = "metric.aggregation_temporality"

var otlpMetrics = &otlpSignal{name: "otlp_metrics", item: "datapoint",
	path:       []uint64{1 << 1, 1 << 2, 1 << 2, 1<<5 | 1<<7 | 1<<9 | 1<<10 | 1<<11, 1 << 1},
	attributes: 7, numeric: 1<<5 | 1<<7, sums: 1 << 7,
	scalars: []otlpScalar{{2, 1, "startTimeUnixNano", otlpStart}, {3, 1, "timeUnixNano", otlpAt},
		{4, 1, "asDouble", otlpDouble}, {6, 1, "asInt", otlpInt}, {8, 0, "flags", otlpFlags}},
	own: append([]otlpOwn{
		{"datapoint.value", otlpNumber, func(r *otlpRaw, f *field) { *f = r.point() }},
		{"datapoint.time_unix_nano", otlpTime, otlpTimeAt(otlpAt)},
		{"datapoint.start_time_unix_nano", otlpTime, otlpTimeAt(otlpStart)},
		{"metric.name", otlpText, otlpTextAt(otlpMetric)},
		{"metric.unit", otlpText, otlpTextAt(otlpUnit)},
		{otlpTemporalityName, otlpWord, func(r *otlpRaw, f *field) { r.word(f, otlpTemporality, otlpTemporalities) }},
	}, otlpShared...),
	json: otlpNames{levels: []string{"resourceMetrics", "scopeMetrics", "metrics", "", "dataPoints"},
		points: []string{5: "gauge", 7: "sum", 9: "histogram", 10: "exponentialHistogram", 11: "summary"}},
}

// otlpNames are the names of JSON on the way to items.
type otlpNames struct {
	levels []string // by level; "": one of points
	points []string // by the number of the field
}

// otlpHolder is what has an attribute.
type otlpHolder uint8

const (
	otlpItem otlpHolder = iota
	otlpScope
	otlpResource
	otlpBodyKey // a key of a log's body
	otlpHolders
)

// otlpField is where a field of a streams file is found.
type otlpField struct {
	own       *otlpOwn // nil: an attribute
	holder    otlpHolder
	attribute string
	inherited bool // if the item lacks it, its resource may have it
}

// field reads a field of a streams file. A bare name is an attribute of the item, or else of its resource. A path of
// OTTL says exactly where.
func (s *otlpSignal) field(name string) (f otlpField, err error) {
	i := slices.IndexFunc(s.own, func(o otlpOwn) bool { return o.name == name })
	if i >= 0 {
		return otlpField{own: &s.own[i]}, nil
	}
	root, rest, _ := strings.Cut(name, ".")
	holder := map[string]otlpHolder{s.item: otlpItem, "scope": otlpScope, "resource": otlpResource}
	at, known := holder[root]
	if key, quoted := strings.CutPrefix(name, "log.body["); quoted && s == otlpLogs {
		if f.attribute, err = otlpQuoted(key); err != nil {
			return f, errors.New(`want a key of the body in quotes, such as log.body["ms"]`)
		}
		f.holder = otlpBodyKey
		return f, nil
	}
	if key, quoted := strings.CutPrefix(rest, "attributes["); known && quoted {
		if f.attribute, err = otlpQuoted(key); err != nil {
			return f, fmt.Errorf(`want the name of an attribute in quotes, such as %s.attributes["user.id"]`, root)
		}
		f.holder = at
		return f, nil
	}
	if known || slices.Contains([]string{"span", "log", "datapoint", "metric"}, root) && rest != "" {
		var names []string
		for _, o := range s.own {
			names = append(names, o.name)
		}
		return f, fmt.Errorf("%s has no such field; want one of %s, or an attribute: of the %s or its resource by its "+
			`name, such as user.id, or of either as %s.attributes[%q] or resource.attributes["user.id"]`, s.name,
			strings.Join(names, ", "), s.item, s.item, name)
	}
	return otlpField{attribute: name, inherited: true}, nil
}

// otlpQuoted reads what follows a bracket: a text in quotes, and the other bracket.
func otlpQuoted(key string) (string, error) {
	inner, closed := strings.CutSuffix(key, "]")
	if !closed || !strings.HasPrefix(inner, `"`) {
		return "", strconv.ErrSyntax
	}
	return strconv.Unquote(inner)
}

// mistake says why a field can't be that part of an event.
func (s *otlpSignal) mistake(_ Spec, p part) error {
	switch {
	case p.role == roleTime && p.field == TimestampField:
		return errors.New("when a record was sent depends on whose items are in it with this one; want a field of the " +
			s.item)
	case p.field == ValueField:
		return errors.New("$value is for json; want a field such as an attribute of the " + s.item)
	}
	f, err := s.field(p.field)
	if err != nil {
		return err
	}
	if f.own != nil && !f.own.fits.takes(p.role) {
		return fmt.Errorf("it cannot be the %s; want %s", p.name, [...]string{roleValue: "a number", roleUser: "an attribute",
			roleTime: "a time", roleGroup: "a text or an attribute", roleClock: "an attribute",
			numRoles: "a text, a number or an attribute"}[min(p.role, numRoles)])
	}
	return nil
}

// otlpClosed are the fields that are one of a few words. An enum's number that has no word yet is a number.
var otlpClosed = map[string][]field{"span.kind": otlpKinds, "span.status.code": otlpStatuses,
	"span.root": {truthOf(true), truthOf(false)}, otlpTemporalityName: otlpTemporalities[otlpUnspecified:]}

// vain says what a condition compares a field with that it never is.
func (s *otlpSignal) vain(c Condition) error {
	f, err := s.field(c.Field)
	if err != nil || f.own == nil || f.own.fits == otlpAny {
		return nil
	}
	fits, words := f.own.fits, otlpClosed[c.Field]
	if (c.Above.given() || c.Below.given()) && fits != otlpNumber {
		return errors.New("it is no number, so nothing is above or below it")
	}
	for _, o := range slices.Concat(c.Is, c.Not) {
		_, number := numberOf([]byte(o.Text))
		switch {
		case fits == otlpNumber && !o.Number && number:
			return fmt.Errorf("it is a number, and never the text %s; write %s", o, o.Text)
		case fits == otlpNumber && !o.Number:
			return fmt.Errorf("it is a number, and never %s; want a number", o)
		case fits == otlpText && o.Number:
			return fmt.Errorf("it is a text, and never the number %s; write %q", o, o.Text)
		case fits == otlpWord && !slices.ContainsFunc(words, func(w field) bool { return string(w.text) == o.Text }):
			var known []string
			for _, w := range words {
				known = append(known, string(w.text))
			}
			return fmt.Errorf("it is never %s; want %s", o, english.WordSeries(known, "or"))
		}
	}
	return nil
}
