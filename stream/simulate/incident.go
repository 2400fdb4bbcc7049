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

const (
	incidentEvery = 3 * time.Minute
	incidentLeast = 30 * time.Second
	incidentMost  = 60 * time.Second
	incidentSlow  = 3. // times the usual latency
)

// incidents separates the draws for incidents from those for requests.
const incidents = 0x696e636964656e74

// Incident returns the one incident in the three minutes that contain at, counted from midnight. It may be over, or
// still to come.
func (s *Service) Incident(at time.Time) Incident {
	period := at.UTC().Truncate(incidentEvery)
	random := rand.New(rand.NewPCG(s.seed^incidents, uint64(period.UnixNano())))
	length := incidentLeast + time.Duration(random.Int64N(int64(incidentMost-incidentLeast)))
	start := period.Add(time.Duration(random.Int64N(int64(incidentEvery - length))))
	return Incident{regions[random.IntN(len(regions))].name, start, start.Add(length)}
}

// Before returns the incident of the previous three minutes.
func (s *Service) Before(i Incident) Incident { return s.Incident(i.Start.Add(-incidentEvery)) }

// in reports whether a region is slow at a time.
func (i Incident) in(region string, at time.Time) bool {
	return region == i.Region && !at.Before(i.Start) && at.Before(i.End)
}
