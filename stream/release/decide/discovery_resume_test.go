package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// TestADayIsNotReadAgain: who counts is noted as windows are decided, and the text of a found name is in the first part
// that has it. A worker that begins reads the day again once: a little at a time while nothing is due, or else at the
// end of the day.
func TestADayIsNotReadAgain(t *testing.T) {
	text := strings.NewReplacer(
		"        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}\n", "", "every: 1h",
		"every: 24h",
		"keep: 3h", "keep: 24h").Replace(finding)
	for when, want := range map[string]int{"never": 1, "at noon": 48 + 1, "before midnight": 95 + 1} {
		d := newDecider(t, programOf(t, text), zap.NewNop())
		d.messages = d.remembering()
		read, again := 0, d.again
		d.again = func(parts []*windows.Held, take func(*windows.Held, []byte, error)) []*windows.Held {
			read += len(parts)
			return again(parts, take)
		}
		for n := range 96 {
			name := "shoes"
			if n >= 80 { // parts of the last windows may be held
				name = "home"
			}
			if when == "at noon" && n == 48 || when == "before midnight" && n == 95 {
				clear(d.notes.of) // as in a new session
			}
			if when == "at noon" {
				d.catchUp()
				if n > 48 && read != 48 {
					t.Fatalf("%d parts are read again by quarter %d, want 48", read, n)
				}
			}
			d.giveNames(d.programs[0], quarter(n), sentBy(uint64(100*n), 3, name))
			for _, e := range d.turns() {
				if e.Discovery != nil && (len(e.Discovery.Found) != 1 || e.Discovery.Found[0].Value != 240 ||
					e.Incomplete) {
					t.Errorf("%s, want 240 users of shoes to be found", toldNames(e))
				}
			}
		}
		if read != want {
			t.Errorf("a worker that begins %s: %d parts are read again, want %d", when, read, want)
		}
	}
}

// TestTheListSurvivesAWorker: whenever another worker takes over, it decides the same, from the ledger and the parts.
// That also holds if the definition is edited meanwhile: the list goes on, and a period is drawn once, by the
// definition at its end.
func TestTheListSurvivesAWorker(t *testing.T) {
	file, err := parse.File("streams.yaml", []byte(finding), nil)
	if err != nil {
		t.Fatal(err)
	}
	edited, err := parse.File("streams.yaml",
		[]byte(strings.Replace(finding, "keep: 3h", "keep: 3h\n      except: [shoes]", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	old, next := file.Streams[0], edited.Streams[0]
	first := config.Edition{Stream: old, Number: 1, Schedule: old.Window.Schedule(old.Window.Start)}
	second := config.Edition{Stream: next, Number: 2, Schedule: next.Window.Schedule(quarter(6).Start)}
	first.Schedule.End = quarter(5).End
	editions := []config.Edition{first, second}
	fold := ledger.NewState("app", 0)
	type message struct {
		data    []byte
		written time.Time
	}
	var log []message
	session := func() *decider {
		d := newDecider(t, newProgram(first), zap.NewNop())
		d.Editions = editions
		d.session(d.Config, fold, newProgram(first), newProgram(second))
		d.messages = d.remembering()
		for i, m := range log {
			d.messages[int64(i)] = m.data
			if err := d.gather.Add(m.data, int64(i), m.written); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	var got []string
	for n := range 16 {
		w, e := quarter(n), editions[n/6%2]
		if n >= 12 {
			e = second
		}
		records := sentBy(1, 5, "shoes")
		records = append(records, sentBy(20, 4, "hats")...)
		d := session() // anew for each window
		for _, m := range d.partOf(e.Stream, e.Number, w, int64(10*n), records) {
			if err := d.gather.Add(m, int64(len(log)), time.Unix(0, w.End)); err != nil {
				t.Fatal(err)
			}
			d.messages[int64(len(log))] = m
			log = append(log, message{m, time.Unix(0, w.End)})
		}
		for _, e := range d.turns() {
			got = append(got, fmt.Sprintf("%d: %s", e.Epoch, toldNames(e)))
		}
	}
	all := strings.Join(got, "\n")
	for _, line := range []string{
		"1: 1h0m0s hourly [hats:4 shoes:5] +2 -0 =3",
		"1: 1h30m0s of 1h0m0s [hats:4 home:0 shoes:5 rest:0]",
		"2: 1h45m0s of 1h0m0s [hats:4 home:0 rest:5]", // what is excluded now is off the list at once
		"2: 2h0m0s hourly [hats:4] +0 -1 =2",
		"2: 2h0m0s twice [hats:4] +0 -0 =2",
		"2: 4h0m0s twice [hats:4] +0 -0 =2",
	} {
		if strings.Count(all, line) != 1 {
			t.Errorf("there is no %q in\n%s", line, all)
		}
	}
	if n := strings.Count(all, "2h0m0s hourly"); n != 1 {
		t.Errorf("the second hour is drawn %d times", n)
	}
	if n := strings.Count(all, "\n") + 1; n != 16+4+2 {
		t.Errorf("%d entries, want 16 windows and 6 discoveries:\n%s", n, all)
	}
}
