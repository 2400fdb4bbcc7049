package config

import (
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows"
)

// MaxWindows limits in how many windows of a period one user counts, or in how many periods of a discovery.
type MaxWindows struct {
	windows.CapSpec
	// By says in which windows a user counts.
	By windows.CapRule
}

// Remembers reports whether anything remembers who has counted in the stream's windows or periods.
func (s *Stream) Remembers() bool {
	return s.MaxWindows != nil || slices.ContainsFunc(s.Figures, func(f Figure) bool {
		c := f.Cost()
		return c.Cap != nil || c.Per == PerPeriod && Kinds[f.Kind()].Lasts
	})
}

// cap is how costs add up under the limit, in an era; nil is no limit.
func (m *MaxWindows) cap(era int64) budget.Cap {
	if m == nil {
		return budget.Cap{}
	}
	return budget.Cap{Count: m.By.AtMost(), Per: m.Per, Era: era}
}

// in returns the most windows in which one user counts, of those that end in any half-open stretch of time.
func (m *MaxWindows) in(stretch time.Duration) int64 {
	return m.By.AtMostOf(int64((stretch-1)/m.By.Every()) + 1)
}
