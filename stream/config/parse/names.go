package parse

import (
	"slices"

	"github.com/louver/louver/stream/config/form"
)

// names are the names of streams and budgets, and where they are used.
type names []*named

type named struct {
	kind, name string
	at         []form.Node
}

func (all *names) take(kind, name string, at form.Node) {
	i := slices.IndexFunc(*all, func(n *named) bool { return n.kind == kind && n.name == name })
	switch {
	case name == "":
	case i < 0:
		*all = append(*all, &named{kind, name, []form.Node{at}})
	default:
		(*all)[i].at = append((*all)[i].at, at)
	}
}

// refuseTwice refuses names that are used twice: one fault for each name, even if many files use it.
func (all names) refuseTwice() {
	for _, n := range all {
		if len(n.at) < 2 {
			continue
		}
		others := []string{n.at[0].Where()}
		for _, at := range n.at[2:] {
			others = append(others, at.Where())
		}
		n.at[1].Refuse("the name %q is taken by the %s at %s; choose another name", n.name, n.kind,
			form.List(others, "and"))
	}
}

// figureName is the name of a release or a watch.
func figureName() form.Kind[string] {
	return form.Name("name", "a name of 1–200 characters without / and .", `^[^/.]+$`, 200)
}
