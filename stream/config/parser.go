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
	written []budgetNode // the shared budgets as written
	taken   []*named
	removed []string
	// revision is the highest one of all files.
	revision int
	// incomplete says that some files may hold budgets that could not be read.
	incomplete bool
}

// named is the name of a stream or budget, and where it is used.
type named struct {
	kind, name string
	at         []node
}

// document is the content of one file.
type document struct {
	revision int
	removed  []string
	budgets  []budgetNode
	streams  []streamNode
}

var fileForm = form{
	{name: "version", required: true, example: "1", meaning: "the version of this format", value: into(version(), func(*document, int) {})},
	{name: "revision", absent: "0", example: "1", meaning: "raise it to go back to an earlier definition. Without that, a process with an older file follows the newer definitions of the others",
		value: into(whole(""), func(d *document, v int64) { d.revision = int(v) })},
	{name: "removed", absent: "none", example: "[checkout-latency]", meaning: "streams that have been taken out of the files and should end. Louver refuses files that lack a stream and do not list it here",
		value: into(listOf(name("name", "a name of the characters a–z, 0–9 and -", plainName, 200), "names of streams", 0, most), func(d *document, v []string) { d.removed = v })},
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
	p.revision = max(p.revision, d.revision)
	p.removed = append(p.removed, d.removed...)
	for i := range d.budgets {
		b := d.budgets[i].Budget
		p.take(d.budgets[i].node, "budget", b.Name)
		p.shared = append(p.shared, &b)
		p.written = append(p.written, d.budgets[i])
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

// file returns the result if the budgets can pay for it.
func (p *parser) file() (*File, error) {
	f, err := p.resolve()
	if err != nil {
		return nil, err
	}
	for _, s := range p.streams {
		s.Definition = define(s.node, p.sharedNode(s.Budget))
	}
	for _, check := range []func(){p.topics, p.continues, p.periods, p.affordable, func() { p.payable(f, time.Now()) }} {
		check()
		if err := p.err(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// sharedNode returns the place of a shared budget, or nil for one that is not shared.
func (p *parser) sharedNode(b *Budget) *node {
	for _, w := range p.written {
		if b.Shared && w.Name == b.Name {
			return &w.node
		}
	}
	return nil
}

// resolve resolves references and finds names that are used twice.
func (p *parser) resolve() (*File, error) {
	f := &File{Budgets: p.shared, Revision: p.revision, Removed: p.removed}
	for _, s := range p.streams {
		p.resolveBudget(s, f)
		if s.Budget != nil && s.Budget.Delta.IsPositive() {
			s.sumRho()
		}
		f.Streams = append(f.Streams, &s.Stream)
	}
	for _, t := range p.taken {
		if len(t.at) > 1 { // one fault, even if many files use the name
			others := []string{t.at[0].where()}
			for _, n := range t.at[2:] {
				others = append(others, n.where())
			}
			t.at[1].refuse("the name %q is taken by the %s at %s; choose another name", t.name, t.kind, list(others, "and"))
		}
	}
	return f, p.err()
}

// err joins all faults, file by file and line by line.
func (p *parser) err() error {
	var errs []error
	for _, s := range p.sources {
		errs = append(errs, s.errors()...)
	}
	return errors.Join(errs...)
}
