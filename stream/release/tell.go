package release

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// tell logs once that the budget withholds a stream's windows, or that an alarm, a figure on change or a running total
// is paused, and until when. It logs once that this is over. Finding out until when takes as long as deciding many
// windows, so that is done only once too.
func (cs *charges) tell(e ledger.Entry) {
	for _, s := range e.Continual {
		cs.tellStep(e, s)
	}
	if e.Discovery != nil {
		cs.tellDiscovery(e)
		return
	}
	key := "budget of stream " + e.Stream
	if e.Reason != record.BudgetExhausted {
		cs.Monitor.Episodes.Over(key, fmt.Sprintf("stream %s: budget %s can pay again", e.Stream, e.Budget))
		return
	}
	if cs.Monitor.Episodes.Lasts(key) {
		return
	}
	until := "until the stream ends"
	if end, ok := cs.own.fold.Books.PaidAgain(e); ok {
		until = "until " + clock(end)
	}
	cs.Monitor.Episodes.On(key, episode.Rule{},
		fmt.Sprintf("stream %s: budget %s exhausted %s; windows are withheld", e.Stream, e.Budget, until))
}

// tellDiscovery does the same for a discovery.
func (cs *charges) tellDiscovery(e ledger.Entry) {
	key := fmt.Sprintf("discovery %s of stream %s", e.Lane, e.Stream)
	if e.Reason == "" {
		cs.Monitor.Episodes.Over(key, fmt.Sprintf("stream %s: discovery %s is paid again", e.Stream, e.Lane))
		return
	}
	cs.Monitor.Episodes.On(key, episode.Rule{},
		fmt.Sprintf("stream %s: budget %s cannot pay for discovery %s; it finds nothing, and names on the "+
			"list grow old", e.Stream, e.Budget, e.Lane))
}

func (cs *charges) tellStep(e ledger.Entry, s ledger.Continual) {
	name, happened, again := "watch "+s.Name, "was armed", "looks again"
	switch {
	case s.Change != nil:
		name, happened, again = "release "+s.Name, "was drawn", "is published again"
	case s.Sums() != nil:
		name, again = "running total "+s.Name, "is published again"
	}
	key := fmt.Sprintf("%s of stream %s", name, e.Stream)
	if s.Looks() {
		cs.Monitor.Episodes.Over(key, fmt.Sprintf("stream %s: %s %s", e.Stream, name, again))
	}
	if s.Reason != record.BudgetExhausted || cs.Monitor.Episodes.Lasts(key) {
		return
	}
	pause, paused := cs.own.fold.Books.Paused(e, s)
	if !paused {
		return
	}
	cause := fmt.Sprintf("budget %s cannot pay for another instance of %s", e.Budget, name)
	if pause.AtMost {
		within := ""
		if e.Limit.Per != 0 {
			within = " in " + budget.FormatPer(e.Limit.Per)
		}
		cause = fmt.Sprintf("%s %s as often as at_most allows%s (%d)", name, happened, within, s.AtMost)
	}
	until := "until earlier instances no longer count"
	switch {
	case pause.Until != nil:
		until = "until " + clock(*pause.Until)
	case e.Limit.Per == 0:
		until = "for good"
	}
	cs.Monitor.Episodes.On(key, episode.Rule{}, fmt.Sprintf("stream %s: %s; it is withheld %s", e.Stream, cause, until))
}

// clock writes a moment. It adds the date if the moment is a day away or more: windows of a backlog are long over.
func clock(at time.Time) string {
	if time.Until(at).Abs() >= 24*time.Hour {
		return at.Format(time.DateTime)
	}
	return at.Format(time.TimeOnly)
}

// observe counts what an entry released and withheld.
func (w *worker) observe(e ledger.Entry) {
	if e.Incomplete {
		w.Metrics.Incomplete.WithLabelValues(e.Stream).Inc()
	}
	for _, of := range e.Continual {
		switch {
		case !of.Publishes(e):
		case of.HasValues() && of.Looks():
			w.Metrics.Releases.WithLabelValues(e.Stream).Add(float64(len(e.Groups)))
		case of.Reason == record.BudgetExhausted:
			w.Metrics.Withheld.WithLabelValues(e.Stream, of.Reason).Add(float64(len(e.Groups)))
		}
	}
	if d := e.Discovery; d != nil {
		if e.WindowEnd.Sub(e.WindowStart) < e.Every {
			w.Log.Info("a discovery has less than a whole period, because the stream's present definition began "+
				"within it: names need as many users in less time. A stream that is edited more often than that may "+
				"never find any", zap.String("stream", e.Stream), zap.String("discovery", e.Lane), zap.Time("began",
				e.WindowStart), zap.Duration("every", e.Every))
		}
		w.Log.Info("a discovery is decided", zap.String("stream", e.Stream), zap.String("discovery", e.Lane),
			zap.Time("window_end", e.WindowEnd), zap.Int("found", len(d.Found)), zap.Int("joined", len(d.Joined)),
			zap.Int("left", len(d.Left)), zap.Int64("listed", d.Listed), zap.String("reason", e.Reason))
	}
	if e.Reason != "" {
		w.Metrics.Withheld.WithLabelValues(e.Stream, e.Reason).Add(float64(len(e.Groups) * len(e.Releases)))
		return
	}
	for _, g := range e.Groups {
		for _, v := range g.Values {
			if v.Value == nil {
				w.Metrics.Withheld.WithLabelValues(e.Stream, g.Reason).Inc()
			} else {
				w.Metrics.Releases.WithLabelValues(e.Stream).Inc()
			}
		}
	}
}
