package chaostest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// verdict counts what is wrong. complaints tell of each.
type verdict struct {
	faults, windows, missing, different, double, overspent, incomplete, unexplained int
	complaints                                                                      []string
	// of watches, of users under a cap, of totals, of names that were found, of sums over the newest time, of
	// distributions so far, and of numbers of active users: if one is 0, that was not tested
	firings, counted, totals, found, sums, soFar, active int
}

func (v verdict) String() string {
	explained := "each explained"
	if v.unexplained > 0 {
		explained = fmt.Sprint(v.unexplained, " unexplained")
	}
	return fmt.Sprintf("faults %d, windows %d, missing %d, different %d, double %d, overspent %d, incomplete %d (%s)",
		v.faults, v.windows, v.missing, v.different, v.double, v.overspent, v.incomplete, explained)
}

// add adds the verdict on another app of the same run.
func (v *verdict) add(o verdict) {
	v.windows += o.windows
	v.missing += o.missing
	v.different += o.different
	v.double += o.double
	v.overspent += o.overspent
	v.incomplete += o.incomplete
	v.unexplained += o.unexplained
	v.complaints = append(v.complaints, o.complaints...)
	v.firings += o.firings
	v.counted += o.counted
	v.totals += o.totals
	v.found += o.found
	v.sums += o.sums
	v.soFar += o.soFar
	v.active += o.active
}

func (v *verdict) complain(counter *int, format string, args ...any) {
	*counter++
	v.complaints = append(v.complaints, fmt.Sprintf(format, args...))
}

// check judges what a run leaves behind.
func (e evidence) check() verdict {
	c := &checker{evidence: e, entries: map[string]ledger.Entry{}, drawn: map[string][]byte{},
		follows: map[string]definition{}}
	c.verdict.faults = e.faults
	c.checkLedger()
	c.checkOutputs()
	c.checkSchedule()
	c.checkFigures()
	c.checkCaps()
	c.checkWatches()
	c.checkTotals()
	c.checkFound()
	c.checkSums()
	c.checkSoFar()
	c.checkActive()
	c.checkBudgets()
	c.windows = len(c.entries)
	return c.verdict
}

// promised describes what a stream promises.
type promised struct {
	name, input, policy string
	// account names what its windows are charged to, whatever its budgets are called.
	account string
	// definitions are its definitions, in the order in which they were given to the service.
	definitions []definition
}

// definition is one definition of a stream.
type definition struct {
	budget           string
	size, grace      time.Duration
	every            time.Duration
	groups, releases []string
	epsilon          decimal.Decimal // of a release
	limit            budget.Limit
	exact            bool   // ε is so large that figures are those of the truth
	cap              int64  // in how many windows of capPer a user counts; 0: in all
	alarm            int    // how many users above slowAbove its watch tells of; 0: it has none
	total            int64  // the max_total of its running total; 0: it has none
	finds            bool   // its groups are found: see checkFound
	recent           recent // what it publishes of the newest time
	continues        string // the budget whose spending this one takes over
	given            time.Time
}

// tookEffect is how long a new definition may take until it is in force, whatever else goes wrong.
const tookEffect = 3 * time.Minute

// noticed is how long an app may take to notice that an input has grown.
const noticed = time.Minute

// price is the ε of a window.
func (v definition) price() decimal.Decimal {
	drawn := slices.DeleteFunc(slices.Clone(v.releases), func(name string) bool { return name == highs })
	price := v.epsilon.Mul(decimal.NewFromInt(int64(len(drawn))))
	if v.finds {
		price = price.Mul(decimal.NewFromInt(namesOfAUser))
	}
	return price
}

// fits says that an entry has the windows, groups, releases, cap and watches of this definition.
func (v definition) fits(e ledger.Entry) bool {
	var groups, releases []string
	for _, g := range e.Groups {
		groups = append(groups, g.Name)
	}
	for _, r := range e.Releases {
		releases = append(releases, r.Name)
	}
	var watches []string
	for _, w := range e.Continual {
		watches = append(watches, w.Name)
	}
	if v.finds { // checkFound looks at the groups; a window without any has no releases
		groups = v.groups
		if len(e.Groups) == 0 {
			releases = v.releases
		}
	}
	return slices.Equal(groups, v.groups) && slices.Equal(releases, v.releases) &&
		e.WindowEnd.Sub(e.WindowStart) == v.size && e.Every == v.every &&
		e.Cap.Count == v.cap && slices.Equal(watches, v.steps()) && v.total == totalOf(e) && v.recent == recentOf(e)
}

// charges says that an entry has the charge of this definition.
func (v definition) charges(e ledger.Entry) bool {
	price := v.price()
	if len(e.Groups) == 0 { // nothing is drawn
		price = decimal.Zero
	}
	return priceOf(e).Equal(price) && e.Budget == v.budget && e.Limit.Equal(v.limit)
}

// after finds the definition of an entry among those from one on; −1 if there is none. One with another charge is
// better than none.
func (p promised) after(now int, e ledger.Entry) int {
	for _, strict := range []bool{true, false} {
		for i := now; i < len(p.definitions); i++ {
			if v := p.definitions[i]; v.fits(e) && (!strict || v.charges(e)) {
				return i
			}
		}
	}
	return -1
}

// newest is the stream's last definition.
func (p promised) newest() definition { return p.definitions[len(p.definitions)-1] }

// harm is a fault by which streams may have lost something of the windows that were not released at that time and begin
// before until.
type harm struct {
	kind      string
	at, until time.Time
	streams   []string
}

// explains says that the window may be incomplete for that. Times of release have whole seconds.
func (h harm) explains(e ledger.Entry) bool {
	return slices.Contains(h.streams, e.Stream) && !e.ReleasedAt.Before(h.at.Truncate(time.Second)) &&
		e.WindowStart.Before(h.until)
}

// logged is a record of the ledger or an output topic, also one whose transaction was aborted.
type logged struct {
	value   []byte
	aborted bool
}

// evidence is all that a run leaves behind.
type evidence struct {
	from, to time.Time // windows from start to end must be published
	streams  []promised
	faults   int
	harms    []harm
	deeds    []deed
	steps    map[string][]control.Step // of the inputs
	ledger   []logged                  // of each partition in its order
	outputs  []logged
}

// checker judges evidence.
type checker struct {
	evidence
	verdict
	entries map[string]ledger.Entry // committed ones by stream, discovery and window start
	drawn   map[string][]byte       // the first ledger record of each window, committed or not
	follows map[string]definition   // which definition each entry is of
}

func windowKey(stream string, start time.Time) string {
	return stream + "/" + start.UTC().Format(time.RFC3339)
}

// checkLedger looks for windows that were charged twice or drawn twice: an aborted draw is in the log as well.
func (c *checker) checkLedger() {
	for _, l := range c.ledger {
		e, err := ledger.Decode(l.value)
		if err != nil {
			c.complain(&c.different, "a ledger entry is unreadable: %v", err)
			continue
		}
		key := windowKey(e.Stream, e.WindowStart) + e.Lane
		if first, ok := c.drawn[key]; !ok {
			c.drawn[key] = l.value
		} else if !bytes.Equal(first, l.value) {
			c.complain(&c.different, "%s stands in the ledger's log with two contents (aborted %v):\n%s\n%s", key,
				l.aborted, first, l.value)
		}
		if l.aborted {
			continue
		}
		if _, twice := c.entries[key]; twice {
			c.complain(&c.double, "%s is charged twice", key)
		}
		c.entries[key] = e
	}
}

// checkOutputs compares what is published with what the ledger says.
func (c *checker) checkOutputs() {
	want := map[string][]byte{}
	due := map[string]bool{} // what is to be published before the end; what comes later may be cut short
	for key, e := range c.entries {
		records, err := e.Records()
		if err != nil {
			c.complain(&c.different, "%s: %v", key, err)
			continue
		}
		for _, r := range records {
			out, _, err := outputs.Decode(r.Value)
			if err != nil {
				c.complain(&c.different, "%s: %v", key, err)
				continue
			}
			want[out.ID], due[out.ID] = r.Value, !e.WindowEnd.After(c.to)
		}
	}
	seen := map[string]bool{}
	for _, l := range c.outputs {
		r, ours, err := outputs.Decode(l.value)
		if err != nil || !ours {
			c.complain(&c.different, "a foreign record in an output: %v", err)
			continue
		}
		switch value, known := want[r.ID]; {
		case !known:
			c.complain(&c.overspent, "%s is in the output's log (aborted %v) but not in the ledger", r.ID, l.aborted)
		case !bytes.Equal(value, l.value):
			c.complain(&c.different, "%s is in the output's log (aborted %v) as\n%s\nand in the ledger as\n%s", r.ID,
				l.aborted, l.value, value)
		}
		if l.aborted {
			continue
		}
		if seen[r.ID] {
			c.complain(&c.double, "%s is published twice", r.ID)
		}
		seen[r.ID] = true
	}
	for id := range want {
		if due[id] && !seen[id] {
			c.complain(&c.missing, "%s is in the ledger and not published", id)
		}
	}
}

// checkSchedule looks for windows that never came, and for entries that are not as the stream promises. A new
// definition begins where the next window of the old one would have.
func (c *checker) checkSchedule() {
	for _, s := range c.streams {
		now := 0 // the definition that is in force
		next := c.from
		for _, e := range c.of(s.name) {
			key := windowKey(s.name, e.WindowStart)
			i := s.after(now, e)
			if i < 0 {
				c.complain(&c.different, "%s to %s follows no definition, or an old one: groups %v, releases %v, "+
					"every %s", key, e.WindowEnd.Format(time.TimeOnly), e.Groups, e.Releases, e.Every)
				i = now
			}
			now = i
			v := s.definitions[now]
			if next.After(e.WindowStart) {
				c.complain(&c.different, "%s is no window of the stream", key)
			}
			for ; next.Before(e.WindowStart); next = next.Add(v.every) {
				c.complain(&c.missing, "%s was never decided", windowKey(s.name, next))
			}
			c.follows[key] = v
			next = e.WindowStart.Add(v.every)
		}
		for v := s.definitions[now]; !next.Add(v.size).After(c.to); next = next.Add(v.every) {
			c.complain(&c.missing, "%s was never decided", windowKey(s.name, next))
		}
		if v := s.newest(); now < len(s.definitions)-1 && v.given.Add(tookEffect).Before(c.to) {
			c.complain(&c.missing, "the definition of %s that was given at %s is not in force at %s", s.name,
				v.given.Format(time.TimeOnly), c.to.Format(time.TimeOnly))
		}
	}
	for topic, steps := range c.steps {
		most := 0
		for _, d := range c.deeds {
			if d.topic == topic && d.at.Before(c.to.Add(-noticed)) {
				most = max(most, d.partition+1)
			}
		}
		if len(steps) == 0 || steps[len(steps)-1].Partitions < most {
			c.complain(&c.missing, "%s has at least %d partitions and the app knows of %v", topic, most, steps)
		}
	}
}

// of are the windows of a stream in the order in which they begin.
func (c *checker) of(stream string) []ledger.Entry { return c.row(stream, "") }

// row are the windows of a stream, or the periods of one of its discoveries, in the order in which they begin.
func (c *checker) row(stream, name string) []ledger.Entry {
	var all []ledger.Entry
	for _, e := range c.entries {
		if e.Stream == stream && e.Lane == name {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b ledger.Entry) int { return a.WindowStart.Compare(b.WindowStart) })
	return all
}

// sent is what was sent to the input of a stream, ordered by time.
func (c *checker) sent(s promised) []deed {
	own := slices.DeleteFunc(slices.Clone(c.deeds), func(d deed) bool { return d.topic != s.input })
	slices.SortFunc(own, func(a, b deed) int { return a.at.Compare(b.at) })
	return own
}

// checkFigures compares the figures of complete windows with the truth, and looks for a reason for the others.
func (c *checker) checkFigures() {
	for _, s := range c.streams {
		own := c.sent(s)
		for _, e := range c.of(s.name) {
			c.explain(e)
			if v := c.follows[windowKey(s.name, e.WindowStart)]; !e.Incomplete && v.exact && e.Reason == "" {
				c.checkWindow(s, v, e, own)
			}
		}
	}
}

// explain looks for a fault by which a window or a period is incomplete.
func (c *checker) explain(e ledger.Entry) {
	if !e.Incomplete {
		return
	}
	c.incomplete++
	if !slices.ContainsFunc(c.harms, func(h harm) bool { return h.explains(e) }) {
		c.complain(&c.unexplained, "%s%s, released at %s, is incomplete and no fault explains it",
			windowKey(e.Stream, e.WindowStart), e.Lane, e.ReleasedAt.Format(time.TimeOnly))
	}
}

// checkWindow compares the figures of a window. deeds are ordered by time.
func (c *checker) checkWindow(s promised, v definition, e ledger.Entry, deeds []deed) {
	for _, g := range e.Groups {
		truth := c.truthIn(s, v, e, g.Name, deeds)
		for i, figure := range g.Values {
			name := e.Releases[i].Name
			if figure.Value == nil {
				c.complain(&c.missing, "%s/%s/%s has no value", windowKey(s.name, e.WindowStart), g.Name, name)
			} else if x := figure.Value.InexactFloat64(); x < truth.low[name] || x > truth.high[name] {
				c.complain(&c.different, "%s/%s/%s is %v, but the events say %v", windowKey(s.name, e.WindowStart),
					g.Name, name, x, truth)
			}
		}
	}
}

// truthIn is the truth of a group of a window. deeds are those of the stream's input, ordered by time.
func (c *checker) truthIn(s promised, v definition, e ledger.Entry, group string, deeds []deed) truth {
	return truthOf(c.sentIn(s, v, e, group, deeds), s.policy, v.inTime(e))
}

// inTime returns whether an event counts in a window for sure: it was acknowledged before the window was due.
func (v definition) inTime(e ledger.Entry) func(deed) bool {
	due := e.WindowEnd.Add(v.grace)
	return func(d deed) bool { return !d.acked.IsZero() && d.acked.Before(due) }
}

// sentIn are the events that may count in a group of a window.
func (c *checker) sentIn(s promised, v definition, e ledger.Entry, group string, deeds []deed) (mine []deed) {
	low, _ := slices.BinarySearchFunc(deeds, e.WindowStart, func(d deed, t time.Time) int { return d.at.Compare(t) })
	high, _ := slices.BinarySearchFunc(deeds, e.WindowEnd, func(d deed, t time.Time) int { return d.at.Compare(t) })
	partitions := c.partitions(s.input, e.WindowEnd.Add(v.grace))
	for _, d := range deeds[low:high] {
		if (v.groupOf(d) == group || group == "") && d.partition < partitions {
			mine = append(mine, d)
		}
	}
	return mine
}

// partitions returns how many partitions of an input count in windows that are due at a moment.
func (c *checker) partitions(input string, due time.Time) (n int) {
	for _, step := range c.steps[input] {
		if step.Due <= due.UnixNano() {
			n = step.Partitions
		}
	}
	return n
}

// groupOf is the group of an event.
func (v definition) groupOf(d deed) string {
	if v.finds {
		return strconv.Itoa(d.value)
	}
	return d.group
}

// namesOfAUser is in how many found groups a user counts, in a period or a window: more than any user sends.
const namesOfAUser = 8

// priceOf is the ε that a window costs one user.
func priceOf(e ledger.Entry) decimal.Decimal {
	var sum decimal.Decimal
	for _, i := range e.Price {
		sum = sum.Add(i.Epsilon.Mul(decimal.NewFromInt(i.Times)))
	}
	return sum
}
