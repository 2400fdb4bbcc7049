package main

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
