package simulate

import (
	"math/rand/v2"
	"time"
)

// incident is a time in which one region is slow.
type incident struct {
	region     int
	start, end time.Time
}

const (
	incidentEvery = 3 * time.Minute
	incidentLeast = 30 * time.Second
	incidentMost  = 60 * time.Second
	incidentSlow  = 3. // times the usual latency
)

// incidents keeps the draws for incidents apart from those for requests.
const incidents = 0x696e636964656e74

// incident returns the one of the three minutes that at is in.
func (s *Service) incident(at time.Time) incident {
	period := at.Truncate(incidentEvery)
	random := rand.New(rand.NewPCG(s.seed^incidents, uint64(period.UnixNano())))
	length := incidentLeast + time.Duration(random.Int64N(int64(incidentMost-incidentLeast)))
	start := period.Add(time.Duration(random.Int64N(int64(incidentEvery - length))))
	return incident{random.IntN(len(regions)), start, start.Add(length)}
}

func (i incident) in(region int, at time.Time) bool {
	return region == i.region && !at.Before(i.start) && at.Before(i.end)
}
