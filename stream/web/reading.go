package web

import (
	"encoding/json"
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

// reading holds the lasting failures.
type reading struct{ failing map[string]time.Time }

// settling is how long a failure lasts before it is reported: a leader that moves is back within moments.
const settling = 3 * time.Second

// Reading says whether the output topics can be read now.
func (s *Store) Reading() Reading {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := Reading{OK: true}
	for _, since := range s.reading.failing {
		if time.Since(since) >= settling && (r.OK || since.Before(*r.Since)) {
			r.OK, r.Since = false, new(since.UTC().Truncate(time.Second))
		}
	}
	return r
}

// Retrying makes hooks for an outputs.Reader. They note failures, and pass them on to the hooks that hear makes.
func (s *Store) Retrying(hear func(problem, solved string) func(error)) func(problem, solved string) func(error) {
	return func(problem, solved string) func(error) {
		pass := hear(problem, solved)
		return func(err error) {
			pass(err)
			s.fails(problem, err != nil)
		}
	}
}

func (s *Store) fails(problem string, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading.failing == nil {
		s.reading.failing = map[string]time.Time{}
	}
	_, known := s.reading.failing[problem]
	switch {
	case fails && !known:
		s.reading.failing[problem] = time.Now()
	case !fails && known:
		delete(s.reading.failing, problem)
		s.tell()
	}
}
