package decide

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// oneStream begins a file with a stream whose values are from 0 to 1000. What follows are its other keys.
const oneStream = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    bounds: {lower: 0, upper: 1000, step: 1}
    contribution: last
    output: {topic: out}`

// editionsOf are the only definitions of the streams in a file.
func editionsOf(t testing.TB, text string) (all []config.Edition) {
	t.Helper()
	file, err := parse.File("streams.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Streams {
		all = append(all, config.Edition{Stream: s, Number: 1, Schedule: s.Window.Schedule(s.Window.Start)})
	}
	return all
}

// programOf is the program of the first stream in a file.
func programOf(t testing.TB, text string) *program {
	t.Helper()
	return newProgram(editionsOf(t, text)[0])
}

// roomy settings hold all parts in memory.
func roomy() sessionLine {
	return sessionLine{PartBytes: 1 << 20, MergeBytes: 1 << 20, NoteBytes: 1 << 20, Lineage: map[string][]string{}}
}

// playing returns a player of some streams, in its first session. prepare changes the core of each session.
func playing(t testing.TB, editions []config.Edition, prepare ...func(c *Core)) *player {
	t.Helper()
	p := newPlayer(t)
	p.editions, p.now = editions, editions[0].Schedule.Start/1e9
	p.prepare = func(c *Core) {
		for _, f := range prepare {
			f(c)
		}
	}
	p.session(spacious)
	return p
}

// spacious settings hold all users of a window in memory, too.
var spacious = sessionLine{PartBytes: 1 << 30, MergeBytes: 1 << 26, NoteBytes: 1 << 20}

// session begins another session.
func (p *player) session(settings sessionLine) {
	p.t.Helper()
	if err := p.begin(settings); err != nil {
		p.t.Fatal(err)
	}
}

// decided decides all that is due, and returns the entries that are committed by that.
func (p *player) decided() []ledger.Entry {
	p.t.Helper()
	before := len(p.entries)
	if err := p.decideAll(decideLine{Now: p.now}); err != nil {
		p.t.Fatal(err)
	}
	return p.entries[before:]
}

// lines are what was said in the log so far.
func (p *player) lines() (all []string) {
	for _, n := range p.notices {
		switch n.(type) {
		case Line, Lasting, Over:
			all = append(all, fmt.Sprintf("%+v", n))
		}
	}
	return all
}

// give has users send in the next slice of a stream.
func (p *player) give(of config.Edition, visits []userVisit, t trouble) {
	p.t.Helper()
	start := of.Schedule.Start + p.slices[of.Stream.Name]*int64(of.Schedule.Every)
	p.slices[of.Stream.Name]++
	p.send(sending{of, windows.Window{Start: start, End: start + int64(of.Schedule.Every)}, visits}, t)
	p.now = max(p.now, start/1e9+int64(of.Schedule.Every/1e9)+30)
}

// next has users send in the next slice of the first stream, and returns the last entry that is decided then.
func (p *player) next(visits []userVisit) ledger.Entry {
	p.t.Helper()
	p.give(p.editions[0], visits, trouble{})
	all := p.decided()
	if len(all) == 0 {
		p.t.Fatal("nothing is decided")
	}
	return all[len(all)-1]
}

// sending is a slice of a stream, and what users send in it.
type sending struct {
	edition config.Edition
	slice   windows.Window
	visits  []userVisit
}

type userVisit struct {
	user  uint64
	group string
	value int64
	twin  bool // it is another user, who begins their blocks of max_windows at the same time
}

// hash stands for the hash of the user. Tables need hashes that are spread as keyed ones are.
func (v userVisit) hash() windows.UserHash {
	h := spread(v.user)
	if v.twin {
		h[0] ^= 0xff00ff00ff00ff
	}
	return h
}

func spread(user uint64) windows.UserHash {
	return windows.UserHash{user * 0x9e3779b97f4a7c15, user * 0xc2b2ae3d27d4eb4f}
}

// users are that many, who have one value in one of the groups a, b, c and so on. Those of two groups differ.
func users(n uint64, group string, value int64) []userVisit {
	all := make([]userVisit, n)
	for i := range all {
		all[i] = userVisit{user: uint64(i)*2 + uint64(group[0]-'a'), group: group, value: value}
	}
	return all
}

// sentBy are the first n users from a number on, each of whom sends some names.
func sentBy(from uint64, n int, names ...string) (all []userVisit) {
	for i := range uint64(n) {
		for _, name := range names {
			all = append(all, userVisit{user: from + i, group: name, value: 100})
		}
	}
	return all
}

// trouble is what goes wrong with parts.
type trouble struct {
	damaged, unreadable, gap, unmarked bool
	shared                             bool // streams with the same users have the same bags
	lost                               int64
	only                               int // partition, counted from 1; 0 for all
}

// send writes the parts and marks of a slice: users whose number is even are in the first partition of two.
func (p *player) send(of sending, t trouble) {
	p.t.Helper()
	stream, epoch := of.edition.Stream, of.edition.Number
	for partition := range p.inputs {
		if t.only > 0 && t.only != partition+1 {
			continue
		}
		bag := windows.NewBag(windows.BagSpec{Groups: stream.Groups, MaxGroups: stream.MaxGroups,
			Policy: stream.Contribution, Window: of.slice, Hasher: windows.NewHasher([16]byte{}),
			Open: stream.Found != nil})
		n := int64(1)
		for i, v := range of.visits {
			if int(v.user)%p.inputs != partition {
				continue
			}
			n++
			at := of.slice.Start + int64(i)
			if stream.Found != nil {
				bag.PutName(v.hash(), []byte(v.group), at, v.value)
			} else if group := slices.Index(stream.Groups, v.group); group >= 0 {
				bag.Add(v.hash(), group, at, v.value)
			} else {
				p.t.Fatalf("stream %s has no group %q", stream.Name, v.group)
			}
		}
		key := fmt.Sprint(stream.Name, epoch, partition)
		p.attempts++
		o := windows.Origin{Stream: stream.Name, Epoch: epoch, Partition: partition, From: p.sent[key],
			To: p.sent[key] + n, Attempt: [16]byte{byte(p.attempts), byte(p.attempts >> 8)}}
		if t.shared {
			sum := sha256.Sum256(fmt.Append(nil, partition, of.slice, of.visits))
			o.Attempt = [16]byte(sum[:16])
		}
		if !t.unmarked { // otherwise another worker reads the same records again
			p.sent[key] = o.To
		}
		part := windows.Part{Origin: o, Slice: of.slice, Payload: bag.Seal()}
		if t.unreadable {
			part.Payload = []byte("unreadable")
		}
		mark := windows.Mark{Origin: o, Partitions: p.inputs, Lost: t.lost, Slices: []int64{of.slice.Start},
			After: of.slice.Start, Through: of.slice.End}
		messages := part.Messages(1 << 20)
		if t.damaged {
			messages[0][len(messages[0])/2] ^= 4
		}
		if !t.unmarked {
			messages = append(messages, mark.Message())
		}
		if t.gap {
			messages = nil
		}
		for _, m := range messages {
			p.messages = append(p.messages, messageLine{At: of.slice.End / 1e9, Data: m})
		}
	}
}
