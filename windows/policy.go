package windows

// Policy says which of a user's records in one group of a window counts.
type Policy string

// The policies. Each looks only at that user's records, and chooses the same one in any order of reading.
const (
	First  Policy = "first"  // the earliest event time; among equals the smallest value
	Last   Policy = "last"   // the latest event time; among equals the largest value
	Min    Policy = "min"    // the smallest value
	Max    Policy = "max"    // the largest value
	Random Policy = "random" // the least keyed hash of (user, time, value)
)

// policies in the order of their codes in a payload.
var policies = [...]Policy{First, Last, Min, Max, Random}

func (p Policy) code() int {
	for i, q := range policies {
		if p == q {
			return i
		}
	}
	return -1
}

// timed reports whether the policy compares event times.
func (p Policy) timed() bool { return p == First || p == Last }

// greatest reports whether the greatest (order, value) counts instead of the least.
func (p Policy) greatest() bool { return p == Last || p == Max }
