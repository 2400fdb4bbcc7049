package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// outputs compares the records of the output topics with what the entries say about them, by hashes.
type outputs struct {
	found    *Findings
	expected map[digest]*promise
	early    map[digest]sighting // outputs that were read before their entry
	windows  []window
	// since is the end of the last window of each stream that checkpoints cover, if the audit begins there. It also has
	// the last period of each discovery, as "stream/discovery".
	since map[string]time.Time
}

type digest [16]byte

// promise is the part of an entry about one output.
type promise struct {
	content digest
	window  int32
	seen    bool
}

type sighting struct {
	content digest
	at      Position
}

type window struct {
	stream       string
	end          int64
	values, seen int32
}

func newOutputs(found *Findings) *outputs {
	return &outputs{
		found: found, expected: map[digest]*promise{}, early: map[digest]sighting{}, since: map[string]time.Time{},
	}
}

// expect takes the records of an entry.
func (o *outputs) expect(e ledger.Entry, records []record.Record) {
	w := int32(len(o.windows))
	o.windows = append(o.windows, window{stream: e.Stream, end: e.WindowEnd.UnixNano()})
	for _, r := range records {
		id := identify(r.Topic, r.ID())
		if o.expected[id] != nil {
			continue // charged twice, which the books find; the first entry counts
		}
		value := r.Value
		if e.OutputFormat == record.FormatAvro && value != nil {
			value, _ = record.AvroContent(value) // of JSON that was just written: never fails
		}
		p := &promise{content: contentOf(r.Key, value), window: w}
		o.expected[id] = p
		o.windows[w].values++
		if s, found := o.early[id]; found {
			delete(o.early, id)
			o.compare(p, s, r.ID())
		}
	}
}

// add takes a record of an output topic.
func (o *outputs) add(at Position, key, value []byte) {
	var says struct {
		Schema    string    `json:"schema"`
		ID        string    `json:"id"`
		Stream    string    `json:"stream"`
		Release   string    `json:"release"`
		Statistic string    `json:"statistic"`
		End       time.Time `json:"window_end"`
	}
	if err := json.Unmarshal(value, &says); err != nil || says.Schema != record.Schema || says.ID == "" {
		o.found.fault(OutputUnreadable, at, "want JSON of schema %s with an id", record.Schema)
		return
	}
	of := says.Stream
	if says.Statistic == record.StatisticGroups {
		of += "/" + says.Release
	}
	o.see(of, says.End, says.ID, sighting{contentOf(key, value), at})
}

// addEnded takes a record that ends a series.
func (o *outputs) addEnded(at Position, key []byte, id string) {
	says, ok := record.ReadLeft(id)
	if !ok {
		o.found.fault(OutputUnreadable, at, "a record without a value has the id %q; want that of a series that ends",
			id)
		return
	}
	of := says.Stream
	if says.Discovery != "" {
		of += "/" + says.Discovery
	}
	o.see(of, says.End, id, sighting{contentOf(key, nil), at})
}

// see compares an output of a stream, or of a discovery, whose window or period ends at some time.
func (o *outputs) see(of string, end time.Time, says string, s sighting) {
	if last, ok := o.since[of]; ok && !end.After(last) {
		o.found.Earlier++
		return
	}
	id := identify(s.at.Topic, says)
	if p := o.expected[id]; p != nil {
		o.compare(p, s, says)
		return
	}
	if before, found := o.early[id]; found {
		o.found.fault(OutputTwice, s.at, "%s was already published at %s", says, before.at)
		return
	}
	o.early[id] = s
}

func (o *outputs) compare(p *promise, s sighting, id string) {
	w := &o.windows[p.window]
	switch {
	case p.seen:
		o.found.fault(OutputTwice, s.at, "%s was published before", id)
		return
	case p.content != s.content:
		o.found.fault(OutputDiffers, s.at, "%s is not what its ledger entry says", id)
	default:
		o.found.Matched++
	}
	p.seen = true
	w.seen++
}

func identify(topic, id string) digest { return contentOf([]byte(topic), []byte(id)) }

func contentOf(key, value []byte) digest {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(key))))
	h.Write(key)
	h.Write(value)
	return digest(h.Sum(nil)[:len(digest{})])
}

// finish reports the outputs that no entry has, and counts the values that were not seen. They are absent if their
// stream has published later ones, and pending otherwise.
func (o *outputs) finish() {
	var unknown []Position
	for _, s := range o.early {
		unknown = append(unknown, s.at)
	}
	slices.SortFunc(unknown, comparePositions)
	for _, at := range unknown {
		o.found.fault(OutputUnknown, at, "no ledger entry has it")
	}
	clear(o.early)
	latest := map[string]int64{}
	for _, w := range o.windows {
		if w.seen > 0 {
			latest[w.stream] = max(latest[w.stream], w.end)
		}
	}
	o.found.Pending, o.found.Absent = 0, 0
	for _, w := range o.windows {
		if n, published := latest[w.stream]; published && w.end < n {
			o.found.Absent += int64(w.values - w.seen)
		} else {
			o.found.Pending += int64(w.values - w.seen)
		}
	}
}
