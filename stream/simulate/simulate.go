// Package simulate makes up the service that `louver demo` watches: the telemetry of a web service in three regions.
// There are no people behind these numbers, so comparing figures with the truth does no harm: see [Truth].
//
// The service, as configured by default:
//
//   - Regions eu, us and ap, with 10,000 users each, who always call from their own region. All users are alike.
//   - 1500 requests a second altogether, a Poisson process. Each region has its day: the rate is 40 % above the average
//     at 15:00 and 40 % below it at 03:00 local time, UTC+1, UTC−5 and UTC+9. So a window of 10 s has some 2600 to 5000
//     users in each region.
//   - Latencies are lognormal with a median of 120 ms and σ = 0.6, in whole milliseconds: p90 259 ms, p99 485 ms, the
//     mean 144 ms, the most frequent value 84 ms, and one in 16 above 300 ms.
//   - Every three minutes there is an incident: one region is three times as slow for 30 to 60 seconds.
//   - Robin, a user of region eu, calls once in half of all spells of ten seconds: each time a fair coin decides.
//
// What happens is a function of the seed and the time alone, so a span gives the same events however it is cut.
//
// # Randomness
//
// This is the only package that uses math/rand: it makes input, and a demo should be repeatable. The noise of
// mechanisms never comes from here. It comes from crypto/rand and takes no seed.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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
}

// Event is one request.
type Event struct {
	User    string    // for example "eu-0042"
	Region  string    // eu, us or ap
	Latency int64     // whole milliseconds, at least 1
	Time    time.Time // UTC
}

// Service is a simulated service. It is immutable and safe for concurrent use.
type Service struct {
	seed  uint64
	users int
	rate  float64
}

// New returns the service of a Config. Zero and negative figures are replaced by the defaults.
func New(c Config) *Service {
	s := &Service{seed: c.Seed, users: c.Users, rate: c.Rate}
	if s.users <= 0 {
		s.users = 10_000
	}
	if !(s.rate > 0) {
		s.rate = 1500
	}
	return s
}

// region is a part of the world.
type region struct {
	name string
	east float64 // hours ahead of UTC
}

var regions = [...]region{{"eu", 1}, {"us", -5}, {"ap", 9}}

const (
	tick   = 100 * time.Millisecond // events of a tick are drawn together
	median = 120.                   // median latency, in ms
	sigma  = 0.6                    // standard deviation of their logarithm
	swing  = 0.4                    // how far the rate moves from its average
	rush   = 15.                    // the hour of the greatest rate
)

// Events calls f for every request in [from, to), in order of time.
func (s *Service) Events(from, to time.Time, f func(Event)) {
	for at := from.Truncate(tick); at.Before(to); at = at.Add(tick) {
		for _, e := range s.tick(at.UTC()) {
			if !e.Time.Before(from) && e.Time.Before(to) {
				f(e)
			}
		}
	}
}

// tick draws the requests of the tick that begins at start, in order of time.
func (s *Service) tick(start time.Time) (events []Event) {
	random := rand.New(rand.NewPCG(s.seed, uint64(start.UnixNano())))
	var rates [len(regions)]float64
	total := 0.
	for i, r := range regions {
		rates[i] = s.rate / float64(len(regions)) * r.activity(start)
		total += rates[i]
	}
	slow := s.Incident(start)
	// The gaps of a Poisson process are exponential. Starting again with each tick changes nothing, because the process
	// has no memory.
	for offset := 0.; ; {
		offset += random.ExpFloat64() / total
		if offset >= tick.Seconds() {
			break
		}
		at := start.Add(time.Duration(offset * float64(time.Second)))
		i, x := 0, random.Float64()*total
		for i < len(regions)-1 && x >= rates[i] {
			x -= rates[i]
			i++
		}
		events = append(events,
			request(random, slow, regions[i].name, fmt.Sprintf("%s-%04d", regions[i].name, random.IntN(s.users)), at))
	}
	if e, ok := s.robinIn(start, slow); ok {
		at, _ := slices.BinarySearchFunc(events, e, func(a, b Event) int { return a.Time.Compare(b.Time) })
		events = slices.Insert(events, at, e)
	}
	return events
}

// request draws a request's latency.
func request(random *rand.Rand, slow Incident, region, user string, at time.Time) Event {
	latency := median * math.Exp(sigma*random.NormFloat64())
	if slow.in(region, at) {
		latency *= incidentSlow
	}
	return Event{User: user, Region: region, Latency: max(1, int64(math.Round(latency))), Time: at}
}

// activity returns a region's rate at a time, as a share of its average.
func (r region) activity(at time.Time) float64 {
	hour := float64(at.Hour()) + float64(at.Minute())/60 + float64(at.Second())/3600 + r.east
	return 1 + swing*math.Cos(2*math.Pi*(hour-rush)/24)
}

// AppendJSON appends the event as the JSON object that the demo's input topic holds, for example
// {"user_id":"eu-0042","region":"eu","latency_ms":117,"ts":"2026-11-20T08:00:00.123Z"}.
func (e Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"user_id":"`...)
	b = append(b, e.User...)
	b = append(b, `","region":"`...)
	b = append(b, e.Region...)
	b = append(b, `","latency_ms":`...)
	b = strconv.AppendInt(b, e.Latency, 10)
	b = append(b, `,"ts":"`...)
	b = e.Time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	return append(b, `"}`...)
}
