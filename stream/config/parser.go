package config

import (
	"errors"
	"slices"
	"time"

	"github.com/louver/louver/stream/config/form"
)

// parser gathers streams files.
type parser struct {
	sources []*form.Source
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
	at         []form.Node
}

// document is the content of one file.
type document struct {
	revision int
	removed  []string
	budgets  []budgetNode
	streams  []streamNode
}

var fileForm = form.Form{
	{Name: "version", Required: true, Example: "1", Meaning: "the version of this format",
		Value: form.Into(version(), func(*document, int) {})},
	{Name: "revision", Absent: "0", Example: "1",
		Meaning: "raise it to go back to an earlier definition. Without that, a process with an older file follows " +
			"the newer definitions of the others",
		Value: form.Into(form.Whole(""), func(d *document, v int64) { d.revision = int(v) })},
	{Name: "removed", Absent: "none", Example: "[checkout-latency]",
		Meaning: "streams that have been taken out of the files and should end. Louver refuses files that lack a " +
			"stream and do not list it here",
		Value: form.Into(form.ListOf(form.Name("name", "a name of the characters a–z, 0–9 and -", form.PlainName, 200), "names of streams", 0, form.Most),
			func(d *document, v []string) { d.removed = v })},
	{Name: "budgets", Absent: "each stream has its own", Example: "[{name: shoppers, epsilon: 24, per: 24h}]",
		Meaning: "budgets that several streams share",
		Value: form.Into(form.ListOf(sharedBudget(), "budgets, for example {name: shoppers, epsilon: 24, per: 24h}", 0, form.Most),
			func(d *document, v []budgetNode) { d.budgets = v })},
	{Name: "streams", Required: true, Example: "[{name: checkout-latency, …}]",
		Meaning: "the streams: each reads one topic and publishes to another",
		Value: form.Into(form.ListOf(streams(), "streams", 1, form.Most),
			func(d *document, v []streamNode) { d.streams = v })},
}

func version() form.Kind[int] {
	s := form.Spec{Name: "1", Want: "1", Words: []string{"1"}, Schema: form.Schema{"type": "integer", "const": 1}}
	return form.Scalar(s, func(text string) (int, error) {
		if text != "1" {
			return 0, form.ErrUnwanted
		}
		return 1, nil
	})
}

func (p *parser) read(name string, data []byte, getenv func(string) (string, bool)) {
	s := form.NewSource(name, getenv)
	p.sources = append(p.sources, s)
	root, ok := s.Document(data)
	if !ok {
		p.incomplete = true
		return
	}
	d, _ := form.MappingOf[document](fileForm, nil).Read(root)
	if s.FaultsOutside("streams[") {
		p.incomplete = true
	}
	p.revision = max(p.revision, d.revision)
	p.removed = append(p.removed, d.removed...)
	for i := range d.budgets {
		b := d.budgets[i].Budget
		p.take(d.budgets[i].Node, "budget", b.Name)
		p.shared = append(p.shared, &b)
		p.written = append(p.written, d.budgets[i])
	}
	for i := range d.streams {
		s := &d.streams[i]
		p.take(s.Node, "stream", s.Name)
		p.streams = append(p.streams, s)
	}
}

func (p *parser) take(n form.Node, kind, name string) {
	i := slices.IndexFunc(p.taken, func(t *named) bool { return t.kind == kind && t.name == name })
	switch {
	case name == "":
	case i < 0:
		p.taken = append(p.taken, &named{kind, name, []form.Node{n}})
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
		s.Definition = define(s.Node, p.sharedNode(s.Budget))
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
func (p *parser) sharedNode(b *Budget) *form.Node {
	for _, w := range p.written {
		if b.Shared && w.Name == b.Name {
			return &w.Node
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
			others := []string{t.at[0].Where()}
			for _, n := range t.at[2:] {
				others = append(others, n.Where())
			}
			t.at[1].Refuse("the name %q is taken by the %s at %s; choose another name", t.name, t.kind, form.List(others, "and"))
		}
	}
	return f, p.err()
}

// err joins all faults, file by file and line by line.
func (p *parser) err() error {
	var errs []error
	for _, s := range p.sources {
		errs = append(errs, s.Errors()...)
	}
	return errors.Join(errs...)
}
