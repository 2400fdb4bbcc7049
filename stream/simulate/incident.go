package simulate

import (
	"math/rand/v2"
	"time"
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
	period := at.UTC().Truncate(s.incidents)
	random := rand.New(rand.NewPCG(s.seed^incidents, uint64(period.UnixNano())))
	length := s.incidents/6 + time.Duration(random.Int64N(int64(s.incidents/6)))
	start := period.Add(time.Duration(random.Int64N(int64(s.incidents - length))))
	return Incident{regions[random.IntN(len(regions))].name, start, start.Add(length)}
}

// Before returns the incident of the previous period.
func (s *Service) Before(i Incident) Incident { return s.Incident(i.Start.Add(-s.incidents)) }

// in reports whether a region is slow at a time.
func (i Incident) in(region string, at time.Time) bool {
	return region == i.Region && !at.Before(i.Start) && at.Before(i.End)
}
