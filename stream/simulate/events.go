package simulate

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is one request.
type Event struct {
	User    string    // for example "eu-0042"
	Region  string    // eu, us or ap
	Latency int64     // whole milliseconds, at least 1
	Page    string    // for example "/search"
	Time    time.Time // UTC
}

// Events calls f for every request in [from, to), in order of time.
func (s *Service) Events(from, to time.Time, f func(Event)) {
	tick := s.of.Spell / ticks
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
	random, tick := rand.New(rand.NewPCG(s.of.Seed, uint64(start.UnixNano()))), s.of.Spell/ticks
	var rates [len(regions)]float64
	total := 0.
	for i, r := range regions {
		rates[i] = s.of.Rate / float64(len(regions)) * r.activity(start)
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
			s.request(random, slow, regions[i].name, fmt.Sprintf("%s-%04d", regions[i].name, random.IntN(s.of.Users)), at))
	}
	if e, ok := s.robinIn(start, slow); ok {
		at, _ := slices.BinarySearchFunc(events, e, func(a, b Event) int { return a.Time.Compare(b.Time) })
		events = slices.Insert(events, at, e)
	}
	return events
}

// request draws a request's latency.
func (s *Service) request(random *rand.Rand, slow Incident, region, user string, at time.Time) Event {
	latency := median * math.Exp(sigma*random.NormFloat64())
	if slow.in(region, at) {
		latency *= incidentSlow
	}
	return Event{User: user, Region: region, Latency: max(1, int64(math.Round(latency))), Time: at,
		Page: s.page(at)}
}

// activity returns a region's rate at a time, as a share of its average.
func (r region) activity(at time.Time) float64 {
	hour := float64(at.Hour()) + float64(at.Minute())/60 + float64(at.Second())/3600 + r.east
	return 1 + swing*math.Cos(2*math.Pi*(hour-rush)/24)
}

// AppendJSON appends the event as the JSON object that the demo's input topic holds, for example
// {"user_id":"eu-0042","region":"eu","page":"/search","latency_ms":117,"ts":"2026-11-20T08:00:00.123Z"}.
func (e Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"user_id":"`...)
	b = append(b, e.User...)
	b = append(b, `","region":"`...)
	b = append(b, e.Region...)
	b = append(b, `","page":"`...)
	b = append(b, e.Page...)
	b = append(b, `","latency_ms":`...)
	b = strconv.AppendInt(b, e.Latency, 10)
	b = append(b, `,"ts":"`...)
	b = e.Time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	return append(b, `"}`...)
}

// robinIn returns Robin's request if there is one in the tick that begins at start.
func (s *Service) robinIn(start time.Time, slow Incident) (Event, bool) {
	when, calls := s.robin(start)
	if !calls || when.Before(start) || !when.Before(start.Add(s.of.Spell/ticks)) {
		return Event{}, false
	}
	random := rand.New(rand.NewPCG(s.of.Seed^robins, uint64(when.UnixNano())))
	return s.request(random, slow, RobinRegion, Robin, when), true
}

const (
	ticks  = 100  // in a spell; events of a tick are drawn together
	median = 120. // median latency, in ms
	sigma  = 0.6  // standard deviation of their logarithm
	swing  = 0.4  // how far the rate moves from its average
	rush   = 15.  // the hour of the greatest rate
)

// Incident is a time in which one region is slow: latencies are three times as high.
type Incident struct {
	Region     string
	Start, End time.Time // UTC; End is the first moment after it
}

// incidentSlow is how many times the usual latency an incident has.
const incidentSlow = 3.

// incidents separates the draws for incidents from those for requests.
const incidents = 0x696e636964656e74

// Incident returns the one incident in the period that contains at, counted from midnight: three minutes, unless the
// [Config] says otherwise. It may be over, or still to come.
func (s *Service) Incident(at time.Time) Incident {
	period := at.UTC().Truncate(s.of.Incidents)
	random := rand.New(rand.NewPCG(s.of.Seed^incidents, uint64(period.UnixNano())))
	length := s.of.Incidents/6 + time.Duration(random.Int64N(int64(s.of.Incidents/6)))
	start := period.Add(time.Duration(random.Int64N(int64(s.of.Incidents - length))))
	return Incident{regions[random.IntN(len(regions))].name, start, start.Add(length)}
}

// Before returns the incident of the previous period.
func (s *Service) Before(i Incident) Incident { return s.Incident(i.Start.Add(-s.of.Incidents)) }

// in reports whether a region is slow at a time.
func (i Incident) in(region string, at time.Time) bool {
	return region == i.Region && !at.Before(i.Start) && at.Before(i.End)
}

// pages are those that are always there, with their shares of all requests of a time without offers.
var pages = [...]struct {
	name  string
	share float64
}{{"/search", 0.45}, {"/account", 0.25}, {"/checkout", 0.2}, {"/help", 0.1}}

const (
	offersOpen, offersClose = 8 * time.Hour, 20 * time.Hour // since midnight, UTC
	offersShare             = 0.2                           // of all requests meanwhile
	// asked separates the draws for pages from those for requests. A request's page does not depend on anything else
	// of it.
	asked = 0x7061676573
)

// Page returns the name of a day's page of offers, such as "/offers/saturday". It is there from 08:00 to 20:00 UTC, and
// then a fifth of all requests ask for it.
func Page(day time.Time) string { return "/offers/" + strings.ToLower(day.UTC().Weekday().String()) }

// page draws the page of a request.
func (s *Service) page(at time.Time) string {
	x := s.uniform(at)
	if since := at.Sub(at.Truncate(24 * time.Hour)); since >= offersOpen && since < offersClose {
		if x < offersShare {
			return Page(at)
		}
		x = (x - offersShare) / (1 - offersShare)
	}
	for _, p := range pages[:len(pages)-1] {
		if x < p.share {
			return p.name
		}
		x -= p.share
	}
	return pages[len(pages)-1].name
}

// uniform draws a number from [0, 1) for a moment, by the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func (s *Service) uniform(at time.Time) float64 {
	x := uint64(at.UnixNano()) + bits.RotateLeft64(s.of.Seed^asked, 32)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}
