package release

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
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

// player is what outlives a session, and the session.
type player struct {
	t        testing.TB
	out      []line
	editions []config.Edition
	messages []messageLine
	deleted  int64 // messages below are gone
	ledger   []fetch.Record
	others   map[int][]string
	texts    map[string]progress.Text
	kept     progressRecord
	audit    *audit.Audit
	states   map[int]*ledger.State // after the committed entries of each partition

	sessions int
	now      int64
	fate     string
	at       int64 // the next message to read
	*decisions
}

// replay plays the inputs and returns them with the outputs in between.
func replay(t testing.TB, inputs []line) []line {
	t.Helper()
	p := &player{t: t, others: map[int][]string{}, texts: map[string]progress.Text{}, audit: audit.New(),
		states: map[int]*ledger.State{}}
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
	e := config.Edition{Stream: s, Number: l.Number, Schedule: s.Window.Schedule(cmp.Or(l.Start, s.Window.Start))}
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
	d.attend()
	if err == nil {
		err = d.adopt(p.t.Context(), drawn)
	}
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for key, text := range p.texts {
		texts[key], d.pieces[key] = text.Text, text.Pieces
	}
	d.beginAttendance(texts, p.kept.Saved)
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
		read := func(f *ledger.State) (err error) {
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
		err = p.save(ctx)
	}
	if errors.Is(err, errFate) {
		p.decisions = nil
		return nil
	}
	if err != nil {
		return err
	}
	text, err := p.charges.own.fold.Checkpoint()
	state := stateLine{Checkpoint: hashed("checkpoint", text), Saved: p.attendance.Saved(),
		Needs: min(p.parts.gather.Needs(p.at), p.attendance.Needs())}
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
				p.follows(0, int64(len(p.ledger)-1), r.Key, r.Value)
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
	p.follows(l.Partition, int64(len(p.others[l.Partition])), e.Key(), []byte(l.Entry))
	p.others[l.Partition] = append(p.others[l.Partition], l.Entry)
	return err
}

// follows takes an entry that is in the ledger. It has to follow from its own facts and from the entries before it.
func (p *player) follows(partition int, offset int64, key, value []byte) {
	p.t.Helper()
	p.audit.Entry(audit.Position{Topic: "app.ledger", Partition: partition, Offset: offset}, key, value)
	e, err := ledger.Decode(value)
	if err != nil {
		p.t.Fatal(err)
	}
	s := p.state(partition)
	for number, other := range p.states {
		for _, old := range e.Continues {
			if number != partition && slices.Contains(other.Books.Budgets(), old) {
				s.Books.Elsewhere(old, other.Books)
			}
		}
	}
	again, err := s.Derive(ledger.Facts(e))
	if err != nil {
		p.t.Fatalf("%s does not follow from its facts: %v", e.Name(), err)
	}
	text, err := again.Encode()
	if err != nil || !bytes.Equal(text, value) {
		p.t.Errorf("%s follows from its facts another way, %v:\n%s", e.Name(), err,
			firstDifference(value, text))
	}
	if err := s.Add(e, value, offset); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) state(partition int) *ledger.State {
	if p.states[partition] == nil {
		p.states[partition] = ledger.NewState("app", partition)
	}
	return p.states[partition]
}
