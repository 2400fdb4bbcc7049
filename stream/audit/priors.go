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
	found *Findings
	since map[place]int64 // the end of the first window
}

// place is a stream in a partition of the ledger.
type place struct {
	partition int
	stream    string
}

func newPriors(found *Findings) *priors { return &priors{found, map[place]int64{}} }

// learn compares the hash of the measures that a window was drawn with, and the bands of its values. past is what its
// stream published in the partition before.
//
// A stream may have come from a budget in another partition. Then its first windows here also learn from entries there.
// Only windows that learn from this partition alone are compared.
func (p *priors) learn(from Learner, at Position, e ledger.Entry, past []ledger.Past) {
	here, end := place{at.Partition, e.Stream}, e.WindowEnd.UnixNano()
	since, known := p.since[here]
	if !known {
		since, p.since[here] = end, end
	}
	alone := len(e.Continues) == 0 || since <= ledger.LearnsFrom(end/int64(e.Every))*int64(e.Every)
	if e.Prior == nil || alone && p.compare(from, at, e, past) {
		if unlike := from.Unlike(e); unlike != "" {
			p.found.fault(BandDiffers, at, "%s: %s", e.Name(), unlike)
		}
	}
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
