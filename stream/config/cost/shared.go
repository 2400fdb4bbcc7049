package cost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shared is an input topic for whose people several budgets pay: what they lose adds up.
type Shared struct {
	Topic   string
	Budgets []string
	// Day bounds what the windows that end in any 24 hours cost one person through all of these budgets, whether by
	// these definitions or by those before. The streams of the budgets that read other topics are in it.
	Day Loss
}

// InCommon lists the topics that several of the payers pay for.
func InCommon(payers []Payer) (all []Shared) {
	byTopic := map[string][]Payer{}
	for _, p := range payers {
		topics := map[string]bool{}
		for _, s := range p.Streams {
			topics[s.Topic] = true
		}
		for topic := range topics {
			byTopic[topic] = append(byTopic[topic], p)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		if len(byTopic[topic]) < 2 {
			continue
		}
		shared := Shared{Topic: topic, Day: Counted(byTopic[topic][0].Limit, nil)}
		for _, p := range byTopic[topic] {
			shared.Budgets = append(shared.Budgets, p.Name)
			shared.Day = shared.Day.plus(p.afterAll())
		}
		all = append(all, shared)
	}
	return all
}

// String says it in words.
func (s Shared) String() string {
	return fmt.Sprintf("topic %s: budgets %s pay for the same people: one person loses at most %s in any 24 h through "+
		"all of them", s.Topic, strings.Join(s.Budgets, ", "), s.Day)
}
