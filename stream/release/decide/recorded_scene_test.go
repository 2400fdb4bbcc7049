package decide

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/windows"
)

// scene is what is recorded on a tape: streams whose windows all begin at the same steps, a crowd, and what goes wrong.
// Everything else is drawn from a seed that follows from its name.
type scene struct {
	name    string
	streams string
	edits   map[int][2]string // at a step: a stream, and the file that has its new definition
	n       int               // steps
	// happens says what happens at a step. A word is the fate of a transaction, the beginning of a text that the
	// next session does not find, or one of "session", "damaged", "gap", "gone", "records", "unkept", "narrow" and
	// "none".
	happens map[int]string
	lineage map[string][]string
	places  map[string]int
}

const version = "version: 1\nstreams:\n  - name: s"

const recordedHead = `
    input: {topic: in, user: user, value: value, time: time, group: group}
    unit: ms
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, every: 15m, grace: 10s, start: 2026-01-01T21:00:00Z}
    contribution: last
    output: {topic: out, tombstones: TOMBS}
    budget: {epsilon: 60, per: 4h}
    on_exhausted: withhold
`

// onList has a list of groups, and found finds them. Both are streams with the further keys.
func onList(keys string) string {
	return strings.ReplaceAll(version+recordedHead+"    groups: [a, b, c]\n"+keys, "TOMBS", "false")
}

func found(keys string) string {
	return strings.NewReplacer("TOMBS", "true", "epsilon: 60", "epsilon: 400, delta: 0.01").
		Replace(version + recordedHead + keys)
}

const (
	sceneFigures = `    max_groups: 2
    min_users: {count: 12, release: users}
    releases:
      - {name: users, statistic: count, epsilon: 1}
      - {name: p50, statistic: median, epsilon: 0.5, interval: 0.9}
      - {name: tail, statistic: quantiles, p: [0.9, 0.99], epsilon: 0.5}
      - {name: mean, statistic: mean, epsilon: 1}
      - {name: all, statistic: sum, epsilon: 1}
      - {name: shape, statistic: histogram, buckets: [100, 250, 500], epsilon: 1, rollup: [1h, 1d],
         zone: Europe/Berlin}
      - {name: p90, statistic: quantile, p: 0.9, from: shape}
      - {name: slow, statistic: share, above: 500, from: shape}
`
	sceneWatches = `    max_groups: 2
    releases: [{name: users, statistic: count, epsilon: 0.5}]
    watches:
      - {name: slow, above: 500, users: 4, epsilon: 8, false_alarms: {at_most: 0.05, per: 30d}, hold: 30m, at_most: 3}
      - {name: gone, users_below: 6, epsilon: 4, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 1}
`
	sceneChanges = `    max_groups: 2
    releases:
      - {name: calm, statistic: median, epsilon: 2, publish: on_change, tolerance: 0.2, watch_epsilon: 12, at_most: 3}
      - {name: users, statistic: count, epsilon: 0.5}
`
	sceneTotals = `    max_groups: 2
    releases:
      - {name: users, statistic: count, epsilon: 0.5}
      - {name: total_today, statistic: count, since: midnight, update: 30m, epsilon: 8}
      - {name: total_sum, statistic: sum, since: midnight, update: 15m, max_total: 1500, epsilon: 4}
`
	sceneSums = `    max_groups: 2
    releases:
      - {name: all, statistic: sum, clip: none, epsilon: 4}
      - {name: p50, statistic: median, epsilon: 4}
      - {name: total_sum, statistic: sum, since: midnight, update: 15m, max_total: 4000, epsilon: 4}
`
	discovers = `    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 8, delta: 0.00001TURNS}
        - {name: twice, every: 2h, epsilon: 8, delta: 0.00001, max_groups: 2}
      keep: 2h
      max: 4
      other: rest
      always: [home]
      match: '^[a-z/]*$'
`
	sceneFound = `    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 1}
      - {name: shape, statistic: histogram, buckets: [100, 500], epsilon: 1, rollup: [1h, 2h]}
`
	foundWatch = `    watches:
      - {name: slow, above: 500, users: 4, epsilon: 8, false_alarms: {at_most: 0.05, per: 30d}, hold: 30m, at_most: 3}
`
	sceneCapped = `    max_windows: {count: 2, per: 2h, parts: 1}
    max_groups: 2
    releases:
      - {name: users, statistic: count, epsilon: 1}
      - {name: p50, statistic: median, epsilon: 1}
`
)

// hops makes windows overlap. rich has a budget that pays for most windows. minutes has windows so short that there is
// not a snapshot after each.
var (
	minutes = strings.NewReplacer("size: 15m, every: 15m", "size: 5m, every: 5m", "01T21:00", "01T23:00", "update: 30m",
		"update: 10m", "update: 15m", "update: 5m", "per: 2h", "per: 80m")
	hops = strings.NewReplacer("size: 15m, every: 15m", "size: 30m, every: 15m")
	rich = strings.NewReplacer("epsilon: 60", "epsilon: 250")
)

// both has two streams on one budget. The second one follows the list of the first.
func both(first, second string) string {
	shared := strings.NewReplacer("budget: {epsilon: 400, delta: 0.01, per: 4h}", "budget: b", version, "  - name: s")
	second = strings.NewReplacer("name: s\n", "name: f\n", "grace: 10s", "grace: 20s").Replace(shared.Replace(second))
	return "version: 1\nbudgets: [{name: b, epsilon: 500, delta: 0.01, per: 4h}]\nstreams:\n" +
		shared.Replace(first) + second
}

// section is the part of a stream's keys from one text on, and up to another.
func section(keys, from, to string) string {
	_, rest, _ := strings.Cut(keys, from)
	if to != "" {
		rest, _, _ = strings.Cut(rest, to)
	}
	return from + rest
}

// scenes are what the tapes hold. Each kind of figure is in one of them at least, and each kind of interruption.
var scenes = []scene{
	{name: "figures", streams: rich.Replace(onList(sceneFigures)), n: 28,
		happens: map[int]string{6: aborted, 11: "session", 15: "none", 19: unsent}},
	{name: "watches", streams: onList(sceneWatches), n: 32,
		edits:   map[int][2]string{26: {"s", onList(strings.Replace(sceneWatches, "users: 4", "users: 5", 1))}},
		happens: map[int]string{4: aborted, 7: aborted, 8: unknown, 13: unsent, 20: "ledger/"}},
	{name: "changes", streams: onList(sceneChanges), n: 32,
		happens: map[int]string{1: aborted, 6: aborted, 7: aborted, 14: unknown, 22: unsent}},
	{name: "totals", streams: rich.Replace(minutes.Replace(onList(sceneTotals))), n: 36, edits: map[int][2]string{20: {"s",
		rich.Replace(minutes.Replace(onList(strings.Replace(sceneTotals, "epsilon: 0.5", "epsilon: 0.25", 1))))}},
		happens: map[int]string{3: aborted, 5: "total/s/total_today", 9: "unkept", 10: "session", 14: "total/",
			17: "damaged", 18: "session", 21: "session", 30: unsent, 33: "total/s/total_sum"}},
	{name: "discoveries", streams: found(withTurns("") + sceneFound + foundWatch), n: 32,
		happens: map[int]string{3: aborted, 9: "session", 15: aborted, 17: "narrow", 23: unknown}},
	{name: "hopping", n: 28, streams: hops.Replace(onList(strings.Replace(sceneCapped, "count: 2", "count: 4", 1) +
		section(sceneWatches, "    watches", "") + "    min_users: {count: 5, release: users}\n")),
		happens: map[int]string{5: aborted, 12: "session", 19: "narrow"}},
	{name: "caps", streams: minutes.Replace(onList(sceneCapped)), n: 32,
		happens: map[int]string{3: aborted, 8: "session", 12: "s/", 16: "unkept", 17: "session", 22: "damaged",
			23: "session", 27: "gone"}},
	{name: "turns", streams: found(withTurns(", max_windows: {count: 2, per: 4h, parts: 1}") +
		section(sceneCapped, "    max_windows", "    max_groups") + sceneFound), n: 32,
		happens: map[int]string{3: aborted, 7: "narrow", 12: "row/", 18: "session", 25: "damaged", 27: unsent}},
	{name: "followers", n: 20, streams: both(found(withTurns("")+sceneFound),
		found("    groups: {from: s}\n    max_groups: 2\n"+sceneFound+foundWatch)),
		happens: map[int]string{4: aborted, 12: "session", 17: unsent}},
	{name: "continued", streams: paidBy("old", ""), n: 24, lineage: map[string][]string{"new": {"old"}},
		places: map[string]int{"old": 1}, edits: map[int][2]string{8: {"s", paidBy("new", "    continues: old\n")}},
		happens: map[int]string{10: aborted, 14: "session", 18: "ledger/"}},
	{name: "before", streams: paidBy("old", ""), n: 24, places: map[string]int{"old": 1},
		edits:   map[int][2]string{8: {"s", paidBy("new", "    fresh: true\n")}},
		happens: map[int]string{10: aborted, 14: "session", 18: "ledger/"}},
	{name: "lost", n: 32, streams: onList(sceneTotals +
		section(sceneChanges, "      - {name: calm", "      - {name: users") + section(sceneWatches, "    watches", "")),
		happens: map[int]string{3: "records", 6: "damaged", 9: "gap", 12: "gone", 13: "session", 17: "records",
			20: "damaged", 21: "session", 26: "gone"}},
	{name: "sums", n: 28, streams: rich.Replace(onList(sceneSums)),
		edits: map[int][2]string{6: {"s", rich.Replace(summed(sceneSums))}},
		happens: map[int]string{3: aborted, 8: "session", 11: "gap", 14: unsent, 17: "records", 20: "narrow",
			24: "gone"}},
}

// summed is a stream that adds up, with the further keys.
func summed(keys string) string {
	return strings.NewReplacer("contribution: last", "contribution: sum", "upper: 1000", "upper: 2000").
		Replace(onList(keys))
}

// withTurns are the discoveries of a stream, the first one with another key.
func withTurns(key string) string { return strings.Replace(discovers, "TURNS", key, 1) }

// paidBy is a stream whose budget is listed.
func paidBy(budget, keys string) string {
	return strings.NewReplacer("version: 1", "version: 1\nbudgets: [{name: "+budget+", epsilon: 30, per: 4h}]",
		"budget: {epsilon: 60, per: 4h}", "budget: "+budget).Replace(onList(keys + sceneWatches))
}

// recorder writes the inputs of a tape.
type recorder struct {
	scene
	t        testing.TB
	random   *rand.Rand
	lines    []line
	editions []editionLine
	offsets  map[string]int64 // of the input, by stream and partition
	settings sessionLine
}

// record makes the inputs of a scene.
func (s scene) record(t testing.TB) []line {
	t.Helper()
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(s.name))
	r := &recorder{scene: s, t: t, random: rand.New(rand.NewPCG(seed.Sum64(), 1)), offsets: map[string]int64{},
		settings: sessionLine{PartBytes: 1 << 20, MergeBytes: 1 << 20, NoteBytes: 1 << 20, Lineage: s.lineage,
			Places: s.places}}
	f, err := parse.File("streams.yaml", []byte(s.streams), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range f.Streams {
		r.edition(editionLine{Streams: s.streams, Stream: stream.Name, Number: 1, Start: stream.Window.Start})
	}
	r.session()
	for n := range s.n {
		r.step(n)
	}
	if s.places != nil {
		return r.paidElsewhere()
	}
	return r.lines
}

func (r *recorder) edition(e editionLine) {
	r.editions = append(r.editions, e)
	r.lines = append(r.lines, line{Edition: &e})
}

func (r *recorder) session(forgets ...string) {
	s := r.settings
	s.Forgets = forgets
	r.lines = append(r.lines, line{Session: &s})
}

// stream is the stream of an edition.
func (r *recorder) stream(e editionLine) *config.Stream {
	f, err := parse.File("streams.yaml", []byte(e.Streams), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return f.Stream(e.Stream)
}

// step has the crowd of a step send, and decides what is due then.
func (r *recorder) step(n int) {
	first := r.stream(r.editions[0]).Window
	w := windows.Window{Start: first.Start + int64(n)*int64(first.Every), End: first.Start + int64(n+1)*int64(first.Every)}
	at := w.End/1e9 + 30
	if edit, ok := r.edits[n]; ok {
		last := &r.editions[len(r.editions)-1]
		last.Until = w.Start
		ended := *last
		r.lines = append(r.lines, line{Edition: &ended})
		r.edition(editionLine{Streams: edit[1], Stream: edit[0], Number: 2, Start: w.Start})
		r.session()
	}
	crowd := r.crowd(n)
	what := r.happens[n]
	for _, e := range r.editions {
		if s := r.stream(e); e.Start <= w.Start && (e.Until == 0 || w.End <= e.Until) {
			r.slice(s, e.Number, w, crowd, what)
		}
	}
	decide := decideLine{Now: at}
	switch what {
	case "damaged", "gap", "records", "none", "":
	case aborted, unsent, unknown:
		decide.Fate = what
	case "unkept":
		decide.Unkept = true
	case "gone":
		r.lines = append(r.lines, line{Lost: &lostLine{Before: at}})
	case "session":
		r.session()
	case "narrow": // nothing fits into memory: parts are read again, in many passes
		r.settings.PartBytes, r.settings.MergeBytes, r.settings.NoteBytes = 1, 1, 1
		r.session()
	default:
		r.session(what)
	}
	r.lines = append(r.lines, line{Decide: &decide})
	if decide.Fate != "" {
		r.session()
		r.lines = append(r.lines, line{Decide: &decideLine{Now: at + 5}})
	}
}

// visit is what a user sends in a step.
type visit struct {
	user, group int
	value       int64
}

// crowd draws who comes: about half of 36 users, two thirds of them with two values. An incident is slow, and some
// steps are nearly empty.
func (r *recorder) crowd(n int) (all []visit) {
	share := 0.5
	if n%9 == 8 {
		share = 0.06
	}
	if r.happens[n] == "none" {
		share = 0
	}
	for user := range 36 {
		if r.random.Float64() > share {
			continue
		}
		for range 1 + r.random.IntN(3)%2 {
			v := visit{user, (user + r.random.IntN(5)/3) % 3, 60 + r.random.Int64N(200)}
			if n%13 > 9 && v.group == 1 {
				v.value += 500
			}
			all = append(all, v)
		}
	}
	return all
}

// name is the group of a visit in a stream whose groups are found: they come and go.
func name(v visit, start int64) string {
	if v.user%17 == 3 {
		return "SHOUTED"
	}
	return []string{"home", "shoes", "hats", "coats", "bags", "belts"}[(v.group+v.user%2+int(start/int64(2*time.Hour)))%6]
}

// slice writes the parts and marks of a step, in two partitions. Even users are in the first.
func (r *recorder) slice(s *config.Stream, epoch uint32, w windows.Window, crowd []visit, what string) {
	for partition := range 2 {
		here := slices.DeleteFunc(slices.Clone(crowd), func(v visit) bool { return v.user%2 != partition })
		// The first partition is flushed twice. What was sent before the first flush may be in both parts.
		flushes := [][]visit{here}
		if partition == 0 {
			flushes = [][]visit{here[:len(here)*2/3], here[len(here)/2:]}
			if s.Contribution.Adds() { // the marks of one worker follow one another without overlap
				flushes[1] = here[len(here)*2/3:]
			}
		}
		for i, records := range flushes {
			last := i == len(flushes)-1
			bag := windows.NewBag(windows.BagSpec{Groups: s.Groups, MaxGroups: s.MaxGroups, Policy: s.Contribution,
				Window: w, Hasher: windows.NewHasher([16]byte{}), Open: s.Found != nil})
			for j, v := range records {
				at, value := w.Start+int64(j)*int64(time.Second), v.value
				if s.Contribution.Adds() { // in units, of which a step of the grid has several
					value *= s.Adding().Step
				}
				if s.Found != nil {
					bag.PutName(spread(uint64(v.user+1)), []byte(name(v, w.Start)), at, value)
				} else {
					bag.Add(spread(uint64(v.user+1)), v.group, at, value)
				}
			}
			key := s.Name + strconv.Itoa(int(epoch)) + "/" + strconv.Itoa(partition)
			o := windows.Origin{Stream: s.Name, Epoch: epoch, Partition: partition, From: r.offsets[key],
				To: r.offsets[key] + int64(len(records))}
			for b := range o.Attempt {
				o.Attempt[b] = byte(r.random.Uint32())
			}
			r.offsets[key] = o.To
			part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
			mark := windows.Mark{Origin: o, Partitions: 2, Slices: []int64{w.Start}, After: w.Start, Through: w.Start}
			if last {
				mark.Through = w.End
			}
			if last && partition == 1 && what == "records" {
				mark.Lost = 3
			}
			messages := append(part.Messages(1<<20), mark.Message())
			if s.Contribution.Adds() && what == "session" { // of a worker that died before its mark: it counts nowhere
				orphan := part
				orphan.Attempt[0]++
				messages = append(orphan.Messages(1<<20), messages...)
			}
			if what == "damaged" && last {
				messages[0][len(messages[0])/2] ^= 4
			}
			if what == "gap" && partition == 0 && !last {
				messages = nil
			}
			for _, m := range messages {
				r.lines = append(r.lines, line{Message: &messageLine{At: w.End / 1e9, Data: m}})
			}
		}
	}
}

// paidElsewhere has the windows of the first definition decided in another partition of the ledger. The session of the
// second one finds half of their entries when it begins.
func (r *recorder) paidElsewhere() []line {
	edited := slices.IndexFunc(r.lines, func(l line) bool { return l.Edition != nil && l.Edition.Until != 0 })
	theirs := slices.Clone(r.lines[:edited])
	for i, l := range theirs {
		if l.Session != nil {
			there := *l.Session
			there.Places, there.Lineage = map[string]int{"new": 1}, nil
			theirs[i] = line{Session: &there}
		}
	}
	var entries []line
	for _, l := range replay(r.t, theirs) {
		if l.Entry != "" {
			entries = append(entries, line{Charged: &chargedLine{1, l.Entry}})
		}
	}
	half, began := len(entries)/2, edited+2
	decided := began + slices.IndexFunc(r.lines[began:], func(l line) bool { return l.Decide != nil }) + 1
	return slices.Concat(r.lines[:1], r.lines[edited:began], entries[:half], r.lines[began:decided], entries[half:],
		r.lines[decided:])
}
