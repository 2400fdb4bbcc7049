package service

import (
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/outputs"
)

// arrivals tells what is published after a service has begun: how many windows that were over before, and then the
// first figures of a later one. It is safe for concurrent use.
type arrivals struct {
	log   *zap.Logger
	begun time.Time         // by the clock by which windows close
	topic map[string]string // of the figures of each stream

	mu     sync.Mutex
	past   map[pastWindow]bool // those not told of yet; true: some figure of it is useful
	judged bool                // some of their figures have a quality: without users nobody can tell noise
	last   time.Time           // when the last of them came
	told   time.Time           // when they were last told of
	quiet  *time.Timer         // until they are told of
	// greeted are the streams whose first figures need no more words. After an edit, those of a new stream do.
	greeted map[string]bool
}

type pastWindow struct {
	stream string
	end    int64
}

const (
	// settled is how long after the last past window they are told of, and tellPast how often while more come.
	settled  = 3 * time.Second
	tellPast = 30 * time.Second
)

// newArrivals begins at a time of the clock by which windows close. topic is where the figures of each stream go.
// greeted outlives it: the next service of this process, after an edit, takes it over. It is nil if there is none.
func newArrivals(log *zap.Logger, begun time.Time, topic map[string]string, greeted map[string]bool) *arrivals {
	if greeted == nil {
		greeted = map[string]bool{}
	}
	return &arrivals{log: log, begun: begun, told: time.Now(), topic: topic, past: map[pastWindow]bool{},
		greeted: greeted}
}

// add notes a figure that was just published.
func (a *arrivals) add(r outputs.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.DueAt.After(a.begun) {
		a.tell() // first what was before
		if topic, ours := a.topic[r.Stream]; ours && !a.greeted[r.Stream] {
			for stream := range a.topic { // the others' follow, and need no line each
				a.greeted[stream] = true
			}
			a.log.Info("the first figures are out: louver watch prints them", zap.String("stream", r.Stream),
				zap.Time("window_end", r.WindowEnd), zap.String("topic", topic))
		}
		return
	}
	w := pastWindow{r.Stream, r.WindowEnd.UnixNano()}
	a.judged = a.judged || r.Quality != ""
	a.past[w] = a.past[w] || r.Value != nil && mechanisms.Quality(r.Quality) == mechanisms.Useful
	a.last = time.Now()
	if a.last.Sub(a.told) >= tellPast {
		a.tell()
		return
	}
	if a.quiet == nil {
		a.quiet = time.AfterFunc(settled, a.settle)
	}
	a.quiet.Reset(settled)
}

// settle tells of past windows when no more have come for a while.
func (a *arrivals) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

// tell tells of past windows, if there are any. The lock is held.
func (a *arrivals) tell() {
	if a.quiet != nil {
		a.quiet.Stop()
	}
	if len(a.past) == 0 {
		return
	}
	with := ""
	if a.judged {
		with = usefulOf(a.past)
	}
	a.log.Info(fmt.Sprintf("%s published within %s%s: louver watch prints them", cli.Plural(len(a.past), "past window"),
		episode.Round(max(a.last.Sub(a.told), time.Second)), with))
	clear(a.past)
	a.told, a.judged = a.last, false
}

// usefulOf says how many windows have a useful figure. A figure that is merely no noise does not count, since chance
// makes some: the noise of nobody at all goes beyond error_95 in one of 40 counts, and a window has many figures. A
// useful count is ten times its error. That much noise comes with a probability of e^−30/2 from discrete Laplace noise,
// whose error is three times its scale, and less from Gaussian noise. A useful mean, quantile or share needs a count,
// or a histogram, that is above its noise, and a band that is narrow for so few users.
func usefulOf(windows map[pastWindow]bool) string {
	useful := 0
	for _, good := range windows {
		if good {
			useful++
		}
	}
	switch useful {
	case 0:
		return ", none with a useful figure"
	case len(windows):
		return ", with useful figures"
	}
	return fmt.Sprintf(", %s with useful figures", humanize.Comma(int64(useful)))
}

// end stops the timer.
func (a *arrivals) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.quiet != nil {
		a.quiet.Stop()
	}
}
