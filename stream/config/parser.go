package config

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// parser gathers streams files.
type parser struct {
	sources []*source
	streams []*streamNode
	shared  []*Budget
	taken   []*named
	// incomplete: some file may hold budgets that could not be read.
	incomplete bool
}

// named is the name of a stream or budget and the places that take it.
type named struct {
	kind, name string
	at         []node
}

// document is what one file holds.
type document struct {
	budgets []budgetNode
	streams []streamNode
}

var fileForm = form{
	{name: "version", required: true, example: "1", meaning: "the version of this format", value: into(version(), func(*document, int) {})},
	{name: "budgets", absent: "each stream has its own", example: "[{name: shoppers, epsilon: 24, per: 24h}]", meaning: "budgets that several streams share",
		value: into(listOf(sharedBudget(), "budgets, for example {name: shoppers, epsilon: 24, per: 24h}", 0, most), func(d *document, v []budgetNode) { d.budgets = v })},
	{name: "streams", required: true, example: "[{name: checkout-latency, …}]", meaning: "the streams: each reads one topic and publishes to another",
		value: into(listOf(streams(), "streams", 1, most), func(d *document, v []streamNode) { d.streams = v })},
}

func version() kind[int] {
	return scalar(spec{name: "1", want: "1", words: []string{"1"}, schema: schema{"type": "integer", "const": 1}}, func(text string) (int, error) {
		if text != "1" {
			return 0, errUnwanted
		}
		return 1, nil
	})
}

func (p *parser) read(name string, data []byte, getenv func(string) (string, bool)) {
	s := &source{file: name, getenv: getenv}
	p.sources = append(p.sources, s)
	root, ok := s.document(data)
	if !ok {
		p.incomplete = true
		return
	}
	d, _ := mappingOf[document](fileForm, nil).read(root)
	if slices.ContainsFunc(s.faults, func(f fault) bool { return !strings.HasPrefix(f.path, "streams[") }) {
		p.incomplete = true
	}
	for i := range d.budgets {
		b := d.budgets[i].Budget
		p.take(d.budgets[i].node, "budget", b.Name)
		p.shared = append(p.shared, &b)
	}
	for i := range d.streams {
		s := &d.streams[i]
		p.take(s.node, "stream", s.Name)
		p.streams = append(p.streams, s)
	}
}

func (p *parser) take(n node, kind, name string) {
	i := slices.IndexFunc(p.taken, func(t *named) bool { return t.kind == kind && t.name == name })
	switch {
	case name == "":
	case i < 0:
		p.taken = append(p.taken, &named{kind, name, []node{n}})
	default:
		p.taken[i].at = append(p.taken[i].at, n)
	}
}

// file resolves what refers to something else and returns the whole.
func (p *parser) file() (*File, error) {
	f := &File{Budgets: p.shared}
	for _, s := range p.streams {
		p.resolveBudget(s, f)
		if s.Budget != nil && s.Budget.Delta.IsPositive() {
			s.sumRho()
		}
		f.Streams = append(f.Streams, &s.Stream)
	}
	for _, t := range p.taken {
		if len(t.at) > 1 { // one fault, however many files have the name
			others := []string{t.at[0].where()}
			for _, n := range t.at[2:] {
				others = append(others, n.where())
			}
			t.at[1].refuse("the name %q is taken by the %s at %s; want another name", t.name, t.kind, list(others, "and"))
		}
	}
	for _, check := range []func(){p.topics, p.continues, p.periods, p.affordable, func() { p.payable(f, time.Now()) }} {
		if err := p.err(); err != nil {
			return nil, err
		}
		check()
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// err joins all that is wrong, file by file and line by line.
func (p *parser) err() error {
	var errs []error
	for _, s := range p.sources {
		errs = append(errs, s.errors()...)
	}
	return errors.Join(errs...)
}
