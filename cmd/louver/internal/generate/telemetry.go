package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/replay"
)

// telemetry is what a few records of OpenTelemetry have: names and types, and no values.
type telemetry struct {
	format     string
	attributes map[attribute]bool
	metrics    map[string]bool // by name, which instrumentation gives: whether its points are totals so far
	unread     map[string]bool // names of metrics of other kinds, whose points are no numbers
	bodies     map[string]bool // the types of bodies
}

// attribute is one that an item or its resource has.
type attribute struct{ holder, name, typ string }

// signals are the formats, the requests that their records hold, and whether an item is one of the signal.
var signals = []struct {
	format  string
	request func() proto.Message
	has     func(item proto.Message) bool
}{
	{"otlp_traces", func() proto.Message { return &tracepb.TracesData{} }, func(item proto.Message) bool {
		span := item.(*tracepb.Span)
		return len(span.TraceId) > 0 && span.StartTimeUnixNano > 0
	}},
	{"otlp_logs", func() proto.Message { return &logspb.LogsData{} }, func(item proto.Message) bool {
		l := item.(*logspb.LogRecord)
		return l.TimeUnixNano > 0 || l.ObservedTimeUnixNano > 0
	}},
	{"otlp_metrics", func() proto.Message { return &metricspb.MetricsData{} }, func(item proto.Message) bool {
		metric := item.(*metricspb.Metric)
		return metric.Name != "" && metric.Data != nil
	}},
}

// firstItem returns the first message so many levels below m, or nil. A request has resources, these have scopes, and
// these have items: each is in the only list of messages of the one above.
func firstItem(m protoreflect.Message, levels int) (item proto.Message) {
	if levels == 0 {
		return m.Interface()
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !fd.IsList() || fd.Message() == nil {
			return true
		}
		for i := 0; i < v.List().Len() && item == nil; i++ {
			item = firstItem(v.List().Get(i).Message(), levels-1)
		}
		return false
	})
	return item
}

// telemetryOf says what records hold that are all of one signal. Their bytes do not say which: the first item shows it,
// since only a span has an id of a trace and a start, and so on. It returns nil if they are not.
func telemetryOf(values [][]byte) *telemetry {
	for _, s := range signals {
		t := &telemetry{format: s.format, attributes: map[attribute]bool{}, metrics: map[string]bool{},
			unread: map[string]bool{}, bodies: map[string]bool{}}
		read := 0
		for _, value := range values {
			m := s.request()
			if !requestIn(value, m) {
				continue
			}
			if item := firstItem(m.ProtoReflect(), 3); item != nil && s.has(item) {
				t.look(m.ProtoReflect())
				read++
			}
		}
		if read > 0 && 2*read > len(values) { // some may be broken
			return t
		}
	}
	return nil
}

// requestIn reads a record in either encoding.
func requestIn(value []byte, m proto.Message) bool {
	if bytes.HasPrefix(value, []byte("{")) {
		return bytes.Contains(value, []byte(`"resource`)) &&
			protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(value, m) == nil
	}
	return proto.Unmarshal(value, m) == nil
}

// look notes the attributes of a message and of those in it. Items hold others, such as events, which no stream reads.
func (t *telemetry) look(m protoreflect.Message) {
	holder := map[protoreflect.Name]string{"Resource": "resource", "Span": "span", "LogRecord": "log",
		"NumberDataPoint": "datapoint"}[m.Descriptor().Name()]
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Name() == "attributes" && holder != "":
			for i := range v.List().Len() {
				kv := v.List().Get(i).Message().Interface().(*commonpb.KeyValue)
				t.attributes[attribute{holder, kv.Key, typeOf(kv.Value)}] = true
			}
		case fd.Name() == "name" && m.Descriptor().Name() == "Metric":
			metric := m.Interface().(*metricspb.Metric)
			sum := metric.GetSum()
			if sum == nil && metric.GetGauge() == nil {
				t.unread[v.String()] = true
				break
			}
			t.metrics[v.String()] = t.metrics[v.String()] || sum != nil &&
				sum.AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
		case fd.Name() == "body" && holder == "log":
			t.body(v.Message().Interface().(*commonpb.AnyValue))
		case holder == "" && fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				t.look(v.List().Get(i).Message())
			}
		case holder == "" && fd.Message() != nil && !fd.IsMap():
			t.look(v.Message())
		}
		return true
	})
}

func (t *telemetry) body(v *commonpb.AnyValue) {
	list := v.GetKvlistValue()
	if list == nil {
		t.bodies["log.body "+typeOf(v)] = true
	}
	for _, kv := range list.GetValues() {
		t.bodies[fmt.Sprintf("log.body[%q] %s", kv.Key, typeOf(kv.Value))] = true
	}
}

// typeOf is the type of a value as a stream reads it.
func typeOf(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return "text"
	case *commonpb.AnyValue_IntValue, *commonpb.AnyValue_DoubleValue:
		return "number"
	case *commonpb.AnyValue_BoolValue:
		return "true or false"
	case *commonpb.AnyValue_ArrayValue:
		if all := v.ArrayValue.GetValues(); len(all) == 1 {
			return "list of one " + typeOf(all[0])
		}
		return "list"
	}
	return "other"
}

// users are the attributes that say who, the best first. They are semantic conventions of OpenTelemetry.
var users = []string{"user.id", "enduser.id", "enduser.pseudo.id"}

// telemetry fills in a draft for records of OpenTelemetry.
func (d *draft) telemetry(topic string, t *telemetry) {
	f, _ := codec.FormatOf(t.format)
	d.Format, d.Value, d.Time = t.format, f.Value, f.Time
	note := func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) }
	note("%s holds telemetry of OpenTelemetry. Attributes of a few records, by name and type:", topic)
	for _, a := range slices.SortedFunc(maps.Keys(t.attributes), func(a, b attribute) int {
		return cmp.Or(strings.Compare(b.holder, a.holder), strings.Compare(a.name, b.name), strings.Compare(a.typ, b.typ))
	}) {
		note("  %-9s %-34s %s", a.holder, shown(a.name), a.typ)
	}
	for _, body := range slices.Sorted(maps.Keys(t.bodies)) {
		note("  %s", body)
	}
	if t.format == "otlp_metrics" {
		d.Where = "{metric.name: }"
	}
	if unread := slices.Sorted(maps.Keys(t.unread)); len(unread) > 0 {
		note("No stream can read %s:", english.WordSeries(unread, "or"))
		note("points of histograms and summaries are no single numbers.")
	}
	if names := slices.Sorted(maps.Keys(t.metrics)); len(names) > 0 {
		note("Metrics: %s", strings.Join(names, ", "))
		totals := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !t.metrics[name] })
		if len(totals) > 0 {
			note("Points of %s are totals so far, not events, and are skipped:", strings.Join(totals, ", "))
			note("let the SDK or the Collector's cumulativetodelta send differences.")
		}
		if len(names) == 1 {
			d.Where = fmt.Sprintf("{metric.name: %s}", replay.YAML(names[0]))
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(t.attributes)),
			func(a attribute) bool { return a.name == name })
	}
	if i := slices.IndexFunc(users, has); i >= 0 {
		d.User, d.GuessedUser = users[i], true
	}
	for name, what := range map[string]string{"session.id": "one of many of the same person",
		"client.address": "one of many persons"} {
		if has(name) {
			note("%s is %s.", name, what)
		}
	}
	if t.format == "otlp_traces" {
		d.Where, d.Contribution = "{span.kind: server}", "random"
	}
}

// shown writes a name for a comment, in one line.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
