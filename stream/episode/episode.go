// Package episode logs a lasting condition in a few lines: one when it begins, one now and then while it lasts, and one
// when it is over, which says how long it took.
//
// zap's own sampler is not enough. It limits how often a message is written, but it does not notice the end, shows no
// count, and cannot wait to see whether a failure passes by itself.
package episode

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

// Log writes the lines. It is safe for concurrent use.
type Log struct {
	log  *zap.Logger
	mu   sync.Mutex
	open map[string]*episode
}

// Rule says when the lines of an episode are written.
type Rule struct {
	// After is how long a condition must last before its first line. A shorter one leaves no line.
	After time.Duration
	// Every is the time between lines while it lasts. 0 means only the first line and the last.
	Every time.Duration
	// Count lets later lines say how often it was reported since the line before.
	Count bool
	// Lapse ends an episode without a line when nothing has reported it for this long. 0 means that it ends only when
	// it is over.
	Lapse time.Duration
}

type episode struct {
	began, heard time.Time
	line         time.Time // when the last line was written; zero: none yet
	times        int       // reports since then
}

// New makes a Log that writes to l.
func New(l *zap.Logger) *Log { return &Log{log: l, open: map[string]*episode{}} }

// On reports that the condition with this key holds. Its lines are warnings. Every line after the first says how long
// it has lasted.
func (l *Log) On(key string, rule Rule, message string, fields ...zap.Field) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	e := l.open[key]
	if e == nil || rule.Lapse > 0 && now.Sub(e.heard) > rule.Lapse {
		e = &episode{began: now}
		l.open[key] = e
	}
	e.heard = now
	e.times++
	switch {
	case e.line.IsZero():
		if now.Sub(e.began) < rule.After {
			return
		}
	case rule.Every == 0 || now.Sub(e.line) < rule.Every:
		return
	default:
		fields = append(fields[:len(fields):len(fields)], zap.Stringer("for", Round(now.Sub(e.began))))
		if rule.Count {
			fields = append(fields, zap.Int("times", e.times))
		}
	}
	e.line, e.times = now, 0
	l.log.Warn(message, fields...)
}

// Lasts says whether an episode has begun and is not over, for those whose message takes long to make.
func (l *Log) Lasts(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[key] != nil
}

// Over reports that it is over. Its line says how long it lasted. If there was no first line, there is none now.
func (l *Log) Over(key, message string, fields ...zap.Field) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.open[key]
	delete(l.open, key)
	if e != nil && !e.line.IsZero() {
		l.log.Info(message,
			append(fields[:len(fields):len(fields)], zap.Stringer("after", Round(time.Since(e.began))))...)
	}
}

// Forget ends an episode without a line.
func (l *Log) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, key)
}

// Failing is the rule for failures that are retried. Most pass within seconds; the first transaction on a busy new
// cluster takes a little longer.
var Failing = Rule{After: 20 * time.Second, Every: time.Minute, Count: true, Lapse: time.Minute}

// Refused is the rule for retries that fail until an operator grants a right.
var Refused = Rule{After: 2 * time.Second, Every: time.Minute, Count: true, Lapse: time.Minute}

// Retrying makes a hook for [github.com/louver/louver/stream/kafka/kafkaconn.Retry]: it takes each failure, and nil at
// the end. problem is also the key of the episode.
func (l *Log) Retrying(problem, solved string) func(error) {
	return func(err error) {
		if err == nil {
			l.Over(problem, solved)
			return
		}
		l.On(problem, Failing, problem, zap.Error(err))
	}
}

// Round rounds a duration for people to read: to whole seconds, or to less if it is below one second.
func Round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
