package decide

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// finding has windows of a quarter, and discoveries whose noise is nearly always 0: K is 1, so the threshold is 2, and
// P(Z ≠ 0) less than 10⁻¹⁰ for each of some hundred names in all tests.
const finding = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 24, delta: 0.00001}
        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}
      keep: 3h
      max: 3
      other: rest
      always: [home]
      match: '^[a-z/]*$'
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, every: 15m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}
    output: {topic: out}
    budget: {epsilon: 10000, delta: 0.09, per: 24h}
    on_exhausted: withhold
`

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sent is a record of a user with a name.
type sent struct {
	user uint64
	name string
}

// sentBy are records of the first n users from a number on.
func sentBy(from uint64, n int, names ...string) (all []sent) {
	for i := range uint64(n) {
		for _, name := range names {
			all = append(all, sent{from + i, name})
		}
	}
	return all
}

// remembering makes the session read parts that are not held from memory again.
func (d *decider) remembering() map[int64][]byte {
	messages := map[int64][]byte{}
	d.again = func(parts []*windows.Held, take func(*windows.Held, []byte, error)) []*windows.Held {
		for _, h := range parts {
			var data [][]byte
			for _, at := range h.Offsets {
				data = append(data, messages[at])
			}
			payload, err := h.Assemble(data)
			take(h, payload, err)
		}
		return nil
	}
	return messages
}

// partOf returns the messages of the part and the mark of a window. They cover three offsets of the input.
func (d *decider) partOf(s *config.Stream, epoch uint32, w windows.Window, from int64, records []sent) [][]byte {
	bag := windows.NewBag(windows.BagSpec{Open: true, Policy: s.Contribution, Window: w, Hasher: d.Hasher})
	for i, r := range records {
		bag.PutName(spread(r.user), []byte(r.name), w.Start+int64(i), 100)
	}
	o := windows.Origin{Stream: s.Name, Epoch: epoch, From: from, To: from + 3}
	part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
	mark := windows.Mark{Origin: o, Partitions: 1, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
	return append(part.Messages(1<<20), mark.Message())
}

// giveNames hands over the part and the mark of a window.
func (d *decider) giveNames(p *program, w windows.Window, records []sent) {
	d.t.Helper()
	for _, message := range d.partOf(p.Stream, p.Number, w, d.offset, records) {
		if err := d.gather.Add(message, d.offset, time.Unix(0, w.End)); err != nil {
			d.t.Fatal(err)
		}
		d.messages[d.offset] = message
		d.offset++
	}
}

// turns decides everything that is ready, and returns the entries.
func (d *decider) turns() (all []ledger.Entry) { return d.turnsUpTo(math.MaxInt) }

// turnsUpTo decides up to n windows and periods that are ready.
func (d *decider) turnsUpTo(n int) (all []ledger.Entry) {
	d.t.Helper()
	for len(all) < n {
		next, ok := firstDue(d.turnsOf("s"))
		if !ok {
			return all
		}
		p := d.programs[next.lane.Place]
		state := d.gather.State(p.Stream.Name, p.Number, next.window)
		if !state.Ready {
			return all
		}
		all = append(all, d.record(next))
	}
	return all
}

// toldNames says what an entry of these tests decided, in one line.
func toldNames(e ledger.Entry) string {
	at := e.WindowEnd.Sub(newYear).String()
	if d := e.Discovery; d != nil {
		var found []string
		for _, f := range d.Found {
			found = append(found, fmt.Sprintf("%s:%d", f.Name, f.Value))
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s [%s] +%d -%d =%d %s", at, e.Lane, strings.Join(found, " "),
			len(d.Joined), len(d.Left), d.Listed, e.Reason))
	}
	var groups []string
	for _, g := range e.Groups {
		value := "-"
		if len(g.Values) > 0 {
			value = g.Values[0].Value.String()
		}
		groups = append(groups, g.Name+":"+value)
	}
	of := "none"
	if e.List.Of != nil {
		of = e.List.Of.Sub(newYear).String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s [%s] %s", at, of, strings.Join(groups, " "), e.Reason))
}

func quarter(n int) windows.Window {
	start := newYear.Add(time.Duration(n) * 15 * time.Minute).UnixNano()
	return windows.Window{Start: start, End: start + int64(15*time.Minute)}
}
