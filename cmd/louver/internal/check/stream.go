package check

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows"
)

// day is the stretch of time that all streams are compared by.
const day = 24 * time.Hour

// streamReport says what a stream costs and how good its figures will be.
type streamReport struct {
	Stream       string          `json:"stream"`
	Unit         string          `json:"unit"`
	Where        string          `json:"where"`
	Size         string          `json:"size"`
	Every        string          `json:"every"`
	Grace        string          `json:"grace"`
	Conditions   []string        `json:"conditions,omitempty"`
	Groups       int             `json:"groups"`
	MaxGroups    int             `json:"max_groups"`
	MaxWindows   *capReport      `json:"max_windows"`
	Budget       string          `json:"budget"`
	Expected     int64           `json:"expected_users"`
	Users        int64           `json:"users"` // the same
	Shape        string          `json:"shape,omitempty"`
	Epsilon      cli.Digits      `json:"epsilon_per_window"`
	Delta        cli.Digits      `json:"delta_per_window"`
	Overlap      int64           `json:"windows_per_event"`
	EventEpsilon cli.Digits      `json:"epsilon_per_event"`
	EventDelta   cli.Digits      `json:"delta_per_event"`
	Window       lossReport      `json:"window"`
	Day          *lossReport     `json:"day"`            // nil if windows are further apart
	Advanced     *lossReport     `json:"day_with_delta"` // nil if the budget has a δ, or if one saves nothing
	Releases     []releaseReport `json:"releases"`
	Free         []freeReport    `json:"free,omitempty"`
	Sums         []sumReport     `json:"sums,omitempty"`
	Choices      []choiceReport  `json:"choices,omitempty"`
	Watches      []watchReport   `json:"watches,omitempty"`
	OnChange     []changeReport  `json:"on_change,omitempty"`
	Totals       []totalReport   `json:"totals,omitempty"`
	Actives      []activeReport  `json:"active,omitempty"`
	Discoveries  []foundReport   `json:"discoveries,omitempty"`
	Others       []otherReport   `json:"others,omitempty"`
	ListOf       string          `json:"list_of,omitempty"` // the stream that finds the groups, if it is another one
	Series       int             `json:"series,omitempty"`  // at most, of a stream whose groups are found
	WatchEpsilon *cli.Digits     `json:"epsilon_of_watches,omitempty"`
	Backlog      *backlogReport  `json:"backlog"`

	besides                string // names what it has beside its windows
	conditions             string // which events count, in words; "" if all do
	adds                   string // what one user counts with, if that is all their events
	changed                int64  // how many windows an event changes
	window, event, watches cost.Loss
}

// capReport limits the windows in which one user counts. Stretches begin at other times for other users.
type capReport struct {
	Count int64   `json:"count"`
	Per   string  `json:"per"`
	Each  int64   `json:"each"`
	Block string  `json:"block"`
	Share float64 `json:"share"`
}

func newCapReport(m *config.MaxWindows) *capReport {
	return &capReport{m.By.AtMost(), config.Duration(m.Per), m.By.Most,
		config.Duration(time.Duration(m.By.Block) * m.By.Every()), min(1, float64(m.By.Most)/float64(m.By.Block))}
}

// print says in which windows or periods a user counts.
func (c *capReport) print(w *bytes.Buffer, indent, noun string) {
	first := "one"
	if c.Each > 1 {
		first = fmt.Sprint(c.Each)
	}
	cli.Fprintf(w, "%sone user counts in at most %s of any %s: in each stretch of %s, the first %s in which they "+
		"appear\n", indent, cli.Plural(c.Count, noun), c.Per, c.Block, first)
	if c.Share < 1 {
		cli.Fprintf(w, "%sof the users who are there in every %s, one in %.0f counts in each; those who come rarely "+
			"all count\n", indent, noun, math.Ceil(1/c.Share))
	}
}

// describeStream describes a stream that pays pays for.
func describeStream(s *config.Stream, pays cost.Payer, public forecast.Public, now time.Time) (*streamReport, error) {
	of := s.Cost(now)
	window, changed := pays.Lost(of, 1), of.Changed(1)
	x := &streamReport{Stream: s.Name, Unit: s.Unit, Where: s.Where, Size: config.Duration(s.Window.Size),
		Every: config.Duration(s.Window.Every), Grace: config.Duration(s.Window.Grace), Groups: len(s.Groups),
		MaxGroups: s.MaxGroups, Budget: s.Budget.Name, adds: addsText(s), Expected: public.Users, Users: public.Users,
		Epsilon: cli.NewDigits(window.Epsilon), Delta: cli.NewDigits(window.Delta), window: window,
		Window: newLossReport(pays.Lost(of, changed), changed), besides: config.Besides(s)}
	x.conditions = codec.InWords(s.Input.Where)
	for _, c := range s.Input.Where {
		x.Conditions = append(x.Conditions, c.String())
	}
	x.Overlap, x.changed, x.event = pays.Event(of)
	x.EventEpsilon, x.EventDelta = cli.NewDigits(x.event.Epsilon), cli.NewDigits(x.event.Delta)
	if s.MaxWindows != nil {
		x.MaxWindows = newCapReport(s.MaxWindows)
	}
	if public.Shape != nil {
		x.Shape = public.Shape.String()
	}
	for _, f := range s.Figures {
		if err := x.describe(s, f, public); err != nil {
			return nil, err
		}
	}
	var err error
	if x.Free, err = describeFree(s, public); err != nil {
		return nil, err
	}
	x.Sums = describeSums(s)
	if x.Choices, err = describeChoices(s, x, public); err != nil {
		return nil, err
	}
	x.describeGroups(s)
	if len(of.Watches) > 0 {
		x.watches = cost.Payer{Limit: pays.Limit, Streams: []cost.Stream{of}}.Watching()
		x.WatchEpsilon = inspect.EpsilonOf(x.watches)
	}
	x.describeDay(s, pays, now)
	return x, nil
}

// describe adds what is known of a figure before it is drawn. Of a kind that has no forecast of its own, that is what
// it costs. What is computed from a histogram is described together: see [describeFree].
func (s *streamReport) describe(of *config.Stream, f config.Figure, public forecast.Public) error {
	switch f := f.(type) {
	case *config.Release:
		r, err := describeRelease(of, f, public)
		s.Releases = append(s.Releases, r)
		return err
	case config.Adder:
		s.Totals = append(s.Totals, describeTotal(of, f, public.Users))
	case *config.Active:
		s.Actives = append(s.Actives, describeActive(of, f, public.Users))
	case *config.Watch:
		s.Watches = append(s.Watches, describeWatch(of, f, public.Users))
	case *config.Change:
		c, err := describeChange(of, f, public)
		s.OnChange = append(s.OnChange, c)
		return err
	case *config.Discovery:
		s.Discoveries = append(s.Discoveries, describeDiscovery(f))
	default:
		if f.Cost().Per != config.PerNothing {
			s.Others = append(s.Others, describeOther(of, f))
		}
	}
	return nil
}

// otherReport describes a figure of which nothing is foretold but its cost.
type otherReport struct {
	Release   string     `json:"release"`
	Kind      string     `json:"kind"`
	Statistic string     `json:"statistic"`
	Mechanism string     `json:"mechanism"`
	Epsilon   cli.Digits `json:"epsilon"`
	AtMost    int64      `json:"at_most"`
	Worst     cli.Digits `json:"epsilon_at_most"`

	each, worst cost.Loss // of a charge, and of all that count in a period of the budget
}

func describeOther(s *config.Stream, f config.Figure) otherReport {
	c, series := f.Cost(), f.Series()[0]
	x := otherReport{Release: f.Heading().Name, Kind: config.Kinds[f.Kind()].Noun, Statistic: series.Statistic,
		Mechanism: series.Mechanism, AtMost: c.AtMost, each: cost.Of(s.Budget.Limit, c.Items),
		worst: cost.Of(s.Budget.Limit, c.Most())}
	x.Epsilon, x.Worst = cli.NewDigits(x.each.Epsilon), cli.NewDigits(x.worst.Epsilon)
	return x
}

// print writes what the figure costs.
func (x otherReport) print(w *bytes.Buffer) {
	cli.Fprintf(w, "  %s %s (%s by %s)\n    costs one user %s at a time, at most %s in a period of the budget: at "+
		"most %s\n", x.Kind, x.Release, x.Statistic, x.Mechanism, x.each, cli.Plural(x.AtMost, "time"), x.worst)
}

// describeDay says what the stream alone costs in any 24 hours.
func (s *streamReport) describeDay(of *config.Stream, pays cost.Payer, now time.Time) {
	if day/of.Window.Every <= 1 {
		return
	}
	windows := of.Cost(now).Counts(day)
	pays.Streams = []cost.Stream{of.Cost(now)}
	lost := pays.InAnyDay()
	s.Day = new(newLossReport(lost, windows))
	if pays.Delta.IsZero() {
		pays.Epsilon, pays.Delta = decimal.Zero, cost.Suggested // whatever its ε will be
		pays.Streams = []cost.Stream{of.CostWithDelta(now)}
		if less := pays.InAnyDay(); less.Epsilon.LessThan(lost.Epsilon) {
			s.Advanced = new(newLossReport(less, windows))
		}
	}
}

func (s *streamReport) print(w *bytes.Buffer, width int) error {
	s.printWindows(w)
	s.printLosses(w)
	s.printFound(w)
	s.Backlog.print(w)
	if len(s.Releases) > 0 {
		head, rows := tableOf(s.Releases, s.Unit, s.MaxGroups > 1, s.Shape != "", s.Users > 0)
		fmt.Fprintln(w)
		if err := cli.WriteTable(w, width, head, rows); err != nil {
			return err
		}
	}
	printFree(w, s.Free, s.Users)
	for _, x := range s.Sums {
		x.print(w)
	}
	if s.Shape != "" && s.Users > 0 {
		fmt.Fprintln(w, "  Errors are distances from the statistic of the users who took part, not from that of the "+
			"shape.")
		if slices.ContainsFunc(s.Releases, func(r releaseReport) bool { return r.scatters }) {
			fmt.Fprintln(w, "  The record's band of a median or quantile will be about twice that: it follows from "+
				"the published values alone.")
		}
	}
	for _, c := range s.Choices {
		if err := c.print(w, width, s.Unit); err != nil {
			return err
		}
	}
	for _, r := range s.Releases {
		if r.Needs != nil {
			cli.Fprintf(w, "  %s: with a probability of 95 %%, an error of at most %s.\n", r.Release,
				r.Needs.text(r.Epsilon, s.Users))
		}
	}
	for _, x := range s.Actives {
		fmt.Fprintln(w)
		x.print(w, s.Users)
	}
	for _, x := range s.Totals {
		fmt.Fprintln(w)
		x.print(w, s.Users)
	}
	for _, x := range s.Free {
		if x.SLO == nil {
			continue
		}
		fmt.Fprintln(w)
		if err := x.SLO.print(w, width, s.Users); err != nil {
			return err
		}
	}
	for _, x := range s.OnChange {
		fmt.Fprintln(w)
		x.print(w, s.Unit, s.Users)
	}
	for _, x := range s.Watches {
		fmt.Fprintln(w)
		x.print(w, s.Users)
	}
	for _, x := range s.Others {
		fmt.Fprintln(w)
		x.print(w)
	}
	fmt.Fprintln(w)
	return nil
}

// printWindows says which windows there are, and who is in them.
func (s *streamReport) printWindows(w *bytes.Buffer) {
	windows := "windows of " + s.Size
	if s.Every != s.Size {
		windows += ", one every " + s.Every
	}
	if s.Stream == "" {
		fmt.Fprintln(w, windows)
	} else {
		cli.Fprintf(w, "stream %s (%s)\n  %s, drawn %s after they end\n", s.Stream, s.Where, windows, s.Grace)
	}
	if s.conditions != "" {
		cli.Fprintf(w, "  counts only events with %s; others are skipped\n", s.conditions)
	}
	if s.Users > 0 {
		who := "expected"
		if s.MaxWindows != nil {
			who = "expected to count"
		}
		cli.Fprintf(w, "  %s %s in a window and group\n", users(s.Users), who)
	}
	if s.Shape != "" {
		cli.Fprintf(w, "  values like %s\n", s.Shape)
	}
}

// addsText says what one user counts with, if that is all their events together; else "".
func addsText(s *config.Stream) string {
	what := map[windows.Policy]string{windows.Sum: "the sum of their values", windows.Mean: "the mean of their values",
		windows.Count: "the number of their events"}[s.Contribution]
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s in a window, from %s to %s", what, s.Grid.Lower(),
		cli.WithUnit(s.Grid.Upper().String(), s.Unit))
}

// printLosses says in what one user counts, and what they can lose at most.
func (s *streamReport) printLosses(w *bytes.Buffer) {
	groups := cli.Sprintf("%d of %d groups", s.MaxGroups, s.Groups)
	switch s.Groups {
	case 1:
		groups = "the one group"
	case 0:
		groups = cli.Plural(s.MaxGroups, "group")
	}
	if s.adds != "" {
		cli.Fprintf(w, "  one user counts with %s\n", s.adds)
	}
	cli.Fprintf(w, "  one user counts in %s", groups)
	if len(s.Releases) > 0 {
		cli.Fprintf(w, " and can lose %s in a window", s.window)
	}
	if s.Budget != "" {
		cli.Fprintf(w, "; budget %s pays", s.Budget)
	}
	fmt.Fprintln(w)
	if n := s.Window.Windows; n > 1 && len(s.Releases) > 0 {
		cli.Fprintf(w, "  what one user sends in one window changes up to %d, because without it they may count in a "+
			"later one: at most %s\n", n, s.Window.lost)
	}
	if len(s.Releases) > 0 {
		cli.Fprintf(w, "    %s\n", s.Window.lost.Odds("you were in that window"))
	}
	if s.MaxWindows != nil {
		s.MaxWindows.print(w, "  ", "window")
	}
	if s.Overlap > 1 && len(s.Releases) > 0 {
		later := ""
		if s.changed > s.Overlap {
			later = " together with later ones in which that user counts instead,"
		}
		cli.Fprintf(w, "  one event puts its user into up to %d windows,%s which cost that user at most %s\n",
			s.Overlap, later, s.event)
	}
	switch {
	case s.besides != "" && s.watches.Unbounded:
		cli.Fprintf(w, "  its %s cost one user more with each period, besides the windows\n", s.besides)
	case s.besides != "":
		cli.Fprintf(w, "  its %s cost one user at most %s in a period of the budget, besides the windows\n",
			s.besides, s.watches)
	}
}

// backlogReport describes the windows that are over before the stream first runs.
type backlogReport struct {
	Since   time.Time   `json:"since"`
	Windows int64       `json:"windows"`
	Paid    *int64      `json:"paid"` // nil if they are too many to count
	Epsilon *cli.Digits `json:"epsilon"`

	lost cost.Loss
}

// describeBacklog returns nil if no window is over.
func describeBacklog(s *config.Stream, b cost.Backlog) *backlogReport {
	if b.Windows == 0 {
		return nil
	}
	x := &backlogReport{Since: time.Unix(0, s.Window.Start).UTC(), Windows: b.Windows, Paid: b.Paid, lost: b.Lost}
	if b.Paid != nil {
		x.Epsilon = inspect.EpsilonOf(b.Lost)
	}
	return x
}

func (b *backlogReport) print(w *bytes.Buffer) {
	if b == nil {
		return
	}
	cli.Fprintf(w, "  it starts at %s: %s already over, to be released at once\n",
		b.Since.Format(time.RFC3339), cli.Plural(b.Windows, "window"))
	switch {
	case b.Paid == nil:
		fmt.Fprintln(w, "  the budget cannot pay for all of them and withholds the others")
	case b.lost.Epsilon.IsZero(): // the stream has only what is not charged by the window, such as running totals
	case *b.Paid == b.Windows:
		cli.Fprintf(w, "  in total they cost a user %s\n", b.lost)
	default:
		cli.Fprintf(w, "  the budget pays for %d of them, which cost a user %s in total, and withholds %d\n",
			*b.Paid, b.lost, b.Windows-*b.Paid)
	}
}
