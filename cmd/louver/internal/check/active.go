package check

import (
	"bytes"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// activeReport describes a number of active users before it is drawn, from public figures only.
type activeReport struct {
	Release   string `json:"release"`
	Mechanism string `json:"mechanism"`
	Active    string `json:"active"`
	Update    string `json:"update"`
	Leaves    int64  `json:"values_in_a_day"`
	// Epsilon is what any 24 hours cost one user, and Worst what a period of the budget does. Stretch is what a stretch
	// of time as long as that costs that is taken back; null if it is not known.
	Epsilon cli.Digits  `json:"epsilon"`
	Worst   cli.Digits  `json:"epsilon_at_most"`
	Stretch *cli.Digits `json:"epsilon_of_a_stretch"`
	// Error is the 95 % error of each value, and Single what it would be if each were drawn by itself at the same cost.
	Error  int64  `json:"error_95"`
	Single int64  `json:"error_95_one_by_one"`
	Memory *int64 `json:"memory"`

	of          *config.Active
	each, worst cost.Loss
	stretch     *cost.Loss
	per         string // of the budget
	// slower is an update with which windows of minutes would be more exact, and then the error; 0 for none.
	slower time.Duration
	then   int64
}

func describeActive(s *config.Stream, a *config.Active, expected int64) activeReport {
	limit, c := s.Budget.Limit, a.Cost()
	x := activeReport{of: a, Release: a.Name, Mechanism: a.Mechanism.Name(), Active: config.Duration(a.Within),
		Update: config.Duration(a.Update), Leaves: a.Query.Leaves, each: cost.Of(limit, c.Items),
		worst: cost.Of(limit, c.Most()), per: config.Period(limit.Per), Error: a.Mechanism.Error95(1),
		Single: a.Mechanism.OneByOne()}
	x.Epsilon, x.Worst = cli.NewDigits(x.each.Epsilon), cli.NewDigits(x.worst.Epsilon)
	if c.Stretch != nil {
		x.stretch = new(cost.Of(limit, c.Stretch))
		x.Stretch = new(cli.NewDigits(x.stretch.Epsilon))
	}
	if expected > 0 {
		x.Memory = new(expected * int64(len(s.Groups)) * bytesOfUser * a.Presence().Remembers())
	}
	if slower := 5 * a.Update; a.Update <= 2*time.Minute && slower%a.Every == 0 {
		q := a.Query
		q.Leaves = int64((config.Day + slower - 1) / slower)
		if m, err := mechanisms.NewActive(q); err == nil {
			x.slower, x.then = slower, m.Error95(1)
		}
	}
	return x
}

// whoText says who counts.
func whoText(q mechanisms.ActiveQuery) string {
	switch {
	case q.Above == nil && q.Below == nil:
		return "users"
	case q.Below == nil:
		return fmt.Sprintf("users with a value above %s", q.Above)
	case q.Above == nil:
		return fmt.Sprintf("users with a value below %s", q.Below)
	}
	return fmt.Sprintf("users with a value between %s and %s", q.Above, q.Below)
}

// print writes what the number costs and how exact it is.
func (x activeReport) print(w *bytes.Buffer, expected int64) {
	cli.Fprintf(w, "  active %s counts %s seen in the last %s, a value every %s, drawn by %s: ± %s at any time; one "+
		"by one at the same cost it would be ± %s\n", x.Release, whoText(x.of.Query), x.Active, x.Update, x.Mechanism,
		users(x.Error), users(x.Single))
	if x.slower != 0 {
		cli.Fprintf(w, "    with update: %s it would be ± %s\n", config.Duration(x.slower), users(x.then))
	}
	cli.Fprintf(w, "    costs one user %s in any 24 h, whenever these begin", x.each)
	switch {
	case x.of.AtMost == config.Endless:
		cli.Fprintf(w, "; the budget never gets it back\n")
	case x.of.AtMost > 1:
		cli.Fprintf(w, "; a budget of %s holds %d of these: at most %s\n", x.per, x.of.AtMost, x.worst)
	default:
		fmt.Fprintln(w)
	}
	if x.stretch != nil {
		cli.Fprintf(w, "    what one user does in %s costs at most %s, with what is left of it later\n", x.per, x.stretch)
	}
	if x.of.Query.Groups > 0 {
		cli.Fprintf(w, "    a user keeps a group until 24 h without it; if people change groups often, use a count of "+
			"windows\n")
	}
	if x.Memory != nil {
		cli.Fprintf(w, "    remembering who was seen takes up to %s if each window has %s of its own\n",
			humanize.IBytes(uint64(*x.Memory)), users(expected))
	}
}
