package ledger

import (
	"maps"
	"slices"
	"time"
)

// priorWindows is how many windows there are between two fresh starts of adaptive learning.
const priorWindows = 512

// LearnsFrom returns the first window from which the draws of a window learn. Windows are numbered from 1970. At every
// 512th window the draws forget all but the 512 windows before it. So learning takes a bounded time, and a worker that
// has run for a year has learnt the same as one that has just read the ledger.
func LearnsFrom(window int64) int64 { return window - window%priorWindows - priorWindows }

// Lately is what streams have published lately: everything that their next draws may learn from. It is a fold of the
// entries of a partition, in the order of the ledger. It is not safe for concurrent use.
type Lately struct {
	streams map[string]*recent
	entries int64
}

// recent holds what a stream has published lately, in the order of the ledger.
type recent struct {
	windows  []Past
	every    time.Duration
	released time.Time // when its last entry was made
}

// NewLately begins before the first entry of a partition.
func NewLately() *Lately { return &Lately{streams: map[string]*recent{}} }

// Of lists what a stream has published lately, in the order of the ledger.
func (l *Lately) Of(stream string) []Past {
	if r := l.streams[stream]; r != nil {
		return r.windows
	}
	return nil
}

// Add adds what the next entry published.
func (l *Lately) Add(e Entry) {
	l.keep(e)
	if l.entries++; l.entries%forgetEvery == 0 {
		l.forget()
	}
}

// keep adds an entry of a stream whose draws have learnt. Entries of other streams are not kept.
func (l *Lately) keep(e Entry) {
	r := l.streams[e.Stream]
	switch {
	case e.Row != "": // nothing learns from it
		return
	case e.unlisted(): // what was learnt of any group ends here
		if r == nil {
			return
		}
	case e.Reason == "" && e.Prior == nil:
		delete(l.streams, e.Stream)
		return
	case r == nil && e.Reason != "":
		return
	case r == nil:
		r = &recent{}
		l.streams[e.Stream] = r
	}
	var names *series
	if n := len(r.windows); n > 0 {
		names = r.windows[n-1].of
	}
	p := newPast(e, names)
	r.windows, r.every, r.released = append(r.windows, p), e.Every, e.ReleasedAt
	if from := r.from(p.End); r.windows[0].End < from {
		r.windows = slices.DeleteFunc(r.windows, func(p Past) bool { return p.End < from })
	}
}

// from returns the end of the first window from which the draws of the window with this end learn.
func (r *recent) from(end int64) int64 { return LearnsFrom(end/int64(r.every)) * int64(r.every) }

// forget drops what long-ended streams published: nothing learns from it any more.
func (l *Lately) forget() {
	var newest time.Time
	for _, r := range l.streams {
		if r.released.After(newest) {
			newest = r.released
		}
	}
	maps.DeleteFunc(l.streams, func(_ string, r *recent) bool { return newest.Sub(r.released) > forgetAfter })
}
