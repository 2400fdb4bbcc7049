package main

import "time"

// session holds the settings of a run of experiments.
type session struct {
	folder    string
	quick     bool
	vertebral string
	log       func(format string, arguments ...any)
}

// reps returns how often to repeat an experiment.
func (s *session) reps(usual, quick int) int {
	if s.quick {
		return quick
	}
	return usual
}

// clock returns how long one draw takes, in microseconds.
func (s *session) clock(draw func() error) (float64, error) {
	start, draws := time.Now(), 0
	for ; time.Since(start) < time.Duration(s.reps(50, 1))*time.Millisecond; draws++ {
		if err := draw(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Microseconds()) / float64(draws), nil
}
