package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/ledger"
)

// watching has the groups of finding, without one for everybody else, and two watches that follow their conditions
// exactly, except with a probability of less than 10⁻⁹ for all tests: their ε is 1000. All values are 100.
var watching = strings.NewReplacer("      other: rest\n", "", "    output:", `    watches:
      - {name: many, above: 50, users: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 5h, at_most: 2}
      - {name: gone, users_below: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: 2}
    output:`).Replace(finding)

// watchedBy returns what the i-th watch of an entry did, and what its records say.
func watchedBy(t *testing.T, e ledger.Entry, i int) string {
	t.Helper()
	s := e.Continual[i]
	text := fmt.Sprintf("%s %d", e.WindowEnd.Sub(newYear), s.Instance)
	if s.Arms {
		text += " armed"
	}
	if s.Watch.Fired != nil {
		text += fmt.Sprintf(" fired in %s at %s", *s.Watch.Fired, s.Watch.Since.Sub(newYear))
	}
	all, err := e.Records()
	if err != nil || len(all) != e.Size() {
		t.Fatalf("%d records, want %d (%v)", len(all), e.Size(), err)
	}
	for _, r := range all {
		if r.Value == nil { // it ends a series
			continue
		}
		var f struct {
			Release, Group string
			Value          *json.Number
		}
		if err := json.Unmarshal(r.Value, &f); err != nil {
			t.Fatal(err)
		}
		if f.Release != s.Name {
			continue
		}
		value := "-"
		if f.Value != nil {
			value = f.Value.String()
		}
		text += " " + f.Group + ":" + value
	}
	return text
}

// TestAWatchFollowsTheList: it looks at the groups that each window has. A group that joins fires, and leaves while the
// watch holds: its record ends, and what the watch says of it stays until it is armed again.
func TestAWatchFollowsTheList(t *testing.T) {
	p := programOf(t, watching)
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	d.messages = d.remembering()
	got := map[string]string{}
	for n := range 26 {
		records := sentBy(50, 3, "home")
		if n < 4 || n == 24 {
			records = append(records, sentBy(1, 5, "shoes")...)
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			if e.Discovery == nil {
				got[e.WindowEnd.Sub(newYear).String()] = watchedBy(t, e, 0)
			}
		}
	}
	for at, want := range map[string]string{
		"15m0s":   "15m0s 1 armed home:0", // nobody looks at what is not listed
		"45m0s":   "45m0s 1 home:0",
		"1h0m0s":  "1h0m0s 1 fired in shoes at 1h0m0s home:0 shoes:1",
		"1h15m0s": "1h15m0s 1 fired in shoes at 1h0m0s home:- shoes:1",
		"4h45m0s": "4h45m0s 1 fired in shoes at 1h0m0s home:- shoes:1",
		"5h0m0s":  "5h0m0s 1 fired in shoes at 1h0m0s home:-", // it has left the list
		"6h0m0s":  "6h0m0s 1 fired in shoes at 1h0m0s home:-",
		"6h15m0s": "6h15m0s 2 armed home:0", // shoes are back, and not listed yet
	} {
		if got[at] != want {
			t.Errorf("at %s: %q, want %q", at, got[at], want)
		}
	}
}

// TestAWatchForFewLooksAtWhatIsAlwaysListed: a group fades away until it leaves the list, and does not fire it.
func TestAWatchForFewLooksAtWhatIsAlwaysListed(t *testing.T) {
	p := programOf(t, watching)
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	d.messages = d.remembering()
	got := map[string]string{}
	for n := range 11 {
		records := sentBy(1, 5, "shoes")
		if n < 8 {
			records = append(records, sentBy(50, 5, "home")...)
		}
		if n >= 4 {
			records = slices.DeleteFunc(records, func(s sent) bool { return s.name == "shoes" })
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			if e.Discovery == nil {
				got[e.WindowEnd.Sub(newYear).String()] = watchedBy(t, e, 1)
				if !e.Continual[1].Watch.Always || e.Continual[0].Watch.Always {
					t.Errorf("%+v, want the watch for few users to look at what is always listed", e.Continual)
				}
			}
		}
	}
	for at, want := range map[string]string{
		"15m0s":   "15m0s 1 armed home:0",
		"1h15m0s": "1h15m0s 1 home:0", // shoes are listed, and nobody sends them
		"2h0m0s":  "2h0m0s 1 home:0",
		"2h15m0s": "2h15m0s 1 fired in home at 2h15m0s home:1",
		"2h30m0s": "2h30m0s 1 fired in home at 2h15m0s home:1",
	} {
		if got[at] != want {
			t.Errorf("at %s: %q, want %q", at, got[at], want)
		}
	}
}

// TestNothingIsArmedForAnEmptyList: so nothing is charged. An instance that is armed goes on when the list has names
// again.
func TestNothingIsArmedForAnEmptyList(t *testing.T) {
	text := strings.Replace(watching, "      always: [home]\n", "", 1)
	before, _, _ := strings.Cut(text, "      - {name: gone")
	_, output, _ := strings.Cut(text, "    output:")
	text = before + "    output:" + output
	p := programOf(t, strings.NewReplacer("users: 3", "users: 50", "keep: 3h", "keep: 2h").Replace(text))
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	d.messages = d.remembering()
	var got []string
	for n := range 24 {
		var records []sent
		if n < 4 || n >= 16 {
			records = sentBy(1, 5, "shoes")
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			switch end := e.WindowEnd.Sub(newYear); {
			case e.Discovery != nil || end%time.Hour != 0:
			case len(e.Continual) > 0:
				got = append(got, watchedBy(t, e, 0))
			default:
				got = append(got, fmt.Sprint(end, " nothing"))
			}
		}
	}
	want := []string{"1h0m0s 1 armed shoes:0", "2h0m0s 1 shoes:0", "3h0m0s 1 shoes:0", "4h0m0s nothing",
		"5h0m0s 1 shoes:0", "6h0m0s 1 shoes:0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
