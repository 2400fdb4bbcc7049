package ledger

// Learner recomputes what the adaptive draws of an entry's window had learnt. past is what its stream published before,
// in the order of the ledger. It returns nil if the stream's definition is unknown or has no such draws.
type Learner interface {
	Prior(e Entry, past []Past) (*Prior, error)
}

// learning holds what the streams in one partition of the ledger have published.
type learning struct {
	fold  *Fold            // only the streams' past in it is used
	since map[string]int64 // of each stream, the end of its first window here
}

// learn compares the hash of the measures that a window was drawn with, and then adds what the window published.
//
// A stream may have come from a budget in another partition. Then its first windows here also learn from entries there.
// Only windows that learn from this partition alone are compared.
func (a *Audit) learn(at Position, e Entry) {
	if a.Learner == nil {
		return
	}
	h := a.learning[at.Partition]
	if h == nil {
		h = &learning{NewFold(e.App, at.Partition), map[string]int64{}}
		a.learning[at.Partition] = h
	}
	end := e.WindowEnd.UnixNano()
	if _, known := h.since[e.Stream]; !known {
		h.since[e.Stream] = end
	}
	alone := len(e.Continues) == 0 || h.since[e.Stream] <= LearnsFrom(end/int64(e.Every))*int64(e.Every)
	if e.Prior != nil && alone {
		a.comparePrior(at, e, h.fold.Recent(e.Stream))
	}
	h.fold.publish(e)
}

func (a *Audit) comparePrior(at Position, e Entry, past []Past) {
	want, err := a.Learner.Prior(e, past)
	switch {
	case err != nil:
		a.fault(PriorDiffers, at, "%s: what its draws learnt cannot be computed anew: %v", e.name(), err)
	case want == nil:
	case *want != *e.Prior:
		a.fault(PriorDiffers, at, "%s: its draws learnt from %d entries, with the hash %s; the entries before it give %d and %s",
			e.name(), e.Prior.Upto, e.Prior.Hash, want.Upto, want.Hash)
	default:
		a.findings.Priors++
	}
}
