package release

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

var update = flag.Bool("update", false, "record the tapes in testdata/recorded anew")

// TestRecorded plays recorded topics: messages of parts that once came in, the sessions that read them, and what became
// of their transactions. The stage has to write the same bytes again: entries, checkpoints, snapshots, and how far the
// next session has to read back. Noise has a seed, secrets are not sealed, and the clock is set, so nothing else decides
// these bytes. A change of the code that is meant to change nothing passes with the tapes as they are.
//
// A change that is meant to change entries or checkpoints needs new tapes: go test -run Recorded -update. Then review
// what is different in them, and say so with the change.
func TestRecorded(t *testing.T) {
	size, kinds := 0, map[string]int{}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			name := filepath.Join("testdata", "recorded", s.name+".jsonl")
			if *update {
				if err := os.WriteFile(name, lines(replay(t, s.record(t))), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			size += len(text)
			var inputs []line
			for row := range bytes.Lines(text) {
				var l line
				if err := json.Unmarshal(row, &l); err != nil {
					t.Fatal(err)
				}
				if !l.output() {
					inputs = append(inputs, l)
				}
			}
			got := replay(t, inputs)
			if again := lines(got); !bytes.Equal(again, text) {
				t.Fatalf("the tape says (-), and now it is (+):\n%s", firstDifference(text, again))
			}
			for _, l := range got {
				l.count(kinds)
			}
		})
	}
	if size > 2<<20 {
		t.Errorf("the tapes have %d bytes; want at most 2 MiB", size)
	}
	for _, kind := range []string{"release", "alarm fired", "alarm armed again", "change fired", "total drawn",
		"total lost", "discovery found", "discovery left", "rollup", "withheld", "incomplete", "adopted", "resumed",
		"era", "smoothed", "elsewhere", "before", "step withheld", "checkpoint used"} {
		if kinds[kind] < 2 && !t.Failed() {
			t.Errorf("%q happens %d times on the tapes; want it twice or more", kind, kinds[kind])
		}
	}
}

// line is one line of a tape. Exactly one field is set.
type line struct {
	// These go in. A session begins with the editions so far.
	Edition *editionLine `json:"edition,omitempty"`
	Session *sessionLine `json:"session,omitempty"`
	Message *messageLine `json:"message,omitempty"` // of the partials
	Charged *chargedLine `json:"charged,omitempty"` // an entry in another partition of the ledger
	Lost    *lostLine    `json:"lost,omitempty"`
	Decide  *decideLine  `json:"decide,omitempty"`
	// These come out.
	Entry string     `json:"entry,omitempty"`
	Text  *textLine  `json:"text,omitempty"` // a checkpoint or a snapshot
	Ended string     `json:"ended,omitempty"`
	State *stateLine `json:"state,omitempty"` // after all that could be decided
}

type editionLine struct {
	Streams      string `json:"streams"` // a streams file
	Stream       string `json:"stream"`
	Number       uint32 `json:"number"`
	Start, Until int64
}

type sessionLine struct {
	PartBytes  int64               `json:"part_bytes"`
	MergeBytes int64               `json:"merge_bytes"`
	NoteBytes  int64               `json:"note_bytes"`
	Forgets    []string            `json:"forgets,omitempty"` // keys of texts, by what they begin with
	Lineage    map[string][]string `json:"lineage,omitempty"`
	Places     map[string]int      `json:"places,omitempty"`
}

type messageLine struct {
	At   int64  `json:"at"` // Unix seconds
	Data []byte `json:"data"`
}

type chargedLine struct {
	Partition int    `json:"partition"`
	Entry     string `json:"entry"`
}

// lostLine says that the next messages were deleted before a moment, and so were all before them.
type lostLine struct {
	Before int64 `json:"before"`
}

type decideLine struct {
	Now int64 `json:"now"`
	// Fate is what becomes of the first transaction: it is committed if "". Otherwise the session ends with it.
	Fate string `json:"fate,omitempty"`
	// Unkept says that the progress is not written.
	Unkept bool `json:"unkept,omitempty"`
}

type textLine struct {
	Key   string `json:"key"`
	Bytes int    `json:"bytes"` // 0: it is deleted
	Hash  string `json:"sha256,omitempty"`
}

type stateLine struct {
	Checkpoint textLine         `json:"checkpoint"`
	Needs      int64            `json:"needs"`
	Saved      map[string]int64 `json:"saved,omitempty"`
}

func (l line) output() bool { return l.Entry != "" || l.Text != nil || l.Ended != "" || l.State != nil }

func lines(all []line) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range all {
		_ = e.Encode(l) // plain data
	}
	return b.Bytes()
}

// firstDifference shows the first line that differs.
func firstDifference(want, got []byte) string {
	wants, gots := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i, w := range wants {
		if i >= len(gots) || gots[i] != w {
			var g string
			if i < len(gots) {
				g = gots[i]
			}
			return fmt.Sprintf("line %d: %s", i+1, diff.Diff(fields(w), fields(g)))
		}
	}
	return fmt.Sprintf("%d more lines", len(gots)-len(wants))
}

// fields breaks a line of a tape where values are, so that a difference shows.
func fields(text string) []string {
	return strings.Split(strings.ReplaceAll(text, `,\"`, ",\n"+`\"`), "\n")
}

// The fates of a transaction whose session ends: all of it is in the log as aborted, none of it is, or it is committed
// and the session does not know it.
const (
	aborted = "aborted"
	unsent  = "unsent"
	unknown = "unknown"
)

var errFate = errors.New("the session ends by the tape")

// player is what outlives a session, and the session.
type player struct {
	t        testing.TB
	out      []line
	editions []control.Edition
	messages []messageLine
	deleted  int64 // messages below are gone
	ledger   []fetch.Record
	others   map[int][]string
	texts    map[string]progress.Text
	kept     progressRecord
	audit    *audit.Audit

	sessions int
	now      int64
	fate     string
	at       int64 // the next message to read
	*decisions
}

// replay plays the inputs and returns them with the outputs in between.
func replay(t testing.TB, inputs []line) []line {
	t.Helper()
	p := &player{t: t, others: map[int][]string{}, texts: map[string]progress.Text{}, audit: audit.New()}
	for i, l := range inputs {
		p.out = append(p.out, l)
		var err error
		switch {
		case l.Edition != nil:
			err = p.edition(*l.Edition)
		case l.Session != nil:
			err = p.begin(*l.Session)
		case l.Message != nil:
			p.messages = append(p.messages, *l.Message)
		case l.Charged != nil:
			err = p.elsewhere(*l.Charged)
		case l.Lost != nil:
			p.deleted = int64(len(p.messages))
			if p.decisions != nil {
				p.parts.gather.Lose(p.at, time.Unix(l.Lost.Before, 0))
				p.at = p.deleted
			}
		case l.Decide != nil:
			err = p.decideAll(*l.Decide)
		}
		if err != nil {
			t.Fatalf("input %d: %v", i+1, err)
		}
	}
	if f := p.audit.Findings(); !f.OK {
		t.Errorf("audit: %+v", f.Faults)
	}
	return p.out
}

func (p *player) edition(l editionLine) error {
	f, err := parse.File("streams.yaml", []byte(l.Streams), nil)
	if err != nil {
		return err
	}
	s := f.Stream(l.Stream)
	e := control.Edition{Stream: s, Number: l.Number, Schedule: s.Window.Schedule(cmp.Or(l.Start, s.Window.Start))}
	if l.Until != 0 {
		for i, o := range p.editions {
			if o.Stream.Name == l.Stream && o.Number == l.Number {
				p.editions[i].Schedule.End = l.Until
				return nil
			}
		}
	}
	p.editions = append(p.editions, e)
	return nil
}

// begin opens a session, as [worker.session] does.
func (p *player) begin(l sessionLine) error {
	monitor := health.New(zap.NewNop(), "release")
	names := topics.Names{App: "app"}
	of := &Release{
		Env: stage.Env{Names: names, Metrics: metrics.New(prometheus.NewRegistry(), nil, nil),
			Monitor: monitor, Health: monitor.Stage("release"), Log: zap.NewNop(),
			Progress: &progress.Log{Topic: "progress"}},
		Editions: p.editions, Hasher: windows.NewHasher([16]byte{}), WatchKey: make([]byte, 32),
		State:      &progress.Log{Topic: "state"},
		MergeBytes: l.MergeBytes, PartBytes: l.PartBytes, NoteBytes: l.NoteBytes, CheckpointEvery: 3,
		Lineage: func(budget string) []string { return append([]string{budget}, l.Lineage[budget]...) },
		Place:   func(budget string) int { return l.Places[budget] },
	}
	p.fate = ""
	p.sessions++
	random := rand.NewChaCha8([32]byte{byte(p.sessions), byte(p.sessions >> 8)})
	w := &worker{Release: of, at: stage.Partition{Topic: "partials"}}
	var here []*program
	for _, e := range p.editions {
		if of.Place(e.Stream.Budget.Name) == w.at.Number {
			program := newProgram(e)
			program.random = random
			here = append(here, program)
		}
	}
	w.takes(here...)
	d, err := newDecisions(w)
	if err != nil {
		return err
	}
	d.now, d.producer, d.lookout.seal = func() time.Time { return time.Unix(p.now, 0) }, p, openSeal{}
	d.parts.again, d.charges.readAll = p.again, p.readAll
	p.decisions = d
	maps.DeleteFunc(p.texts, func(key string, _ progress.Text) bool {
		return slices.ContainsFunc(l.Forgets, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	drawn, err := p.charged(d.charges)
	if err == nil {
		err = d.adopt(p.t.Context(), drawn)
	}
	if err != nil {
		return err
	}
	d.walks.begin(p.texts, p.kept.Saved)
	if p.at = max(p.kept.Offset, p.deleted); p.at > p.kept.Offset {
		d.parts.gather.Lose(p.kept.Offset, time.Unix(p.now, 0))
	}
	return nil
}

// charged reads the ledger, as [charges.read] does.
func (p *player) charged(cs *charges) (drawn []drawn, err error) {
	cs.followAll()
	parts := []*partition{}
	for _, c := range cs.continued {
		parts = append(parts, c.partition)
	}
	for number := range p.others {
		cs.formers[number] = &partition{number: number}
		parts = append(parts, cs.formers[number])
	}
	for _, of := range append(parts, cs.own) {
		read := func(f *ledger.Fold) (err error) {
			of.fold, of.told, of.grown = f, f.Entries(), 0
			drawn, err = cs.readFold(p.t.Context(), of, nil)
			return err
		}
		text := p.texts[progress.CheckpointKey(of.number)]
		of.size, of.pieces = int64(len(text.Text)), text.Pieces
		if err := ledger.Resume("app", of.number, text.Text, read, func(err error) { p.t.Error(err) }); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// readAll reads a partition of the ledger.
func (p *player) readAll(_ context.Context, _ *fetch.Client, partition int, from int64,
	add func(*fetch.Record) error) (int64, error) {
	all := p.ledger
	if partition != 0 {
		all = nil
		for i, value := range p.others[partition] {
			all = append(all, fetch.Record{Offset: int64(i), Value: []byte(value)})
		}
	}
	for from < int64(len(all)) {
		if err := add(&all[from]); err != nil {
			return from, err
		}
		from++
	}
	return from, nil
}

// again reads parts from the log again.
func (p *player) again(_ context.Context, parts []*windows.Held, take func(*windows.Held, []byte, error)) (
	missing []*windows.Held, err error) {
	for _, h := range parts {
		if h.Offsets[0] < p.deleted {
			missing = append(missing, h)
			continue
		}
		var data [][]byte
		for _, at := range h.Offsets {
			data = append(data, p.messages[at].Data)
		}
		payload, err := h.Assemble(data)
		take(h, payload, err)
	}
	return missing, nil
}

// decideAll reads all messages and decides what is ready, as [worker.session] does.
func (p *player) decideAll(l decideLine) error {
	p.now, p.fate = l.Now, l.Fate
	for ; p.at < int64(len(p.messages)); p.at++ {
		m := p.messages[p.at]
		// What is damaged counts as lost. The stage logs it.
		_ = p.parts.gather.Add(bytes.Clone(m.Data), p.at, time.Unix(m.At, 0))
	}
	ctx := p.t.Context()
	err := p.decide(ctx)
	if err == nil {
		err = p.notes.catchUp(ctx)
	}
	if err == nil {
		err = p.walks.save(ctx, p)
	}
	if errors.Is(err, errFate) {
		p.decisions = nil
		return nil
	}
	if err != nil {
		return err
	}
	text, err := p.charges.own.fold.Checkpoint()
	state := stateLine{Checkpoint: hashed("checkpoint", text), Saved: p.walks.saved(),
		Needs: min(p.parts.gather.Needs(p.at), p.walks.needs())}
	p.out = append(p.out, line{State: &state})
	if !l.Unkept {
		p.kept = progressRecord{Offset: state.Needs, Saved: state.Saved}
		p.deleted = max(p.deleted, state.Needs)
	}
	return err
}

func hashed(key string, text []byte) textLine {
	sum := sha256.Sum256(text)
	return textLine{key, len(text), hex.EncodeToString(sum[:16])}
}

// Commit commits a transaction, or not.
func (p *player) Commit(_ context.Context, tx txn.Transaction) error {
	if p.fate == unsent {
		p.out = append(p.out, line{Ended: p.fate})
		return errFate
	}
	for _, r := range tx.Records {
		if r.Topic == "app.ledger" {
			p.out = append(p.out, line{Entry: string(r.Value)})
			p.ledger = append(p.ledger, fetch.Record{Offset: int64(len(p.ledger)), Value: r.Value,
				Aborted: p.fate == aborted})
			if p.fate != aborted {
				p.audit.Entry(audit.Position{Topic: r.Topic, Offset: int64(len(p.ledger) - 1)}, r.Key, r.Value)
			}
			continue
		}
		key := string(r.Key)
		l := hashed(key, r.Value)
		p.out = append(p.out, line{Text: &l})
		switch {
		case p.fate == aborted:
		case r.Value == nil:
			delete(p.texts, key)
		default:
			p.texts[key] = progress.Text{Text: r.Value, Pieces: 1}
		}
	}
	if p.fate != "" {
		p.out = append(p.out, line{Ended: p.fate})
		return errFate
	}
	return nil
}

// Last returns the offset of the last entry.
func (p *player) Last(string, int) int64 { return int64(len(p.ledger)) - 1 }

// elsewhere adds an entry to another partition.
func (p *player) elsewhere(l chargedLine) error {
	e, err := ledger.Decode([]byte(l.Entry))
	p.audit.Entry(audit.Position{Topic: "app.ledger", Partition: l.Partition, Offset: int64(len(p.others[l.Partition]))},
		e.Key(), []byte(l.Entry))
	p.others[l.Partition] = append(p.others[l.Partition], l.Entry)
	return err
}

// count counts what happens on a tape, so that a tape that no longer shows anything is noticed.
func (l line) count(kinds map[string]int) {
	add := func(kind string, here bool) {
		if here {
			kinds[kind]++
		}
	}
	if l.Ended != "" {
		add("adopted", l.Ended == aborted)
		add("resumed", true)
	}
	add("checkpoint used", l.Text != nil && strings.HasPrefix(l.Text.Key, "ledger/"))
	if l.Entry == "" {
		return
	}
	e, err := ledger.Decode([]byte(l.Entry))
	if err != nil {
		panic(err)
	}
	add("release", len(e.Releases) > 0)
	add("withheld", e.Reason != "")
	add("incomplete", e.Incomplete)
	add("rollup", len(e.Rollups) > 0)
	add("era", e.Cap.Era != 0)
	add("elsewhere", len(e.Continues) > 0)
	add("before", e.Before != nil)
	for _, i := range e.Ended {
		add("total lost", strings.HasPrefix(i.Step, "total_"))
	}
	for _, s := range e.Steps {
		add("step withheld", s.Reason != "" && !s.Looks())
		add("alarm fired", s.Alarm != nil && s.Fires() != nil)
		add("alarm armed again", s.Alarm != nil && s.Arms && s.Instance > 1)
		add("change fired", s.OnChange != nil && s.Fires() != nil)
		add("total drawn", s.Total != nil && s.Looks() && s.Total.Finishes(s, e))
	}
	if e.Discovery != nil {
		add("discovery found", len(e.Discovery.Found) > 0)
		add("discovery left", len(e.Discovery.Left) > 0)
	}
	for _, g := range e.Groups {
		for _, v := range g.Values {
			add("smoothed", v.Smoothed != nil)
		}
	}
}
