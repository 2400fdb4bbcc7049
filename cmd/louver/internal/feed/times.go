package feed

import (
	"fmt"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows/period"
)

// ZoneFlag says in which zone times are that name none.
type ZoneFlag struct {
	Zone string `placeholder:"NAME" help:"Time zone of times that name none, such as Europe/Berlin. Absent: UTC."`
}

// Location is the zone.
func (z ZoneFlag) Location() (*time.Location, error) { return Location(z.Zone) }

// Location reads a --zone.
func Location(name string) (*time.Location, error) {
	calendar, err := period.NewCalendar(period.Midnight, name)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--zone %w", err))
	}
	return calendar.Zone, nil
}

// AboutTimes says what the owner of a file should know about the times in a column of it, in sentences without a full
// stop. zone is that of --zone.
func AboutTimes(t replay.Times, column, zone string) (all []string) {
	if zone == "" && t.Zoneless.Count > 0 {
		some := ""
		if t.Zoneless.Count < t.Events {
			some = "some "
		}
		all = append(all, fmt.Sprintf("%stimes in column %s name no zone and are taken as UTC; --zone NAME takes them "+
			"as those of another, such as Europe/Berlin", some, column))
	}
	if n := t.Early; n.Count > 0 {
		all = append(all, fmt.Sprintf("%d of %s before 1990, first on line %d; want a column of times, and numbers in "+
			"seconds, milli-, micro- or nanoseconds since 1970", n.Count, cli.Plural(t.Events, "event")+are(n.Count),
			n.First))
	}
	return all
}

// are is the verb of a number of things.
func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}
