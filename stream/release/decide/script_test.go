package decide

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
)

// TestScripts runs the scripts in testdata/scripts: stories of streams, told by what users send and by what goes wrong,
// each with what the stage decides. One script is one idea. A command begins a paragraph; under its ---- stands what
// came of it. The ledger is committed, checked against its own facts and audited while a script runs, so none of them
// has to ask for that.
//
//	streams               a new ledger, and a streams file without what is the same everywhere (see fillIn); inputs=2
//	                      is how many partitions the input has
//	variant               a new ledger, and the script's streams file with some words replaced: "old => new", where \n
//	                      stands for the end of a line
//	edit from=06:00       the present streams file with words replaced, in force from then on; a new session knows it.
//	                      of=s edits that stream alone; until=08:00 is the end of the last window of the former file
//	show spent steps …    what is shown of an entry from now on (see segments); only=s leaves out other streams, and
//	                      only=s/hourly all but a discovery
//	play                  users send, and all that is due is decided: a line for each slice of time, or for several:
//	                      "00:00..04:00 f: 1..5=900@a 7@b,c" has user 1 to 5 send 900 in group a, and user 7 send 100
//	                      in two groups, to stream f, in each slice from midnight to four o'clock
//	send                  the same, and nothing is decided yet
//	decide                all that is due is decided; at=03T00:00 says when, if that is long after
//	open                  the session ends, and another one begins
//	lose                  the topic's retention deletes all messages of parts that are there, or the first few: first=6
//	spoil ledger/0        somebody changes a checkpoint: "old => new"
//	inputs 1              how many partitions the input has from now on
//	keep                  what snapshots there are now: "open kept" begins with these, instead of the last ones
//	records value …       some fields of the records of the last entry, or of several with last=3
//	differ                in which fields the last two entries differ
//	armed                 the instances that are armed
//
// Arguments of play and send say what goes wrong with the parts: lost=3 (records of the input that were gone before
// they could be read), damaged (the message has a wrong byte), unreadable (the part is whole, and nobody can read it),
// gap (what one worker wrote is missing), unmarked (it died before its mark), in=1 (only this partition of the input is
// cut). With shared, streams whose users are the same share their bags.
//
// Arguments of play and decide say what goes wrong with the session: crash=aborted (its transaction is in the log and
// not committed), crash=unsent (nothing of it is), crash=unknown (it is committed, and the session does not know);
// unkept (the progress is not written). Where play says anew, each decision is that of a new session, and with changes
// only what differs from the window before of the same stream or discovery is shown. Arguments of open
// are forget=(total/,ledger/) for snapshots and checkpoints that are gone, narrow for no memory at all, and key=2 for
// another secret of the app.
//
// A line of the output is a window, or a period of a discovery: "slow#2 armed and fires in b" is the second instance of
// the watch slow, and a star stands by each value of a release on change that is drawn in this window. Figures are
// exact where their ε is 1000 and more. Other noise has a seed.
//
// go test ./stream/release/decide -run Scripts -rewrite writes what came of each command into the scripts. Nothing
// checks what is written then but the one who reads the difference: each changed line must follow from the change of
// the code. A line that says another charge ("spent", "arms"), another secret or outcome after a crash ("adopted"), or
// that somebody counts more often, is a loss of privacy until the opposite is shown.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scripts", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := &script{t: t}
			datadriven.RunTest(t, name, func(t *testing.T, d *datadriven.TestData) string {
				if s.t = t; s.player != nil {
					s.player.t = t
				}
				text, err := s.run(d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return text
			})
			s.audited()
		})
	}
}

// script is the world of a script, which goes on from command to command.
type script struct {
	*player
	t         testing.TB
	base      string // the streams file, as the script has it
	text      string // the same, as it was changed
	seal      keyedSeal
	lasting   map[string]bool // of which people were told that it lasts
	items     []item
	snapshots map[string]text // and checkpoints, as they were at keep
	shown     view
	told      map[string]string // what was shown last of a lane
	written   int               // how much of the player's output was shown
	adopts    map[string]bool   // texts of entries that came out before
	recent    []ledger.Entry    // of the last command
}

// run runs one command.
func (s *script) run(d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "streams", "variant":
		if d.Cmd == "streams" {
			s.base = d.Input
			return s.begins(d, s.base)
		}
		text, err := replaced(s.base, d.Input)
		if err != nil {
			return "", err
		}
		return s.begins(d, text)
	case "edit":
		return "", s.edit(d)
	case "show":
		return "", s.shown.set(d)
	case "play", "send":
		return s.play(d)
	case "decide":
		return s.decides(d)
	case "open":
		return s.open(d)
	case "spoil":
		text, err := replaced(string(s.texts[d.CmdArgs[0].Key]), d.Input)
		s.texts[d.CmdArgs[0].Key] = []byte(text)
		return "", err
	case "keep":
		s.snapshots = maps.Clone(s.texts)
		return "", nil
	case "inputs":
		var err error
		s.inputs, err = strconv.Atoi(d.CmdArgs[0].Key)
		return "", err
	case "lose":
		s.deleted = int64(len(s.messages))
		d.MaybeScanArgs(s.t, "first", &s.deleted)
		if s.Core != nil {
			if s.at < s.deleted {
				s.Lost(s.at, time.Unix(s.now, 0))
				s.at = s.deleted
			}
		}
		return "", nil
	case "records":
		return s.fields(d)
	case "differ":
		return s.differ()
	case "armed":
		var lines []string
		for _, o := range s.own.Books.OpenInstances(d.CmdArgs[0].Key) {
			lines = append(lines, o.String())
		}
		return strings.Join(lines, "\n"), nil
	}
	return "", fmt.Errorf("unknown command %q", d.Cmd)
}

// begins begins with an empty ledger.
func (s *script) begins(d *datadriven.TestData, text string) (string, error) {
	s.audited()
	full, err := fillIn(text)
	if err != nil {
		return "", err
	}
	s.player, s.seal = newPlayer(s.t), "1"
	s.audit, s.prepare = audit.New(), func(c *Core) { c.watches.seal = s.seal }
	s.leftOut = func(err error) { s.items = append(s.items, item{text: "a checkpoint is left out: " + err.Error()}) }
	s.text, s.told, s.written, s.adopts, s.recent = text, map[string]string{}, 0, map[string]bool{}, nil
	s.lasting, s.items = map[string]bool{}, nil
	d.MaybeScanArgs(s.t, "inputs", &s.inputs)
	s.settings = roomy()
	file, err := parse.File("streams.yaml", []byte(full), nil)
	if err != nil {
		return "", err
	}
	s.now = scriptDay.Unix()
	for _, stream := range file.Streams {
		if err := s.define(editionLine{Streams: full, Stream: stream.Name, Number: 1}, stream); err != nil {
			return "", err
		}
	}
	return "", s.opens()
}

// edit puts an edited file in force, for the streams that are different in it.
func (s *script) edit(d *datadriven.TestData) error {
	var from string
	d.ScanArgs(s.t, "from", &from)
	at, err := parseMoment(from)
	if err != nil {
		return err
	}
	until := at
	if d.MaybeScanArgs(s.t, "until", &from) {
		if until, err = parseMoment(from); err != nil {
			return err
		}
	}
	text, err := replaced(s.text, d.Input)
	if err != nil {
		return err
	}
	full, err := fillIn(text)
	if err != nil {
		return err
	}
	s.text = text
	file, err := parse.File("streams.yaml", []byte(full), nil)
	if err != nil {
		return err
	}
	var of string
	d.MaybeScanArgs(s.t, "of", &of)
	for _, stream := range file.Streams {
		if of != "" && of != stream.Name {
			continue
		}
		number := uint32(1)
		for i, e := range s.editions {
			if e.Stream.Name == stream.Name && e.Number >= number {
				number = e.Number + 1
				if e.Schedule.End == 0 || e.Schedule.End > until {
					s.editions[i].Schedule.End = until
				}
			}
		}
		if err := s.define(editionLine{Streams: full, Stream: stream.Name, Number: number, Start: at}, stream); err != nil {
			return err
		}
	}
	return s.opens()
}

// define adds a definition of a stream, and what its budget continues.
func (s *script) define(of editionLine, stream *config.Stream) error {
	if old := stream.Continues; old != "" {
		s.settings.Lineage[stream.Budget.Name] = append([]string{old}, s.settings.Lineage[old]...)
	}
	return s.edition(of)
}

// open begins another session.
func (s *script) open(d *datadriven.TestData) (string, error) {
	s.settings.Forgets = nil
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "forget":
			s.settings.Forgets = a.Vals
		case "narrow":
			s.settings.PartBytes, s.settings.MergeBytes, s.settings.NoteBytes = 1, 1, 1
		case "kept":
			s.texts = maps.Clone(s.snapshots)
		case "key":
			s.seal = keyedSeal(a.Vals[0])
		default:
			return "", fmt.Errorf("unknown argument %s", a)
		}
	}
	if err := s.opens(); err != nil {
		return "", err
	}
	s.settings.Forgets = nil
	return s.show(), nil
}

func (s *script) opens() error {
	if err := s.begin(s.settings); err != nil {
		return err
	}
	s.collect(false)
	return nil
}

// fate is what becomes of a session while it decides.
type fate struct {
	crash         string
	unkept, anew  bool
	onlyDifferent bool
}

func newFate(d *datadriven.TestData) (f fate) {
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "crash":
			f.crash = a.Vals[0]
		case "unkept":
			f.unkept = true
		case "anew":
			f.anew = true
		case "changes":
			f.onlyDifferent = true
		}
	}
	return f
}

// decides decides all that is due.
func (s *script) decides(d *datadriven.TestData) (string, error) {
	f := newFate(d)
	var text string
	if d.MaybeScanArgs(s.t, "at", &text) {
		at, err := parseMoment(text)
		if err != nil {
			return "", err
		}
		s.now = at / 1e9
	}
	s.recent = nil
	if err := s.decideNow(f); err != nil {
		return "", err
	}
	return s.show(), nil
}

func (s *script) decideNow(f fate) error {
	if f.anew || s.Core == nil {
		if err := s.opens(); err != nil {
			return err
		}
	}
	err := s.decideAll(decideLine{Now: s.now, Fate: f.crash, Unkept: f.unkept})
	s.collect(f.onlyDifferent)
	return err
}

// audited is called at the end of a world.
func (s *script) audited() {
	s.t.Helper()
	if s.player == nil {
		return
	}
	if f := s.audit.Findings(); !f.OK {
		s.t.Errorf("audit: %+v", f.Faults)
	}
}

// replaced returns a text with words replaced, by lines "old => new". All of them must be there.
func replaced(text, lines string) (string, error) {
	for line := range strings.Lines(lines) {
		old, now, ok := strings.Cut(line, "=>")
		old = strings.ReplaceAll(strings.TrimSpace(old), `\n`, "\n")
		if !ok || !strings.Contains(text, old) {
			return "", fmt.Errorf("%q: want words of the file, => and others", line)
		}
		text = strings.ReplaceAll(text, old, strings.ReplaceAll(strings.TrimSpace(now), `\n`, "\n"))
	}
	return text, nil
}
