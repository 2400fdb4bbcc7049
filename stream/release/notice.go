package release

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/stream/release/decide"
)

// tell logs and counts what a core wants people to know.
func (w *worker) tell(notices []decide.Notice) {
	for _, n := range notices {
		switch n := n.(type) {
		case decide.Line:
			fields := make([]zap.Field, len(n.Fields))
			for i, f := range n.Fields {
				fields[i] = zap.Any(f.Name, f.Value)
			}
			w.Log.Log(levels[n.Level], n.Text, fields...)
		case decide.Lasting:
			w.Monitor.Episodes.On(n.Key, episode.Rule{Every: n.Every}, n.Text)
		case decide.Over:
			w.Monitor.Episodes.Over(n.Key, n.Text)
		case decide.Decided:
			w.observe(n.Entry)
		case decide.Clipped:
			w.Metrics.Clamped.WithLabelValues(n.Stream).Add(float64(n.Beyond))
		case decide.Merged:
			w.Metrics.MergePasses.WithLabelValues(n.Stream).Add(float64(n.Passes))
		case decide.Tallied:
			w.Metrics.GroupNames.WithLabelValues(n.Stream, n.Discovery).Set(float64(n.Names))
			w.Metrics.DiscoveryReadings.WithLabelValues(n.Stream, n.Discovery).Set(float64(n.Readings))
		case attendance.Loss:
			w.tellLoss(n)
		}
	}
}

var levels = map[decide.Level]zapcore.Level{decide.Info: zap.InfoLevel, decide.Warn: zap.WarnLevel,
	decide.Error: zap.ErrorLevel}

// tellLoss says that a tracker has started over.
func (w *worker) tellLoss(of attendance.Loss) {
	if of.Of != nil {
		w.Metrics.TotalRestarts.WithLabelValues(of.Stream).Inc()
		kind := config.Kinds[of.Of.Kind()]
		w.Log.Error(fmt.Sprintf("it is no longer known %s, because parts or snapshots of earlier windows are lost: the "+
			"%s begins anew with the next window, and is charged again, or withheld if the budget cannot pay",
			kind.Remembers, kind.Noun), zap.String("stream", of.Stream),
			zap.String("release", of.Of.Heading().Name), zap.Time("since", of.At))
		return
	}
	w.Metrics.Recounts.WithLabelValues(of.Stream).Inc()
	fields := []zap.Field{zap.String("stream", of.Stream), zap.Time("window_start", of.At)}
	if of.Discovery != "" {
		fields = append(fields, zap.String("discovery", of.Discovery))
	}
	w.Log.Error("it is no longer known how often users have counted, because parts or snapshots of earlier windows "+
		"are lost: max_windows begins anew with the next window, and what it costs adds to the cost of earlier windows",
		fields...)
}

// timed measures how long draws take.
func (w *worker) timed(statistic string) (done func()) {
	began := time.Now()
	return func() { w.Metrics.DrawDuration.WithLabelValues(statistic).Observe(time.Since(began).Seconds()) }
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

// gauge says how many users have counted in totals.
func (s *session) gauge() {
	s.core.EachOngoing(func(stream, name string, users int) {
		s.Metrics.TotalUsers.WithLabelValues(stream, name).Set(float64(users))
	})
}

// forgetTotals drops the gauges of totals when the session ends: their users are no longer remembered here.
func (s *session) forgetTotals() {
	s.core.EachOngoing(func(stream, name string, _ int) { s.Metrics.TotalUsers.DeleteLabelValues(stream, name) })
}
