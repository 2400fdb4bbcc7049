package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/ledger"
)

// TestNothingGetsPastDiscoveries: nothing about names that are not found is in the ledger, in the records or in the
// log, not even how many there are. What is found is the same here, because noise is nearly always 0.
func TestNothingGetsPastDiscoveries(t *testing.T) {
	var first string
	for i, rare := range [][]userVisit{nil, sentBy(100, 1, "rare"),
		sentBy(100, 1, strings.Split("bcdefghijklmnopqrstuvw", "")...),
		sentBy(100, 9, "NO", "no matter 7"), slices.Concat(sentBy(100, 1, "x"), sentBy(200, 1, "y"),
			sentBy(300, 1, "z"))} {
		d := playing(t, editionsOf(t, strings.Replace(finding, "      other: rest\n", "", 1)))
		for range 8 {
			d.give(d.editions[0], append(sentBy(1, 5, "shoes"), rare...), trouble{})
		}
		var said strings.Builder
		for _, e := range d.decided() {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			records, err := e.Records()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&said, "%s\n%s\n", value, records)
		}
		fmt.Fprint(&said, strings.Join(d.lines(), "\n"))
		if !strings.Contains(said.String(), "shoes") || !strings.Contains(said.String(), "a discovery is decided") {
			t.Fatal("shoes are not found, or nothing is logged")
		}
		if first == "" {
			first = said.String()
		} else if said.String() != first {
			t.Errorf("data %d: other names change what is written:\n%s", i, cmp.Diff(first, said.String()))
		}
	}
}

// TestFoundNamesFitIntoAnEntry: of many long names, those with the most users are published.
func TestFoundNamesFitIntoAnEntry(t *testing.T) {
	d := playing(t, editionsOf(t, strings.NewReplacer("max: 3", "max: 1000",
		"        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}\n", "").Replace(finding)))
	var records []userVisit
	for i := range uint64(900) {
		name := fmt.Sprintf("%c%c%c%s", 'a'+rune(i%26), 'a'+rune(i/26%26), 'a'+rune(i/676), strings.Repeat("x", 197))
		records = append(records, sentBy(1000*(i+1), 3, name)...)
	}
	records = append(records, sentBy(1, 9, "shoes")...)
	for range 4 {
		d.give(d.editions[0], records, trouble{})
	}
	all := slices.DeleteFunc(d.decided(), func(e ledger.Entry) bool { return e.Discovery == nil })
	listed, err := d.own.Lists().Show("s", "s", d.programs[0].rules)
	if n := len(all[0].Discovery.Found); n+1 != len(listed) {
		t.Errorf("%d names are found, and %d listed with the one that always is", n, len(listed))
	}
	if err != nil || len(listed) < 500 || len(listed) > 850 || !slices.ContainsFunc(listed,
		func(l ledger.Listed) bool { return l.Name == "shoes" && l.Value == 9 }) {
		t.Errorf("%d names are listed (%v), want as many as have room, and shoes with the most users", len(listed), err)
	}
}

// A discovery whose input lost something has a line of its own, which names it, beside that of the windows.
func TestIncompleteDiscoveriesAreNamed(t *testing.T) {
	c := &Core{lossy: map[string]loss{}, now: newYear}
	for _, incomplete := range []bool{true, true, false} {
		for _, lane := range []string{"", "hourly"} {
			c.tellIncomplete(ledger.Entry{Stream: "s", Lane: lane, WindowEnd: newYear, Incomplete: incomplete})
		}
	}
	var told []string
	for _, n := range c.Notices() {
		line := n.(Line)
		at := slices.IndexFunc(line.Fields, func(f Field) bool { return f.Name == "discovery" })
		told = append(told, fmt.Sprint(line.Level, " ", at >= 0))
	}
	want := []string{fmt.Sprint(Error, " false"), fmt.Sprint(Error, " true"), fmt.Sprint(Info, " false"),
		fmt.Sprint(Info, " true")}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
