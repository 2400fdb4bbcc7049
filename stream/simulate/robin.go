package simulate

import (
	"math/rand/v2"
	"time"
)

// Robin is the user whose presence in a window the viewer of the demo may guess. A fair coin decides on it, so that
// nothing helps to guess but what is released.
const (
	Robin       = "eu-robin"
	robinRegion = "eu"
)

// Spell is how long a coin holds: in a spell, a multiple of ten seconds since 1970, Robin calls once or not at all.
const Spell = 10 * time.Second

// robins keeps Robin's draws apart from the others.
const robins = 0x726f62696e

// RobinCalls says whether Robin calls in the spell that contains at.
func (s *Service) RobinCalls(at time.Time) bool {
	_, calls := s.robin(at)
	return calls
}

// robin tosses the coin of the spell that contains at and says when Robin calls.
func (s *Service) robin(at time.Time) (when time.Time, calls bool) {
	spell := at.UTC().Truncate(Spell)
	random := rand.New(rand.NewPCG(s.seed^robins, uint64(spell.UnixNano())))
	return spell.Add(time.Duration(random.Int64N(int64(Spell)))), random.IntN(2) == 1
}

// robinIn gives Robin's request, if there is one in the tick that begins at start.
func (s *Service) robinIn(start time.Time, slow Incident) (Event, bool) {
	when, calls := s.robin(start)
	if !calls || when.Before(start) || !when.Before(start.Add(tick)) {
		return Event{}, false
	}
	random := rand.New(rand.NewPCG(s.seed^robins, uint64(when.UnixNano())))
	return request(random, slow, robinRegion, Robin, when), true
}
