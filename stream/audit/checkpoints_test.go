package audit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestAuditProvesCheckpoints compares checkpoints with the entries, among them wrong ones that no restart would notice.
func TestAuditProvesCheckpoints(t *testing.T) {
	p := ledgertest.Steady(t, 30, func(i int, e *ledger.Entry) {
		if i < 10 {
			e.Stream, e.Budget = "quiet", "q"
		}
	})
	text := string(ledgertest.Checkpoint(t, p.State(t, 20)))
	for name, c := range map[string]struct{ old, new, kind, says string }{
		"right": {"", "", "", ""},
		"a charge less": {`[[1795161660,60,10]]`, `[[1795161660,60,9]]`, CheckpointDiffers,
			"spent epsilon 4.5 in all, the entries give 5"},
		"another figure": {`"figures":[",1"`, `"figures":[",2"`, CheckpointDiffers, "figures differ"},
		"more entries":   {`"entries":20`, `"entries":31`, CheckpointDiffers, "entries of the ledger are gone"},
		"an entry more":  {`"entries":20`, `"entries":21`, CheckpointDiffers, "made of other entries"},
		"fewer entries": {`"entries":20`, `"entries":19`, CheckpointUnreadable,
			"10 windows with a step of 60 s from 1795161660 on; want at most 9"},
		"of another version": {`{"v":5,"app"`, `{"v":7,"app"`, CheckpointUnreadable, "version 7"},
	} {
		a := New()
		wrong := strings.Replace(text, c.old, c.new, 1)
		if c.old != "" && wrong == text {
			t.Fatalf("%s: %s", name, text)
		}
		a.Checkpoint(Position{"louver.progress", 1, 5}, "louver", 3, []byte(wrong))
		for i, e := range p.Entries {
			a.Entry(Position{"louver.ledger", 3, p.Offsets[i]}, e.Key(), p.Values[i])
		}
		f := a.Findings()
		if c.kind == "" {
			if !f.OK || f.Checkpoints != 1 {
				t.Errorf("%s: %+v", name, f)
			}
			continue
		}
		if len(f.Faults) != 1 || f.Faults[0].Kind != c.kind || !strings.Contains(f.Faults[0].What, c.says) ||
			f.Checkpoints != 0 {
			t.Errorf("%s: %v, want one %s that says %q", name, f.Faults, c.kind, c.says)
		}
	}
}

// TestAuditOfWatchfulStreams: where alarms and figures on change fire, change, end and exhaust their budget, an audit
// finds nothing wrong, with a checkpoint anywhere and all outputs, and counts each instance once.
func TestAuditOfWatchfulStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.Watchful(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		n := rapid.IntRange(1, len(p.Entries)).Draw(t, "checkpoint")
		a := New()
		a.Checkpoint(Position{}, ledgertest.App, ledgertest.PartitionNumber, ledgertest.Checkpoint(t, p.State(t, n)))
		armed := int64(0)
		for i, e := range p.Entries {
			a.Entry(Position{"ledger", ledgertest.PartitionNumber, p.Offsets[i]}, e.Key(), p.Values[i])
			for _, r := range ledgertest.Records(t, e) {
				a.Output(Position{r.Topic, 0, 0}, r.Key, r.Value)
			}
			for _, w := range e.Continual {
				if w.Arms {
					armed++
				}
			}
		}
		if f := a.Findings(); !f.OK || f.Checkpoints != 1 || f.Instances != armed {
			t.Fatalf("%+v, want nothing wrong, a checkpoint and %d instances", f, armed)
		}
	})
}
