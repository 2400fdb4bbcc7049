package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
)

// statement says what a stream can reveal about one person. Its JSON names are public.
type statement struct {
	Stream string `json:"stream"`
	Losses []loss `json:"losses"`
}

// loss is the most that one person can lose through some windows.
type loss struct {
	// Scope says which windows: the figures of one `window`, all that one instance of a `watch` looks at, those that one `event` falls into, those of the stream's budget that end in a
	// `day`, those that the `budget` pays in its period, or those that overlap a `stretch` of time as long as that period.
	// Under max_windows, `window`, `event` and `stretch` are with the later windows in which the person counts instead.
	Scope   string `json:"scope"`
	Windows *int64 `json:"windows"`
	// Per is the period, such as 24h, or forever; null if there is none.
	Per     *string `json:"per"`
	Epsilon any     `json:"epsilon"`
	Delta   any     `json:"delta"`
	// Right is how many of 100 guesses can be right, at most, about whether a person is in the data.
	Right    int64  `json:"right_of_100"`
	Sentence string `json:"sentence"`
}

// statements answers with what one person can lose.
func (h *handler) statements(w http.ResponseWriter, r *http.Request) error {
	want, err := h.wanted(r)
	if err != nil {
		return err
	}
	all := []statement{}
	for _, s := range h.Streams {
		if len(want.streams) == 0 || slices.Contains(want.streams, s.Name) {
			all = append(all, h.statement(s))
		}
	}
	if len(all) == 0 && len(want.streams) > 0 {
		return &problem{http.StatusNotFound, fmt.Sprintf("stream %q is in no streams file that this server has; its records do not say what one person can lose", want.streams[0])}
	}
	return answerJSON(w, r, struct {
		Streams []statement `json:"streams"`
	}{all})
}

func (h *handler) statement(s *config.Stream) statement {
	all := statement{Stream: s.Name, Losses: []loss{}}
	one, several, alone := "One window costs", "they", ""
	if besides := config.Besides(s); besides != "" { // these tell of every window too, at a cost of their own
		one, several, alone = "Beside its "+besides+", one window costs", "their figures", ", by these figures alone"
	}
	if n := s.Changed(1); len(s.Releases) > 0 && n > 1 {
		all.Losses = append(all.Losses, newLoss("window", n, "", s.Lost(n),
			fmt.Sprintf("What one person has in one window changes up to %d, for who does not count in it may count in a later one. Together %s cost that person at most %%s.", n, several), "that person is in it"+alone))
	} else if len(s.Releases) > 0 {
		all.Losses = append(all.Losses, newLoss("window", 1, "", s.Lost(1), one+" one person at most %s.", "that person is in it"+alone))
	}
	if n := s.Window.Overlapping(0); n > 1 && len(s.Releases) > 0 {
		sentence := fmt.Sprintf("One event falls into up to %d windows. Together %s cost its person at most %%s.", n, several)
		changed := s.Changed(n)
		if changed > n {
			sentence = fmt.Sprintf("One event falls into up to %d windows and changes up to %d, for who does not count in them may count in later ones. Together %s cost its person at most %%s.", n, changed, several)
		}
		all.Losses = append(all.Losses, newLoss("event", changed, "", s.Lost(changed), sentence, "that person is in any of them"+alone))
	}
	for _, w := range s.OnChange() {
		each, first := budget.Limit{}.Compose(w.Price()), budget.Limit{}.Compose(w.First())
		all.Losses = append(all.Losses, newLoss("watch", 0, "", budget.Limit{}.Compose(append(w.Price(), w.First()...)),
			fmt.Sprintf("Release %s costs one person ε %s until it changes, over all windows together, at most %s in a period of the budget. The first time it costs ε %s more: at most %%s.",
				w.Name, each.Epsilon, times(w.AtMost), first.Epsilon),
			"that person is in any of the windows until it changes"))
	}
	for _, w := range s.Alarms() {
		all.Losses = append(all.Losses, newLoss("watch", 0, "", budget.Limit{}.Compose(w.Price()),
			fmt.Sprintf("Watch %s costs one person %%s from arming to firing, over all windows together, at most %s in a period of the budget.", w.Name, times(w.AtMost)),
			"that person is in any of the windows from arming to firing"))
	}
	b, per := s.Budget, budget.FormatPer(s.Budget.Per)
	limit := budget.Spending{Epsilon: b.Epsilon, Delta: b.Delta}
	inAnyDay := (&config.File{Streams: h.Streams}).InAnyDay(b, h.now())
	all.Losses = append(all.Losses, newLoss("day", 0, "24h", inAnyDay, "In any 24 h one person loses at most %s, counting the windows that end in it.", "that person is in any of them"))
	if b.Per == 0 {
		all.Losses = append(all.Losses, newLoss("budget", 0, per, limit, "All windows together, for ever, cost one person at most %s.", "that person is in any of them"))
		return all
	}
	var streams []*config.Stream
	for _, o := range h.Streams {
		if o.Budget == b {
			streams = append(streams, o)
		}
	}
	n, stretch := b.Stretch(streams)
	later := ""
	if slices.ContainsFunc(streams, func(s *config.Stream) bool { return s.Changed(1) > 1 }) {
		later = " with later ones in which that person counts instead"
	}
	all.Losses = append(all.Losses,
		newLoss("budget", 0, per, limit, "The windows that end in any "+per+" cost one person at most %s.", "that person is in any of them"),
		newLoss("stretch", n, per, stretch, fmt.Sprintf("What one person does in any %s falls into up to %d windows. Together%s they cost at most %%s.", per, n, later), "that person is in any of them"))
	return all
}

// times says how often: once, 3 times.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// newLoss puts a loss into words. cost is a sentence with a place for ε; guess says what may be guessed.
func newLoss(scope string, windows int64, per string, lost budget.Spending, cost, guess string) loss {
	l := loss{Scope: scope, Epsilon: exactly(lost.Epsilon), Delta: exactly(lost.Delta), Right: int64(math.Ceil(100*lost.Guess() - 1e-9))}
	if windows > 0 {
		l.Windows = &windows
	}
	if per != "" {
		l.Per = &per
	}
	text := "ε " + lost.Epsilon.String()
	if !lost.Delta.IsZero() {
		text += ", δ " + lost.Delta.String()
	}
	if lost.Unbounded {
		l.Epsilon, text = nil, "no amount that can be stated"
	}
	l.Sentence = fmt.Sprintf(cost, text) + fmt.Sprintf(" Of 100 guesses whether %s, at most %d are right.", guess, l.Right)
	if l.Right >= 100 {
		l.Sentence = fmt.Sprintf(cost, text) + fmt.Sprintf(" That is too much to hide whether %s: somebody who knows all the others can nearly always tell.", guess)
	}
	return l
}
