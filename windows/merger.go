package windows

import "fmt"

// Merger makes the payloads of all partitions of a window into one bag, in which a user counts as if all records had
// been added to it, whatever order the payloads come in. Give it one payload a partition, as an [Assembler] does:
// of kind users the same one twice makes no difference, of kind values it would count twice.
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

// Add puts a payload in. Groups that the spec does not have are left out. A payload that is corrupt, or was sealed by
// another policy or for more groups a user than this merger can make up for, is an error and changes nothing.
func (m *Merger) Add(data []byte) error {
	b := m.bag
	p, err := decodePayload(data, b.spec.Window.Start)
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
