package cost

import "time"

// Backlog describes the windows of a stream that are due before it first runs, because its start is in the past.
type Backlog struct {
	Windows int64
	// Paid is how many of them the budget pays for if nothing has been charged to it yet. It is nil if there are too
	// many to count. Lost is what the paid ones cost one person.
	Paid *int64
	Lost Loss
}

// Backlogs returns the backlogs of the streams at a moment, in their order.
func (p Payer) Backlogs(now time.Time) []Backlog {
	schedules := p.schedules()
	backlogs := make([]Backlog, len(schedules))
	for i := range schedules {
		s := &schedules[i]
		last := now.Add(-p.Streams[i].Grace).UnixNano()
		if s.End != 0 {
			last = min(last, s.End)
		}
		s.End = max(last, 1) // 0 would mean no end
		if first := s.Start + int64(s.Size); last >= first {
			backlogs[i].Windows = (last-first)/int64(s.Every) + 1
		}
		backlogs[i].Paid = &backlogs[i].Windows
	}
	if !p.Runway().Pays {
		paid, exact := p.account().Paid(schedules)
		for i := range backlogs {
			if backlogs[i].Paid = &paid[i]; !exact {
				backlogs[i].Paid = nil
			}
		}
	}
	for i, s := range p.Streams {
		if n := backlogs[i].Paid; n != nil && *n > 0 {
			counts := *n
			if s.MaxWindows != nil {
				counts = s.MaxWindows.AtMostOf(counts)
			}
			backlogs[i].Lost = p.Lost(s, counts)
		}
	}
	return backlogs
}
