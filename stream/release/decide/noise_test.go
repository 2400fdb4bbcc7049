package decide

import "testing"

// Two processes draw one window of the same people, and their noise differs. Group a has 2000 users, all below 500. Two
// of its counts at ε = 0.01 are equal with a probability below 0.006, so all five are with one below 10⁻¹¹.
func TestNoiseIsNeverRepeated(t *testing.T) {
	var counts string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		counts += "\n      - {name: " + name + ", statistic: count, below: 500, epsilon: 0.01}"
	}
	text := twoGroups("lower: 0, upper: 1000, step: 1", counts)
	seen := map[string]string{}
	for _, what := range []string{"one process", "another process"} {
		entry := firstWindow(t, text)
		var drawn string
		for _, g := range entry.Groups {
			for _, v := range g.Values {
				drawn += v.Value.String() + " "
			}
		}
		if before, repeated := seen[drawn]; repeated {
			t.Errorf("%s draws the same as %s: %s", what, before, drawn)
		}
		seen[drawn] = what
	}
}
