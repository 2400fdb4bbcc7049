package web

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows"
)

// statement says what a stream can reveal about one person. Its JSON names are public.
type statement struct {
	Stream string `json:"stream"`
	Losses []loss `json:"losses"`
}

// loss is the most that one person can lose through some windows.
type loss struct {
	// Scope says which windows: the figures of one `window`, all that one instance of a `watch` looks at, those of a
	// period of a `total`, what a `discovery` draws at the end of a period, those that one `event` puts its person
	// into, those of the stream's budget that end in a `day`, those that the `budget` pays in its period, what the
	// person does in a `stretch` of time as long as that period, or those in a day of all budgets that pay for one
	// `input`. Under max_windows, `window`, `event` and `stretch` are with the later windows in which the person counts
	// instead.
	Scope   string `json:"scope"`
	Windows *int64 `json:"windows"`
	// Per is the period, such as 24h, or forever; null if there is none.
	Per     *string `json:"per"`
	Epsilon any     `json:"epsilon"`
	Delta   any     `json:"delta"`
	// Sum is the plain sum of ε, where that is more; absent if there is none.
	Sum any `json:"epsilon_sum,omitempty"`
	// Right is how many of 100 guesses about whether a person is in the data can be right, at most.
	Right    int64  `json:"right_of_100"`
	Sentence string `json:"sentence"`
}

// statements answers what one person can lose.
type statements struct {
	source
	reports *reports
}

// answer answers with what one person can lose.
func (a statements) answer(w http.ResponseWriter, r *http.Request) error {
	want, err := a.wanted(r)
	if err != nil {
		return err
	}
	all, now := []statement{}, a.now()
	payers, shared := map[*config.Budget]*payer{}, cost.InCommon(a.payers(now))
	for b, pays := range config.PayersOf(a.streams, now) {
		if payers[b], err = a.payer(pays); err != nil {
			return err
		}
	}
	for _, s := range a.streams {
		if len(want.streams) == 0 || slices.Contains(want.streams, s.Name) {
			all = append(all, a.statement(s, payers[s.Budget], shared, now))
		}
	}
	if len(all) == 0 && len(want.streams) > 0 {
		return &problem{http.StatusNotFound,
			fmt.Sprintf("stream %q is in no streams file that this server has; its records do not say what one "+
				"person can lose", want.streams[0])}
	}
	w.Header().Add("Vary", "Accept")
	if wantsPage(r) {
		return a.answerPage(w, r, all)
	}
	return answerJSON(w, r, struct {
		Streams []statement `json:"streams"`
	}{all})
}

// payer is a budget with all its streams, and what it costs in a day and a period. The statement of each of its streams
// says that, so it is computed once.
type payer struct {
	cost.Payer
	day     cost.Loss
	held    *lastDay     // see [reports.lastDay]
	stretch cost.Stretch // of its period; zero if it is for ever
}

func (a statements) payer(pays cost.Payer) (*payer, error) {
	held, err := a.reports.lastDay(pays)
	if err != nil {
		return nil, err
	}
	p := &payer{Payer: pays, day: pays.InAnyDay(), held: held}
	if p.Per != 0 {
		p.stretch = pays.InAnyStretch()
	}
	return p, nil
}

// statement says what a stream can reveal. shared are the topics that several budgets pay for.
func (a statements) statement(s *config.Stream, pays *payer, shared []cost.Shared, now time.Time) statement {
	b, of := s.Budget, s.Cost(now)
	all := statement{Stream: s.Name, Losses: []loss{}}
	all.Losses = append(all.Losses, ofWindows(s, pays.Payer, of)...)
	all.Losses = append(all.Losses, beside(s)...)
	const anyOf = "that person is in any of them"
	day, held := pays.day, pays.held
	if held != nil && !day.Unbounded && held.lost.GreaterThan(day.Epsilon) {
		why := ": former definitions, or users who were counted anew, cost more"
		if held.partial {
			why = ""
		}
		text := fmt.Sprintf("By the newest definitions one person loses at most %s in any 24 h, counting the windows "+
			"that end in it. Those that ended in the last 24 h cost at most %%s%s.", day.ForReaders(), why)
		all.Losses = append(all.Losses,
			newLoss("day", 0, "24h", cost.Loss{Spending: budget.Spending{Epsilon: held.lost, Delta: day.Delta}},
				text, anyOf))
	} else {
		all.Losses = append(all.Losses, newLoss("day", 0, "24h", day,
			"In any 24 h one person loses at most %s, counting the windows that end in it.", anyOf))
	}
	limit, per := cost.Loss{Spending: budget.Spending{Epsilon: b.Epsilon, Delta: b.Delta}}, config.Period(b.Per)
	if b.Per == 0 {
		all.Losses = append(all.Losses,
			newLoss("budget", 0, per, limit, "All windows together, for ever, cost one person at most %s.", anyOf))
	} else {
		stretch := pays.stretch
		later, partly := "", ""
		if stretch.Later {
			later = " with later ones in which that person counts instead"
		}
		if stretch.Partly {
			partly = ", and counts up to twice in a window or period that also holds other things of that person"
		}
		all.Losses = append(all.Losses,
			newLoss("budget", 0, per, limit, fmt.Sprintf("The windows that end in any %s cost one person at most %%s.",
				per), anyOf),
			newLoss("stretch", stretch.Windows, per, stretch.Lost,
				fmt.Sprintf("What one person does in any %s falls into up to %d windows%s. Together%s they cost at "+
					"most %%s.", per, stretch.Windows, partly, later), "that person did any of it"))
	}
	for _, of := range shared {
		if of.Topic == s.Input.Topic {
			all.Losses = append(all.Losses, newLoss("input", 0, "24h", of.Day,
				fmt.Sprintf("Budgets %s pay for the people of topic %s. Through all of them one person loses at most "+
					"%%s in any 24 h.", strings.Join(of.Budgets, ", "), of.Topic),
				"that person is in any of their windows"))
		}
	}
	return all
}

// payers returns the budgets of all streams.
func (a statements) payers(now time.Time) []cost.Payer {
	file := &config.File{Streams: a.streams}
	for _, s := range a.streams {
		if !slices.Contains(file.Budgets, s.Budget) {
			file.Budgets = append(file.Budgets, s.Budget)
		}
	}
	return file.Payers(now)
}

// ofWindows says what the figures of one window cost, and what those of all windows cost that one event falls into.
func ofWindows(s *config.Stream, pays cost.Payer, of cost.Stream) (all []loss) {
	if len(s.Price()) == 0 {
		return nil
	}
	one, several, alone := "One window costs", "they", ""
	if besides := config.Besides(s); besides != "" { // these describe every window too, at a cost of their own
		one, several, alone = "Beside its "+besides+", one window costs", "their figures", ", by these figures alone"
	}
	if n := of.Changed(1); n > 1 {
		all = append(all, newLoss("window", n, "", pays.Lost(of, n),
			fmt.Sprintf("What one person has in one window changes up to %d, for who does not count in it may count "+
				"in a later one. Together %s cost that person at most %%s.", n, several), "that person is in it"+alone))
	} else {
		all = append(all, newLoss("window", 1, "", pays.Lost(of, 1), one+" one person at most %s.",
			"that person is in it"+alone))
	}
	if n, changed, lost := pays.Event(of); n > 1 {
		sentence := fmt.Sprintf("One event puts its person into up to %d windows. Together %s cost that person at "+
			"most %%s.", n, several)
		if changed > n {
			sentence = fmt.Sprintf("One event puts its person into up to %d windows and changes up to %d, for who "+
				"does not count in them may count in later ones. Together %s cost that person at most %%s.", n,
				changed, several)
		}
		all = append(all, newLoss("event", changed, "", lost, sentence, "that person is in any of them"+alone))
	}
	return all
}

// beside says what each of the figures costs that the stream has beside its windows.
func beside(s *config.Stream) (all []loss) {
	for _, f := range s.Figures {
		switch kind := config.Kinds[f.Kind()]; {
		case kind.Finds:
			all = append(all, ofPeriods(f))
		case kind.Lasts:
			all = append(all, ofInstances(f, s.Budget.Limit))
		}
	}
	return all
}

// ofInstances says what an instance of a figure costs, such as a period of a running total.
func ofInstances(f config.Figure, limit budget.Limit) loss {
	c, about, kind := f.Cost(), f.About(), config.Kinds[f.Kind()]
	each, lasts := cost.Of(limit, c.Items), about.Lasts
	guess, what := "that person is in any of the windows "+about.Windows, kind.Title+" "+f.Heading().Name
	switch {
	case c.Per == config.PerPeriod:
		return newLoss(kind.Scope, 0, "", each, fmt.Sprintf("%s costs one person %%s %s, over all windows together. "+
			"A period of the budget touches up to %d of these.", what, lasts, c.AtMost), guess)
	case c.First != nil:
		return newLoss(kind.Scope, 0, "", cost.Of(limit, slices.Concat(c.Items, c.First)),
			fmt.Sprintf("%s costs one person %s %s, over all windows together, at most %s in a period of the budget. "+
				"The first time it costs %s more: at most %%s.", what, each.ForReaders(), lasts, times(c.AtMost),
				cost.Of(limit, c.First).ForReaders()), guess)
	}
	return newLoss(kind.Scope, 0, "", each, fmt.Sprintf("%s costs one person %%s %s, over all windows together, at "+
		"most %s in a period of the budget.", what, lasts, times(c.AtMost)), guess)
}

// ofPeriods says what a discovery of groups costs. Under max_windows, a person who does not count in a period may count
// in a later one.
func ofPeriods(f config.Figure) loss {
	c, h, changed := f.Cost(), f.Heading(), int64(1)
	names, period := "one name", config.Duration(f.About().Update)
	if h.Groups > 1 {
		names = fmt.Sprintf("up to %d names", h.Groups)
	}
	what := config.Kinds[f.Kind()].Title + " " + h.Name
	sentence := fmt.Sprintf("%s counts one person for %s in each period of %s, and publishes the names that many "+
		"share. This costs that person at most %%s.", what, names, period)
	if c.Cap != nil {
		changed = c.Cap.By.ChangedBy(1)
	}
	if changed > 1 {
		sentence = fmt.Sprintf("%s counts one person for %s in some of its periods of %s, and publishes the names "+
			"that many share. What that person sends in one period changes up to %d of them. Together they cost "+
			"that person at most %%s.", what, names, period, changed)
	}
	// with its own δ, and not with all of the budget's
	lost := cost.Of(budget.Limit{}, budget.Times(c.Items, changed))
	return newLoss(config.Kinds[f.Kind()].Scope, 0, period, lost, sentence, "that person is in the data of a period")
}

// times says how often: once, 3 times.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// newLoss puts a loss into words, with the digits that a reader needs; the fields have all of them. sentence has a
// place for the ε. guess says what may be guessed.
func newLoss(scope string, windows int64, per string, lost cost.Loss, sentence, guess string) loss {
	l := loss{Scope: scope, Epsilon: exactly(lost.Epsilon), Delta: exactly(lost.Delta), Right: lost.Right()}
	if windows > 0 {
		l.Windows = &windows
	}
	if per != "" {
		l.Per = &per
	}
	switch {
	case lost.Unbounded:
		l.Epsilon = nil
	case lost.Sum != nil && !lost.Sum.Equal(lost.Epsilon):
		l.Sum = exactly(*lost.Sum)
	}
	said := fmt.Sprintf(sentence, lost.ForReaders())
	l.Sentence = said + fmt.Sprintf(" Of 100 guesses whether %s, at most %d are right.", guess,
		l.Right)
	if !lost.Hides() {
		l.Sentence = said +
			fmt.Sprintf(" That is too much to hide whether %s: somebody who knows all the others can nearly "+
				"always tell.", guess)
	}
	return l
}

var (
	//go:embed statement.html
	statementHTML string
	//go:embed statement.css
	statementCSS []byte
)

var statementPage = template.Must(template.New("statement").Parse(statementHTML))

// forPeople is the statement about a stream for the people in the data.
type forPeople struct {
	statement
	Facts string
}

// wantsPage reports whether a client would rather have a page than JSON: browsers would.
func wantsPage(r *http.Request) bool {
	return goautoneg.Negotiate(r.Header.Get("Accept"), []string{"application/json", "text/html"}) == "text/html"
}

// answerPage sends the statements as a page in plain words.
func (a statements) answerPage(w http.ResponseWriter, r *http.Request, all []statement) error {
	var page []forPeople
	for _, s := range all {
		page = append(page, forPeople{s, facts(a.definition(s.Stream))})
	}
	var b bytes.Buffer
	if err := statementPage.Execute(&b, page); err != nil {
		return fmt.Errorf("the statement: %w", err)
	}
	answer(w, r, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// facts says in words what is counted of a person.
func facts(s *config.Stream) string {
	one, bounded := "One value of each person counts in a window", "Values count"
	switch s.Contribution {
	case windows.Sum:
		one, bounded = "The sum of each person's values counts in a window", "It counts"
	case windows.Count:
		one, bounded = "The number of each person's events counts in a window", "It counts"
	case windows.Mean:
		one, bounded = "The mean of each person's values counts in a window", "It counts"
	}
	switch {
	case len(s.Groups) > 1:
		one += fmt.Sprintf(", in at most %d of %d groups", s.MaxGroups, len(s.Groups))
	case s.Found != nil && s.MaxGroups == 1:
		one += ", in one of the groups that many people share"
	case s.Found != nil:
		one += fmt.Sprintf(", in at most %d of the groups that many people share", s.MaxGroups)
	}
	if where := codec.InWords(s.Input.Where); where != "" {
		one = fmt.Sprintf("Only events with %s count. ", where) + one
	}
	text := fmt.Sprintf("A window lasts %s. %s. %s from %s to %s %s.", config.Duration(s.Window.Size), one, bounded,
		s.Grid.Lower(), s.Grid.Upper(), s.Unit)
	if d := strings.TrimSuffix(s.Description, "."); d != "" {
		text = d + ". " + text
	}
	return strings.ReplaceAll(text, " .", ".")
}
