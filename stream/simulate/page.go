package simulate

import (
	"math/bits"
	"strings"
	"time"
)

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
	x := uint64(at.UnixNano()) + bits.RotateLeft64(s.seed^asked, 32)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}
