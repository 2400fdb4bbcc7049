package bench

import (
	"fmt"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	name         string
	format       string // of the events, json without
	compression  string // none without
	scattered    bool   // the events of a user are in all partitions
	over         int    // windows over each event, 1 without
	contribution string // last without
	groups       int    // 3 without
	streams      int    // 1 without
	unlike       bool   // the streams differ in grace, so they share the decoding and no bags
	idle         int    // streams beside them whose topic has no events
	releases     int    // 2 without
	processes    int    // 1 without
	events       int    // in a growth table; elsewhere all rows have as many
	users        int    // the same
	kind         kind
}

// kind is what a row measures.
type kind int

const (
	backlog kind = iota // the service reads what is there
	live                // the service publishes windows as time goes by
	fetched             // franz-go reads what is there
	parsed              // and fastjson parses it
	slice               // the memory of an open slice
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
	}
	for _, c := range []string{"", "lz4", "zstd"} {
		all = append(all, row{name: "keyed/" + or(c, "uncompressed"), compression: c},
			row{name: "not-keyed/" + or(c, "uncompressed"), compression: c, scattered: true})
	}
	for _, f := range []string{"csv", "avro", "protobuf", "cloudevents"} {
		all = append(all, row{name: "format/" + f, format: f})
	}
	for _, n := range []int{5, 60} {
		all = append(all, row{name: fmt.Sprint("windows/", n), over: n})
	}
	for _, c := range []string{"first", "min", "max", "random"} {
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

// yaml is the streams file of a row whose events begin at a moment.
func (r row) yaml(input, output string, from time.Time) string {
	every, end := time.Minute, from.Add(history)
	if r.kind == live {
		every, end = time.Second, from.Add(liveWindows*time.Second)
	}
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
`, i, topic, formats[or(r.format, "json")].input, strings.Join(r.groupNames(), ", "), over*every, every, grace,
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
	windows := int(history/time.Minute) + or(r.over, 1) - 1
	if r.kind == live {
		windows = liveWindows
	}
	return or(r.releases, 2) * windows * or(r.groups, 3) * (or(r.streams, 1) + r.idle)
}

func (r row) groupNames() []string {
	names := make([]string, or(r.groups, 3))
	for i := range names {
		names[i] = fmt.Sprintf("g%d", i)
	}
	return names
}
