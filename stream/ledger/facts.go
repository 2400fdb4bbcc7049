package ledger

import "fmt"

// An entry is facts, and what follows from them and from the entries before it. Facts are what the definition says,
// what was lost, what ended, when the entry was made, and what was drawn. Everything else is derived, by the same code
// for those who write an entry and those who check it: a writer calls [State.Settle], draws, and calls [State.Finish].

// Facts returns an entry without what is derived. It changes nothing that the entry shares. Of a window whose groups
// are found, the names stay with what was drawn for them.
func Facts(e Entry) Entry {
	old := e
	e.Reason, e.Standing, e.Rollups, e.Objectives = "", Standing{}, nil, nil
	e.Together = e.Together.facts()
	e.Continual = old.continualFacts()
	e.Groups = nil
	if old.Reason == "" || old.List == nil {
		for _, g := range old.Groups {
			g.Values = old.drawn(g)
			e.Groups = append(e.Groups, g)
		}
	}
	if l := old.List; l != nil {
		e.List = &List{Stream: l.Stream, Rules: l.Rules, Tombstones: l.Tombstones}
	}
	if d := old.Discovery; d != nil {
		e.Discovery = &Discovery{MaxGroups: d.MaxGroups, Threshold: d.Threshold, Error95: d.Error95, Rules: d.Rules,
			Found: d.Found, Tombstones: d.Tombstones}
	}
	return e
}

// continualFacts are those of the continual figures.
func (e Entry) continualFacts() (all []Continual) {
	for _, s := range e.Continual {
		all = append(all, s.facts(e))
	}
	return all
}

// drawn copies the values of a group without those that follow from a histogram.
func (e Entry) drawn(g Group) (all []Value) {
	for i, v := range g.Values {
		switch r := e.Releases[i]; {
		case r.From != "":
			v = Value{}
		case r.Buckets != nil:
			v.Value, v.Error95, v.Band = nil, nil, nil
		}
		all = append(all, v)
	}
	return all
}

// Settle derives what is known of the next entry before anything is drawn: its groups if these are found, whether it
// can be paid, which instances look at it, and what the books say after it. It does not add the entry.
func (s *State) Settle(e *Entry) error {
	if err := s.history.Settle(e); err != nil {
		return err
	}
	return s.Books.Settle(e)
}

// Finish derives what follows from what was drawn for a settled entry.
func (s *State) Finish(e *Entry) error {
	if err := s.Books.Finish(e); err != nil {
		return err
	}
	return s.history.Finish(e)
}

// Derive derives the next entry from its facts. It does not add the entry.
func (s *State) Derive(facts Entry) (Entry, error) {
	e := Facts(facts)
	if err := s.history.Settle(&e); err != nil {
		return e, err
	}
	e, err := s.Books.Derive(e)
	if err != nil {
		return e, err
	}
	return e, s.history.Finish(&e)
}

// Derive derives what the books decide about an entry, and what instances draw. The rest stays as it is.
func (b *Books) Derive(e Entry) (Entry, error) {
	e.Continual = e.continualFacts()
	if err := b.Settle(&e); err != nil {
		return e, err
	}
	return e, b.Finish(&e)
}

// Stand derives what the books say after an entry whose decision stays as it is.
func (b *Books) Stand(e Entry) (Entry, error) {
	var err error
	e.Standing, err = b.Standing(e)
	return e, err
}

// Derive derives the groups of an entry and what follows from their values. What the books decide stays as it is.
func (h *History) Derive(e Entry) (Entry, error) {
	again := Facts(e)
	again.Reason, again.Continual, again.Standing = e.Reason, e.Continual, e.Standing
	if err := h.Settle(&again); err != nil {
		return again, err
	}
	return again, h.Finish(&again)
}

// Settle finds the groups of a window.
func (h *History) Settle(e *Entry) error { return h.lists.Settle(e) }

// Finish computes the figures from histograms, the roll-ups whose periods end, what objectives add up, and what a
// discovery changes. Nothing is drawn for an entry that is withheld.
func (h *History) Finish(e *Entry) error {
	if err := e.withhold(); err != nil {
		return err
	}
	if e.Discovery != nil {
		return h.lists.Finish(e)
	}
	if err := e.Compute(); err != nil {
		return err
	}
	var err error
	e.Rollups, e.Objectives, err = h.rollups.Next(*e)
	return err
}

// withhold drops what was drawn for an entry that is withheld. It fails for an entry that is paid and has no draws.
func (e *Entry) withhold() error {
	missing := e.Discovery != nil && e.Discovery.Found == nil
	if e.Reason != "" {
		e.Together = e.Together.facts()
	}
	for g, of := range e.Groups {
		if e.Reason != "" {
			e.Groups[g] = Group{Name: of.Name}
		}
		missing = missing || len(of.Values) != len(e.Releases)
	}
	if e.Reason != "" && e.Discovery != nil {
		e.Discovery.Found = nil
	}
	if e.Reason == "" && missing {
		return fmt.Errorf("%s: nothing was drawn for some group, although it is paid", e.Name())
	}
	return nil
}
