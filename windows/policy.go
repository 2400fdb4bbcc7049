package windows

// Policy says which of a user's records in one group of a window is the one that counts.
type Policy string

// The policies. Each chooses by that user's records alone, and the same whatever order they are read in.
const (
	First  Policy = "first"  // the earliest event time; of several the smallest value
	Last   Policy = "last"   // the latest event time; of several the largest value
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

// timed: the policy goes by event time.
func (p Policy) timed() bool { return p == First || p == Last }

// greatest: the greatest (order, value) counts, not the least.
func (p Policy) greatest() bool { return p == Last || p == Max }
