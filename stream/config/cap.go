package config

import (
	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows"
)

// MaxWindows limits in how many windows of a period one user counts.
type MaxWindows struct {
	windows.CapSpec
	// By says in which windows a user counts.
	By windows.CapRule
}

// Cap returns how the costs of the stream's windows add up, in an era. It is the zero value if everybody counts in every
// window.
func (s *Stream) Cap(era int64) budget.Cap {
	if s.MaxWindows == nil {
		return budget.Cap{}
	}
	return budget.Cap{Count: s.MaxWindows.Count, Per: s.MaxWindows.Per, Era: era}
}
