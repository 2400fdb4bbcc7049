package compare

import (
	"encoding/json"
	"fmt"
	"math"
)

// Comparison says whether two figures, or the middles of two ranges, differ by more than their noise explains. Its JSON
// names are public.
type Comparison struct {
	// A and B are records, or averages.
	A json.RawMessage `json:"a"`
	B json.RawMessage `json:"b"`
	// Difference is the difference of the values; null if one is withheld.
	Difference *json.Number `json:"difference"`
	// Probability is how often a difference of at least this size arises if nothing has changed: through noise, and for
	// medians and quantiles also because other users came. It is null if no public figure tells.
	Probability *float64 `json:"probability"`
	// Basis names the source of the probability: the record's usual_95, error_95 or interval, or figures, which are
	// those of the ranges themselves; null if there is none.
	Basis *string `json:"basis"`
	// Verdict is noise, change (a probability below 5 %) or unknown.
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
}

// rare is the probability below which noise is no longer the likely reason.
const rare = 0.05

// judge fills in what follows from a finding. The sentence is the end of one.
func (c *Comparison) judge(f finding) {
	switch {
	case f.cut:
		c.Sentence = ": noise alone does not explain this. But values were cut to different intervals, which may."
		return
	case f.basis == "":
		c.Sentence = ": nothing public says how often noise and usual variation make such a difference."
		return
	}
	c.Basis, c.Probability, c.Verdict = &f.basis, new(math.Round(f.p*1e6)/1e6), "noise"
	if f.p < rare {
		c.Verdict = "change"
	}
	switch f.basis {
	case byUsual, byFigures:
		c.Sentence = ": noise and the usual variation do this " + often(f.p) + "."
	case byInterval:
		c.Sentence = ": the intervals do not meet. If nothing has changed, that happens " + often(f.p) + " at most."
		if c.Verdict == "noise" {
			c.Verdict = "unknown"
		}
	default:
		c.Sentence = ": noise alone does this " + often(f.p) + "."
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
