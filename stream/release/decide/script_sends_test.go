package decide

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// scriptDay is the day of a time without a date. 02T06:00 is in the morning of the next one, and 03-29T06:00 in March.
var scriptDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// parseMoment returns a time of a script in Unix nanoseconds.
func parseMoment(text string) (int64, error) {
	full := text
	switch {
	case !strings.Contains(text, "T"):
		full = "01-01T" + text
	case !strings.Contains(text, "-"):
		full = "01-" + text
	}
	at, err := time.Parse("2006-01-02T15:04", fmt.Sprintf("%d-%s", scriptDay.Year(), full))
	if err != nil {
		return 0, fmt.Errorf("%q is no time: %w", text, err)
	}
	return at.UnixNano(), nil
}

// moment writes a time as scripts have it.
func moment(at time.Time) string {
	switch at = at.UTC(); {
	case at.YearDay() == 1:
		return at.Format("15:04")
	case at.Month() == time.January:
		return at.Format("02T15:04")
	default:
		return at.Format("01-02T15:04")
	}
}

// usual is what streams have in scripts that say nothing else.
var usual = map[string]string{
	"input":        "{topic: in, user: user, value: value, time: time, group: group}",
	"bounds":       "{lower: 0, upper: 1000, step: 1}",
	"contribution": "last",
	"output":       "{topic: out}",
	"on_exhausted": "withhold",
}

// fillIn fills in what a streams file of a script leaves out: its version, what is usual, and of a window its start
// (midnight) and grace (10 seconds).
func fillIn(text string) (string, error) {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return "", err
	}
	top := file.Content[0]
	put(top, "version", "1")
	for _, stream := range valueOf(top, "streams").Content {
		for _, key := range slices.Sorted(maps.Keys(usual)) {
			if key == "input" && valueOf(stream, "groups") == nil {
				put(stream, key, "{topic: in, user: user, value: value, time: time}")
			}
			put(stream, key, usual[key])
		}
		if window := valueOf(stream, "window"); window != nil {
			put(window, "start", scriptDay.Format(time.RFC3339))
			put(window, "grace", "10s")
		}
	}
	full, err := yaml.Marshal(&file)
	return string(full), err
}

// valueOf is the value of a key, or nil.
func valueOf(of *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			return of.Content[i+1]
		}
	}
	return nil
}

// put gives a key a value that is not there.
func put(into *yaml.Node, key, value string) {
	if valueOf(into, key) != nil {
		return
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(value), &node); err != nil {
		panic(err) // of this file
	}
	into.Content = append(into.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, node.Content[0])
}

// play has users send, and decides what is due after each slice if that is wanted.
func (s *script) play(d *datadriven.TestData) (string, error) {
	trouble, err := newTrouble(d)
	if err != nil {
		return "", err
	}
	all, err := s.sendings(d.Input)
	if err != nil {
		return "", err
	}
	s.recent = nil
	f, decides := newFate(d), d.Cmd == "play"
	for i, of := range all {
		s.send(of, trouble)
		s.now = max(s.now, of.slice.End/1e9+30)
		if !decides || i+1 < len(all) && all[i+1].slice.End == of.slice.End {
			continue
		}
		if err := s.decideNow(f); err != nil {
			return "", err
		}
		decides, f.crash = s.Core != nil, "" // after a crash users go on, and nobody decides
	}
	return s.show(), nil
}

// sendings are the slices of some lines, in the order of their ends.
func (s *script) sendings(lines string) ([]sending, error) {
	type key struct {
		stream  string
		edition uint32
		start   int64
	}
	slicesOf := map[key]*sending{}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		first, last, several := strings.Cut(words[0], "..")
		from, err := parseMoment(first)
		if err != nil {
			return nil, err
		}
		until := from + 1
		if several {
			if until, err = parseMoment(last); err != nil {
				return nil, err
			}
		}
		words = words[1:]
		only := ""
		if len(words) > 0 && strings.HasSuffix(words[0], ":") {
			only, words = strings.TrimSuffix(words[0], ":"), words[1:]
		}
		visits, err := visitsOf(words)
		if err != nil {
			return nil, err
		}
		for _, e := range s.editions {
			if only != "" && e.Stream.Name != only {
				continue
			}
			every := int64(e.Schedule.Every)
			first := e.Schedule.Start + max(0, (from-e.Schedule.Start+every-1)/every)*every // slice that begins then
			for start := first; start < until; start += every {
				end := start + every
				if e.Schedule.End != 0 && end > e.Schedule.End {
					continue
				}
				at := key{e.Stream.Name, e.Number, start}
				of := slicesOf[at]
				if of == nil {
					of = &sending{edition: e, slice: windows.Window{Start: start, End: end}}
					slicesOf[at] = of
				}
				of.visits = append(of.visits, visits...)
			}
		}
	}
	if len(slicesOf) == 0 {
		return nil, errors.New("no stream has a slice then")
	}
	var all []sending
	for _, of := range slicesOf {
		all = append(all, *of)
	}
	slices.SortFunc(all, func(x, y sending) int {
		return cmp.Or(cmp.Compare(x.slice.End, y.slice.End), cmp.Compare(x.edition.Stream.Name, y.edition.Stream.Name),
			cmp.Compare(x.edition.Number, y.edition.Number))
	})
	return all, nil
}

// visitsOf are those of words such as 1..5=900@a,b: users, the value 100 unless they say another, and their groups.
func visitsOf(words []string) (all []userVisit, err error) {
	for _, word := range words {
		who, groups, _ := strings.Cut(word, "@")
		who, number, valued := strings.Cut(who, "=")
		value := int64(100)
		if valued {
			if value, err = strconv.ParseInt(number, 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
		}
		first, last, several := strings.Cut(who, "..")
		if !several {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		to, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		for user := from; user <= to; user++ {
			for group := range strings.SplitSeq(groups, ",") {
				all = append(all, userVisit{user: user, group: group, value: value})
			}
		}
	}
	return all, nil
}

func newTrouble(d *datadriven.TestData) (of trouble, err error) {
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "damaged":
			of.damaged = true
		case "unreadable":
			of.unreadable = true
		case "gap":
			of.gap = true
		case "unmarked":
			of.unmarked = true
		case "shared":
			of.shared = true
		case "lost":
			of.lost, err = strconv.ParseInt(a.Vals[0], 10, 64)
		case "in":
			of.only, err = strconv.Atoi(a.Vals[0])
			of.only++
		case "crash", "unkept", "anew", "changes":
		default:
			err = fmt.Errorf("unknown argument %s", a)
		}
		if err != nil {
			return of, err
		}
	}
	return of, nil
}

// keyedSeal hides nothing, but opens only what was closed with the same key.
type keyedSeal string

func (k keyedSeal) close(_ string, _ ledger.Instance, _ string, secret []byte) ([]byte, error) {
	return []byte(string(k) + " " + string(secret)), nil
}

func (k keyedSeal) open(_ string, _ ledger.Instance, _ string, sealed []byte) ([]byte, error) {
	secret, ok := strings.CutPrefix(string(sealed), string(k)+" ")
	if !ok {
		return nil, errors.New("another key")
	}
	return []byte(secret), nil
}
