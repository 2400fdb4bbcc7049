// Package simulate makes up the service that `louver demo` watches: the telemetry of a web service in three regions.
// There are no people behind these numbers, so comparing figures with the truth does no harm: see [Truth].
//
// The service, as configured by default:
//
//   - Regions eu, us and ap, with 10,000 users each, who always call from their own region. All users are alike.
//   - 1500 requests a second altogether, a Poisson process. Each region has its day: the rate is 40 % above the average
//     at 15:00 and 40 % below it at 03:00 local time, UTC+1, UTC−5 and UTC+9. So a window of 10 s has some 2600 to 5000
//     users in each region.
//   - Each request asks for a page. Every morning a page of offers opens that nobody listed, and in the evening it
//     closes: see [Page].
//   - Latencies are lognormal with a median of 120 ms and σ = 0.6, in whole milliseconds: p90 259 ms, p99 485 ms, the
//     mean 144 ms, the most frequent value 84 ms, and one in 16 above 300 ms.
//   - Every three minutes there is an incident: one region is three times as slow for 30 to 60 seconds.
//   - Robin, a user of region eu, calls once in half of all spells of ten seconds: each time a fair coin decides.
//
// [Day] is the same service seen from further away: a spell takes a quarter of an hour, and there is an incident every
// twelve hours.
//
// What happens is a function of the seed and the time alone. So a span of time has the same events however it is cut.
//
// # Randomness
//
// This is the only package that uses math/rand: it makes input, and a demo should be repeatable. The noise of
// mechanisms never comes from here. It comes from crypto/rand and takes no seed.
package simulate

import (
	"cmp"
	_ "embed" // the streams file
	"math/rand/v2"
	"time"
)

// Config says which service is simulated.
type Config struct {
	// Seed chooses the course of events.
	Seed uint64
	// Users is the number of users of one region. Defaults to 10,000.
	Users int
	// Rate is the average number of requests a second, of all regions together. Defaults to 1500.
	Rate float64
	// Spell is how long one toss of Robin's coin holds: see [Service.RobinCalls]. Defaults to ten seconds.
	Spell time.Duration
	// Incidents is how long the time is in which there is one incident, which takes a sixth to a third of it. Defaults
	// to three minutes.
	Incidents time.Duration
}

// Day is the service of [Streams], whose windows take a quarter of an hour: 300,000 users, some 5,000 of each
// region in a window.
func Day(seed uint64) Config {
	return Config{Seed: seed, Users: 100_000, Rate: 17, Spell: 15 * time.Minute, Incidents: 12 * time.Hour}
}

// Service is a simulated service. It is immutable and safe for concurrent use.
type Service struct{ of Config }

// New returns the service of a Config. Zero and negative figures are replaced by the defaults.
func New(c Config) *Service {
	c.Spell, c.Incidents = cmp.Or(c.Spell, 10*time.Second), cmp.Or(c.Incidents, 3*time.Minute)
	if c.Users <= 0 {
		c.Users = 10_000
	}
	if !(c.Rate > 0) {
		c.Rate = 1500
	}
	return &Service{c}
}

// Users returns how many users there are, of all regions.
func (s *Service) Users() int { return len(regions) * s.of.Users }

// region is a part of the world.
type region struct {
	name string
	east float64 // hours ahead of UTC
}

var regions = [...]region{{"eu", 1}, {"us", -5}, {"ap", 9}}

//go:embed demo.yaml
var streams []byte

// Streams returns the streams file of the demo, YAML. Its streams read one input topic, which takes the JSON of
// [Event.AppendJSON].
func Streams() []byte { return append([]byte(nil), streams...) }

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
	spell := at.UTC().Truncate(s.of.Spell)
	random := rand.New(rand.NewPCG(s.of.Seed^robins, uint64(spell.UnixNano())))
	return spell.Add(time.Duration(random.Int64N(int64(s.of.Spell)))), random.IntN(2) == 1
}
