package check

import (
	"bytes"
	"fmt"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// backlogReport describes the windows that are over before the stream first runs.
type backlogReport struct {
	Since   time.Time   `json:"since"`
	Windows int64       `json:"windows"`
	Paid    *int64      `json:"paid"` // nil if they are too many to count
	Epsilon *cli.Figure `json:"epsilon"`

	lost cost.Loss
}

// describeBacklog returns nil if no window is over.
func describeBacklog(s *config.Stream, b cost.Backlog) *backlogReport {
	if b.Windows == 0 {
		return nil
	}
	x := &backlogReport{Since: time.Unix(0, s.Window.Start).UTC(), Windows: b.Windows, Paid: b.Paid, lost: b.Lost}
	if b.Paid != nil {
		x.Epsilon = inspect.EpsilonOf(b.Lost)
	}
	return x
}

func (b *backlogReport) print(w *bytes.Buffer) {
	if b == nil {
		return
	}
	fmt.Fprintf(w, "  it starts at %s: %s already over, to be released at once\n",
		b.Since.Format(time.RFC3339), cli.Plural(b.Windows, "window"))
	switch {
	case b.Paid == nil:
		fmt.Fprintln(w, "  the budget cannot pay for all of them and withholds the others")
	case b.lost.Epsilon.IsZero(): // the stream has only what is not charged by the window, such as running totals
	case *b.Paid == b.Windows:
		fmt.Fprintf(w, "  in total they cost a user %s\n", b.lost)
	default:
		fmt.Fprintf(w, "  the budget pays for %d of them, which cost a user %s in total, and withholds %d\n",
			*b.Paid, b.lost, b.Windows-*b.Paid)
	}
}
