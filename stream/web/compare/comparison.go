package compare

import (
	"encoding/json"
	"fmt"
	"math"
)

// Comparison says whether two figures, or the means of two ranges, differ by more than their noise. Its JSON names are
// public.
type Comparison struct {
	// A and B are records, or averages.
	A json.RawMessage `json:"a"`
	B json.RawMessage `json:"b"`
	// Difference is the difference of the values; null if one is withheld.
	Difference *json.Number `json:"difference"`
	// Probability is how often noise alone makes a difference of at least this size, if nothing has changed; null if no
	// public figure tells.
	Probability *float64 `json:"probability"`
	// Basis names the source of the probability: the record's error_95, interval or smoothed; null if there is none.
	Basis *string `json:"basis"`
	// Verdict is noise, change (a probability below 5 %) or unknown.
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
}

// rare is the probability below which noise is no longer the likely reason.
const rare = 0.05

// judge fills in what follows from the probability.
func (c *Comparison) judge(basis string, p float64) {
	c.Basis, c.Probability, c.Verdict = &basis, new(math.Round(p*1e6)/1e6), "noise"
	if p < rare {
		c.Verdict = "change"
	}
}

// often puts a probability into words.
func often(p float64) string {
	switch {
	case p >= 0.995:
		return "nearly always"
	case p >= 0.01:
		return fmt.Sprintf("in %.0f of 100 cases", 100*p)
	case p >= 0.001:
		return fmt.Sprintf("in %.0f of 1,000 cases", 1000*p)
	}
	return "in fewer than 1 of 1,000 cases"
}
