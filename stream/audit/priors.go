package audit

import "github.com/louver/louver/stream/ledger"

// Learner recomputes what an entry says that follows from public figures and the definition of its stream.
type Learner interface {
	// Prior returns what the adaptive draws of the entry's window had learnt. past is what its stream published before,
	// in the order of the ledger. It is nil if the stream's definition is unknown or has no such draws.
	Prior(e ledger.Entry, past []ledger.Past) (*ledger.Prior, error)
	// Unlike says which value of the entry has another band or smoothed value than follows; "" for none. If the entry
	// has adaptive draws, Prior must have returned what they had learnt just before.
	Unlike(e ledger.Entry) string
}

// priors compares what adaptive draws had learnt, and bands, with what the entries before them give.
type priors struct {
	found    *Findings
	learning map[int]*learning // by partition
}

// learning holds what the streams in one partition of the ledger have published.
type learning struct {
	lately *ledger.Lately
	since  map[string]int64 // of each stream, the end of its first window here
}

func newPriors(found *Findings) *priors {
	return &priors{found: found, learning: map[int]*learning{}}
}

// learn compares the hash of the measures that a window was drawn with, and the bands of its values. Then it adds what
// the window published.
//
// A stream may have come from a budget in another partition. Then its first windows here also learn from entries there.
// Only windows that learn from this partition alone are compared.
func (p *priors) learn(from Learner, at Position, e ledger.Entry) {
	h := p.learning[at.Partition]
	if h == nil {
		h = &learning{ledger.NewLately(), map[string]int64{}}
		p.learning[at.Partition] = h
	}
	end := e.WindowEnd.UnixNano()
	if _, known := h.since[e.Stream]; !known {
		h.since[e.Stream] = end
	}
	alone := len(e.Continues) == 0 || h.since[e.Stream] <= ledger.LearnsFrom(end/int64(e.Every))*int64(e.Every)
	if e.Prior == nil || alone && p.compare(from, at, e, h.lately.Of(e.Stream)) {
		if unlike := from.Unlike(e); unlike != "" {
			p.found.fault(BandDiffers, at, "%s: %s", e.Name(), unlike)
		}
	}
	h.lately.Add(e)
}

// compare reports whether the learner knows what the draws of an entry had learnt.
func (p *priors) compare(from Learner, at Position, e ledger.Entry, past []ledger.Past) (known bool) {
	want, err := from.Prior(e, past)
	switch {
	case err != nil:
		p.found.fault(PriorDiffers, at, "%s: what its draws learnt cannot be computed anew: %v", e.Name(), err)
	case want == nil:
	case *want != *e.Prior:
		p.found.fault(PriorDiffers, at,
			"%s: its draws learnt from %d entries, with the hash %s; the entries before it give %d and %s",
			e.Name(), e.Prior.Upto, e.Prior.Hash, want.Upto, want.Hash)
	default:
		p.found.Priors++
		return true
	}
	return false
}
