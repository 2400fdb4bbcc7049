package bench

import (
	"fmt"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	name         string
	format       string        // of the events, json without
	compression  string        // none without
	items        int           // events in each record, of a format whose records hold many
	oneIn        int           // one of so many events is the stream's, 1 without
	scattered    bool          // the events of a user are in all partitions
	over         int           // windows over each event, 1 without
	contribution string        // last without
	groups       int           // 3 without
	streams      int           // 1 without
	unlike       bool          // the streams differ in grace, so they share the decoding and no bags
	idle         int           // streams beside them whose topic has no events
	releases     int           // 2 without
	processes    int           // 1 without
	killed       bool          // the service ends without a word
	events       int           // in a growth table; elsewhere all rows have as many
	users        int           // in a growth table, and of each window in a live row; elsewhere all rows have as many
	every        time.Duration // the windows of a live row; a second without
	windows      int           // how many they are; 60 without
	bags         int           // LOUVER_BAG_BYTES, 32 MiB without
	kind         kind
}

// liveRate is how many events come in a second of a live row that does not say how many users each window has.
const liveRate = 5000

// rate is how many events come in a second of a live row: each user sends one in each window.
func (r row) rate() int {
	if r.users == 0 {
		return liveRate
	}
	return int(float64(r.users) / r.length().Seconds())
}

// length is how long a window is.
func (r row) length() time.Duration {
	if r.kind != live {
		return time.Minute
	}
	return or(r.every, time.Second)
}

// span is how much time the windows cover, if none overlap.
func (r row) span() time.Duration {
	if r.kind != live {
		return history
	}
	return time.Duration(or(r.windows, 60)) * r.length()
}

// kind is what a row measures.
type kind int

const (
	backlog   kind = iota // the service reads what is there
	live                  // the service publishes windows as time goes by
	restarted             // the service ends in the middle of what is there, and begins again
	fetched               // franz-go reads what is there
	parsed                // and fastjson parses it
	slice                 // the memory of an open slice
)

// partitions of every input.
const partitions = 4

// history is how much time the events of a backlog cover, in windows of a minute.
const history = 10 * time.Minute

// rows are all lines.
func rows() []row {
	all := []row{
		{name: "slice", kind: slice}, // first: while the heap is small
		{name: "floor/franz-go", kind: fetched},
		{name: "floor/franz-go+fastjson", kind: parsed},
		{name: "floor/franz-go/lz4", kind: fetched, compression: "lz4"},
		{name: "floor/franz-go/zstd", kind: fetched, compression: "zstd"},
		{name: "live/1s-windows", kind: live},
		{name: "live/100000-users", kind: live, users: 100_000, releases: 4, every: 5 * time.Second, windows: 24},
		{name: "live/1000000-users-1000-groups", kind: live, users: 1_000_000, groups: 1000, releases: 3,
			every: 20 * time.Second, windows: 8, bags: 256 << 20},
		{name: "restart/ended", kind: restarted},
		{name: "restart/killed", kind: restarted, killed: true},
	}
	for _, c := range []string{"", "lz4", "zstd"} {
		all = append(all, row{name: "keyed/" + or(c, "uncompressed"), compression: c},
			row{name: "not-keyed/" + or(c, "uncompressed"), compression: c, scattered: true})
	}
	for _, f := range []string{"csv", "avro", "protobuf", "cloudevents"} {
		all = append(all, row{name: "format/" + f, format: f})
	}
	all = append(all, row{name: "format/otlp", format: "otlp", items: 100},
		row{name: "format/otlp-1in8", format: "otlp", items: 100, oneIn: 8})
	for _, n := range []int{5, 60} {
		all = append(all, row{name: fmt.Sprint("windows/", n), over: n})
	}
	for _, c := range []string{"first", "min", "max", "random", "sum", "count", "mean"} {
		all = append(all, row{name: "contribution/" + c, contribution: c})
	}
	return append(all, row{name: "groups/1000", groups: 1000}, row{name: "streams/20", streams: 20})
}

// chosen are the rows whose name contains one of the words, or all.
func chosen(words string) (some []row) {
	for _, r := range rows() {
		if contains(r.name, words) {
			some = append(some, r)
		}
	}
	return some
}

func or[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}

// input says where an event has what a stream reads. One that counts events reads no value.
func (r row) input() string {
	fields := formats[or(r.format, "json")].input
	if r.contribution == "count" {
		fields = strings.Replace(fields, "value: latency_ms, ", "", 1)
	}
	return fields
}

// yaml is the streams file of a row whose events begin at a moment.
func (r row) yaml(input, output string, from time.Time) string {
	every, end := r.length(), from.Add(r.span())
	over := time.Duration(or(r.over, 1))
	var b strings.Builder
	b.WriteString("version: 1\nbudgets: [{name: all, epsilon: 1000000000000, per: 24h}]\nstreams:\n")
	for i := range or(r.streams, 1) + r.idle {
		topic, grace := input, 1
		if i >= or(r.streams, 1) {
			topic = input + "-idle"
		}
		if r.unlike {
			grace += i
		}
		fmt.Fprintf(&b, `  - name: bench-%d
    input: {topic: %s, %s}
    groups: [%s]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: %s, every: %s, grace: %ds, start: %s, end: %s}
    contribution: %s
    releases:
%s    output: {topic: %s}
    budget: all
`, i, topic, r.input(), strings.Join(r.groupNames(), ", "), over*every, every, grace,
			from.Add(-(over-1)*every).Format(time.RFC3339), end.Add((over-1)*every).Format(time.RFC3339),
			or(r.contribution, "last"), r.released(), output)
	}
	return b.String()
}

// released are the releases: a count, a median, and further quantiles.
func (r row) released() string {
	var b strings.Builder
	for i := range or(r.releases, 2) {
		switch i {
		case 0:
			b.WriteString("      - {name: users, statistic: count, epsilon: 1}\n")
		case 1:
			b.WriteString("      - {name: p50, statistic: median, epsilon: 0.5}\n")
		default:
			fmt.Fprintf(&b, "      - {name: q%d, statistic: quantile, p: %g, epsilon: 0.5}\n", i, float64(i)/1000)
		}
	}
	return b.String()
}

// figures is how many records the output has in the end, of the streams that have events and of idle ones.
func (r row) figures() int {
	windows := int(r.span()/r.length()) + or(r.over, 1) - 1
	return or(r.releases, 2) * windows * or(r.groups, 3) * (or(r.streams, 1) + r.idle)
}

func (r row) groupNames() []string {
	names := make([]string, or(r.groups, 3))
	for i := range names {
		names[i] = fmt.Sprintf("g%d", i)
	}
	return names
}
