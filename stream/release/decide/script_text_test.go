package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record/recordtest"
	"github.com/louver/louver/stream/release/attendance"
)

// segments are what can be shown of an entry beside its reason, what it lacks and what ends with it.
var segments = map[string]func(e ledger.Entry) string{
	"values":  shownValues,  // of each release, by groups; - without a value
	"steps":   shownSteps,   // what figures with instances did; slow#2 is the second instance
	"rollups": shownRollups, // in how many windows of how many, and the sums of the counts
	"found":   shownFound,   // what a discovery found, who joined and left the list, and how many are on it
	"list":    shownList,    // the groups of a window
	"era":     shownEra,     // since when max_windows counts, for whom it does
	"charge":  shownCharge,  // what one user is charged for
	"spent":   shownSpent,   // what counts in the period of the budget now
	"life":    shownLife,    // what the stream was charged in all
	"left":    func(e ledger.Entry) string { return fmt.Sprintf("%d windows left", e.Standing.WindowsLeft) },
	"due":     func(e ledger.Entry) string { return "due " + e.DueAt.Format("15:04:05") },
}

var segmentOrder = []string{"due", "era", "list", "values", "found", "rollups", "steps", "charge", "spent", "life",
	"left"}

// view is what a script wants to see.
type view struct {
	only  string // a stream or one of its lanes; "" for all
	words map[string]bool
}

func (v *view) wants(e ledger.Entry) bool {
	return v.only == "" || v.only == e.Stream || v.only == e.Stream+"/"+e.Lane
}

// set takes the arguments of show. Beside segments these are log (what people are told), texts (checkpoints and
// snapshots), needs (from where the next session reads), reads (how many parts were read again) and merges (of which
// streams parts were merged).
func (v *view) set(d *datadriven.TestData) error {
	*v = view{words: map[string]bool{}}
	for _, a := range d.CmdArgs {
		switch {
		case a.Key == "only":
			v.only = a.Vals[0]
		case segments[a.Key] != nil || slices.Contains([]string{"log", "texts", "needs", "reads", "merges"}, a.Key):
			v.words[a.Key] = true
		default:
			return fmt.Errorf("%s cannot be shown", a)
		}
	}
	return nil
}

// item is a line that is shown: a window or a period of a lane, or another one.
type item struct {
	who, text string
	from, to  time.Time
	count     int
}

func (i item) String() string {
	if i.who == "" {
		return i.text
	}
	text := moment(i.from) + "-" + moment(i.to) + " " + i.who
	if i.count > 1 {
		text += fmt.Sprintf(" (%d windows)", i.count)
	}
	return strings.TrimSuffix(text+": "+i.text, ": ")
}

// collect takes what came out since it was called last. Windows that follow one another and say the same share a line.
// With changes, what a lane says again is left out.
func (s *script) collect(changes bool) {
	items := s.items
	for _, l := range s.out[s.written:] {
		switch {
		case l.Entry != "":
			e, err := ledger.Decode([]byte(l.Entry))
			if err != nil {
				s.t.Fatal(err)
			}
			adopted := s.adopts[l.Entry]
			if i, ok := s.item(e, adopted); ok && (!changes || s.told[i.who] != i.text) {
				items = appendItem(items, i)
				s.told[i.who] = i.text
			}
			if s.shown.wants(e) {
				s.recent = append(s.recent, e)
			}
			s.adopts[l.Entry] = true
		case l.Ended != "":
			items = append(items, item{text: map[string]string{
				aborted: "crash: the transaction is aborted",
				unsent:  "crash: nothing was written",
				unknown: "crash: the transaction is committed, and the session does not know",
			}[l.Ended]})
		case l.Text != nil && s.shown.words["texts"]:
			text := "written: " + l.Text.Key
			if l.Text.Bytes == 0 {
				text = "deleted: " + l.Text.Key
			}
			items = append(items, item{text: text})
		case l.State != nil && s.shown.words["needs"]:
			items = append(items, item{text: fmt.Sprintf("needs parts from %d of %d on", l.State.Needs, s.at)})
		}
	}
	s.written = len(s.out)
	for _, n := range s.notices {
		if text := s.toldText(n); text != "" {
			items = append(items, item{text: text})
		}
	}
	if s.rereads > 0 && s.shown.words["reads"] {
		items = append(items, item{text: fmt.Sprintf("%d parts were read again", s.rereads)})
	}
	s.items, s.notices, s.rereads = items, nil, 0
}

// show shows what was collected.
func (s *script) show() string {
	var lines []string
	for _, i := range s.items {
		lines = append(lines, i.String())
	}
	s.items = nil
	return strings.Join(lines, "\n")
}

func appendItem(items []item, i item) []item {
	if n := len(items); n > 0 {
		last := &items[n-1]
		if last.who == i.who && last.text == i.text && last.to.Before(i.to) && !i.from.After(last.to) {
			last.to, last.count = i.to, last.count+1
			return items
		}
	}
	return append(items, i)
}

// item is the line of an entry; false if the script does not want to see it.
func (s *script) item(e ledger.Entry, adopted bool) (item, bool) {
	if !s.shown.wants(e) {
		return item{}, false
	}
	var parts []string
	if adopted {
		parts = append(parts, "adopted as it was drawn")
	}
	if e.Reason != "" {
		parts = append(parts, "withheld ("+e.Reason+")")
	}
	if e.Incomplete {
		parts = append(parts, "incomplete")
	}
	for _, of := range e.Ended {
		parts = append(parts, "ends "+instanceText(of.Name, of.Number))
	}
	for _, word := range segmentOrder {
		if s.shown.words[word] {
			if text := segments[word](e); text != "" {
				parts = append(parts, text)
			}
		}
	}
	who := e.Stream
	if e.Lane != "" {
		who += "/" + e.Lane
	}
	if e.Epoch > 1 {
		who += fmt.Sprintf(" (edition %d)", e.Epoch)
	}
	return item{who: who, text: strings.Join(parts, "; "), from: e.WindowStart, to: e.WindowEnd, count: 1}, len(parts) > 0
}

func instanceText(name string, number int64) string { return fmt.Sprintf("%s#%d", name, number) }

func shownValues(e ledger.Entry) string {
	if e.Reason != "" {
		return ""
	}
	var all []string
	for i, r := range e.Releases {
		text := r.Name
		for _, g := range e.Groups {
			value := "-"
			if len(g.Values) > i && g.Values[i].Value != nil {
				value = g.Values[i].Value.String()
			}
			text += strings.TrimSuffix(" "+g.Name, " ") + "=" + value
		}
		all = append(all, text)
	}
	if e.Discovery != nil {
		return ""
	}
	return strings.Join(all, ", ")
}

func shownSteps(e ledger.Entry) string {
	var all []string
	for _, s := range e.Continual {
		text := instanceText(s.Name, s.Instance)
		add := func(format string, args ...any) { text += " " + fmt.Sprintf(format, args...) }
		if s.Arms {
			add("armed")
		}
		if s.Looks() && !s.Arms {
			add("looks")
		} else if !s.Looks() {
			add("%s", s.Reason)
		}
		switch {
		case s.Watch != nil && s.Watch.Fired != nil && s.Looks():
			add("and fires in %s", *s.Watch.Fired)
		case s.Watch != nil && s.Watch.Fired != nil:
			add("(fired in %s at %s)", *s.Watch.Fired, moment(*s.Watch.Since))
		case s.Change != nil:
			for i, v := range s.Change.Values {
				value := v.Figure.Value.String()
				if s.Change.Draws(s, e.Groups[i].Name) {
					value += "*"
				}
				add("%s=%s", e.Groups[i].Name, value)
			}
		case s.SoFar != nil && s.Looks():
			add("since %s", moment(s.SoFar.Since.Time))
			for i, g := range s.SoFar.Groups {
				text := fmt.Sprint(g.Values[0].Numbers.Raw)
				for at, v := range g.Values[1:] {
					says := "withheld"
					if v.Value != nil {
						says = v.Value.String()
					}
					text += fmt.Sprintf(" (%s %s)", s.SoFar.Figures[at].Name, says)
				}
				add("%s=%s", e.Groups[i].Name, text)
			}
		case s.Total != nil && s.Looks():
			add("since %s", moment(s.Total.Since.Time))
			for i, g := range s.Total.Groups {
				add("%s=%s", e.Groups[i].Name, g.Value)
			}
		case s.Active != nil && s.Looks():
			add("since %s", moment(s.Active.Since.Time))
			if s.Active.Incomplete {
				add("incomplete")
			}
			for i, g := range s.Active.Groups {
				add("%s=%s", e.Groups[i].Name, g.Value)
			}
		}
		if s.Last {
			add("ends")
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func shownRollups(e ledger.Entry) string {
	var all []string
	for _, up := range e.Rollups {
		text := fmt.Sprintf("%s.%s of %d/%d windows:", up.Release, up.Period, up.Windows.Released, up.Windows.Of)
		for g, of := range up.Groups {
			sum := int64(0)
			if len(of.Values) > 0 && of.Values[0].Numbers != nil {
				for _, n := range of.Values[0].Numbers.Raw {
					sum += n
				}
			}
			text += fmt.Sprintf(" %s=%d", e.Groups[g].Name, sum)
			if of.Windows != nil {
				text += fmt.Sprintf(" (in %d)", of.Windows.Released)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func shownFound(e ledger.Entry) string {
	d := e.Discovery
	if d == nil {
		return ""
	}
	var found []string
	for _, f := range d.Found {
		found = append(found, fmt.Sprintf("%s=%d", f.Name, f.Value))
	}
	text := "found " + strings.Join(found, " ")
	if len(found) == 0 {
		text = "found nothing"
	}
	if len(d.Joined) > 0 {
		text += ", joined " + strings.Join(d.Joined, " ")
	}
	if len(d.Left) > 0 {
		text += ", left " + strings.Join(d.Left, " ")
	}
	if len(d.Unlisted) > 0 {
		text += ", no room for " + strings.Join(d.Unlisted, " ")
	}
	return fmt.Sprintf("%s, %d on the list", text, d.Listed)
}

func shownList(e ledger.Entry) string {
	if e.List == nil {
		return ""
	}
	of := "no list yet"
	if e.List.Of != nil {
		of = "list of " + moment(e.List.Of.Time)
	}
	if e.List.Stream != "" {
		of += " of " + e.List.Stream
	}
	return strings.TrimSpace(of + " " + strings.Join(e.GroupNames(), " "))
}

func shownEra(e ledger.Entry) string {
	if e.Cap.Era == 0 {
		return ""
	}
	return "counts since " + moment(time.Unix(e.Cap.Era, 0))
}

func shownCharge(e ledger.Entry) string {
	var items []string
	if e.Reason == "" {
		items = charges("", e.Price)
	}
	for _, s := range e.Continual {
		if !s.Arms && (s.Active == nil || !s.Looks() || !s.Active.Finishes(e)) {
			continue
		}
		if items = append(items, charges(s.Name+" ", s.Cost)...); s.Change != nil && s.Change.Begins {
			items = append(items, charges(s.Name+" first ", s.Change.First)...)
		}
	}
	if len(items) == 0 {
		return "charged nothing"
	}
	return "charged " + strings.Join(items, " + ")
}

// charges are items such as 3×0.5: three times ε 0.5.
func charges(of string, items []budget.Item) (all []string) {
	for _, i := range items {
		text := fmt.Sprintf("%s%d×%s", of, i.Times, i.Epsilon)
		if !i.Delta.IsZero() {
			text += " δ " + i.Delta.String()
		}
		all = append(all, text)
	}
	return all
}

func shownSpent(e ledger.Entry) string {
	if e.Standing.BudgetSpent == nil {
		return ""
	}
	return "spent " + e.Standing.BudgetSpent.String()
}

func shownLife(e ledger.Entry) string {
	if e.Standing.StreamSpent == nil {
		return ""
	}
	return "stream spent " + e.Standing.StreamSpent.String()
}

// toldText is what people are told by a notice, or "". What lasts is told once, and that it is over only after that.
func (s *script) toldText(n Notice) string {
	text := ""
	switch n := n.(type) {
	case attendance.Loss:
		return lossText(n)
	case Line:
		text = map[Level]string{Info: "info: ", Warn: "warning: ", Error: "error: "}[n.Level] + n.Text
	case Merged:
		if s.shown.words["merges"] {
			return "merged the parts of " + n.Stream
		}
		return ""
	case Lasting:
		if !s.lasting[n.Key] {
			text = "warning: " + n.Text
		}
		s.lasting[n.Key] = true
	case Over:
		if s.lasting[n.Key] {
			text = "info: " + n.Text
		}
		s.lasting[n.Key] = false
	}
	if !s.shown.words["log"] {
		return ""
	}
	return text
}

func lossText(of attendance.Loss) string {
	what := "max_windows of " + of.Stream
	switch {
	case of.Of != nil:
		what = fmt.Sprintf("the %s %s of %s", config.Kinds[of.Of.Kind()].Noun, of.Of.Heading().Name, of.Stream)
	case of.Discovery != "":
		what = "max_windows of discovery " + of.Discovery + " of " + of.Stream
	}
	if of.Over {
		return "lost: who counted in " + what + ", which is over"
	}
	return "lost: who counted in " + what + "; from " + moment(of.At)
}

// fields shows some fields of the records of the last entry, or of the last few with last=3: a line for each record.
// All of them follow the schema.
func (s *script) fields(d *datadriven.TestData) (string, error) {
	last, schema := 1, recordtest.Compile(s.t)
	d.MaybeScanArgs(s.t, "last", &last)
	var lines []string
	for _, e := range s.recent[max(0, len(s.recent)-last):] {
		records, err := e.Records()
		if err == nil && len(records) != e.Size() {
			err = fmt.Errorf("%s has %d records, and says %d", e.Name(), len(records), e.Size())
		}
		if err != nil {
			return "", err
		}
		for _, r := range records {
			line, of := string(r.Key), map[string]json.RawMessage{}
			if r.Value == nil {
				line += " ends"
			} else if schema.Follows(s.t, line, r.Value); json.Unmarshal(r.Value, &of) != nil {
				return "", fmt.Errorf("%s is no record", r.Value)
			}
			for _, a := range d.CmdArgs {
				if value, ok := of[a.Key]; ok {
					line += fmt.Sprintf(" %s=%s", a.Key, value)
				}
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// differ says in which fields the last two entries differ.
func (s *script) differ() (string, error) {
	if len(s.recent) < 2 {
		return "", errors.New("the last command has not decided two windows")
	}
	var both [2]map[string]json.RawMessage
	for i, e := range s.recent[len(s.recent)-2:] {
		text, err := e.Encode()
		if err == nil {
			err = json.Unmarshal(text, &both[i])
		}
		if err != nil {
			return "", err
		}
	}
	all := maps.Clone(both[0])
	maps.Copy(all, both[1])
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool {
		return string(both[0][key]) == string(both[1][key])
	})
	return strings.Join(slices.Sorted(maps.Keys(all)), " "), nil
}
