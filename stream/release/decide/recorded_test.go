package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/ledger"
)

var update = flag.Bool("update", false, "record the tapes in testdata/recorded anew")

// TestRecorded plays recorded topics: messages of parts that once came in, the sessions that read them, and what became
// of their transactions. The stage has to write the same bytes again: entries, checkpoints, snapshots, and how far the
// next session has to read back. Noise has a seed, secrets are not sealed, and the clock is set, so nothing else
// decides these bytes. A change of the code that is meant to change nothing passes with the tapes as they are.
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
// and the session does not know it. A session may also end before it commits snapshots.
const (
	aborted = "aborted"
	unsent  = "unsent"
	unknown = "unknown"
	unsaved = "unsaved"
)

var errFate = errors.New("the session ends by the tape")

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
	add("before", e.PaidElsewhere != nil)
	for _, i := range e.Ended {
		add("total lost", strings.HasPrefix(i.Name, "total_"))
	}
	for _, s := range e.Continual {
		add("step withheld", s.Reason != "" && !s.Looks())
		add("alarm fired", s.Watch != nil && s.Fires() != nil)
		add("alarm armed again", s.Watch != nil && s.Arms && s.Instance > 1)
		add("change fired", s.Change != nil && s.Fires() != nil)
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
