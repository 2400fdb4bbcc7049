package decide

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// player is what outlives a session, and the session.
type player struct {
	t        testing.TB
	out      []line
	editions []config.Edition
	messages []messageLine
	deleted  int64 // messages below are gone
	ledger   []inLedger
	read     map[int]int64 // how far each partition of the ledger was read
	others   map[int][]string
	texts    map[string]text
	kept     kept
	audit    *audit.Audit          // nil: entries are not audited, nor derived again from their facts
	states   map[int]*ledger.State // after the committed entries of each partition
	entries  []ledger.Entry        // that were committed, in this partition
	notices  []Notice              // what people were told
	decoded  map[string]ledger.Entry

	inputs   int              // partitions of the input, for what is sent
	sent     map[string]int64 // the offsets of the input, by stream, edition and partition
	attempts int
	slices   map[string]int64 // how many of a stream were sent by give

	sessions int
	settings sessionLine   // of the last one
	prepare  func(c *Core) // changes the core of each session
	idle     func() bool   // says whether there is time for the notes of discoveries
	rereads  int           // parts that were read again
	leftOut  func(error)   // is told why a checkpoint is left out, which fails if it is nil
	now      int64
	fate     string
	cut      int   // how many entries at the end of an aborted transaction were not written
	at       int64 // the next message to read
	*Core
}

// newPlayer returns a player without streams and with an empty ledger.
func newPlayer(t testing.TB) *player {
	return &player{t: t, others: map[int][]string{}, texts: map[string]text{}, read: map[int]int64{},
		states: map[int]*ledger.State{}, decoded: map[string]ledger.Entry{}, inputs: 1, sent: map[string]int64{},
		slices: map[string]int64{}}
}

// text is a checkpoint or a snapshot.
type text = []byte

// kept is what a session records with its progress.
type kept struct {
	Offset int64
	Saved  map[string]int64
}

// replay plays the inputs and returns them with the outputs in between.
func replay(t testing.TB, inputs []line) []line {
	t.Helper()
	p := newPlayer(t)
	p.audit = audit.New()
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
			if p.Core != nil {
				p.Lost(p.at, time.Unix(l.Lost.Before, 0))
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

// begin opens a session, as the stage does.
func (p *player) begin(l sessionLine) error {
	p.fate, p.settings = "", l
	p.sessions++
	cfg := Config{App: "app", Editions: p.editions, Hasher: windows.NewHasher([16]byte{}), WatchKey: make([]byte, 32),
		MergeBytes: l.MergeBytes, PartBytes: l.PartBytes, NoteBytes: l.NoteBytes, CheckpointEvery: 3,
		Lineage: func(budget string) []string { return append([]string{budget}, l.Lineage[budget]...) },
		Place:   func(budget string) int { return l.Places[budget] }, Idle: func() bool { return p.idle == nil || p.idle() },
		Random: rand.NewChaCha8([32]byte{byte(p.sessions), byte(p.sessions >> 8)})}
	maps.DeleteFunc(p.texts, func(key string, _ text) bool {
		return slices.ContainsFunc(l.Forgets, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	others := map[int]*ledger.State{}
	for _, c := range cfg.Continued() {
		_, state, err := p.charged(c.Partition, nil, nil)
		if err != nil {
			return err
		}
		others[c.Partition] = state
	}
	own, _, err := p.charged(0, cfg.Continued(), others)
	if err != nil {
		return err
	}
	if p.Core, err = New(cfg, own, others); err != nil {
		return err
	}
	p.watches.seal = openSeal{}
	if p.prepare != nil {
		p.prepare(p.Core)
	}
	defer p.listen()
	for {
		do, err := p.Next(time.Unix(p.now, 0))
		if err != nil {
			return err
		}
		switch do := do.(type) {
		case Commit: // what is adopted
			if err := p.commit(do); err != nil {
				return err
			}
		case Restore:
			texts := map[string][]byte{}
			for _, key := range do.Snapshots {
				if text, found := p.texts[key]; found {
					texts[key] = text
				}
			}
			p.Restored(texts, p.kept.Saved)
			if p.at = max(p.kept.Offset, p.deleted); p.at > p.kept.Offset {
				p.Lost(p.kept.Offset, time.Unix(p.now, 0))
			}
			return nil
		}
	}
}

// listen takes note of what people have to be told.
func (p *player) listen() { p.notices = append(p.notices, p.Notices()...) }

// charged reads a partition of the ledger, as the stage does.
func (p *player) charged(number int, continued []Continued, others map[int]*ledger.State) (own Charges,
	state *ledger.State, err error) {
	read := func(f *ledger.State) error {
		own, state = Charges{State: f, Covered: f.Entries(), Size: own.Size}, f
		for _, c := range continued {
			for _, old := range c.Budgets {
				f.Books.Link(old, others[c.Partition].Books)
			}
		}
		if err := p.readOn(number, f.From(), &own); err != nil {
			return err
		}
		return f.Done()
	}
	text := p.texts[progress.CheckpointKey(number)]
	own.Size = int64(len(text))
	leftOut := p.leftOut
	if leftOut == nil {
		leftOut = func(err error) { p.t.Error(err) }
	}
	err = ledger.Resume("app", number, text, read, leftOut)
	return own, state, err
}

// readOn reads a partition of the ledger from an offset on.
func (p *player) readOn(number int, from int64, into *Charges) error {
	all := p.ledger
	if number != 0 {
		all = nil
		for _, value := range p.others[number] {
			all = append(all, inLedger{value: []byte(value)})
		}
	}
	for at := from; at < int64(len(all)); at++ {
		e, err := p.decode(all[at].value)
		if err != nil {
			return err
		}
		if all[at].aborted {
			into.Aborted = append(into.Aborted, Encoded{e, all[at].value})
			continue
		}
		into.Grown += int64(len(all[at].value))
		if err := into.Add(e, all[at].value, at); err != nil {
			return err
		}
	}
	p.read[number] = int64(len(all))
	return nil
}

// decode decodes each entry once. Nobody changes what is behind its pointers.
func (p *player) decode(value []byte) (e ledger.Entry, err error) {
	e, known := p.decoded[string(value)]
	if !known {
		e, err = ledger.Decode(value)
		p.decoded[string(value)] = e
	}
	return e, err
}

// inLedger is a record of the ledger.
type inLedger struct {
	value   []byte
	aborted bool
}

// again reads a part from the log again.
func (p *player) again(h *windows.Held) {
	p.rereads++
	if h.Offsets[0] < p.deleted {
		p.Part(h, nil, ErrGone)
		return
	}
	var data [][]byte
	for _, at := range h.Offsets {
		data = append(data, p.messages[at].Data)
	}
	payload, err := h.Assemble(data)
	p.Part(h, payload, err)
}

// decideAll reads all messages and does what the core asks for, until nothing is due.
func (p *player) decideAll(l decideLine) error { return p.decideUpTo(int64(len(p.messages)), l) }

// decideUpTo is the same, but reads only the messages before an offset.
func (p *player) decideUpTo(offset int64, l decideLine) error {
	p.now, p.fate = l.Now, l.Fate
	for ; p.at < min(offset, int64(len(p.messages))); p.at++ {
		m := p.messages[p.at]
		// What is damaged counts as lost. The stage logs it.
		_ = p.Message(bytes.Clone(m.Data), p.at, time.Unix(m.At, 0))
	}
	err := p.untilIdle()
	p.listen()
	if errors.Is(err, errFate) {
		p.Core = nil
		return nil
	}
	if err != nil {
		return err
	}
	state := stateLine{Saved: p.Saved(), Needs: p.Needs(p.at)}
	if p.audit != nil {
		var text []byte
		text, err = p.own.Checkpoint()
		state.Checkpoint = hashed("checkpoint", text)
	}
	p.out = append(p.out, line{State: &state})
	if !l.Unkept {
		p.kept = kept{Offset: state.Needs, Saved: state.Saved}
		p.deleted = max(p.deleted, state.Needs)
	}
	return err
}

func (p *player) untilIdle() error {
	for {
		do, err := p.Next(time.Unix(p.now, 0))
		if err != nil {
			return err
		}
		switch do := do.(type) {
		case Read:
			for _, number := range do.Partitions {
				into := Charges{State: p.Core.others[number]}
				if into.State == nil {
					if _, into.State, err = p.charged(number, nil, nil); err != nil {
						return err
					}
				} else if err := p.readOn(number, p.read[number], &into); err != nil {
					return err
				}
				p.Read(number, into.State)
			}
		case Again:
			for _, h := range do.Parts {
				p.again(h)
			}
		case Commit:
			if err := p.commit(do); err != nil {
				return err
			}
		case Poll:
			return nil
		}
	}
}

func hashed(key string, text []byte) textLine {
	sum := sha256.Sum256(text)
	return textLine{key, len(text), hex.EncodeToString(sum[:16])}
}

// commit commits a transaction, or not.
func (p *player) commit(of Commit) error {
	if p.fate == unsent || p.fate == unsaved && len(of.Snapshots) > 0 {
		p.out = append(p.out, line{Ended: p.fate})
		return errFate
	}
	if of.Checkpoint != nil {
		p.write(progress.CheckpointKey(0), of.Checkpoint)
	}
	if p.fate == aborted {
		of.Entries = of.Entries[:max(0, len(of.Entries)-p.cut)]
	}
	for _, d := range of.Entries {
		p.out = append(p.out, line{Entry: string(d.Value)})
		p.ledger = append(p.ledger, inLedger{d.Value, p.fate == aborted})
		if p.fate != aborted {
			p.entries = append(p.entries, d.Entry)
			p.follows(0, int64(len(p.ledger)-1), d.Entry.Key(), d.Value)
		}
	}
	for _, s := range of.Snapshots {
		p.write(s.Key, s.Text)
	}
	if p.fate != "" && p.fate != unsaved {
		p.out = append(p.out, line{Ended: p.fate})
		return errFate
	}
	p.Committed(int64(len(p.ledger)) - 1)
	return nil
}

// write writes a text, or deletes it.
func (p *player) write(key string, text []byte) {
	l := hashed(key, text)
	p.out = append(p.out, line{Text: &l})
	switch {
	case p.fate == aborted:
	case text == nil:
		delete(p.texts, key)
	default:
		p.texts[key] = text
	}
}

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
	if p.audit == nil {
		return
	}
	p.audit.Entry(audit.Position{Topic: "app.ledger", Partition: partition, Offset: offset}, key, value)
	e, err := ledger.Decode(value)
	if err != nil {
		p.t.Fatal(err)
	}
	s := p.state(partition)
	for number, other := range p.states {
		for _, old := range e.Continues {
			if number != partition && slices.Contains(other.Books.Budgets(), old) {
				s.Books.Link(old, other.Books)
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
