package simulate

import (
	"math/rand/v2"
	"time"
)

// Robin is the user whose presence in a window the viewer of the demo may guess, in the region RobinRegion. A fair coin
// decides it, so only the releases can help to guess.
const (
	Robin       = "eu-robin"
	RobinRegion = "eu"
)

// robins separates Robin's draws from the others.
const robins = 0x726f62696e

// RobinCalls reports whether Robin calls in the spell that contains at. A spell is how long one toss of the coin holds:
// ten seconds, unless the [Config] says otherwise. Spells begin at multiples of it. In each, Robin calls once or not at
// all.
func (s *Service) RobinCalls(at time.Time) bool {
	_, calls := s.robin(at)
	return calls
}

// robin tosses the coin of the spell that contains at and says when Robin calls.
func (s *Service) robin(at time.Time) (when time.Time, calls bool) {
	spell := at.UTC().Truncate(s.spell)
	random := rand.New(rand.NewPCG(s.seed^robins, uint64(spell.UnixNano())))
	return spell.Add(time.Duration(random.Int64N(int64(s.spell)))), random.IntN(2) == 1
}
