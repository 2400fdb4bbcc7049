package config

import (
	"time"

	"github.com/louver/louver/windows"
)

// MaxWindows limits in how many windows of a period one user counts.
type MaxWindows struct {
	windows.CapSpec
	// By says in which windows a user counts.
	By windows.CapRule
}

// in returns in how many windows one user counts at most, of those that end in any half-open stretch of time.
func (m *MaxWindows) in(stretch time.Duration, w Window) int64 {
	return m.By.AtMostOf(int64((stretch-1)/w.Every) + 1)
}
