package web

import (
	"encoding/json"
	"sync"
	"time"
)

// Reading says whether the output topics can be read.
type Reading struct {
	OK bool `json:"ok"`
	// Since is when they could last be read; nil while they can.
	Since *time.Time `json:"since"`
}

func (r Reading) same(o Reading) bool {
	return r.OK == o.OK && (r.Since == nil || o.Since == nil || r.Since.Equal(*o.Since))
}

func (r Reading) json() []byte {
	text, _ := json.Marshal(r) // of a bool and a time: never fails
	return text
}

// reading holds the lasting failures. It is safe for concurrent use.
type reading struct {
	mu      sync.Mutex
	failing map[string]time.Time
}

// settling is how long a failure lasts before it is reported. A leader that moves is back within moments.
const settling = 3 * time.Second

// now says whether the output topics can be read now.
func (f *reading) now() Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := Reading{OK: true}
	for _, since := range f.failing {
		if time.Since(since) >= settling && (r.OK || since.Before(*r.Since)) {
			r.OK, r.Since = false, new(since.UTC().Truncate(time.Second))
		}
	}
	return r
}

// note notes that something fails, or works. It reports whether a failure has ended.
func (f *reading) note(problem string, fails bool) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil {
		f.failing = map[string]time.Time{}
	}
	_, known := f.failing[problem]
	switch {
	case fails && !known:
		f.failing[problem] = time.Now()
	case !fails && known:
		delete(f.failing, problem)
		return true
	}
	return false
}
