package windows

import "fmt"

// Merger makes the payloads of all parts of a window into one bag, in which a user counts as if all records had been
// added to it, whatever order the payloads come in. A payload with users may come twice, or overlap another: that makes
// no difference. One without users would count twice.
//
// A Merger is not safe for concurrent use.
type Merger struct {
	bag    *Bag
	groups map[string]int32
}

// NewMerger returns an empty merger. Its spec must be that of the bags, but the groups may be others and in another
// order.
func NewMerger(spec BagSpec) *Merger {
	m := &Merger{NewBag(spec), make(map[string]int32, len(spec.Groups))}
	for i, g := range spec.Groups {
		m.groups[g] = int32(i)
	}
	return m
}

// Add puts the payload of a slice in. Groups that the spec does not have are left out. A payload that is corrupt, or was sealed by
// another policy or for more groups a user than this merger can make up for, is an error and changes nothing.
func (m *Merger) Add(data []byte, slice Window) error {
	b := m.bag
	p, err := decodePayload(data, slice.Start)
	if err != nil {
		return err
	}
	if p.policy != b.spec.Policy {
		return fmt.Errorf("payload was sealed with contribution policy %q, not %q", p.policy, b.spec.Policy)
	}
	if p.valuesOnly && p.maxGroups > uint64(b.spec.MaxGroups) {
		return fmt.Errorf("payload without users counts each in up to %d groups, more than %d", p.maxGroups, b.spec.MaxGroups)
	}
	for _, g := range p.groups {
		group, known := m.groups[g.name]
		if !known {
			continue
		}
		for i, n := range g.counts {
			b.values[group].add(g.values[i], n)
		}
		for i, u := range g.users {
			var order int64
			if g.orders != nil {
				order = g.orders[i]
			}
			b.add(u, group, order, g.values[i])
		}
	}
	return nil
}

// Sample returns the merged values of a group, ascending, with the number of users that have each. The slice is the
// caller's.
func (m *Merger) Sample(group int) []Point { return m.bag.Sample(group) }
